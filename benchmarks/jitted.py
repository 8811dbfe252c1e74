"""jitted.py: calls in jitted functions, and training steps of them, beside JAX's own functions."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .gradients import Entry, interleaved


class Case(NamedTuple):
    """A jitted call of JAX and ours, which give the same result of the arguments.

    A call that donates takes its own result as its first argument, as a training step does.
    """

    name: str
    theirs: Callable[..., Any]
    ours: Callable[..., Any]
    arguments: tuple[Any, ...]
    donates: bool = False


def cases(quick: bool) -> Iterator[Case]:
    """The calls; with `quick` on small arrays."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import gatherscatter as gs

    shrink = 64 if quick else 1
    rng = np.random.default_rng(1)

    def values(*shape: int) -> Any:
        return jnp.asarray(rng.normal(size=shape), jnp.float32)

    def index(size: int, *shape: int) -> Any:
        return jnp.asarray(rng.integers(0, size, shape), jnp.int32)

    def case(
        name: str, theirs: Callable[..., Any], ours: Callable[..., Any], *arguments: Any, donates: bool = False
    ) -> Case:
        donated = 0 if donates else None
        jitted = (jax.jit(each, donate_argnums=donated) for each in (theirs, ours))
        return Case(name, *jitted, arguments, donates)

    yield case("x[i] of 16", lambda x, i: x[i], lambda x, i: gs.take(x, i), values(1000), index(1000, 16))
    yield case(
        "x.at[i].add of 16",
        lambda x, i, s: x.at[i].add(s),
        lambda x, i, s: gs.scatter(x, 0, i, s, reduce="add"),
        values(1000),
        index(1000, 16),
        values(16),
    )
    n = 4096 // shrink
    x, along = values(n, 1024), index(1024, n, 1024)
    yield case(
        "take_along_axis, last axis",
        lambda x, i: jnp.take_along_axis(x, i, 1),
        lambda x, i: gs.take_along_axis(x, i, 1),
        x,
        along,
    )
    yield case(
        "gradient of it",
        jax.grad(lambda x, i: (jnp.take_along_axis(x, i, 1) ** 2).sum()),
        jax.grad(lambda x, i: (gs.take_along_axis(x, i, 1) ** 2).sum()),
        x,
        along,
    )
    rows, count = (1 << 18) // shrink, (1 << 17) // shrink
    zipf = np.minimum(np.random.default_rng(1).zipf(1.2, count), rows) - 1
    table, ids, lines = values(rows, 128), jnp.asarray(zipf, jnp.int32), values(count, 128)
    yield case("take of rows of 128, Zipf", lambda t, i: t[i], lambda t, i: gs.take(t, i, axis=0), table, ids)
    unique = jnp.asarray(rng.permutation(rows)[:count], jnp.int32)
    yield case(
        ".at[].set of rows of 128, donated",
        lambda t, i, s: t.at[i].set(s),
        lambda t, i, s: gs.scatter(t, i, s),
        table,
        unique,
        lines,
        donates=True,
    )
    yield case(
        ".at[].add of rows of 128, Zipf, donated",
        lambda t, i, s: t.at[i].add(s),
        lambda t, i, s: gs.scatter(t, i, s, reduce="add"),
        table,
        ids,
        lines,
        donates=True,
    )
    slots, points = (1 << 16) // shrink, (1 << 22) // shrink
    yield case(
        f"segment_sum of {points} into {slots}",
        lambda s, i: jax.ops.segment_sum(s, i, slots),
        lambda s, i: gs.scatter(jnp.zeros(slots), 0, i, s, reduce="add"),
        values(points),
        index(slots, points),
    )

    def step(look_up: Callable[..., Any], update: Callable[..., Any]) -> Callable[..., Any]:
        """A training step of an embedding: look up, loss, gradient of the rows, update of the table."""

        def run(table: Any, ids: Any, targets: Any) -> Any:
            looked_up = look_up(table, ids)
            gradient = jax.grad(lambda rows: ((rows - targets) ** 2).mean())(looked_up)
            return update(table, ids, -0.1 * gradient)

        return run

    yield case(
        "training step of an embedding",
        step(lambda t, i: t[i], lambda t, i, s: t.at[i].add(s)),
        step(lambda t, i: gs.take(t, i, axis=0), lambda t, i, s: gs.scatter(t, i, s, reduce="add")),
        table,
        ids,
        lines,
        donates=True,
    )


def _runner(call: Callable[..., Any], case: Case) -> Callable[[], Any]:
    """The function that runs a call once and waits for its result."""
    import jax
    import jax.numpy as jnp

    if not case.donates:
        return lambda: jax.block_until_ready(call(*case.arguments))
    state, rest = [jnp.copy(case.arguments[0])], case.arguments[1:]

    def run() -> Any:
        state[0] = jax.block_until_ready(call(state[0], *rest))
        return state[0]

    return run


def measure(only: Iterable[str] | None, quick: bool) -> list[Entry]:
    """One entry for each call: medians of seconds, of rounds in which JAX and ours take turns."""
    if importlib.util.find_spec("jax") is None:
        raise SystemExit("python -m benchmarks --jax needs JAX: pip install jax")
    import numpy as np

    words = None if only is None else tuple(only)
    entries: list[Entry] = []
    for case in cases(quick):
        if words is not None and not any(word in case.name for word in words):
            continue

        theirs, ours = _runner(case.theirs, case), _runner(case.ours, case)
        # Sums in another order differ in rounding.
        np.testing.assert_allclose(np.asarray(ours()), np.asarray(theirs()), rtol=1e-3, atol=1e-2)
        entries.append(interleaved(case.name, "JAX", theirs, ours, quick))
    return entries


def table(entries: list[Entry]) -> str:
    """The time of JAX and ours, and their ratio."""
    lines = ["| jitted call | JAX, µs | ours, µs | JAX ÷ ours |", "|---|--:|--:|--:|"]
    for entry in entries:
        theirs, ours = entry["JAX"], entry["gatherscatter"]
        lines.append(f"| {entry['call']} | {theirs * 1e6:.1f} | {ours * 1e6:.1f} | {theirs / ours:.2f} |")
    return "\n".join(lines)
