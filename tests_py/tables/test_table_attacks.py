"""test_table_attacks.py: cases from hostile use and review of the table operators, one test for each."""

import gc
import mmap
import threading
import weakref

import numpy as np
import pyarrow as pa
import pytest

import child_process
import gatherscatter as gs
from gatherscatter import _core
from gatherscatter.errors import DataTypeError, InvalidArgument, NullIndexError

table = gs.table


def moved(column, rows):
    imported = _core.ArrowTable(column, False)
    return imported, _core.Selection.gather("gather", np.array(rows), None, imported.lengths, "raise", "from_end", -1)


CHANGED = """
import numpy as np, pyarrow as pa
from gatherscatter import _core
for child in (pa.array(np.arange(40, dtype=np.int32)), pa.array(["text"] * 40), None):
    offsets = np.arange(0, 44, 4).astype(np.int32)
    if child is None:
        column = pa.Array.from_buffers(pa.string(), 10, [None, pa.py_buffer(offsets), pa.py_buffer(b"x" * 40)])
    else:
        kind = pa.list_(child.type)
        column = pa.Array.from_buffers(kind, 10, [None, pa.py_buffer(offsets)], children=[child])
    imported = _core.ArrowTable(column, False)
    rows = _core.Selection.gather("gather", np.arange(10), None, imported.lengths, "raise", "from_end", -1)
    offsets[:] += 2**29
    try:
        imported.take(rows)
    except BufferError as error:
        print("refused:", "not in order" in str(error))
"""


def test_offsets_that_change_after_they_came_in():
    assert child_process.run(CHANGED).splitlines() == ["refused: True"] * 3


def test_a_result_of_more_bytes_than_can_be_counted():
    bits = 45
    memory = mmap.mmap(-1, 2**bits, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
    offsets = pa.py_buffer(np.array([0, 2**bits], np.int64))
    text = pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(memory)])
    with pytest.raises(ValueError, match=r"2\*\*63"):
        table.gather(text, np.zeros(2**19, np.int64))
    inner = pa.Array.from_buffers(pa.int8(), 2**bits, [None, pa.py_buffer(memory)])
    for size in (2**25, 2**20):
        inner = pa.FixedSizeListArray.from_arrays(inner, size)
    with pytest.raises((ValueError, MemoryError)):
        table.gather(inner, np.zeros(2**20, np.int64))


@pytest.mark.parametrize("kind", [pa.large_list, pa.large_list_view])
def test_lists_of_more_nulls_than_can_be_counted(kind):
    nothing = pa.Array.from_buffers(pa.null(), 2**47, [None])
    offsets, sizes = np.array([0, 2**47], np.int64), np.array([2**47], np.int64)
    if kind is pa.large_list:
        lists = pa.Array.from_buffers(kind(pa.null()), 1, [None, pa.py_buffer(offsets)], children=[nothing])
    else:
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(sizes)]
        lists = pa.Array.from_buffers(kind(pa.null()), 1, buffers, children=[nothing])
    with pytest.raises(ValueError, match=r"2\*\*63"):
        table.gather(lists, np.zeros(2**17, np.int64))


def test_more_rows_than_any_memory_holds():
    with pytest.raises(BufferError, match="more than any memory holds"):
        table.gather(pa.Array.from_buffers(pa.null(), 2**62, [None]), [0])


def test_objects_made_by_new_alone():
    with pytest.raises(TypeError):
        _core.ArrowTable.__new__(_core.ArrowTable)
    with pytest.raises(TypeError):
        _core.ArrowTable.__new__(_core.ArrowTable, pa.table({"a": [1]}))
    assert _core.ArrowTable(pa.table({"a": [1]})).num_rows == 1
    with pytest.raises(TypeError):
        _core.Selection.__new__(_core.Selection)


def test_a_sequence_that_grows_while_it_is_read():
    class Growing(list):
        def __len__(self):
            self.append(np.arange(3))
            return super().__len__()

    rows = _core.Selection.gather("take", np.array([0]), None, (3,), "raise", "from_end", -1)
    with pytest.raises(ValueError, match="1 arrays"):
        rows.take(Growing([np.arange(3)]))


def test_maps_are_no_lists_of_positions():
    entries = pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))
    with pytest.raises(DataTypeError, match="map"):
        table.segmented_gather(entries, pa.array([[0]]), "nullify")


