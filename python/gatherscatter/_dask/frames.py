"""frames.py: gather, scatter and boolean_mask_scatter on Dask DataFrames, by global row numbers."""

from __future__ import annotations

import importlib
from collections import defaultdict
from functools import partial
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gatherscatter import _core, table
from gatherscatter._dask.chunks import check_chunk, rechunked
from gatherscatter._dask.graph import check_chunks, is_dask_array
from gatherscatter._dask.partitions import columns_of, lengths_of, meta_of_frame, partitions_of, with_columns
from gatherscatter._dask.parts import Grid, Part, part_of, split
from gatherscatter._dask.resolve import Rule
from gatherscatter._libraries.recognise import library_of
from gatherscatter._settings.threads import thread_limit
from gatherscatter._table.column_names import places_of, refuse_columns
from gatherscatter._table.fill_values import Fills
from gatherscatter._table.frames import AnyFrame, frame_of, kind_of
from gatherscatter._table.maps import map_of, mask_of
from gatherscatter._table.messages import called
from gatherscatter._table.negatives import refuse_negative
from gatherscatter._table.own_copies import own_copies
from gatherscatter._table.pandas_exact import may_round
from gatherscatter._table.ranges import within
from gatherscatter._table.registry import register
from gatherscatter.errors import DataTypeError, IndexTypeError, InvalidArgument, NegativeIndexError, type_name

__all__ = ["lengths_of"]

Array = np.ndarray[Any, Any]


def _dask() -> Any:
    return importlib.import_module("dask")


def is_frame(obj: Any) -> bool:
    """Whether an object is a Dask DataFrame or Series."""
    return any(
        cls.__module__.startswith("dask.dataframe.") and cls.__name__ in ("DataFrame", "Series")
        for cls in type(obj).__mro__
    )


