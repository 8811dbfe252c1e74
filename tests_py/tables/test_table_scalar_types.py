"""test_table_scalar_types.py: a scalar of any kind for a column of any type is stored unchanged or is our own error."""

import pyarrow as pa
import pytest

from child_process import run
from gatherscatter import table
from gatherscatter.errors import DataTypeError
from scalar_draws import Unknown


@pytest.mark.parametrize("library, rounds", [("pyarrow", 350), ("polars", 250), ("pandas", 250), ("duckdb", 150)])
def test_no_scalar_crashes_a_library(library, rounds):
    stored = int(run(f"from scalar_draws import main\nmain(40, {rounds}, {library!r})").splitlines()[-1])
    assert stored >= min(rounds, 50)


def test_values_in_dictionaries_inside_of_lists():
    kind = pa.list_(pa.dictionary(pa.int8(), pa.string()))
    target = pa.table({"tags": pa.array([["x"], None], kind)})
    for tags in (["a", "b", "a", None], pa.array(["a"]).to_pylist(), ()):
        result = table.scatter({"tags": tags}, [0], target)
        assert result["tags"].to_pylist() == [list(tags), None] and result.schema == target.schema
    with pytest.raises(DataTypeError, match="column 'tags'"):
        table.scatter({"tags": pa.array(["a", "b"])}, [0], target)


def test_sets_are_no_lists():
    for kind in (pa.list_(pa.int64(), 2), pa.list_(pa.int64()), pa.list_view(pa.int64())):
        for value in ({1}, {1, 2}, frozenset({1, 2})):
            target = pa.array([[1, 2]], kind)
            with pytest.raises(DataTypeError):
                table.scatter([value], [0], target)


@pytest.mark.parametrize("value", [True, False, None])
def test_bools_of_one_byte(value):
    column = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8()))
    assert table.scatter([value], [1], column).to_pylist() == [True, value]
    for other in (1, "true", 0.0):
        with pytest.raises(DataTypeError):
            table.scatter([other], [1], column)


def test_extension_types_that_are_not_registered():
    inner = pa.ExtensionArray.from_storage(Unknown(pa.int16()), pa.array([1, 2, 3], pa.int16()))
    index = [pa.array([0, 1], pa.int32()), pa.array([1, 2], pa.int32())]
    ids = pa.array([0, 0, 0], pa.int8())
    columns = [
        inner,
        pa.ListViewArray.from_arrays(*index, inner),
        pa.UnionArray.from_sparse(ids, [inner, pa.array(["a", "b", "c"])]),
        pa.UnionArray.from_dense(ids, pa.array([2, 1, 0], pa.int32()), [inner]),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), inner),
        pa.StructArray.from_arrays([pa.UnionArray.from_sparse(ids, [inner])], ["f"]),
    ]
    for column in columns:
        last = len(column) - 1
        for source in (column, pa.chunked_array([column]), pa.table({"x": column}), pa.record_batch({"x": column})):
            for result in (
                table.gather(source, [last, 0]),
                table.scatter(source, [0, 1, 2][: last + 1], source),
                table.filter(source, [True] + [False] * last),
                table.scatter([column[0]], [1], source),
            ):
                found = result if isinstance(result, (pa.Array, pa.ChunkedArray)) else result["x"]
                assert found.type == column.type
                found.validate(full=True)
        assert str(table.gather(column, [last])[0]) == str(column[last])
        assert table.gather(pa.table({"x": column}), [9], bounds="nullify")["x"].type == column.type
