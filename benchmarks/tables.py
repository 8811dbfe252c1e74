"""The tables of the suite: columns on huge pages, maps and masks, expected results, and the bytes to access."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute  # the forms use pa.compute

from . import buffers, limits, table_limits
from .cases import SETS, Workload
from .table_limits import Column

NULLS = 0.1
NO_ROW = 0.05  # share of nulls in a map for "nullify"
MONEY = pa.decimal128(30, 2)
# 1, 2, 4, 8 and 16 bytes, 178 bytes a row.
WIDE = (
    *(pa.int8(), pa.uint8()) * 3,
    *(pa.int16(), pa.uint16()) * 3,
    *(pa.int32(), pa.float32()) * 4,
    *(pa.int64(), pa.float64()) * 4,
    *(MONEY,) * 4,
)
MIXED = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int32(), pa.int64(), pa.int64()),
    *(pa.float32(), pa.float32(), pa.float64(), pa.string(), pa.float64(), pa.string()),
)
FRAME = (*MIXED[:8], pa.float64(), *(pa.string(),) * 3)
CHUNKS = 64


def _rows(quick: bool) -> int:
    return 4 << 10 if quick else 1 << 20


def _validity(rows: int, share: float, seed: int) -> np.ndarray:
    """A bitmap with this share of nulls, in memory of its own."""
    bits = np.packbits(np.random.default_rng(seed).random(rows) >= share, bitorder="little")
    return buffers.filled(bits, "uint8")


def _numbers(dtype: pa.DataType, rows: int, seed: int) -> np.ndarray:
    if pa.types.is_floating(dtype):  # no NaN, because the libraries differ in whether it is a null
        return buffers.filled(np.random.default_rng(seed).standard_normal(rows), dtype.to_pandas_dtype())
    if dtype == MONEY:  # the high half is the sign extension of the low half: below 10 ** 30
        low = buffers.random((rows,), "int64", seed)
        return buffers.filled(np.stack([low, low >> 63], axis=1), "int64")
    return buffers.random((rows,), dtype.to_pandas_dtype(), seed)


def _text(rows: int, mean: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and text of letters and digits; lengths are uniform from 0 to twice the mean."""
    lengths = np.random.default_rng(seed).integers(0, 2 * mean + 1, rows)
    offsets = buffers.filled(np.concatenate([[0], np.cumsum(lengths)]), "int32")
    text = buffers.random((int(offsets[-1]),), "uint8", seed)
    text &= 0x3F
    text += 0x30
    return offsets, text


def _column(dtype: pa.DataType, rows: int, seed: int, nulls: float, mean: int) -> pa.Array:
    validity = pa.py_buffer(_validity(rows, nulls, seed)) if nulls else None
    if dtype == pa.string():
        offsets, text = _text(rows, mean, seed)
        return pa.Array.from_buffers(dtype, rows, [validity, pa.py_buffer(offsets), pa.py_buffer(text)])
    return pa.Array.from_buffers(dtype, rows, [validity, pa.py_buffer(_numbers(dtype, rows, seed))])


def _table(dtypes: tuple[pa.DataType, ...], rows: int, seed: int, nulls: float = NULLS, mean: int = 12) -> pa.Table:
    columns = [_column(dtype, rows, 100 * seed + k, nulls, mean) for k, dtype in enumerate(dtypes)]
    return pa.table(columns, [f"c{k}" for k in range(len(columns))])


def _map(extent: int, count: int, dtype: str, seed: int, nulls: float = 0.0) -> pa.Array:
    """Positions with this share of nulls; the value of a null entry is 0, as after a join."""
    positions = buffers.filled(np.random.default_rng(seed).integers(0, extent, count), dtype)
    arrow = pa.from_numpy_dtype(positions.dtype)
    if not nulls:
        return pa.Array.from_buffers(arrow, count, [None, pa.py_buffer(positions)])
    validity = _validity(count, nulls, seed)
    positions[np.unpackbits(validity, count=count, bitorder="little") == 0] = 0
    return pa.Array.from_buffers(arrow, count, [pa.py_buffer(validity), pa.py_buffer(positions)])


def same(result: pa.Table, expected: pa.Table) -> bool:
    """Equal names, types, nulls and values; text may be of another string type of Arrow."""
    if result.column_names != expected.column_names or len(result) != len(expected):
        return False

    def textual(dtype: pa.DataType) -> bool:
        return pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_string_view(dtype)

    for mine, theirs in zip(result.columns, expected.columns, strict=True):
        if mine.type == theirs.type and pa.types.is_run_end_encoded(mine.type):  # pyarrow joins no chunks of these
            if not mine.chunk(0).equals(theirs.chunk(0)):
                return False
            continue
        if mine.type != theirs.type and not (textual(mine.type) and textual(theirs.type)):
            return False
        if not mine.cast(theirs.type).combine_chunks().equals(theirs.combine_chunks()):
            return False
    return True