class _Rows:
    """The blocks of a map: where each block is, and its parts by partition, known or computed by a task."""

    def __init__(
        self, op: str, lengths: tuple[int, ...], rows: Any, bounds: str, negative: str, cuts: Any = None
    ) -> None:
        self.lengths = lengths
        if is_dask_array(rows):
            if cuts is not None:
                rows = rechunked(op, "the map", rows, (cuts,))
            self.chunks = rows.chunks[0]
            rule = Rule(op, "fill" if bounds == "nullify" else "raise", negative, (0,), (sum(lengths),), rows.shape)
        else:
            most = max(1, *lengths, 1)
            self.chunks = cuts or (*[most] * (len(rows) // most), *[len(rows) % most] * (len(rows) % most > 0)) or (0,)
            rule = Rule(op, "fill", "out_of_bounds", (0,), (sum(lengths),), rows.shape)
        grid = Grid(rule, (("index", 0),), (lengths,))
        self.known: list[dict[int, Part]] | None = None
        starts = list(accumulate(self.chunks, initial=0))
        if is_dask_array(rows):
            blocks = zip(starts, self.chunks, rows.to_delayed(), strict=False)
            run = _dask().delayed(_split_rows, pure=True)
            self.tasks = [run(grid, start, size, block) for start, size, block in blocks]
        else:
            spans = list(zip(starts, self.chunks, strict=False))
            self.known = [split(grid, (a,), (n,), False, None, rows[a : a + n]) for a, n in spans]

    def parts(self, at: int) -> list[tuple[int, Any]]:
        """The partitions that a block meets, each with its part or the task that gives it."""
        if self.known is not None:
            return sorted(self.known[at].items())
        select = _dask().delayed(part_of, pure=True)
        owners = [owner for owner, n in enumerate(self.lengths) if n] or [0]
        return [(owner, select(owner, self.tasks[at])) for owner in owners]

    def all_parts(self, at: int) -> Any:
        return self.known[at] if self.known is not None else self.tasks[at]


def _split_rows(grid: Grid, start: int, size: int, rows: Array) -> dict[int, Part]:
    rule = grid.rule
    rows = check_chunk(rule.op, "the map", rows)
    if rule.negative == "refused" and rows.dtype.kind == "i" and rows.size and rows.min() < 0:
        at = int(np.argmax(rows < 0))
        bounds = "drop" if rule.op == "table.scatter" else "nullify"
        where = (start + at,), 0, rule.sizes[0], None, rule.shape[0]
        raise NegativeIndexError(rule.op, int(rows[at]), *where, False, bounds)
    return split(grid, (start,), (size,), False, None, rows)


def _row_numbers(op: str, rows: Any, total: int, bounds: str, negative: str) -> Any:
    """A map as a Dask array of row numbers, or one in memory as positions, which are checked; -1 is a null row."""
    if is_frame(rows):
        raise TypeError(f"{op}: the map is a Dask Series; rows.to_dask_array(lengths=True) makes an array of it")
    if is_dask_array(rows):
        check_chunks(op, "the map", rows)
        if rows.dtype.kind not in "iu" or rows.ndim != 1:
            found = f"dtype {rows.dtype} and {rows.ndim} axes"
            raise IndexTypeError(f"{op}: the map has {found}, expected integers on one axis")
        return rows
    numbers, valid = map_of(op, rows)
    said = "drop" if op == "table.scatter" else bounds
    numbers, valid, negative = refuse_negative(op, numbers, valid, said, negative, size=total)
    numbers = within(op, numbers, (total,), bounds, negative)
    return _core.Selection.gather(op, numbers, valid, (total,), bounds, negative, -1).positions()


def _collected(parts: list[Any], meta: Any) -> Any:
    # The parts have the types of `meta` already; Dask would make strings of all objects, such as bools beside nulls.
    with _dask().config.set({"dataframe.convert-string": False}):
        return importlib.import_module("dask.dataframe").from_delayed(parts, meta=meta, verify_meta=False)


def _taken(part: Part, frame: Any) -> Any:
    """The rows of one part."""
    with thread_limit(1):
        return table.gather(frame, part[0])


def _joined(frames: list[Any]) -> Any:
    return frames[0] if len(frames) == 1 else importlib.import_module("pandas").concat(frames)


class _Gathered(NamedTuple):
    """What the partitions of a gather are: `meta` has their dtypes, `none` those of the source; neither has rows."""

    nullify: bool
    fills: Fills | None
    none: Any
    meta: Any


def _merged(kind: _Gathered, count: int, parts: dict[int, Part], owners: list[int], frames: list[Any]) -> Any:
    """A partition of the result: the rows of its parts in the order of the map; under "nullify" with null rows."""
    with thread_limit(1):
        place = np.full(count, -1)
        used, start = [], 0
        for owner, frame in zip(owners, frames, strict=True):
            points = part_of(owner, parts)[1]
            if points.size:
                place[points] = np.arange(start, start + points.size)
                start += points.size
                used.append(frame)
        joined = _joined(used) if used else kind.none
        if not kind.nullify:
            return table.gather(joined, place)
        return _of_dtypes(kind.meta, joined, _with_null_row(joined, place, kind.fills).iloc[:-1])


def _with_null_row(frame: Any, rows: Array, fills: Fills | None) -> Any:
    """The rows with these numbers, then one that is not found, so that every column has the dtype that nulls need."""
    return table.gather(frame, np.append(rows, -1), "nullify", negative="out_of_bounds", fill_value=fills)


def _of_dtypes(meta: Any, source: Any, result: Any) -> Any:
    """A result with the dtypes that were promised for it; DataTypeError where float64 would round an integer."""
    changed = {}
    columns = zip(columns_of(meta), columns_of(source), columns_of(result), strict=True)
    for at, (promised, before, column) in enumerate(columns):
        if column.dtype == promised.dtype:
            continue
        if may_round(before.dtype):
            name = called(before.name)
            raise DataTypeError(
                f"table.gather: {name} has integers that {promised.dtype}, the dtype beside missing rows, would round: "
                'cast the column to "Int64" or "UInt64" first, with frame.astype'
            )
        changed[at] = column.astype(promised.dtype).array
    return with_columns(result, changed)


class DaskFrame(AnyFrame):
    """A Dask DataFrame or Series, as `frame_of` returns it; it has partitions in place of chunks in memory."""

    lazy: ClassVar[bool] = True
    tasks_of: ClassVar[str] = "Dask"

    def __init__(self, op: str, source: Any, full: bool) -> None:
        if op not in ("table.gather", "table.scatter", "table.boolean_mask_scatter"):
            lazily = "; x[mask] filters lazily" if op == "table.filter" else ""
            raise TypeError(
                f"{op}: a {type(source).__name__} of Dask has partitions, which {op} does not take; "
                f"call x.compute(){lazily}"
            )
        self.source = source

    @classmethod
    def of_columns(cls, op: str, source: Any, full: bool, columns: Any) -> Any:
        """The frame of the columns with these names, in their order."""
        names = getattr(source, "columns", None)
        if names is None:
            raise refuse_columns(op, source)
        places = places_of(op, list(names), columns)
        return cls(op, source[[names[at] for at in places]], full)

    def moved_by(self, function: str, rows: int | None, result: int | None) -> str:
        return "tasks of Dask, each by gatherscatter"

    def gather(self, rows: Any, bounds: str, negative: str, index: str, fills: Fills | None) -> Any:
        if index != "take":
            raise TypeError(
                f'table.gather: index="reset" is not for a {type_name(self.source)}; '
                "result.reset_index(drop=True) does it"
            )
        return _gather(self.source, rows, bounds, negative, fills=fills)

    def scatter(self, source: Any, rows: Any, some: bool, bounds: str, negative: str) -> Any:
        return _scatter(source, rows, self.source, some, bounds, negative)

    def mask_scatter(self, source: Any, mask: Any, some: bool) -> Any:
        return _mask_scatter(source, self.source, mask, some)


register("dask", DataFrame=DaskFrame, Series=DaskFrame)


def _gather(
    source: Any,
    rows: Any,
    bounds: str,
    negative: str,
    cuts: tuple[int, ...] | None = None,
    fills: Fills | None = None,
) -> Any:
    """``table.gather`` of a Dask frame: one partition for each chunk of `rows`."""
    op, nullify = "table.gather", bounds == "nullify"
    bounds = "raise" if bounds == "unchecked" else bounds
    (fills,) = own_copies(fills)
    known = partitions_of(source)
    lengths, none = known
    made = _Rows(op, lengths, _row_numbers(op, rows, sum(lengths), bounds, negative), bounds, negative, cuts)
    partitions = known.of(op, source)
    meta = _with_null_row(none, np.zeros(0, np.intp), fills).iloc[:0] if nullify else none
    take = _dask().delayed(_taken, pure=True)
    merge = _dask().delayed(partial(_merged, _Gathered(nullify, fills, none, meta)), pure=True)
    results = []
    for at, count in enumerate(made.chunks):
        parts = made.parts(at)
        frames = [take(part, partitions[owner]) for owner, part in parts]
        results.append(merge(count, made.all_parts(at), [owner for owner, _ in parts], frames))
    return _collected(results, meta)


def _chosen(part: Part, frame: Any) -> tuple[Array, Any]:
    """Row numbers in the partition, and the rows that replace them."""
    with thread_limit(1):
        return part[0], table.gather(frame, part[1])


def _written(scalars: Any, is_scalar: bool, some: bool, target: Any, chosen: list[tuple[Array, Any]]) -> Any:
    """A partition of the target with rows replaced, in the order of the map."""
    with thread_limit(1):
        rows = [each[0] for each in chosen if len(each[0])]
        if not rows:
            return target
        source = scalars if is_scalar else _joined([each[1] for each in chosen if len(each[0])])
        return table.scatter(source, np.concatenate(rows), target, partial=some)


def _rows_or_scalars(op: str, role: str, source: Any, target: Any) -> tuple[Any, bool]:
    """The rows to write as a table of Dask or pandas, and whether they are scalars, which are returned unchanged."""
    if library_of(source, ("narwhals",)):
        source = getattr(source, "to_native", lambda: source)()
    if is_frame(source) or hasattr(source, "iloc"):
        return source, False
    if isinstance(source, np.ndarray) and source.ndim:
        if target.ndim == 2:
            raise TypeError(f"{op}: {role} is an array, the target is a table: give a table, or scalars in a list")
        if source.ndim > 1:
            raise InvalidArgument(f"{op}: {role} is an array of {source.ndim} axes, expected one")
        return frame_of(op, "target", meta_of_frame(target), "basic").of_array(op, role, source).source.copy(), False
    is_value = isinstance(source, (dict, list, tuple, str, bytes, np.ndarray, np.generic))
    if not is_value and (kind_of(source) is not None or hasattr(source, "__array__") or hasattr(source, "__dlpack__")):
        step = "x.to_dask_dataframe()" if is_dask_array(source) else "x.to_pandas()"
        step = (
            step if is_dask_array(source) or hasattr(source, "to_pandas") else "pandas.DataFrame(x) or pandas.Series(x)"
        )
        raise TypeError(
            f"{op}: {role} is of type {type_name(source)}, expected scalars or a table of Dask or pandas, as the "
            f"target is of Dask; {step} makes one"
        )
    return source, True


def _scatter(source: Any, rows: Any, target: Any, some: bool, bounds: str, negative: str) -> Any:
    """``table.scatter`` into a Dask frame, whose partitions the result has; `some` is its ``partial``."""
    op = "table.scatter"
    bounds = "nullify" if bounds == "drop" else "raise"  # a row number without a row is in no part
    known = partitions_of(target)
    all_lengths, partitions = known.lengths, known.of(op, target)
    source, is_scalar = _rows_or_scalars(op, "source", source, target)
    cuts = None
    rows = _row_numbers(op, rows, sum(all_lengths), bounds, negative)
    if not is_scalar:
        lengths = lengths_of(source) if is_frame(source) else (len(source),)
        count = rows.shape[0]
        if count > sum(lengths):
            raise InvalidArgument(f"{op}: the map has {count} row numbers, the source {sum(lengths)} rows")
        if count < sum(lengths):
            first = f"source.head({count}, npartitions=-1)" if is_frame(source) else f"source[:{count}]"
            numbers = "there is 1 row number" if count == 1 else f"there are {count} row numbers"
            raise InvalidArgument(
                f"{op}: {numbers} for {sum(lengths)} rows of the source, the last of which would be lost: give {first}"
            )
        if is_frame(source):
            cuts = lengths
    made = _Rows(op, all_lengths, rows, bounds, negative, cuts)
    starts = list(accumulate(made.chunks, initial=0))
    choose = _dask().delayed(_chosen, pure=True)
    write = _dask().delayed(partial(_written, own_copies(source)[0] if is_scalar else None, is_scalar, some))
    sources = partitions_of(source).of(op, source) if is_frame(source) else None
    chosen: defaultdict[int, list[Any]] = defaultdict(list)
    for at, count in enumerate(made.chunks):
        block = None
        if not is_scalar:
            own = slice(starts[at], starts[at] + count)
            block = sources[at] if sources is not None else _dask().delayed(source.iloc[own].copy())
        for owner, part in made.parts(at):
            chosen[owner].append(part if is_scalar else choose(part, block))
    return _collected([write(p, chosen[i]) for i, p in enumerate(partitions)], known.meta)


def _masked(some: bool, source: Any, target: Any, mask: Array) -> Any:
    op = "table.boolean_mask_scatter"
    with thread_limit(1):
        return table.boolean_mask_scatter(source, target, check_chunk(op, "the mask", mask), partial=some)


def _mask_scatter(source: Any, target: Any, mask: Any, some: bool) -> Any:
    """``table.boolean_mask_scatter`` into a Dask frame; the true values of a lazy mask are counted in this call."""
    op, dask = "table.boolean_mask_scatter", _dask()
    source, is_scalar = _rows_or_scalars(op, "input", source, target)
    known = partitions_of(target)
    lengths, partitions = known.lengths, known.of(op, target)
    if is_frame(mask):
        mask = _bools(op, mask).to_dask_array(lengths=lengths_of(mask))
    if is_dask_array(mask):
        check_chunks(op, "the mask", mask)
        if mask.dtype != bool:
            raise DataTypeError(f"{op}: the mask has dtype {mask.dtype}, expected bool")
        if mask.shape != (sum(lengths),):
            raise InvalidArgument(f"{op}: the mask has shape {mask.shape}, the target {sum(lengths)} rows")
        masks = list(rechunked(op, "the mask", mask, (lengths,)).to_delayed())
    else:
        values, valid = mask_of(op, mask)
        whole = np.zeros(sum(lengths), bool)
        whole[_core.Selection.filter(op, values, valid, (len(whole),), -1).positions()] = True
        masks = np.split(whole, list(accumulate(lengths))[:-1])
    if is_scalar:
        write = dask.delayed(partial(_masked, some, *own_copies(source)))
        return _collected([write(p, m) for p, m in zip(partitions, masks, strict=True)], known.meta)
    counts = dask.compute(*(dask.delayed(_trues, pure=True)(each) for each in masks))
    starts = list(accumulate(counts, initial=0))
    size = sum(lengths_of(source)) if is_frame(source) else len(source)
    if size < starts[-1]:
        raise InvalidArgument(f"{op}: the mask has {starts[-1]} true values, the input {size} rows")
    if is_frame(source):
        rows = _gather(source, np.arange(starts[-1]), "raise", "from_end", tuple(counts)).to_delayed()
    else:
        rows = [dask.delayed(source.iloc[a : a + n].copy()) for a, n in zip(starts, counts, strict=False)]
    write = dask.delayed(partial(_masked, some), pure=True)
    return _collected([write(r, p, m) for r, p, m in zip(rows, partitions, masks, strict=True)], known.meta)


def _bools(op: str, mask: Any) -> Any:
    """A Dask Series of bools as one of NumPy's; nulls become false."""
    if mask.ndim != 1 or isinstance(mask.dtype, np.dtype):
        return mask
    if getattr(mask.dtype, "kind", "") != "b":
        raise DataTypeError(f"{op}: the mask has dtype {mask.dtype}, expected bool")
    return mask.fillna(False).astype(bool)


def _trues(mask: Array) -> int:
    return int(np.count_nonzero(check_chunk("table.boolean_mask_scatter", "the mask", mask)))
