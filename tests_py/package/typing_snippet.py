"""typing_snippet.py: the types of the public functions. A type checker checks this file; it is never run."""

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import gatherscatter as gs

Floats = npt.NDArray[np.float32]


class Foreign:
    """An array of a library that the checker does not know."""

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    @property
    def dtype(self) -> object:
        raise NotImplementedError

    def __dlpack__(self, *, stream: object = None) -> object:
        raise NotImplementedError


def numpy_arrays(x: Floats, i: npt.NDArray[np.int32], mask: npt.NDArray[np.bool_]) -> None:
    assert_type(gs.gather(x, 0, i), Floats)
    assert_type(gs.gather(x, np.int64(0), i), Floats)
    assert_type(gs.gather(x, 0, [[1, 2]]), Floats)
    assert_type(gs.gather(x, 0, index=i), Floats)
    assert_type(gs.gather(x, dim=0, index=i), Floats)
    assert_type(gs.gather(input=x, dim=0, index=i), Floats)
    assert_type(gs.gather(x, i, 0), Floats)
    assert_type(gs.gather(x, i, axis=0), Floats)
    assert_type(gs.gather(x, i, 1, 1), Floats)
    assert_type(gs.gather(x, [1, 2], axis=np.array(0)), Floats)
    assert_type(gs.gather(x, indices=i, axis=0), Floats)
    assert_type(gs.gather(x, input_indices=i, axis=1, batch_dims=1), Floats)
    assert_type(gs.gather(x, 0, i, bounds="fill", negative="out_of_bounds", fill_value=1.5, mask=mask, out=x), Floats)
    assert_type(gs.gather(x, i, 0, bounds="wrap", mask=mask, out=x), Floats)
    assert_type(gs.take(x, i, 0), Floats)
    assert_type(gs.take(x, i, axis=0, mode="clip", out=x), Floats)
    assert_type(gs.take(x, i, bounds="deferred"), Floats)
    assert_type(gs.take_along_axis(x, i, axis=0), Floats)
    assert_type(gs.repeat(x, 2), Floats)
    assert_type(gs.repeat(x, i, axis=0), Floats)
    assert_type(gs.roll(x, 1), Floats)
    assert_type(gs.roll(x, (1, 2), axis=(0, 1)), Floats)
    assert_type(gs.tile_gather(x, (i, i), mask=mask, padding_value=-1, check_bounds=True, latency=3), Floats)
    assert_type(gs.gather_nd(x, i), Floats)
    assert_type(gs.gather_nd(x, [[0, 1]], 1, bounds="fill", fill_value=2, mask=mask, out=x), Floats)


def numpy_arrays_written(x: Floats, i: npt.NDArray[np.int32], mask: npt.NDArray[np.bool_]) -> None:
    assert_type(gs.scatter(x, 0, i, x), Floats)
    assert_type(gs.scatter(x, np.int64(0), [[1, 2]], 1.5, reduce="add", include_self=False), Floats)
    assert_type(gs.scatter(input=x, dim=0, index=i, src=[[1, 2]], duplicates="first", out=x), Floats)
    assert_type(gs.scatter(x, 0, i, x, bounds="drop", negative="out_of_bounds", mask=mask), Floats)
    assert_type(gs.scatter(x, i, x), Floats)
    assert_type(gs.scatter(x, [1, 2], 1.5, 1, 1, reduce="add", mask=mask), Floats)
    assert_type(gs.scatter(x, i, x, axis=1, batch_dims=1, out=x), Floats)
    assert_type(gs.scatter(x, i, src=x, axis=1), Floats)
    assert_type(gs.scatter(x, indices=i, src=[1.5, 2.5]), Floats)
    assert_type(gs.scatter(input=x, indices=i, src=x, axis=0, batch_dims=0), Floats)
    assert_type(gs.scatter_nd(x, i, x), Floats)
    assert_type(gs.scatter_nd(x, i, 1, 1, reduce="amax", duplicates="last", bounds="clip", mask=mask, out=x), Floats)
    gs.tile_scatter(x, (i, i), 1, mask=mask, check_bounds=False, latency=3)
    gs.put(x, i, 1.5, mode="clip")
    gs.put_along_axis(x, i, x, 1)
    gs.putmask(x, mask, [1.5, 2.5])
    gs.place(x, mask, x)
    assert_type(gs.compress(mask, x, 0), Floats)


