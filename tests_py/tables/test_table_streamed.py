"""test_table_streamed.py: results of table operators that are written past the caches, from sources that are far."""

import pytest

from child_process import run

SETUP = """
import numpy as np, pyarrow as pa, gatherscatter as gs
from gatherscatter import table
from table_maps import rng_of
from table_types import How, build

assert gs.show_config()["stream_bytes"] == 8  # columns of one byte are streamed
COLUMNS = {
    "bool": pa.bool_(), "1": pa.int8(), "2": pa.int16(), "3": pa.binary(3), "4": pa.int32(), "8": pa.int64(),
    "16": pa.decimal128(38, 0), "24": pa.binary(24), "64": pa.binary(64), "300": pa.binary(300),
    "string": pa.string(), "large": pa.large_string(), "list": pa.list_(pa.int16()), "texts": pa.list_(pa.string()),
    "fields": pa.struct([("a", pa.int32()), ("b", pa.string())]),
}
SIZES = (1, 63, 64, 65, 4095, 4096, 4097, 9000)

def table_of(rows, nulls, seed, chunks=1):
    rng = rng_of((rows, nulls, seed))
    whole = pa.table({name: build(type, rows, rng, How(nulls=nulls, cut=nulls > 0)) for name, type in COLUMNS.items()})
    length = max(rows // chunks, 1)
    return pa.concat_tables([whole.slice(at, length) for at in range(0, rows, length)])

def same(result, first, second, rows):
    result.validate(full=True)
    for name, got in zip(result.column_names, result.columns, strict=True):
        want = pa.concat_arrays(first[name].chunks + second[name].chunks).take(pa.array(rows))
        assert got.chunk(0).equals(want), name
        assert got.null_count == want.null_count, name
"""


def _streamed(code):
    run(SETUP + code, env={"GS_STREAM_BYTES": "8", "GS_FAR_TABLE_BYTES": "1"})


@pytest.mark.parametrize("nulls", [0.0, 0.3])
@pytest.mark.parametrize("chunks", [1, 3])
def test_rows_of_one_table(nulls, chunks):
    _streamed(f"""
for size in SIZES:
    rng = np.random.default_rng(size)
    source = table_of(size, {nulls}, 1, {chunks})
    rows = rng.integers(0, size, size)
    same(table.gather(source, rows), source, source, rows)
    for share in (0.5, 0.999):  # single rows, and runs
        mask = rng.random(size) < share
        mask[0] = True
        same(table.filter(source, mask), source, source, np.flatnonzero(mask))
""")


@pytest.mark.parametrize("nulls", [0.0, 0.3])
@pytest.mark.parametrize("chunks", [1, 3])
def test_rows_of_two_tables(nulls, chunks):
    """From one replaced row to all of them, in chunks and whole."""
    _streamed(f"""
for size in SIZES:
    rng = np.random.default_rng(size)
    target = table_of(size, {nulls}, 2, {chunks})
    for share in (0.001, 0.1, 0.5, 0.9, 1.0):
        mask = rng.random(size) < share
        mask[-1] = True
        source = table_of(int(mask.sum()), 0.3 - {nulls}, 3, {chunks})
        rows = np.arange(size)
        rows[mask] = size + np.arange(mask.sum())
        same(table.boolean_mask_scatter(source, target, mask), target, source, rows)
        at = rng.permutation(size)[:len(source)]
        rows = np.arange(size)
        rows[at] = size + np.arange(len(at))
        same(table.scatter(source, at, target), target, source, rows)
        one = source.slice(0, 1)
        values = [column[0] for column in one.columns]
        rows = np.where(mask, size, np.arange(size))
        same(table.boolean_mask_scatter(values, target, mask), target, one, rows)
        same(table.scatter(values, np.flatnonzero(mask), target), target, one, rows)
        other = table_of(size, 0.3 - {nulls}, 4)
        same(table.copy_if_else(other, target, mask), target, other, np.where(mask, size, 0) + np.arange(size))
""")
