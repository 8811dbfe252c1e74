"""maps.py: converts maps (row numbers) and masks of every library to the forms that `_core.Selection` reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.column_nulls import check_sizes
from gatherscatter._libraries.of_python import BigIntegers, as_int, unchecked_text
from gatherscatter._table.messages import counted
from gatherscatter._table.near_tables import order_with_mask, step_to_a_table
from gatherscatter._table.ranges import as_map, within
from gatherscatter.errors import DataTypeError, IndexTypeError, InvalidArgument, shown

__all__ = [
    "ValuesAndValidity",
    "check_map_fits",
    "gather_rows",
    "gathered",
    "is_null_type",
    "item_of_map",
    "map_of",
    "mask_of",
    "scatter_rows",
    "scattered",
]

# Result of a reader: integers (or bools), and which of them are not null; None if the values hold this themselves.
ValuesAndValidity = tuple[Any, Any]
BOOLS = {bool, np.bool_}
_FLOATS = ("float", "double", "halffloat")
_NUMBERS = (*_FLOATS, "int", "uint")
# By library: the casts to integers and to bools.
_CASTS = {
    "narwhals": ("cast(nw.Int64)", "cast(nw.Boolean)"),
    "polars": ("cast(pl.Int64)", "cast(pl.Boolean)"),
    "pyarrow": ("cast('int64')", "cast('bool')"),
    "torch": ("long()", "bool()"),
}
LABELS = "; the row numbers of labels are df.index.get_indexer(labels)"


def map_of(op: str, given: Any) -> ValuesAndValidity:
    """The row numbers of a map and, if its library stores nulls apart from the values, which of them are not null.

    A range that exceeds int64 is returned unchanged; `ranges.within` converts it before the selection is made.

    Raises
    ------
    IndexTypeError
        If the map does not consist of integers. `_core.Selection` checks the dtypes of the values that pass here.
    InvalidArgument
        For a list of lists or a relation of several columns.
    TypeError
        For a single number, or an object that is neither an array nor a sequence.
    """
    read = _readers.get(type(given)) or _reader_of(given)
    if read is None:
        step = step_to_a_table(given) or _step_to_numbers(given) or "; for one row give a list of one number"
        raise TypeError(f"{op}: the map is {shown(given)}, expected an array or a list{step}")
    return read(op, given, False)


def _step_to_numbers(given: Any) -> str:
    """The end of an error for a slice or a label in place of row numbers."""
    if isinstance(given, slice):
        return "; range(start, stop) is a map, and x.iloc[a:b] or x.slice(a, b - a) takes no copy of the rows"
    if isinstance(given, str):
        return LABELS
    return ""


def gathered(op: str, rows: Any, valid: Any, frame: Any, bounds: str, negative: str = "from_end") -> _core.Selection:
    """The selection of the rows of a frame that a map holds the numbers of."""
    if type(rows) is np.ndarray:  # of other objects the size may be expensive to know
        frame.expect(rows.size)
    lengths = frame.lengths
    rows = within(op, rows, lengths, bounds, negative)
    return _core.Selection.gather(op, rows, valid, lengths, bounds, negative, frame.device)


def gather_rows(op: str, rows: Any, valid: Any, frame: Any, bounds: str, negative: str) -> Any:
    """The rows of a frame that a map holds the numbers of, as a table of the caller's kind."""
    if valid is None and bounds == "raise" and negative == "from_end" and type(rows) is np.ndarray:
        result = frame.taken_by_library(rows)
        if result is not None:
            return result
    return frame.take(gathered(op, rows, valid, frame, bounds, negative), None, bounds == "nullify")


def scattered(
    op: str,
    rows: Any,
    valid: Any,
    frame: Any,
    other: Any,
    one_row: bool,
    bounds: str = "raise",
    negative: str = "from_end",
    whole: bool = False,
) -> _core.Selection:
    """The overlay that keeps the rows of a frame, except that rows of `other` replace those with numbers in a map.

    With `whole`, rows of `other` without a row number are an error.
    """
    rows = within(op, rows, frame.lengths, bounds, negative)
    sizes = frame.lengths, other.lengths
    return _core.Selection.scatter(op, rows, valid, *sizes, one_row, bounds, negative, frame.device, whole)


