"""test_device_deferred.py: errors of calls that did not wait for the GPU, and calls inside of a CUDA graph."""

from __future__ import annotations

import contextlib
import gc
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import gatherscatter as gs
from device_calls import BAD, BAD_CALLS, ROWS, X
from fake_cuda import LIBRARIES, DLPackOnly, FakeCupyArray, Interface, host_of, played_gpu
from fake_memory import placed
from gatherscatter import _core
from gatherscatter.errors import DeferredOutOfBoundsError

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def gpu():
    with played_gpu() as module:
        yield module
        module.hold_receipts(False)
        module.set_capturing(False)
        for _ in range(_core.pending_calls()):  # calls that a failed test left behind
            with contextlib.suppress(gs.OutOfBoundsError):
                gs.cuda.synchronize()


def bad_take(make=FakeCupyArray, index=BAD, **keywords):
    return gs.take(make(X), make(index), axis=0, bounds="deferred", **keywords)


# ---- when it is raised


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_error_is_raised_at_the_next_call(library):
    make = LIBRARIES[library]
    with pytest.raises(gs.OutOfBoundsError) as at_once:
        gs.take(make(X), make(BAD), axis=0)
    bad_take(make)
    with pytest.raises(DeferredOutOfBoundsError) as later:
        gs.gather(make(X), make(ROWS), axis=0)
    assert later.value.fields()[:-1] == at_once.value.fields() and not later.value.changed
    assert str(later.value) == f"{at_once.value}; deferred from an earlier call of take"
    assert host_of(gs.gather(make(X), make(ROWS), axis=0)).tolist() == X[ROWS].tolist(), "raised once"


def test_an_error_is_raised_at_synchronize():
    bad_take()
    with pytest.raises(DeferredOutOfBoundsError):
        gs.cuda.synchronize()
    gs.cuda.synchronize()


def test_a_check_stays_deferred_where_duplicates_are_searched(gpu):
    gpu.hold_receipts(True)
    source = FakeCupyArray(np.ones(2))
    gs.scatter(
        FakeCupyArray(np.zeros(5)), 0, FakeCupyArray(np.array([3, 1])), source, bounds="deferred", duplicates="error"
    )
    assert _core.pending_calls() == 1, "an index may turn bad between its check and its use"
    gpu.hold_receipts(False)
    gs.cuda.synchronize()
    assert _core.pending_calls() == 0


def test_calls_of_the_host_do_not_raise_it():
    bad_take()
    assert gs.take(X, ROWS, axis=0).tolist() == X[ROWS].tolist()
    with pytest.raises(DeferredOutOfBoundsError):
        gs.cuda.synchronize()


def test_only_what_is_ready_is_read(gpu):
    gpu.hold_receipts(True)
    bad_take()
    gpu.take_record()
    gs.gather(FakeCupyArray(X), FakeCupyArray(ROWS), axis=0, bounds="clip")
    assert gpu.take_record()["waits"] == 0
    with pytest.raises(DeferredOutOfBoundsError):
        gs.cuda.synchronize()
    assert gpu.take_record()["waits"] >= 1, "synchronize waits"


def test_many_that_are_not_ready_are_asked_for_by_stream(gpu):
    gpu.hold_receipts(True)
    for _ in range(30):
        bad_take(index=ROWS)
    gpu.take_record()
    bad_take(index=ROWS)
    assert gpu.take_record()["asks"] == 1
    gpu.hold_receipts(False)
    gs.take(FakeCupyArray(X), FakeCupyArray(ROWS), axis=0)
    assert _core.pending_calls() == 0


def test_synchronize_of_one_device_raises_its_errors_only():
    gs.take(FakeCupyArray(X, 1), FakeCupyArray(BAD, 1), axis=0, bounds="deferred")
    gs.cuda.synchronize(0)
    assert _core.pending_calls() == 1
    with pytest.raises(DeferredOutOfBoundsError):
        gs.cuda.synchronize(np.int64(1))
    for wrong in (True, 1.5, "0"):
        with pytest.raises(TypeError):
            gs.cuda.synchronize(wrong)
    for wrong in (-1, len(gs.cuda.devices()), 2**40, 2**70):
        with pytest.raises(ValueError, match=f"there is no device {wrong}"):
            gs.cuda.synchronize(wrong)


