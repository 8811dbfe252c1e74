"""test_table_mapped_files.py: table.gather of IPC files that are mapped as a whole, beside compressed ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gatherscatter as gs

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
feather = pytest.importorskip("pyarrow.feather", reason="pyarrow is not installed")

from gatherscatter._table import of_files  # noqa: E402  # it needs pyarrow

N = 57


def table_of(rng):
    return pa.table(
        {
            "i": pa.array(rng.integers(-9, 9, N), pa.int32(), mask=rng.random(N) < 0.3),
            "s": [None if x < 0.2 else "t" * int(9 * x) for x in rng.random(N)],
            "l": [None if x < 0.1 else [1.5] * int(4 * x) for x in rng.random(N)],
            "r": [{"a": int(x), "b": None} for x in rng.integers(0, 9, N)],
            "b": rng.random(N) < 0.5,
        }
    )


@pytest.mark.parametrize("seed", range(12))
def test_mapped_files_give_what_compressed_ones_give(tmp_path, seed):
    """A file that is not compressed is decoded as a whole, all others batch by batch."""
    rng = np.random.default_rng(seed)
    table = table_of(rng)
    sizes = rng.integers(0, 9, rng.integers(1, 6)).tolist()
    words = pa.DictionaryArray.from_arrays(rng.integers(0, 3, N).astype(np.int8), ["a", "b", "c"])
    source = table.append_column("d", words) if seed % 2 else table
    places = [str(tmp_path / f"{kind}.arrow") for kind in (None, "lz4", "zstd")]
    for path, kind in zip(places, (None, "lz4", "zstd"), strict=True):
        with pa.ipc.new_file(path, source.schema, options=pa.ipc.IpcWriteOptions(compression=kind)) as file:
            for begin, size in zip(np.cumsum([0, *sizes[:-1]]), sizes, strict=True):
                file.write_table(source.slice(begin, size).combine_chunks())
    rows = sum(sizes)
    rule = {"bounds": "nullify", "negative": "from_end"} if seed % 3 == 0 or not rows else {}
    index = rng.integers(-rows - 1, rows + 1, 20) if rule else rng.integers(-rows, rows, 20)
    names = rng.permutation(source.column_names)[: rng.integers(1, 6)].tolist() if seed % 4 else None
    whole = source.slice(0, rows)
    expected = gs.table.gather(whole if names is None else whole.select(names), index, **rule)
    for path in places:
        found = gs.table.gather(path, index, columns=names, **rule)
        found.validate(full=True)
        assert found.cast(expected.schema).equals(expected)
    if rows:  # the three files as one table
        thrice = pa.concat_tables([whole if names is None else whole.select(names)] * 3)
        index = rng.integers(0, 3 * rows, 50)
        assert gs.table.gather(places, index, columns=names).equals(thrice.take(index))
    pieces = of_files.open_files("table.gather", places[0], names, 2).pieces
    assert [type(piece).__name__ for piece in pieces] == ["MappedFile"]
    pieces = of_files.open_files("table.gather", places[1], names, 2).pieces
    assert {type(piece).__name__ for piece in pieces} == {"Batch"}


def test_a_mapped_file_is_closed_after_the_call(tmp_path):
    path, table = str(tmp_path / "x.arrow"), table_of(np.random.default_rng(0))
    feather.write_feather(table, path, compression="uncompressed")
    result = gs.table.gather(path, [5, 3])
    assert not [line for line in Path("/proc/self/maps").read_text().splitlines() if path in line]
    assert result.equals(table.take([5, 3]))