def scatter_rows(
    op: str, rows: Any, valid: Any, frame: Any, other: Any, one_row: bool, bounds: str, negative: str
) -> Any:
    """A copy of a table, as one of the caller's kind, in which rows of `other` replace those with numbers in a map."""
    is_plain = bounds != "drop" and negative == "from_end"
    if is_plain and valid is None and not one_row and type(rows) is np.ndarray:
        result = frame.written_by_library(rows, other)
        if result is not None:
            return result
    return frame.take(scattered(op, rows, valid, frame, other, one_row, bounds, negative, True), other)


def check_map_fits(op: str, bounds: str, rows: Any) -> None:
    """Raise IndexTypeError for ``bounds="unchecked"`` if the map holds numbers that no integer type can hold."""
    if bounds == "unchecked" and type(rows) in (BigIntegers, range):
        raise IndexTypeError(f"{op}: {unchecked_text('the map')}")


def mask_of(op: str, given: Any) -> ValuesAndValidity:
    """The bools of a mask and, if its library stores nulls apart from the values, which of them are not null.

    Raises
    ------
    DataTypeError
        If the mask does not consist of bools. `_core.Selection` checks the dtypes of the values that pass here.
    InvalidArgument
        For a relation of several columns.
    TypeError
        For a single bool, or an object that is neither an array nor a sequence.
    """
    read = _readers.get(type(given)) or _reader_of(given)
    if read is None:
        step = step_to_a_table(given) or order_with_mask(op)
        raise TypeError(f"{op}: the mask is {shown(given)}, expected an array or a list of bools{step}")
    return read(op, given, True)


def is_null_type(kind: type) -> bool:
    """Whether a type is that of None or of pandas.NA. pandas is not imported for this check."""
    return kind is type(None) or kind.__name__ == "NAType"


def item_of_map(value: Any, refuse: Callable[[Any], Exception]) -> int:
    """An item of a list as an int, also a 0-d array; for any other value raise the error that `refuse` returns."""
    number = as_int(value, arrays=True)
    if number is None:
        raise refuse(value)
    return number


def _numbers(values: Sequence[Any], refuse: Callable[[Any], Exception]) -> Any:
    """Integers as an array of int64, or of uint64 if int64 cannot hold them, or as `BigIntegers` if neither can."""
    if set(map(type, values)) != {int}:
        values = [item_of_map(value, refuse) for value in values]
    for dtype in (np.int64, np.uint64):
        try:
            return np.array(values, dtype)
        except OverflowError:
            pass
    return BigIntegers(list(values), (len(values),))


def _sequence(op: str, given: Sequence[Any], bools: bool) -> ValuesAndValidity:
    numbers = _core.numbers_of(given)
    if numbers is not None and (numbers.dtype == bool) is bools and numbers.ndim == 1 and numbers.dtype.kind in "bi":
        return numbers, None
    given = tuple(given)  # methods of its items may change a list
    kinds = set(map(type, given))
    nulls = {kind for kind in kinds if is_null_type(kind)}
    valid = None
    if nulls:
        valid = np.array([type(value) not in nulls for value in given])
        given = [(False if bools else 0) if type(value) in nulls else value for value in given]
    if bools:
        if not kinds - nulls <= BOOLS:
            wrong = next(value for value in given if type(value) not in BOOLS)
            raise DataTypeError(f"{op}: the mask holds {shown(wrong)}, expected bools; None is null")
        return np.array(given, bool), valid
    if list in kinds or tuple in kinds:
        raise InvalidArgument(f"{op}: the map is a list of lists; a map has one axis")

    def refuse(value: Any) -> Exception:
        if type(value) in BOOLS:
            return _wrong(op, "the map holds bools", bools)
        step = LABELS if isinstance(value, str) else ""
        return IndexTypeError(f"{op}: the map holds {shown(value)}, expected integers; None is null{step}")

    return _numbers(given, refuse), valid