def test_many_are_raised_one_by_one_in_order(gpu):
    gpu.hold_receipts(True)
    for k in range(40):
        bad_take(index=np.array([0] * k + [50 + k]) if k % 2 else ROWS)
    assert _core.pending_calls() == 40
    found = []
    while _core.pending_calls():
        try:
            gs.cuda.synchronize()
        except DeferredOutOfBoundsError as error:
            found.append((error.index, error.position))
    assert found == [(50 + k, (k,)) for k in range(1, 40, 2)]


def test_good_calls_leave_nothing():
    bad_take(index=ROWS)
    gs.cuda.synchronize()
    assert _core.pending_calls() == 0


# ---- what was written


def test_what_is_good_is_written_and_nothing_else():
    out = FakeCupyArray(np.full((5, 5), 7, np.float32))
    bad_take(out=out)
    good = (BAD >= -6) & (BAD < 6)
    assert out.host[good].tolist() == X[BAD[good]].tolist()
    assert (out.host[~good] == 7).all()
    with pytest.raises(DeferredOutOfBoundsError):
        gs.cuda.synchronize()
    target = FakeCupyArray(np.zeros(6))
    gs.put(target, FakeCupyArray(BAD), 3.0, bounds="deferred")
    assert target.host.tolist() == [3, 0, 0, 3, 0, 0]
    with pytest.raises(DeferredOutOfBoundsError, match="earlier call of put"):
        gs.cuda.synchronize()


def test_overlap_with_a_bad_index():
    x = placed(np.arange(5))
    gs.take(FakeCupyArray(x), FakeCupyArray(np.array([4, 9, 2, 1, 0])), out=FakeCupyArray(x), bounds="deferred")
    assert x.tolist() == [4, 1, 2, 1, 0]
    with pytest.raises(DeferredOutOfBoundsError):
        gs.cuda.synchronize()
    x = placed(np.array([3, 9, 0, 1]))  # the call itself overwrites its index
    gs.take(FakeCupyArray(np.arange(4)), FakeCupyArray(x), out=FakeCupyArray(x), bounds="deferred")
    with pytest.raises(DeferredOutOfBoundsError) as error:
        gs.cuda.synchronize()
    assert (error.value.index, error.value.position) in ((9, (1,)), (0, (1,)))


@pytest.mark.parametrize("name", ["gather_nd", "scatter", "scatter_nd", "tile_gather"])
def test_other_operators(name):
    call = {
        "gather_nd": lambda m: gs.gather_nd(m(X), m(np.array([[0, 0], [1, 9]])), bounds="deferred"),
        "scatter": lambda m: gs.scatter(m(X), 0, m(np.array([[0, 9]])), 1.0, bounds="deferred"),
        "scatter_nd": lambda m: gs.scatter_nd(m(X), m(np.array([[0, 0], [1, 9]])), 1.0, bounds="deferred"),
        "tile_gather": lambda m: gs.plan(gs.take, X, ROWS, axis=0, bounds="deferred")(m(X), m(BAD)),
    }[name]
    with pytest.raises(gs.OutOfBoundsError) as host:
        call(lambda array: array)
    call(FakeCupyArray)
    with pytest.raises(DeferredOutOfBoundsError) as error:
        gs.cuda.synchronize()
    assert error.value.fields()[:-1] == host.value.fields()


# ---- lifetime of the arguments


def test_host_indices_are_looked_at_once_more():
    index = BAD.copy()
    gs.take(FakeCupyArray(X), index, axis=0, bounds="deferred")
    index[:] = 0  # the call uses its copy
    with pytest.raises(DeferredOutOfBoundsError) as error:
        gs.cuda.synchronize()
    assert (error.value.index, error.value.position, error.value.count) == (-7, (2,), 2)