def _work(source: pa.Table, sets: list[dict[str, Any]], **more: Any) -> Workload:
    return Workload(source, sets, np.empty(0), adaptable=(pa.Table, pa.Array), same=same, **more)


# ---- the limit


def _bytes(buffer: pa.Buffer | None, skipped: int = 0) -> np.ndarray | None:
    return None if buffer is None else np.frombuffer(buffer, np.uint8)[skipped:]


def _lying(column: pa.ChunkedArray, views: bool) -> Column:
    (chunk,) = column.chunks
    first, *rest = chunk.buffers()
    if column.type == pa.string():
        if views:  # 16 bytes for each row, because the text is shared
            return Column(buffers.random((len(chunk), 16), "uint8", seed=7), 16, validity=_bytes(first))
        return Column(_bytes(rest[1]), 0, np.frombuffer(rest[0], np.int32), _bytes(first))
    return Column(_bytes(rest[0]), column.type.byte_width, validity=_bytes(first))


def _result_bytes(table: pa.Table, views: bool) -> int:
    """Bytes of a result with as many rows as `table` and text of equal length."""
    text = sum(16 * len(table) - column.nbytes for column in table.columns if column.type == pa.string())
    return int(table.nbytes + (text if views else 0))


def _gather_walks(
    table: pa.Table, sets: list[dict[str, Any]], probe: Any, threads: int, views: bool = False
) -> dict[str, dict[str, limits.Sample]]:
    """Walks over every accessed cache line of each column; the map is read and the result written."""
    maps = [one["i"] for one in sets]
    followed = [buffers.filled(rows.drop_null().to_numpy(), "uint32") for rows in maps]
    read = [[array for buffer in rows.buffers() if (array := _bytes(buffer)) is not None] for rows in maps]
    columns = [_lying(column, views) for column in table.columns]
    written = buffers.empty((_result_bytes(table, views),), "uint8")
    return {
        "probe": table_limits.probes(probe, columns, followed, threads),
        "stream": limits.streams(probe, read, written, threads),
    }


def _scatter_walks(table: pa.Table, read: list[int], probe: Any, threads: int) -> dict[str, dict[str, limits.Sample]]:
    """The target and arrays of `read` bytes are read, a result as large as the target is written."""
    arrays = [buffers.random((size,), "uint8", seed) for seed, size in enumerate([table.nbytes, *read])]
    return {"stream": limits.streams(probe, [arrays], buffers.empty((table.nbytes,), "uint8"), threads)}


# ---- the cases


def _gather(source: pa.Table, sets: list[dict[str, Any]], views: bool = False) -> Workload:
    return _work(
        source,
        sets,
        expected=lambda i: source.take(i),
        walks=functools.partial(_gather_walks, source, sets, views=views),
    )


def wide(quick: bool) -> Workload:
    rows = _rows(quick)
    sets = [{"i": _map(rows, rows, "int32", seed, NO_ROW)} for seed in range(SETS)]
    return _gather(_table(WIDE, rows, seed=1), sets)


def strings(quick: bool) -> Workload:
    rows = _rows(quick)
    sets = [{"i": _map(rows, rows, "int32", seed)} for seed in range(SETS)]
    return _gather(_table((pa.string(),), rows, seed=2, nulls=0.0, mean=20), sets)


def frame(quick: bool) -> Workload:
    """Text as wide as in the strings case, so that most of it is not inline in the views."""
    rows = _rows(quick)
    sets = [{"i": _map(rows, rows, "uint32", seed)} for seed in range(SETS)]
    return _gather(_table(FRAME, rows, seed=3, mean=20), sets, views=True)


def chunks(quick: bool) -> Workload:
    """`one` has equal rows in one chunk: the comparison for ours, in place of a limit."""
    rows = _rows(quick)
    one = _table(WIDE[6:30:2], rows, seed=4)
    length = rows // CHUNKS
    pieces = [one.slice(start, length) for start in range(0, rows, length)]
    # Separate chunks and not slices, so that each chunk begins at the start of its buffers.
    own = [pa.table([pa.concat_arrays(c.chunks) for c in piece.columns], piece.column_names) for piece in pieces]
    source = pa.concat_tables(own)
    sets = [{"i": _map(rows, rows, "int32", seed, NO_ROW)} for seed in range(SETS)]
    return _work(source, sets, expected=lambda i: one.take(i), constants={"one": one})