def _array(op: str, given: Any, bools: bool) -> ValuesAndValidity:
    kind = given.dtype.kind
    if kind == "O" or (kind == "b" and not bools):
        raise _of_dtype(op, given.dtype, bools)
    if bools and kind in "iuf":
        raise _of_dtype(op, given.dtype, bools, _cast(given, bools))
    return given, None


def _masked(op: str, given: Any, bools: bool) -> ValuesAndValidity:
    return _array(op, np.asarray(given.data), bools)[0], ~np.ma.getmaskarray(given)


def _range(op: str, given: Any, bools: bool) -> ValuesAndValidity:
    if given and bools:
        raise DataTypeError(f"{op}: the mask holds {shown(given[0])}, expected bools; None is null")
    return as_map(op, given), None


def _column(op: str, given: Any, bools: bool) -> ValuesAndValidity:
    """A column that `_core.Selection` reads itself. Arrow's null type fits any type, so such a column becomes an array
    whose entries are all null."""
    kind = str(getattr(given, "dtype", None) or getattr(given, "type", "")).rpartition(".")[2].lower()
    if kind == "null":
        rows = _length(op, given)
        return np.zeros(rows, bool if bools else np.int64), np.zeros(rows, bool)
    if kind in ("bool", "boolean") and not bools:
        raise _of_dtype(op, kind, bools)
    if kind.startswith(_NUMBERS if bools else _FLOATS):
        raise _of_dtype(op, kind, bools, _cast(given, bools))
    return given, None


def _length(op: str, column: Any) -> int:
    """The length of a column. One of nulls has no buffers that a corrupt length could exceed."""
    try:
        return len(column)
    except (SystemError, ValueError):  # pyarrow ends its own `len` without an exception
        raise BufferError(f"{op}: the map cannot be read: no column is as long as it says") from None


def _arrow_integers(op: str, given: Any, bools: bool) -> ValuesAndValidity:
    """Integers of pyarrow, which NumPy reads in place in less time than Arrow's structs take, unless some are null."""
    if not bools:
        try:
            check_sizes(given)
        except BufferError as error:
            raise BufferError(f"{op}: the map cannot be read: {error}") from None
        try:
            if not given.null_count:
                return np.from_dlpack(given), None
        except (BufferError, RuntimeError, ValueError):  # memory of a GPU
            pass
    return _column(op, given, bools)


def _polars_integers(op: str, given: Any, bools: bool) -> ValuesAndValidity:
    """As `_arrow_integers`, for a Series of polars."""
    if not bools and given.dtype.is_integer() and not given.null_count():
        values = given.to_numpy()
        if values.dtype.kind in "iu":
            return values, None
    return _column(op, given, bools)


def _relation(op: str, given: Any, bools: bool) -> ValuesAndValidity:
    columns = given.fetchnumpy()
    if len(columns) != 1:
        raise InvalidArgument(
            f"{op}: the {'mask' if bools else 'map'} is a relation of {counted(len(columns), 'column')}, expected one"
        )
    (values,) = columns.values()
    return _masked(op, values, bools) if isinstance(values, np.ma.MaskedArray) else _array(op, values, bools)


def _pandas(op: str, given: Any, bools: bool) -> ValuesAndValidity:
    """The values of a Series, an Index or an array of pandas by position; labels are ignored."""
    dtype = given.dtype
    if not bools and getattr(dtype, "kind", "") == "f":
        # pandas makes floats of integers with missing values.
        raise IndexTypeError(
            f'{op}: the map is of dtype {dtype}, expected integers; map.astype("Int64") has integers, and nulls where '
            "numbers are missing"
        )
    if isinstance(dtype, np.dtype):
        return _array(op, given.to_numpy(), bools)
    values = getattr(given, "array", given)
    if hasattr(dtype, "pyarrow_dtype"):
        return _column(op, values.__arrow_array__(), bools)
    if getattr(dtype, "kind", "O") not in ("b" if bools else "iu") or not hasattr(dtype, "numpy_dtype"):
        raise _of_dtype(op, dtype, bools, _cast(given, bools) if bools and getattr(dtype, "kind", "O") in "iuf" else "")
    return values.to_numpy(dtype=dtype.numpy_dtype, na_value=False if bools else 0), np.asarray(~given.isna())