@pytest.mark.parametrize("shape", [(5,), (5, 1), (1, 5)])
def test_an_index_that_changes_is_named_by_its_place(shape):
    index = placed(BAD.copy().reshape(shape))
    gs.take(FakeCupyArray(X), FakeCupyArray(index), axis=0, bounds="deferred")
    index[...] = 0
    with pytest.raises(DeferredOutOfBoundsError) as error:
        gs.cuda.synchronize()
    position = tuple(int(n) for n in np.unravel_index(2, shape))
    assert error.value.changed and error.value.position == position
    assert str(error.value) == (
        f"an index was out of bounds for axis 0 with size 6: at position {position} of the index, whose value has "
        "changed since; deferred from an earlier call of take"
    )


def test_the_first_duplicate_has_its_place_too():
    index = placed(np.array([0, 1, 9, 1, 0]))
    y = FakeCupyArray(np.zeros(3))
    gs.scatter(y, 0, FakeCupyArray(index), FakeCupyArray(np.arange(5.0)), duplicates="first", bounds="deferred", out=y)
    index[:] = 0
    with pytest.raises(DeferredOutOfBoundsError) as error:
        gs.cuda.synchronize()
    assert error.value.position == (2,)


def test_arrays_live_until_their_error_is_known(gpu):
    gpu.hold_receipts(True)
    x, index = FakeCupyArray(X.copy()), FakeCupyArray(BAD.copy())
    gone = weakref.ref(index)
    gs.take(x, index, axis=0, bounds="deferred")
    del x, index
    gc.collect()
    assert gone() is not None
    with pytest.raises(DeferredOutOfBoundsError):
        gs.cuda.synchronize()
    gc.collect()
    assert gone() is None


def test_errors_of_one_call_are_not_taken_for_those_of_another():
    """`take` and `put` have their own errors for empty arrays, which must not replace an error of an earlier call."""
    nothing = FakeCupyArray(X[:0].copy())
    gs.gather(nothing, FakeCupyArray(np.array([[1, 1, 1, 1, 1]])), axis=0, bounds="deferred")
    with pytest.raises(DeferredOutOfBoundsError):
        gs.take(FakeCupyArray(X), FakeCupyArray(ROWS), axis=0)


# ---- errors as values


def test_deferred_errors_pickle_and_compare():
    error = DeferredOutOfBoundsError("put", 9, (1, 2), 0, 3, 2, 8, True, True)
    again = pickle.loads(pickle.dumps(error))
    assert again == error and str(again) == str(error) and hash(again) == hash(error)
    assert error != DeferredOutOfBoundsError("put", 9, (1, 2), 0, 3, 2, 8, True)
    assert isinstance(error, gs.OutOfBoundsError)
    assert error != gs.OutOfBoundsError("put", 9, (1, 2), 0, 3, 2, 8, True)


# ---- threads and the end of the process


def test_threads():
    problems, seen = [], []

    def work(number):
        index = np.array([0, 1, 100 + number])
        for _ in range(30):
            try:
                gs.take(FakeCupyArray(X), FakeCupyArray(index), axis=0, bounds="deferred")
                gs.cuda.synchronize()
            except DeferredOutOfBoundsError as error:
                seen.append(error.index)
            except BaseException as error:
                problems.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while _core.pending_calls():
        try:
            gs.cuda.synchronize()
        except DeferredOutOfBoundsError as error:
            seen.append(error.index)
    assert not problems
    assert sorted(seen) == sorted([100 + n for n in range(6)] * 30)


