"""Checks every form once against plain torch, then times all of them in interleaved rounds, by events on the device."""

from __future__ import annotations

import itertools
import math
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from ..harness import Runner, WrongResult
from ..peers import Form
from . import limits
from .cases import Case, Workload
from .forms import CUPY, FORMS, GS, GS_CUPY, JAX, TORCH

SAMPLE_SECONDS = 2e-3  # short calls are repeated until a sample is that long
MIN_ROUNDS, MAX_ROUNDS = 7, 41
HOPELESS = 4.0  # that much slower than the best form: a few rounds will do
GRAPH_CALLS = 32  # calls in a captured graph
ALIASES = {GS: "gs", GS_CUPY: "gs", TORCH: "torch", CUPY: "cupy", JAX: "jax"}


class Lab:
    """The device, its clock, and the libraries that take part."""

    def __init__(self, torch: Any, device: str, modules: dict[str, Any]) -> None:
        self.torch, self.device, self.modules = torch, device, modules
        self.on_gpu = device != "cpu"

    def own(self, library: str, value: Any) -> Any:
        """A tensor as an array of this library, over the same memory."""
        if not isinstance(value, self.torch.Tensor):
            return value
        if library in (CUPY, GS_CUPY):
            return self.modules[CUPY].from_dlpack(value)
        if library == JAX:
            return self.modules[JAX].dlpack.from_dlpack(value)
        return value

    def tensor(self, result: Any) -> Any:
        return result if isinstance(result, self.torch.Tensor) else self.torch.from_dlpack(result)

    def wait(self) -> None:
        if self.on_gpu:
            self.torch.cuda.synchronize()

    def clock(self, library: str, work: Callable[[], None]) -> float:
        """Seconds: by events where the library works on torch's stream, else by the wall."""
        if not self.on_gpu or library == JAX:
            self.wait()
            start = time.perf_counter()
            work()
            self.wait()
            return time.perf_counter() - start
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        seconds: float = start.elapsed_time(end) / 1e3
        return seconds


def same_bytes(torch: Any, left: Any, right: Any) -> bool:
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    left, right = (one.contiguous().reshape(-1).view(torch.uint8) for one in (left, right))
    return bool(torch.equal(left, right))


def compile_form(lab: Lab, form: Form, work: Workload) -> Callable[[dict[str, Any]], Any]:
    """call(set): the form's code on one of the rotating sets."""
    names = list(work.sets[0])
    scope: dict[str, Any] = {ALIASES[form.library]: lab.modules[form.library], "torch": lab.torch}
    constants = {"x": work.source, "out": work.out, **work.constants}
    scope |= {name: lab.own(form.library, value) for name, value in constants.items()}
    body = f"{form.code}; return {form.result}" if form.result else f"return {form.code}"
    source = f"{form.setup or 'pass'}\ndef call({', '.join(names)}):\n    {body}\n"
    exec(compile(source, f"<{form.library}: {form.code}>", "exec"), scope)
    call: Callable[..., Any] = scope["call"]
    sets = {id(one): [lab.own(form.library, one[name]) for name in names] for one in work.sets}
    return lambda one: call(*sets[id(one)])


def check(lab: Lab, form: Form, call: Callable[[dict[str, Any]], Any], work: Workload, expected: Any) -> None:
    if work.in_place:
        work.out.copy_(work.source)
    else:
        work.out.view(lab.torch.uint8).fill_(0xA5)
    result = lab.tensor(call(work.sets[0]))
    lab.wait()
    if not same_bytes(lab.torch, result, expected):
        raise WrongResult(f"{form.library}: {form.code} differs from plain torch")


def _captured(lab: Lab, call: Callable[[dict[str, Any]], Any], work: Workload) -> Callable[[], None]:
    graph = lab.torch.cuda.CUDAGraph()
    with lab.torch.cuda.graph(graph):
        for k in range(GRAPH_CALLS):
            call(work.sets[k % len(work.sets)])
    replay: Callable[[], None] = graph.replay
    return replay