def keys(quick: bool) -> Workload:
    """Every chunk has the same words in a dictionary of its own, in another order."""
    rows = _rows(quick)
    rng = np.random.default_rng(8)
    words = pa.array([f"word number {k}" for k in range(1000)])
    length = rows // CHUNKS
    numbers = buffers.random((rows,), "uint32", seed=9)
    numbers %= 1000
    chunks = [
        pa.DictionaryArray.from_arrays(
            pa.Array.from_buffers(pa.int32(), length, [None, pa.py_buffer(numbers[start : start + length])]),
            words.take(pa.array(rng.permutation(1000))),
        )
        for start in range(0, rows, length)
    ]
    source = pa.table([pa.chunked_array(chunks)], ["c0"])
    sets = [{"i": _map(rows, rows, "int32", seed)} for seed in range(SETS)]
    return _work(source, sets, expected=lambda i: source.take(i))


def runs(quick: bool) -> Workload:
    """Runs of ten rows on average. Their values differ, so that equal neighbours are rows of one run."""
    rows = _rows(quick)
    ends = np.append(np.flatnonzero(np.random.default_rng(8).random(rows - 1) < 0.1) + 1, rows)
    column = pa.RunEndEncodedArray.from_arrays(
        pa.array(buffers.filled(ends, "int32")), pa.array(buffers.filled(np.arange(len(ends)), "int64"))
    )
    source = pa.table([column], ["c0"])
    sets = [{"i": _map(rows, rows, "int32", seed)} for seed in range(SETS)]

    def expected(i: pa.Array) -> pa.Table:
        decoded = pa.compute.run_end_decode(column).take(i)
        return pa.table([pa.compute.run_end_encode(decoded, run_end_type=pa.int32())], ["c0"])

    return _work(source, sets, expected=expected)


def _winners(target: pa.Table, at: np.ndarray, rows: pa.Table) -> pa.Table:
    """The target with `rows` at the positions `at`, by one take from both tables."""
    winner = np.arange(len(target))
    winner[at] = len(target) + np.arange(len(rows))
    return pa.concat_tables([target, rows]).take(pa.array(winner))


def replaced(quick: bool, share: float) -> Workload:
    rows = _rows(quick)
    count = int(share * rows)
    target = _table(MIXED, rows, seed=5)
    sets = [
        {
            "i": pa.array(np.random.default_rng(seed).permutation(rows)[:count]),
            "b": _table(MIXED, count, seed=6 + seed),
        }
        for seed in range(SETS)
    ]
    return _work(
        target,
        sets,
        expected=lambda i, b: _winners(target, i.to_numpy(), b),
        walks=functools.partial(_scatter_walks, target, [sets[0]["b"].nbytes, sets[0]["i"].nbytes]),
    )


def _mask(rows: int, seed: int) -> pa.Array:
    return pa.Array.from_buffers(pa.bool_(), rows, [None, pa.py_buffer(_validity(rows, 1 - NULLS, seed))])


def masked(quick: bool) -> Workload:
    rows = _rows(quick)
    target = _table(MIXED, rows, seed=5)
    masks = [_mask(rows, seed) for seed in range(SETS)]
    sets = [{"m": mask, "b": _table(MIXED, mask.true_count, seed=6 + k)} for k, mask in enumerate(masks)]
    return _work(
        target,
        sets,
        expected=lambda m, b: _winners(target, np.flatnonzero(m.to_numpy(zero_copy_only=False)), b),
        walks=functools.partial(_scatter_walks, target, [sets[0]["b"].nbytes, masks[0].nbytes]),
    )


def filled(quick: bool) -> Workload:
    """`v` has one scalar per column, `typed` these scalars as scalars of pyarrow."""
    rows = _rows(quick)
    target = _table(MIXED, rows, seed=5)
    sets = [{"m": _mask(rows, seed)} for seed in range(SETS)]
    values = ["n/a" if dtype == pa.string() else 7.5 if pa.types.is_floating(dtype) else 7 for dtype in MIXED]
    typed = [pa.scalar(value, dtype) for value, dtype in zip(values, MIXED, strict=True)]

    def expected(m: pa.Array) -> pa.Table:
        row = pa.table([pa.array([value]) for value in typed], target.column_names)
        at = np.flatnonzero(m.to_numpy(zero_copy_only=False))
        return _winners(target, at, row.take(pa.array(np.zeros(len(at), np.int64))))

    return _work(
        target,
        sets,
        expected=expected,
        walks=functools.partial(_scatter_walks, target, [sets[0]["m"].nbytes]),
        constants={"v": values, "typed": typed},
    )


def few(quick: bool, width: int) -> Workload:
    """Ten rows, for the overhead of a call. `k` has the positions of `i` as a NumPy array."""
    source = _table((MIXED * 3)[:width], 10, seed=7)
    maps = [np.random.default_rng(seed).permutation(10) for seed in range(SETS)]
    return _work(
        source,
        [{"i": pa.array(rows), "k": rows} for rows in maps],
        expected=lambda i, k: source.take(i),
    )
