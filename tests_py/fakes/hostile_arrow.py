"""hostile_arrow.py: hand-made Arrow structs that contradict themselves, as a faulty producer may export them."""

import arrow_samples as samples
from arrow_structs import Column, Field

INT64_MAX, INT32_MIN, INT32_MAX = 2**63 - 1, -(2**31), 2**31 - 1


def field_set(sample=samples.numbers, **values):
    """The sample with other values in fields of its ArrowSchema."""

    def make():
        field, column = sample()
        for name, value in values.items():
            setattr(field.struct, name, value)
        return field, column

    return make


def column_set(sample=samples.numbers, **values):
    """The sample with other values in fields of its ArrowArray."""

    def make():
        field, column = sample()
        for name, value in values.items():
            setattr(column.struct, name, value)
        return field, column

    return make


def changed(sample, change):
    def make():
        field, column = sample()
        change(field, column)
        return field, column

    return make


def child_set(sample, child, **values):
    return changed(sample, lambda _, c: [setattr(c.children[child].struct, *item) for item in values.items()])


def without(sample, buffer):
    """The sample with a null pointer in place of a buffer."""

    def change(_, column):
        column.addresses[buffer] = None

    return changed(sample, change)


def item(sample, buffer, row, value, *path):
    """The sample with another value in a buffer of it, or of the child (or "dictionary") that `path` leads to."""

    def change(_, column):
        for step in path:
            column = column.dictionary if step == "dictionary" else column.children[step]
        column.arrays[buffer][row] = value

    return changed(sample, change)


def typed(field, column=samples.numbers):
    return lambda: (field(), column()[1])


def metadata(*numbers):
    data = b"".join(number.to_bytes(4, "little", signed=True) for number in numbers)

    def make():
        field, column = samples.numbers()
        field.text = data  # a c_char_p would end at the first zero byte
        field.struct.metadata = data
        return field, column

    return make


def nested(levels):
    field, column = Field("i"), Column(0, [None, None])
    for _ in range(levels):
        field, column = Field("+l", "x", [field]), Column(0, [None, None], [column])
    column.struct.length = 3
    return field, column


def itself(field, _):
    field.pointers[0].contents = field.struct


def child_null(field, _):
    field.pointers[0] = type(field.pointers[0])()


def column_child_null(_, column):
    column.pointers[0] = type(column.pointers[0])()


def with_dictionary(keys):
    def make():
        field, column = samples.coded()
        field.struct.format = keys
        return field, column

    return make


def add_dictionary(_, column):
    column.struct.dictionary = type(column.struct.dictionary)(column.struct)


def run_nulls(_, column):
    column.children[0].mask = samples.bits(0b01)
    column.children[0].addresses[0] = column.children[0].mask.ctypes.data


# name: how to build the type and the column. These are valid.
HONEST = {f"honest_{sample.__name__}": sample for sample in samples.SAMPLES}

