"""Times all forms of one case in interleaved rounds, after a check that each form gives the correct bytes."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from . import compiled_peers, edge_cases, group_cases, limits, more_peers, peers, table_peers
from .cases import Case, Workload
from .peers import Form, Library

FORMS = (
    *peers.FORMS,
    *compiled_peers.FORMS,
    *table_peers.FORMS,
    *more_peers.FORMS,
    *edge_cases.FORMS,
    *group_cases.FORMS,
)
LIBRARIES = (*peers.LIBRARIES, *compiled_peers.LIBRARIES, *table_peers.LIBRARIES)
SAMPLE_SECONDS = 4e-3  # short calls are repeated until a sample takes this long
MIN_ROUNDS, MAX_ROUNDS, HOPELESS_ROUNDS = 5, 25, 3
HOPELESS = 2.0  # factor over the best form of all libraries from which a few rounds suffice
OUTDONE = 3.0  # factor over the best form of its own library from which the first samples suffice
LONG_CALL = 10e-3
SETTLE_SECONDS = 2e-3  # time for the threads of other libraries to stop spinning

# One function for each form, so that the timed loop contains only the call, as in timeit.
TEMPLATE = """
def make({names}):
    {setup}
    def once({rotating}):
        {once}
    def timed(_sets):
        _start = _clock()
        for {rotating} in _sets:
            {body}
        return _clock() - _start
    return once, timed
"""
RAISES = "try: {code}\n            except Exception: pass\n            else: raise _Silent"


class WrongResult(RuntimeError):
    """A form's result differs from that of plain NumPy or Arrow, so its time is meaningless."""


class _Silent(RuntimeError):
    def __init__(self) -> None:
        super().__init__("a bad index was accepted")


@dataclass
class Runner:
    """One timed item: a form of a library, or a walk of the probe."""

    role: str  # "ours", "peer", "by hand", "beside", "probe", "stream" or "pass"
    library: str
    code: str
    shown: str
    fresh: bool
    sample: limits.Sample
    first: list[float] = field(default_factory=list)  # one call each, before the rounds
    outdone: bool = False
    calls: int = 1
    rounds: int = 0
    seconds: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)  # processors in use, which shows whether the threads ran

    @property
    def estimate(self) -> float:
        return max(min(self.first), 1e-8)

    def summary(self) -> dict[str, Any]:
        low, middle, high = quartiles(self.seconds or self.first)
        return {
            "role": self.role,
            "library": self.library,
            "code": self.code,
            "shown": None if self.shown == self.code else self.shown,
            "fresh": self.fresh,
            "median": middle,
            "q1": low,
            "q3": high,
            "rounds": len(self.seconds),
            "calls": self.calls,
            "processors_busy": round(statistics.median(self.busy), 2) if self.busy else None,
        }


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def available(names: list[str] | None) -> tuple[dict[str, ModuleType], list[str]]:
    """The modules of the libraries that take part, and one line for each requested library that is missing."""
    modules, missing = {}, []
    for library in LIBRARIES:
        if names is not None and not library.ours and library.name not in names:
            continue
        module = library.load()
        if isinstance(module, str):
            missing.append(f"{library.name}: {module}, left out")
        else:
            modules[library.name] = module
    for library in LIBRARIES:
        if library.needs and library.needs not in modules:
            modules.pop(library.name, None)
    return modules, missing


def compile_form(
    form: Form, library: Library, module: ModuleType, work: Workload, raises: bool
) -> tuple[Any, Any, Any]:
    """(once, timed, sets): the call, the timed loop over sets, and the sets as arrays of this library."""

    def own(value: Any) -> Any:
        if not isinstance(value, work.adaptable):
            return value
        key = library.name, id(value)
        if key not in work.adapted:
            work.adapted[key] = library.adapt(module, value)
        return work.adapted[key]

    rotating = list(work.sets[0])
    sets = [tuple(own(one[name]) for name in rotating) for one in work.sets]
    constants = {name: own(value) for name, value in work.constants.items()}
    variables = {"x": own(work.source), "out": own(work.out), **constants}
    if form.setup:
        variables |= dict(zip(rotating, sets[0], strict=True))
    loop = sets if len(rotating) > 1 else [one[0] for one in sets]
    source = TEMPLATE.format(
        names=", ".join([library.alias, *variables]),
        setup=form.setup or "pass",
        rotating=", ".join(rotating),
        once=f"{form.code}; return {form.result}" if form.result else f"return {form.code}",
        body=RAISES.format(code=form.code) if raises else form.statement,
    )
    scope: dict[str, Any] = {"_clock": time.perf_counter, "_Silent": _Silent, "np": np}
    exec(compile(source, f"<{form.library}: {form.code}>", "exec"), scope)
    once, timed = scope["make"](module, **variables)
    return lambda k: once(*sets[k % len(sets)]), timed, loop


def same_bytes(left: np.ndarray, right: np.ndarray) -> bool:
    """Equal shape, dtype and bytes. Values are not compared, because the NaNs in random bytes are never equal."""
    left = np.asarray(left)  # it may be an array of Arrow or polars
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    left_bytes, right_bytes = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (left, right))
    return np.array_equal(left_bytes, right_bytes)