@pytest.mark.parametrize("end", ["pass", "raise SystemExit(0)", "import sys; sys.exit(0)", "del x"])
def test_a_process_ends_with_errors_pending(end):
    code = (
        "import numpy as np, gatherscatter as gs, fake_cuda\n"
        "from gatherscatter import _core\n"
        "import gatherscatter._reference as r; r.hold_receipts(True)\n"
        "x = fake_cuda.DLPackOnly(np.arange(5.))\n"
        "y = gs.take(x, fake_cuda.DLPackOnly(np.array([9])), bounds='deferred')\n"
        "z = gs.take(x, [1], bounds='clip')\n"
        f"assert _core.pending_calls() == 2\n{end}\n"
    )
    env = {"GS_DEVICES": "reference", "PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---- graphs


def test_calls_that_wait_are_refused_inside_of_a_graph(gpu):
    gpu.set_capturing(True)
    x, i, out = FakeCupyArray(X), FakeCupyArray(ROWS), FakeCupyArray(np.zeros((5, 5), np.float32))
    gpu.take_record()
    refused = {
        "bounds='raise'": [
            lambda: gs.take(x, i, axis=0),
            lambda: gs.gather(x, i, axis=0, out=out),
            lambda: gs.put(x, i, 1.0),
            lambda: gs.scatter(x, 0, FakeCupyArray(np.zeros((1, 5), int)), 1.0),
        ],
        "duplicates='error'": [
            lambda: gs.scatter(x, 0, FakeCupyArray(np.zeros((1, 5), int)), x, duplicates="error", bounds="unchecked"),
        ],
        "true elements": [lambda: gs.compress(FakeCupyArray(np.ones(6, bool)), x, axis=0)],
    }
    for what, calls in refused.items():
        for call in calls:
            with pytest.raises(RuntimeError, match="is being captured into a CUDA graph") as error:
                call()
            assert what in str(error.value)
    facts = gpu.take_record()
    assert facts["launches"] == facts["waits"] == 0
    assert x.host.tolist() == X.tolist()


def test_calls_that_do_not_wait_can_be_captured():
    """In a process of its own, because memory that a graph uses is never released."""
    code = "import test_device_deferred as t, fake_cuda\nwith fake_cuda.played_gpu() as gpu: t.check_captured(gpu)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin"}, timeout=120
    )
    assert done.returncode == 0


def check_captured(gpu):
    gpu.set_capturing(True)
    x, i = FakeCupyArray(X), FakeCupyArray(ROWS)
    out = FakeCupyArray(np.zeros((5, 5), np.float32))
    gpu.take_record()
    for bounds in ("clip", "wrap", "unchecked", "fill", "deferred"):
        gs.take(x, i, axis=0, bounds=bounds, out=out)
        assert out.host.tolist() == X[ROWS].tolist()
        fill = {"fill_value": 1.0} if bounds == "fill" else {}
        assert gs.gather(x, i, axis=0, bounds=bounds, **fill).host.tolist() == X[ROWS].tolist()
        assert gs.gather(x, ROWS[::-1], axis=0, bounds=bounds).host.tolist() == X[ROWS[::-1]].tolist()
    gs.putmask(x, FakeCupyArray(X > 0), FakeCupyArray(X * 2))
    gs.take(x, FakeCupyArray(BAD), axis=0, bounds="deferred", out=out)
    assert gpu.take_record()["waits"] == 0
    gs.take(x, i, axis=0, bounds="clip")  # raises nothing: the check is deferred during a capture
    gpu.set_capturing(False)
    with pytest.raises(DeferredOutOfBoundsError):
        gs.cuda.synchronize()
    gs.cuda.synchronize()
    assert _core.pending_calls() > 0, "a graph may be replayed, so that its arrays stay"


def test_a_bad_call_leaves_others_alone():
    for name in ("take", "scatter", "put_into_nothing", "mask_of_numbers"):
        with pytest.raises((IndexError, TypeError)):
            BAD_CALLS[name](FakeCupyArray)
        assert gs.take(FakeCupyArray(X), FakeCupyArray(ROWS), axis=0).host.tolist() == X[ROWS].tolist()
        assert host_of(gs.take(Interface(X), DLPackOnly(ROWS), axis=0)).tolist() == X[ROWS].tolist()