# Validation of the structure alone must find these errors.
BROKEN = {
    "format_null": field_set(format=None),
    "format_empty": field_set(format=b""),
    "format_unknown": field_set(format=b"q"),
    "format_junk": field_set(format=b"\xff\x01\n"),
    "format_long": field_set(format=b"i" * 100_000),
    "format_decimal_bits": field_set(format=b"d:5,2,16"),
    "format_decimal_short": field_set(format=b"d:5"),
    "format_width_negative": field_set(format=b"w:-1"),
    "format_width_huge": field_set(format=b"w:99999999999999999999"),
    "format_list_size_negative": field_set(samples.pairs, format=b"+w:-2"),
    "format_union_id_128": field_set(samples.dense_unions, format=b"+ud:5,128"),
    "format_union_id_twice": field_set(samples.dense_unions, format=b"+ud:5,5"),
    "format_union_ids_few": field_set(samples.sparse_unions, format=b"+us:5"),
    "format_union_ids_junk": field_set(samples.sparse_unions, format=b"+us:5,x"),
    "format_of_other_buffers": field_set(samples.text, format=b"i"),
    "schema_released": changed(samples.numbers, lambda f, _: f.not_there()),
    "schema_child_released": changed(samples.lists, lambda f, _: f.children[0].not_there()),
    "schema_child_null": changed(samples.lists, child_null),
    "schema_children_null": field_set(samples.lists, children=None),
    "schema_children_missing": field_set(samples.lists, n_children=0),
    "schema_children_negative": field_set(samples.lists, n_children=-1),
    "schema_children_countless": field_set(samples.records, n_children=INT64_MAX),
    "schema_children_of_int": typed(lambda: Field("i", "x", [Field("i")])),
    "schema_own_parent": changed(samples.lists, itself),
    "schema_nested_65": lambda: nested(65),
    "schema_map_of_int": typed(lambda: Field("+m", "x", [Field("i")]), samples.lists),
    "schema_map_of_one": typed(lambda: Field("+m", "x", [Field("+s", "", [Field("i")])]), samples.maps),
    "schema_run_ends_int8": changed(samples.runs, lambda f, _: setattr(f.children[0].struct, "format", b"c")),
    "schema_run_ends_text": changed(samples.runs, lambda f, _: setattr(f.children[0].struct, "format", b"u")),
    "schema_keys_float": with_dictionary(b"f"),
    "schema_keys_text": with_dictionary(b"u"),
    "schema_name_not_utf8": field_set(name=b"a\xff"),
    "schema_metadata_count_negative": metadata(-1),
    "schema_metadata_length_negative": metadata(1, -7),
    "schema_metadata_length_huge": metadata(1, INT32_MAX),
    "array_released": changed(samples.numbers, lambda _, c: c.not_there()),
    "array_child_released": changed(samples.lists, lambda _, c: c.children[0].not_there()),
    "array_dictionary_released": changed(samples.coded, lambda _, c: c.dictionary.not_there()),
    "array_child_null": changed(samples.records, column_child_null),
    "array_children_null": column_set(samples.records, children=None),
    "array_children_missing": column_set(samples.records, n_children=1),
    "array_children_many": column_set(samples.records, n_children=3),
    "array_children_negative": column_set(n_children=-1),
    "array_dictionary_missing": column_set(samples.coded, dictionary=None),
    "array_dictionary_of_int": changed(samples.numbers, add_dictionary),
    "length_negative": column_set(length=-1),
    "length_min": column_set(length=-(2**63)),
    "length_max": column_set(length=INT64_MAX),
    "length_beyond_memory": column_set(length=2**60),
    "length_beyond_memory_bits": column_set(samples.flags, length=2**61),
    "offset_negative": column_set(offset=-1),
    "offset_max": column_set(offset=INT64_MAX),
    "null_count_minus_2": column_set(null_count=-2),
    "null_count_more_than_rows": column_set(null_count=4),
    "null_count_without_bitmap": column_set(samples.large_text, null_count=1),
    "buffers_null": column_set(buffers=None),
    "buffers_negative": column_set(n_buffers=-1),
    "buffers_few": column_set(samples.text, n_buffers=2),
    "buffers_many": column_set(n_buffers=3),
    "buffers_of_null": column_set(samples.nothing, n_buffers=2),
    "buffers_of_struct": column_set(samples.records, n_buffers=0),
    "buffers_of_union_with_validity": column_set(samples.sparse_unions, n_buffers=2),
    "buffers_of_runs": column_set(samples.runs, n_buffers=1),
    "buffers_of_views_few": column_set(samples.views, n_buffers=2),
    "buffers_of_views_countless": column_set(samples.views, n_buffers=INT64_MAX),
    "values_null": without(samples.numbers, 1),
    "bits_null": without(samples.flags, 1),
    "offsets_null": without(samples.text, 1),
    "bytes_null": without(samples.text, 2),
    "views_null": without(samples.views, 1),
    "views_data_null": without(samples.views, 3),
    "views_sizes_null": without(samples.views, 4),
    "views_size_negative": item(samples.views, 4, 1, -1),
    "list_offsets_null": without(samples.lists, 1),
    "list_view_offsets_null": without(samples.list_views, 1),
    "list_view_sizes_null": without(samples.list_views, 2),
    "type_ids_null": without(samples.sparse_unions, 0),
    "dense_offsets_null": without(samples.dense_unions, 1),
    "offsets_first_negative": item(samples.text, 1, 1, -1),
    "offsets_last_before_first": item(samples.text, 1, 4, 0),
    "offsets_last_negative": item(samples.large_text, 1, 4, -(2**62)),
    "offsets_last_beyond_child": item(samples.lists, 1, 4, 5),
    "offsets_of_map_keys_negative": item(samples.maps, 1, 2, -1, 0, 0),
    "struct_child_short": child_set(samples.records, 1, length=3),
    "sparse_child_short": child_set(samples.sparse_unions, 0, length=3),
    "fixed_list_child_short": child_set(samples.pairs, 0, length=7),
    "fixed_list_overflow": field_set(samples.pairs, format=b"+w:2147483647"),
    "runs_short": item(samples.runs, 1, 1, 3, 0),
    "runs_none": child_set(samples.runs, 0, length=0),
    "runs_first_zero": item(samples.runs, 1, 0, 0, 0),
    "runs_first_negative": item(samples.runs, 1, 0, -5, 0),
    "runs_values_few": child_set(samples.runs, 1, length=1),
    "runs_null": changed(samples.runs, run_nulls),
    "dictionary_length_negative": changed(samples.coded, lambda _, c: setattr(c.dictionary.struct, "length", -1)),
}

