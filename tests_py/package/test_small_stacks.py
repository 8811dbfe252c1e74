"""test_small_stacks.py: every operator runs on a thread with a stack of 64 KiB, at every level of instructions."""

import pytest

import child_process

CODE = """
import threading, numpy as np, gatherscatter as gs

n, rng = 3000, np.random.default_rng(SEED)

def array(shape, dtype):
    made = rng.integers(0, 9, shape).astype(dtype) if np.dtype(dtype).kind != "V" else np.zeros(shape, dtype)
    return [made, np.asfortranarray(made), made[..., ::-1]][rng.integers(3)]

def calls():
    dtype = str(rng.choice(["u1", "i2", "f4", "f8", "c16", "S3", "S24"]))
    row = int(rng.choice([1, 3, 8, 70, 600]))
    x, v = array((n, row), dtype), array((n, row), dtype)
    i = rng.integers(-n, n, n).astype(str(rng.choice(["i2", "i4", "i8"])))
    along = rng.integers(0, row, (n, row))
    mask, whole = rng.random(n) < 0.7, rng.random((n, row)) < 0.5
    bad = np.where(np.arange(n) == n - 1, n, i.astype("i8"))
    points = np.stack([i.astype("i8"), rng.integers(0, row, n)], 1)
    flat, one = x[:, 0].copy(), v[:, 0].copy()
    yield lambda: gs.take(x, i, axis=0)
    yield lambda: gs.take(x, i, axis=0, mode="wrap")
    yield lambda: gs.take(x, i, axis=0, mode="clip", out=np.empty_like(x, order="C"))
    yield lambda: gs.take(flat, i)
    yield lambda: gs.gather(x, 1, along)
    yield lambda: gs.gather(x, i, axis=0, mask=mask, fill_value=x[0, 0])
    yield lambda: gs.gather(x, bad, axis=0, bounds="fill", fill_value=x[0, 0])
    yield lambda: gs.gather_nd(x, points)
    yield lambda: gs.tile_gather(x, (points[:, 0] % n, points[:, 1]), padding_value=x[0, 0])
    yield lambda: gs.take(x, bad, axis=0)
    yield lambda: gs.scatter(x, bad, v, axis=0)
    yield lambda: gs.take_along_axis(x, along, 1)
    yield lambda: gs.compress(mask, x, axis=0)
    yield lambda: gs.repeat(x, mask + 1, axis=0)
    yield lambda: gs.roll(x, 5, axis=0)
    for duplicates in ("last", "first"):
        yield lambda how=duplicates: gs.scatter(x, i, v, axis=0, duplicates=how)
    yield lambda: gs.scatter(x, i, v, axis=0, mask=mask)
    yield lambda: gs.scatter(x, 1, along, v)
    yield lambda: gs.scatter(flat, 0, i, one)
    yield lambda: gs.scatter(flat, 0, i, one[0])
    yield lambda: gs.scatter_nd(x, points, one)
    yield lambda: gs.plan(gs.take, x, i, axis=0)(x, i)
    for write in (
        lambda y: gs.scatter(y, i, v, axis=0, out=y),
        lambda y: gs.tile_scatter(y, (points[:, 0] % n, points[:, 1]), one),
        lambda y: gs.put(y, i, one),
        lambda y: gs.put_along_axis(y, along, v, 1),
        lambda y: gs.putmask(y, whole, v),
        lambda y: gs.place(y, whole, one),
    ):
        yield lambda write=write: in_place(write, x)
    if np.dtype(dtype).kind in "iuf":
        for how in ("add", "mul", "min", "max", "mean"):
            yield lambda how=how: gs.scatter(x, i, v, axis=0, reduce=how)
            yield lambda how=how: gs.scatter(flat, 0, i, one, reduce=how)
            yield lambda how=how: gs.scatter(flat, 0, i, one, reduce=how, include_self=False)

def in_place(write, x):
    y = x.copy()
    write(y)
    return y

def answer(call):
    with np.errstate(all="ignore"):
        try:
            made = call()
        except IndexError as error:
            return str(error).encode()
    return made.tobytes()

def table_calls():
    import pyarrow as pa
    text, lists = [str(k % 99) for k in range(n)], [[k] * (k % 3) for k in range(n)]
    rows = pa.table({"a": np.arange(n), "t": text, "l": lists, "d": pa.array(text).dictionary_encode()})
    chunks = pa.concat_tables([rows.slice(0, 1000), rows.slice(1000)])
    i, few = rng.integers(0, n, n), rng.permutation(n)[:50]
    yield lambda: gs.table.gather(rows, i)
    yield lambda: gs.table.gather(chunks, i)
    yield lambda: gs.table.gather(rows, [n])
    yield lambda: gs.table.scatter(rows, i, chunks)
    yield lambda: gs.table.scatter(rows.slice(0, 50), few, chunks)
    yield lambda: gs.table.filter(rows, i % 2 == 0)

def table_answer(call):
    try:
        return call().to_pydict()
    except IndexError as error:
        return str(error)

def compare(all_calls, answer):
    all_calls = list(all_calls)
    expected = [answer(call) for call in all_calls]
    found = []
    thread = threading.Thread(target=lambda: found.extend(answer(call) for call in all_calls))
    thread.start()
    thread.join()
    assert found == expected and len(found) == len(all_calls)

gs.set_num_threads(THREADS)
threading.stack_size(65536)
for _ in range(4):
    compare(calls(), answer)
try:
    import pyarrow
except ImportError:
    pass
else:
    compare(table_calls(), table_answer)
"""

# The thresholds are low, so that tables are far and results bypass the caches.
FAR = {"GS_FAR_TABLE_BYTES": "1", "GS_STREAM_BYTES": "1", "GS_SERIAL_POINTS": "1"}


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("level", ["baseline", "v3", "v4"])
def test_every_operator_runs_on_a_small_stack(level, far):
    code = CODE.replace("SEED", str(7 + far)).replace("THREADS", "4" if far else "1")
    done = child_process.start(code, env={"GS_CPU": level} | (FAR if far else {}))
    if "ImportError" in done.stderr and "GS_CPU" in done.stderr:
        pytest.skip(f"this processor has no level {level}")
    assert (done.returncode, done.stderr) == (0, "")