def test_fields_of_other_names_do_not_swap():
    source = pa.array([{"lon": 7.0, "lat": 8.0}])
    target = pa.array([{"lat": 1.0, "lon": 2.0}])
    with pytest.raises(InvalidArgument, match="'lat' in the target and 'lon' in the source"):
        table.scatter(source, [0], target)


class Region(pa.ExtensionType):
    def __init__(self, code):
        self.code = code
        super().__init__(pa.int64(), "gatherscatter.test_region")

    def __arrow_ext_serialize__(self):
        return self.code.encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls(serialized.decode())


def test_extension_types_are_types():
    numbers = pa.array([1, 2])
    source = pa.ExtensionArray.from_storage(Region("3857"), numbers)
    target = pa.ExtensionArray.from_storage(Region("4326"), numbers)
    with pytest.raises(DataTypeError, match="extension"):
        table.scatter(source, [0, 1], target)
    assert table.scatter(target[:1], [1], target).type == target.type


def test_a_wrong_key_stays_wrong():
    keys = pa.array([0, 1, 2])
    target = pa.DictionaryArray.from_arrays(keys, pa.array(["a", "b"]), safe=False)
    with pytest.raises(BufferError, match="key 2"):
        table.scatter(pa.array(["new"]).dictionary_encode().cast(target.type), [0], target)


def test_nulls_do_not_enter_required_fields():
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    target = pa.table([pa.array([1, 2])], schema=schema)
    source = pa.table({"a": pa.array([None, 5], pa.int64())})
    for call in (
        lambda: table.scatter(source[:1], [0], target),
        lambda: table.boolean_mask_scatter(source, target, [True, False]),
        lambda: table.copy_if_else(target, source, [False, True]),
    ):
        with pytest.raises(DataTypeError, match="not nullable"):
            call()
    assert table.scatter(source.slice(1), [0], target).column("a").to_pylist() == [5, 2]


def test_many_chunks_that_share_two_dictionaries():
    first, second = (pa.array([f"{name}{i}" for i in range(1000)]) for name in "ab")
    chunks = [pa.DictionaryArray.from_arrays(pa.array([k % 1000]), (first, second)[k % 2]) for k in range(3000)]
    result = table.gather(pa.chunked_array(chunks), [1, 2999, 0]).combine_chunks()
    assert result.to_pylist() == ["b1", "b999", "a0"]
    assert len(result.dictionary) == 2000


def test_types_are_not_kept_for_what_one_object_could_do():
    class Column:
        pass

    source = pa.table({"a": [1, 2, 3]})
    for call in (lambda column: table.gather(source, column), lambda column: table.gather(column, [1])):
        empty, full = Column(), Column()
        full.__array_interface__ = np.array([2, 0]).__array_interface__
        with pytest.raises(TypeError):
            call(empty)
    assert table.gather(source, full).column("a").to_pylist() == [3, 1]

    forgotten = weakref.ref(Column)
    del Column, empty, full, call
    gc.collect()
    assert forgotten() is None


def test_a_column_of_structures_stays_a_column():
    column = pa.array([{"x": 1}, None, {"x": 3}])
    first = table.gather(_core.ArrowTable(column, False), [1, 0])
    assert not first.is_table
    second = table.gather(first, [0, 1, None], bounds="nullify")
    assert not second.is_table
    assert pa.array(second).to_pylist() == [None, {"x": 1}, None]


def test_a_null_among_lists_of_positions_is_named_by_list_and_place():
    lists = pa.array([["a"], ["b", "c"]])
    with pytest.raises(NullIndexError, match=r"position \(1, 2\)"):
        table.segmented_gather(lists, pa.array([[0], [0, 1, None]]))
    with pytest.raises(NullIndexError, match="position 1,"):
        table.segmented_gather(lists, pa.array([[0], None]))


def test_few_long_rows_let_other_threads_work():
    source = pa.array([b"x" * (64 << 20)], pa.large_binary())
    state = {"inside": False, "seen": 0, "stop": False}

    def watch():
        while not state["stop"]:
            state["seen"] += state["inside"]

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for _ in range(20):  # until the watcher thread ran within a call
            state["inside"] = True
            table.gather(source, [0, 0, 0, 0])
            state["inside"] = False
            if state["seen"] > 1000:
                break
    finally:
        state["stop"] = True
        watcher.join()
    assert state["seen"] > 1000