# Full validation must find these errors; "basic" may find them at use, or give a harmless result.
WRONG_ROWS = {
    "null_count_less_than_bitmap": column_set(samples.text, null_count=0),
    "null_count_more_than_bitmap": column_set(samples.text, null_count=2),
    "offsets_fall": item(samples.text, 1, 3, 0),
    "offsets_beyond_and_back": item(samples.text, 1, 3, INT32_MAX),
    "offsets_negative_between": item(samples.text, 1, 3, INT32_MIN),
    "large_offsets_beyond_and_back": item(samples.large_text, 1, 3, 2**62),
    "list_offsets_beyond_and_back": item(samples.lists, 1, 3, INT32_MAX),
    "large_list_offsets_negative_between": item(samples.large_lists, 1, 2, -(2**62)),
    "map_offsets_fall": item(samples.maps, 1, 1, 3, 0, 0),
    "list_view_offset_negative": item(samples.list_views, 1, 2, -1),
    "list_view_offset_beyond": item(samples.list_views, 1, 2, INT32_MAX),
    "list_view_size_negative": item(samples.list_views, 2, 2, -1),
    "list_view_size_beyond": item(samples.list_views, 2, 2, INT32_MAX),
    "view_length_negative": item(samples.views, 1, 8, -13),
    "view_length_beyond": item(samples.views, 1, 8, INT32_MAX),
    "view_buffer_negative": item(samples.views, 1, 10, -1),
    "view_buffer_beyond": item(samples.views, 1, 10, 2),
    "view_offset_negative": item(samples.views, 1, 11, -1),
    "view_offset_beyond": item(samples.views, 1, 11, INT32_MAX),
    "key_beyond": item(samples.coded, 1, 1, 2),
    "key_negative": item(samples.coded, 1, 1, -128),
    "key_huge": item(samples.coded_twice, 1, 1, 2**32 - 1),
    "key_of_dictionary_beyond": item(samples.coded_twice, 1, 3, 100, "dictionary"),
    "sparse_type_id_unknown": item(samples.sparse_unions, 0, 2, 3),
    "sparse_type_id_negative": item(samples.sparse_unions, 0, 2, -1),
    "dense_type_id_unknown": item(samples.dense_unions, 0, 2, 127),
    "dense_offset_beyond": item(samples.dense_unions, 1, 2, INT32_MAX),
    "dense_offset_negative": item(samples.dense_unions, 1, 3, -1),
    "runs_fall": item(samples.runs, 1, 0, 5, 0),
    "runs_repeat": item(samples.runs, 1, 0, 4, 0),
}