def check(
    form: Form, library: Library, once: Callable[[int], Any], work: Workload, expected: np.ndarray | None
) -> None:
    """Compare one call with plain NumPy or Arrow; if nothing is expected, the call must raise."""
    if expected is None:
        try:
            once(0)
        except Exception as error:  # the libraries have their own classes, but all texts contain one of these words
            if "bound" in str(error) or "range" in str(error):
                return
            raise WrongResult(f"{form.library}: {form.code} failed for another reason: {error}") from error
        raise WrongResult(f"{form.library}: {form.code} accepted a bad index")
    if work.scratch is None:
        work.out.view(np.uint8).reshape(-1)[:] = 0xA5
    else:
        work.out[...] = work.source
    result = library.plain(once(0))
    # A form beside ours may return the source itself.
    right = [expected, work.source] if form.beside else [expected]
    if not any((work.same or same_bytes)(result, one) for one in right):
        raise WrongResult(f"{form.library}: {form.code} differs from plain {type(expected).__module__.split('.')[0]}")
    if not (form.fresh or form.apart) and not same_bytes(work.out.reshape(result.shape), result):
        raise WrongResult(f"{form.library}: {form.code} did not write into out")


def runners_of(case: Case, work: Workload, modules: dict[str, ModuleType], probe: Any, threads: int) -> list[Runner]:
    """All forms that apply to the case, after a check of each, and the walks that measure the limit."""
    raises = case.kind == "bad"
    expected = None if raises else work.expected(**work.sets[0])
    runners = []
    for form in FORMS:
        library = next(one for one in LIBRARIES if one.name == form.library)
        if library.name not in modules or not form.fits(case.kind, work.index_dtype):
            continue
        once, timed, loop = compile_form(form, library, modules[library.name], work, raises)
        check(form, library, once, work, expected)

        def sample(first: int, calls: int, timed: Any = timed, loop: Any = loop) -> float:
            chosen = list(itertools.islice(itertools.cycle(loop), first % len(loop), first % len(loop) + calls))
            seconds: float = timed(chosen)
            return seconds

        role = "beside" if form.beside else library.role
        runners.append(Runner(role, library.name, form.code, form.shown or form.code, form.fresh, sample))
    if probe is not None:
        for role, walks in (work.walks or limits.walks(work))(probe, threads).items():
            runners += [Runner(role, "limit", name, name, False, sample) for name, sample in walks.items()]
    return runners


def _plan_rounds(runners: list[Runner], budget: float, quick: bool) -> None:
    best = {role: min(r.estimate for r in runners if r.role == role) for role in {r.role for r in runners}}
    own = {name: min(r.estimate for r in runners if r.library == name) for name in {r.library for r in runners}}
    for runner in runners:
        # Walks of the limit have no library: the slower of their two roles is the limit.
        # Our own forms are never left out, so that the report always has them.
        peer = runner.role not in ("ours", "beside") and runner.library != "limit"
        runner.outdone = peer and runner.estimate > OUTDONE * own[runner.library] and not quick
    timed = [runner for runner in runners if not runner.outdone]
    share = budget / len(timed)
    for runner in timed:
        runner.calls = 1 if quick else max(1, math.ceil(SAMPLE_SECONDS / runner.estimate))
        hopeless = runner.estimate > HOPELESS * best[runner.role]
        least, most = (HOPELESS_ROUNDS, HOPELESS_ROUNDS) if hopeless else (MIN_ROUNDS, MAX_ROUNDS)
        fitting = int(share / (runner.estimate * runner.calls + SETTLE_SECONDS))
        runner.rounds = 2 if quick else min(max(fitting, least), most)


def measure(runners: list[Runner], budget: float, quick: bool) -> None:
    """Rounds in which every form runs once, in a new order each time; slow forms skip the later rounds."""
    for runner in runners:
        cold = runner.sample(0, 1)  # creates pools and threads, and touches pages
        again = (1,) if cold > LONG_CALL or quick else (1, 2, 0)
        runner.first = [cold, *(runner.sample(k, 1) for k in again)]
    _plan_rounds(runners, budget, quick)
    order = random.Random(3)
    # Every sample gets another index set, because that of the previous sample is in the caches.
    next_set = itertools.count()
    for turn in range(max(runner.rounds for runner in runners)):
        this_round = [runner for runner in runners if turn < runner.rounds]
        order.shuffle(this_round)
        for runner in this_round:
            if not quick:
                time.sleep(SETTLE_SECONDS)
                if runner.estimate < LONG_CALL:
                    runner.sample(next(next_set), 1)  # wakes the threads of this library
            wall, cpu = time.perf_counter(), time.process_time()
            seconds = runner.sample(next(next_set), runner.calls)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            runner.seconds.append(seconds / runner.calls)
            runner.busy.append(cpu / wall if wall > 0 else 0.0)


def run_case(
    case: Case, modules: dict[str, ModuleType], probe: Any, threads: int, budget: float, quick: bool
) -> dict[str, Any]:
    """The JSON entry of one case."""
    work = case.build(quick)
    runners = runners_of(case, work, modules, probe, threads)
    measure(runners, min(budget, case.seconds), quick)
    return {
        "case": case.number,
        "name": case.name,
        "about": case.about,
        **case.place,
        "sets": len(work.sets),
        "forms": [runner.summary() for runner in runners],
    }