def runners_of(lab: Lab, case: Case, work: Workload) -> tuple[list[Runner], list[str]]:
    """Every form that applies, checked; and what could not be captured, by name."""
    index = str(work.sets[0]["i"].dtype).removeprefix("torch.")
    expected = work.expected(**work.sets[0])
    runners, left_out = [], []

    def sampler(library: str, call: Callable[[dict[str, Any]], Any]) -> limits.Walk:
        def sample(first: int, calls: int) -> float:
            def run() -> None:
                for k in range(calls):
                    call(work.sets[(first + k) % len(work.sets)])

            return lab.clock(library, run)

        return sample

    for form in FORMS:
        if form.library not in lab.modules or not form.fits(case.kind, index):
            continue
        call = compile_form(lab, form, work)
        try:
            check(lab, form, call, work, expected)
        except Exception as reason:  # a peer that cannot do this dtype says so in its own class, or has another answer
            if form.library in (GS, GS_CUPY):
                raise
            left_out.append(f"{case.name}: {form.library}: {form.code}: {str(reason).splitlines()[0]}")
            continue
        role = "ours" if form.library in (GS, GS_CUPY) else "peer"
        shown = form.shown or form.code
        runners.append(Runner(role, form.library, form.code, shown, form.fresh, sampler(form.library, call)))
        waits = form.library == GS and "bounds=" not in form.code and "tile" not in form.code
        if case.graph and lab.on_gpu and form.library in (GS, TORCH) and not waits:
            try:
                replay = _captured(lab, call, work)
            except RuntimeError as reason:
                if form.library == GS:
                    raise
                left_out.append(f"{case.name}: graph of {form.code}: {str(reason).splitlines()[0]}")
                continue

            def sample_graph(first: int, calls: int, replay: Callable[[], None] = replay) -> float:
                count = max(calls // GRAPH_CALLS, 1)
                return lab.clock(GS, lambda: [replay() for _ in range(count)] and None) * calls / (count * GRAPH_CALLS)

            code = f"graph: {form.code}"
            runners.append(Runner(f"{role}, graph", form.library, code, code, form.fresh, sample_graph))
    if lab.on_gpu:
        try:
            walks = limits.probes(lab.torch, work)
        except limits.Unavailable as reason:
            walks = {}
            left_out.append(f"{case.name}: {reason}")
        for role, named in (("probe", walks), ("stream", limits.streams(lab.torch, work))):
            for name, walk in named.items():
                runners.append(Runner(role, "limit", name, name, False, sampler(TORCH, walk)))
        if case.graph:
            floor = sampler(TORCH, lambda one: lab.torch.cuda._sleep(0))
            runners.append(Runner("floor", "limit", "an empty kernel", "an empty kernel", False, floor))
    return runners, left_out


def measure(lab: Lab, runners: list[Runner], budget: float, quick: bool) -> None:
    for runner in runners:
        runner.first = [runner.sample(k, 1) for k in range(3)]
    best = min(runner.estimate for runner in runners)
    share = budget / len(runners)
    for runner in runners:
        runner.calls = 1 if quick else min(max(1, math.ceil(SAMPLE_SECONDS / runner.estimate)), 4096)
        fitting = int(share / (runner.estimate * runner.calls))
        most = MIN_ROUNDS if runner.estimate > HOPELESS * best else MAX_ROUNDS
        runner.rounds = 2 if quick else min(max(fitting, MIN_ROUNDS), most)
    order, turn = random.Random(3), itertools.count()
    for number in range(max(runner.rounds for runner in runners)):
        this_round = [runner for runner in runners if number < runner.rounds]
        order.shuffle(this_round)
        for runner in this_round:
            runner.sample(next(turn), 1)  # the clocks are up, and what the one before left in L2 is gone
            runner.seconds.append(runner.sample(next(turn), runner.calls) / runner.calls)
    for runner in runners:
        runner.busy = []


def run_case(lab: Lab, case: Case, budget: float, quick: bool) -> dict[str, Any]:
    """The JSON entry of one case."""
    work = case.build(lab.torch, lab.device, quick)
    runners, left_out = runners_of(lab, case, work)
    measure(lab, runners, budget, quick)
    for line in left_out:
        print(f"     {line}", file=sys.stderr)
    entry = {"case": case.number, "name": case.name, "about": case.about, "sets": len(work.sets)}
    return {**entry, "left_out": left_out, "forms": [runner.summary() for runner in runners]}