def _labelled(op: str, given: Any, bools: bool) -> ValuesAndValidity:
    """The array inside of a DataArray of xarray."""
    values = given.data
    return (_readers.get(type(values)) or _reader_of(values) or _column)(op, values, bools)


def _frame(op: str, given: Any, bools: bool) -> ValuesAndValidity:
    name = "mask" if bools else "map"
    raise _wrong(op, f"the {name} is a {type(given).__name__}", bools, f"; one column of it may be a {name}")


def _cast(given: Any, bools: bool) -> str:
    """The end of an error for numbers of another dtype: the cast in the words of their library."""
    library = type(given).__module__.partition(".")[0]
    to_map, to_mask = _CASTS.get(library, ("astype(int)", "astype(bool)"))
    return f"; mask.{to_mask} casts it" if bools else f"; map.{to_map} casts it"


def _of_dtype(op: str, dtype: Any, bools: bool, step: str = "") -> Exception:
    return _wrong(op, f"the {'mask' if bools else 'map'} is of dtype {dtype}", bools, step)


def _wrong(op: str, found: str, bools: bool, step: str = "") -> Exception:
    hint = "; in a list None is null" if found.endswith("object") else step
    if bools:
        return DataTypeError(f"{op}: {found}, expected bools{hint}")
    if found.endswith((" str", " string", " object")):
        hint += LABELS
    if "bool" in found:
        hint = "; masks are for filter and boolean_mask_scatter"
    return IndexTypeError(f"{op}: {found}, expected integers{hint}")


_readers: dict[type, Callable[[str, Any, bool], ValuesAndValidity] | None] = {
    np.ndarray: _array,
    list: _sequence,
    tuple: _sequence,
    range: _range,
    np.ma.MaskedArray: _masked,
}
# Libraries whose readers are cached by type: these types are not deleted, and all instances of a type have the same
# protocols. An object of another library is examined in each call, because its attributes may be its own.
_KEPT = {"cupy", "jaxlib", "pandas", "polars", "pyarrow", "torch", "xarray"}
# Readers by module and class name, for libraries that may not be installed.
_BY_NAME = {
    ("pandas", "Series"): _pandas,
    ("pandas", "DataFrame"): _frame,
    ("pandas", "Index"): _pandas,
    ("pandas", "ExtensionArray"): _pandas,
    ("pyarrow", "IntegerArray"): _arrow_integers,
    ("pyarrow", "Table"): _frame,
    ("pyarrow", "RecordBatch"): _frame,
    ("polars", "Series"): _polars_integers,
    ("polars", "DataFrame"): _frame,
    ("narwhals", "DataFrame"): _frame,
    ("xarray", "DataArray"): _labelled,
    ("_duckdb", "DuckDBPyRelation"): _relation,
    ("duckdb", "DuckDBPyRelation"): _relation,
}


def _reader_of(given: Any) -> Callable[[str, Any, bool], ValuesAndValidity] | None:
    """The reader of an object, found by the nearest base class of its type that has one; None if there is none."""
    kind = type(given)
    read = _known(kind) or (_column if _is_column(given) else None)
    if kind.__module__.partition(".")[0] in _KEPT:
        _readers[kind] = read
    return read


def _known(kind: type) -> Callable[[str, Any, bool], ValuesAndValidity] | None:
    for base in kind.__mro__:
        read = _readers.get(base) or _BY_NAME.get((base.__module__.partition(".")[0], base.__name__))
        if read is not None:
            return read
    return None


def _is_column(given: Any) -> bool:
    if isinstance(given, (np.generic, int, float, complex, str, bytes)):
        return False
    arrow = ("__arrow_c_array__", "__arrow_c_stream__", "__arrow_c_device_array__")
    return any(
        hasattr(given, protocol)
        for protocol in (*arrow, "__dlpack__", "__array_interface__", "__cuda_array_interface__", "__array__")
    )