def other_arrays(x: Foreign, i: Foreign) -> None:
    assert_type(gs.gather(x, 0, i), Foreign)
    assert_type(gs.gather(x, i, axis=0), Foreign)
    assert_type(gs.gather(x, input_indices=i, axis=0), Foreign)
    assert_type(gs.take(x, i, 0), Foreign)
    assert_type(gs.take_along_axis(x, i, 0), Foreign)
    assert_type(gs.repeat(x, i, 0), Foreign)
    assert_type(gs.roll(x, 1, 0), Foreign)
    assert_type(gs.tile_gather(x, (i,)), Foreign)
    assert_type(gs.gather_nd(x, i), Foreign)
    assert_type(gs.scatter(x, 0, i, x), Foreign)
    assert_type(gs.scatter(x, 0, i, 1, reduce="mean", out=x), Foreign)
    assert_type(gs.scatter(x, i, x), Foreign)
    assert_type(gs.scatter(x, indices=i, src=x, axis=1), Foreign)
    assert_type(gs.scatter_nd(x, i, x), Foreign)
    gs.tile_scatter(x, (i,), 1)
    gs.compat.cutile.scatter(x, (i,), 1)


def sum_of(x: Floats) -> float:
    return float(x.sum())


def everything_else(x: Floats, i: npt.NDArray[np.int64]) -> None:
    plan = gs.plan(gs.gather, x, 0, i)
    assert_type(plan, gs.Plan[Floats])
    assert_type(gs.explain(gs.take, x, i), gs.Plan[Floats])
    assert_type(repr(plan), str)
    plan(x, i, out=x)
    gs.plan(gs.scatter, x, 0, i, x)(x, i, x, out=x)
    plan.scatter(x, i, 1, reduce="add", include_self=False, duplicates="last", out=x)
    assert_type(gs.get_num_threads(), int)
    assert_type(gs.__version__, str)
    with gs.thread_limit(2):
        gs.set_num_threads(1)
    assert_type(gs.thread_limit(2)(sum_of)(x), float)
    try:
        gs.gather(x, 0, i)
    except gs.OutOfBoundsError as error:
        assert_type(error.index, int)
        assert_type(error.position, tuple[int, ...])
        assert_type(error.axis, int)
        assert_type(error.size, int)
        assert_type(error.count, int | None)


def mistakes(x: Floats, i: npt.NDArray[np.int64]) -> None:
    """Each of these lines is wrong; the checker reports an ignore that is not needed."""
    gs.gather(x)  # type: ignore[call-overload]
    gs.gather(x, i)  # type: ignore[call-overload]
    gs.gather(x, dim=0, axis=0, index=i)  # type: ignore[call-overload]
    gs.gather(x, 0, i, bounds="nearest")  # type: ignore[call-overload]
    gs.gather(x, 0, i, negative="wrap")  # type: ignore[call-overload]
    gs.take(x, i, mode="nearest")  # type: ignore[call-overload]
    gs.repeat(x, axis=0)  # type: ignore[call-overload]
    gs.roll(x)  # type: ignore[call-overload]
    gs.tile_gather(array=x, indices=i)  # type: ignore[call-overload]
    gs.scatter(x, 0, i)  # type: ignore[call-overload]
    gs.scatter(x, i)  # type: ignore[call-overload]
    gs.scatter(x, indices=i, axis=0)  # type: ignore[call-overload]
    gs.scatter(x, 0, i, x, bounds="fill")  # type: ignore[call-overload]
    gs.scatter(x, 0, i, x, reduce="plus")  # type: ignore[call-overload]
    gs.scatter_nd(x, i, x, duplicates="any")  # type: ignore[call-overload]
    gs.gather_nd(x, i, bounds="drop")  # type: ignore[call-overload]
    gs.tile_scatter(array=x, indices=i, value=1)  # type: ignore[call-arg]
    gs.set_num_threads("two")  # type: ignore[arg-type]
    gs.there_is_no_such_name()  # type: ignore[attr-defined]
