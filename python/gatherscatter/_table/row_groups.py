"""row_groups.py: gathers rows of a table in files: each piece that has wanted rows is decoded once."""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._ops.gather import gather
from gatherscatter._ops.progress_parts import Steps
from gatherscatter._table.file_pieces import Piece, reading
from gatherscatter._table.fill_values import Fills, over, places_and_values
from gatherscatter._table.frames import is_full
from gatherscatter._table.maps import ValuesAndValidity
from gatherscatter._table.messages import require_budget
from gatherscatter._table.of_files import Files, open_files
from gatherscatter._table.of_pyarrow import TableFrame
from gatherscatter._table.ranges import within
from gatherscatter._table.workers import each
from gatherscatter.errors import InvalidArgument

__all__ = ["PieceOfRow", "Wanted", "gather_files"]

pa: Any = importlib.import_module("pyarrow")
SLICE = 1 << 20  # row numbers that a thread assigns to pieces at once, at least
MOST_SLICES = 64
MOST_ROWS = 1 << 48  # that a selection counts

Indices = np.ndarray[Any, np.dtype[Any]]
Task = tuple[int, tuple[int, ...]]  # a piece, and the places of some columns


def gather_files(
    op: str,
    source: Any,
    gather_map: ValuesAndValidity,
    bounds: str,
    negative: str,
    validate: str,
    columns: Any,
    memory_budget: Any,
    fills: Fills | None = None,
) -> Any:
    """The rows of a table in files that a map holds the numbers of, as a `pyarrow.Table`."""
    full = validate != "basic" and is_full(op, validate)
    budget = None if memory_budget is None else require_budget(op, memory_budget)
    threads = _core.get_num_threads()
    files = open_files(op, source, columns, threads)
    filled = _Filled(op, files.schema, fills) if fills else None
    ends = _ends(op, files.pieces)
    total = int(ends[-1]) if len(ends) else 0
    rows = within(op, gather_map[0], (total,), bounds, negative)
    selection = _core.Selection.gather(op, rows, gather_map[1], (total,), bounds, negative, -1)
    steps = Steps(0, after_map=True)
    with steps.hidden():
        wanted = Wanted(selection.positions(), files.pieces, ends, threads)
        del selection
        parts: dict[Task, Any] = {}
        tasks = _tasks(wanted.pieces, len(files.schema), threads)
        workers = threads if budget is None else _workers(op, files.pieces, tasks, threads, budget)
        steps.count = len(tasks) + len(files.schema)

        def decode(task: Task) -> None:
            rows = None if wanted.is_whole[task[0]] else wanted.local(task[0])
            parts[task] = _taken(op, files.pieces[task[0]], task[1], rows, full, budget)

        try:
            each(tasks, decode, workers, lambda task: steps.next())
        finally:
            files.readers.close()
        result = _assembled(op, files, parts, wanted.places, bounds, steps)
        return result if filled is None else filled.over(result, wanted.places < 0)


def _ends(op: str, pieces: Sequence[Piece]) -> Indices:
    """The number of rows up to the end of each piece."""
    for piece in pieces:
        if not 0 <= piece.rows <= MOST_ROWS // max(1, len(pieces)):
            raise OSError(f"{op}: {piece.name} cannot be read: it says that it has {piece.rows} rows")
    return np.cumsum([piece.rows for piece in pieces], dtype=np.int64)


def _assembled(op: str, files: Files, parts: dict[Task, Any], places: Indices, bounds: str, steps: Steps) -> Any:
    """The result of all parts, with the schema of the files."""
    fields = [field.with_nullable(True) if bounds == "nullify" else field for field in files.schema]
    schema = pa.schema(fields, metadata=files.schema.metadata)
    if not fields:
        counted = pa.schema([pa.field("rows", pa.null())], metadata=schema.metadata)
        return pa.table([pa.nulls(len(places))], schema=counted).select([])
    return _in_map_order(op, parts, schema, places, bounds, steps)


class _Filled:
    """Values in place of the nulls of rows that are not found; they are checked before a file is read."""

    def __init__(self, op: str, schema: Any, fills: Fills) -> None:
        self.op = op
        self.places, values = places_and_values(op, schema.names, True, fills)
        nullable = pa.schema([field.with_nullable(True) for field in schema])
        self.one = TableFrame(op, nullable.empty_table().select(self.places), False).one_row(op, values)

    def over(self, result: Any, missing: Indices) -> Any:
        whole = TableFrame(self.op, result, False)
        part = whole.of_places(self.op, self.places)
        return whole.replaced(self.op, self.places, over(self.op, part, missing, self.one))


class Wanted:
    """The rows of a map by piece: a stable counting sort of parts of the map, each on one thread.

    A piece of which as many rows are wanted as it has is kept whole, so that its rows are neither sorted nor taken
    twice, unless that would keep its file open.

    Attributes
    ----------
    pieces : list of int
        Those of which a row is wanted, in ascending order.
    is_whole : ndarray of bool
        For each piece, whether it is kept whole.
    places : ndarray of int64
        For each row of the map its place among the rows that are kept of all pieces, or -1.
    """

    def __init__(self, positions: Indices, pieces: Sequence[Piece], ends: Indices, threads: int) -> None:
        self.ends = ends
        step = max(SLICE, -(-positions.size // MOST_SLICES))
        begins = range(0, positions.size, step)
        # NumPy sorts 16 bits by their digits.
        finder = PieceOfRow(ends, np.dtype(np.uint16 if len(ends) <= 1 << 16 else np.int64), positions.size)
        piece_of: list[Indices] = [positions[:0]] * len(begins)  # for the rows of each part, of those that have one
        kept: list[Indices | None] = [None] * len(begins)
        counts = np.zeros((len(begins), len(ends)), np.int64)

        def count(part: int) -> None:
            rows = positions[begins[part] : begins[part] + step]
            if rows.min() < 0:
                kept[part] = np.flatnonzero(rows >= 0)
                rows = rows[kept[part]]
            piece_of[part] = finder(rows)
            counts[part] = np.bincount(piece_of[part], minlength=len(ends))

        each(range(len(begins)), count, threads)
        totals = counts.sum(axis=0)
        self.pieces = np.flatnonzero(totals).tolist()
        lengths = np.diff(ends, prepend=0)
        is_decoded = np.array([not piece.is_mapped for piece in pieces], bool)
        self.is_whole = (totals >= lengths) & (totals > 0) & is_decoded
        sizes = np.where(self.is_whole, lengths, totals)
        firsts = np.cumsum(sizes) - sizes  # the place of the first row of each piece
        shifts = firsts - (ends - lengths)  # from a row of a whole piece to its place
        has_whole = (counts > 0) @ self.is_whole
        self.counts = np.where(self.is_whole, 0, counts)  # of rows that are sorted
        self.starts = np.cumsum(self.counts, axis=1) - self.counts  # of each piece in each part
        self.rows: list[Indices] = [positions[:0]] * len(begins)  # of each part, sorted by piece
        before = firsts + np.cumsum(self.counts, axis=0) - self.counts
        self.places: Indices = np.empty(positions.size, np.int64)

        def place(part: int) -> None:
            own = self.places[begins[part] : begins[part] + step]
            rows, piece, present = positions[begins[part] : begins[part] + step], piece_of[part], kept[part]
            piece_of[part] = positions[:0]
            if present is not None:
                own[:] = -1
                rows = rows[present]
            places = own if present is None else np.empty(rows.size, np.int64)
            chosen = None
            if has_whole[part]:
                np.add(rows, gather(shifts, piece, 0), out=places)
                chosen = np.flatnonzero(~gather(self.is_whole, piece, 0))
                rows, piece = rows[chosen], piece[chosen]
            order = np.argsort(piece, kind="stable") if (piece[1:] < piece[:-1]).any() else None
            if order is not None:
                self.rows[part] = gather(rows, order, 0)
            else:  # a view of the map is copied, because the map is not kept
                self.rows[part] = rows.copy() if np.may_share_memory(rows, positions) else rows
            at = order if chosen is None else chosen if order is None else chosen[order]
            sums = np.repeat(before[part] - self.starts[part], self.counts[part]) + np.arange(rows.size)
            places[slice(None) if at is None else at] = sums
            if present is not None:
                own[present] = places

        each(range(len(begins)), place, threads)

    def local(self, piece: int) -> Indices:
        """The wanted rows of a piece, counted from its first one."""
        starts = self.starts[:, piece]
        spans = zip(self.rows, starts, starts + self.counts[:, piece], strict=True)
        return np.concatenate([rows[a:b] for rows, a, b in spans if a < b]) - (self.ends[piece - 1] if piece else 0)


class PieceOfRow:
    """Finds the pieces of rows by a table of buckets of rows, in a tenth of the time of binary searches."""

    BUCKETS = 1 << 16  # the table fits the second-level cache
    MOST = 4  # ends of pieces in a bucket; for more of them a binary search is faster

    def __init__(self, ends: Indices, dtype: np.dtype[Any], rows: int) -> None:
        self.ends = ends
        if rows < self.BUCKETS:  # to make the table takes longer than their searches
            self.table = None
            return
        last = int(ends[-1]) - 1 if len(ends) else -1
        self.shift = max(0, last.bit_length() - (self.BUCKETS.bit_length() - 1))
        firsts = np.arange((last >> self.shift) + 2) << self.shift
        found = np.searchsorted(ends, firsts, side="right")
        self.table = found.astype(dtype) if len(found) < 2 or np.diff(found).max() <= self.MOST else None

    def __call__(self, rows: Indices) -> Indices:
        if self.table is None:
            return np.searchsorted(self.ends, rows, side="right")
        piece: Indices = gather(self.table, rows >> self.shift, 0)
        while (late := rows >= gather(self.ends, piece, 0)).any():
            piece += late
        return piece


def _tasks(pieces: Sequence[int], width: int, threads: int) -> list[Task]:
    """The pieces in their order. Where they are fewer than threads, several threads share the columns of one."""
    if not width:
        return []
    share = min(width, max(1, threads // max(1, len(pieces))))
    return [(piece, tuple(range(width))[at::share]) for piece in pieces for at in range(share)]


def _workers(op: str, pieces: Sequence[Piece], tasks: Sequence[Task], threads: int, budget: int) -> int:
    """How many pieces may be decoded at a time within a budget."""
    needed: dict[int, int] = defaultdict(int)
    for piece, columns in tasks:
        needed[piece] = max(needed[piece], pieces[piece].bytes(columns))
    largest = max(needed, key=lambda piece: needed[piece], default=None)
    if largest is None or not needed[largest]:
        return threads
    if needed[largest] > budget:
        raise _too_large(op, pieces[largest], needed[largest], budget)
    return min(threads, budget // needed[largest])


def _too_large(op: str, piece: Piece, needed: int, budget: int) -> InvalidArgument:
    return InvalidArgument(
        f"{op}: memory_budget is {budget} bytes, but {piece.name} takes {needed} bytes: "
        "give more, name fewer columns, or write the file with shorter row groups"
    )


def _taken(
    op: str, piece: Piece, columns: Sequence[int], rows: Indices | None, full: bool, budget: int | None
) -> list[Any]:
    """Rows of a piece, in the order of their numbers in `rows`, or all of them: a list of chunks for each column."""
    found: list[Any] = []
    begin = 0
    order = None
    with reading(op, piece.name):
        for table in piece.tables(columns):
            table.validate()  # a corrupt file may have buffers that are shorter than their rows
            if budget is not None and piece.counts_memory and (needed := table.get_total_buffer_size()) > budget:
                raise _too_large(op, piece, needed, budget)
            begin += table.num_rows
            if rows is None:
                found.append(_rows_of(op, table, np.arange(table.num_rows), True) if full else table)
                continue
            if not found and table.num_rows == piece.rows:
                return _chunks(_rows_of(op, table, rows, full, piece.is_mapped))
            if order is None:
                order = np.argsort(rows, kind="stable")
                rows = rows[order]
            first, last = np.searchsorted(rows, [begin - table.num_rows, begin])
            found.append(_rows_of(op, table, rows[first:last] - (begin - table.num_rows), full, piece.is_mapped))
            if last == len(rows):
                break
    is_read = begin == piece.rows if rows is None or order is None else rows[-1] < begin <= piece.rows
    if not is_read:
        raise OSError(
            f"{op}: {piece.name} has {begin} rows instead of {piece.rows}: it has changed since it was opened"
        )
    joined = pa.concat_tables(found)
    if rows is None or order is None:
        return _chunks(joined)
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return _chunks(_rows_of(op, joined, places, False))


def _rows_of(op: str, table: Any, rows: Indices, full: bool, is_mapped: bool = False) -> Any:
    """Rows of a table, with memory of their own if that of the table is memory of its file."""
    frame = TableFrame(op, table, full)
    selection = _core.Selection.gather(op, rows, None, frame.lengths, "raise", "out_of_bounds", -1)
    return frame.back(frame.table.take(selection).with_own_memory(op)) if is_mapped else frame.take(selection)


def _chunks(table: Any) -> list[Any]:
    return [column.chunks for column in table.columns]


def _in_map_order(op: str, parts: dict[Task, Any], schema: Any, places: Indices, bounds: str, steps: Steps) -> Any:
    """The columns of the parts in the order of the map. The parts of a column are dropped after it."""
    order = sorted(parts)
    result = []
    selection: tuple[tuple[int, ...], _core.Selection] | None = None
    for at, field in enumerate(schema):
        chunks = []
        for task in order:
            if at in task[1]:
                chunks += parts[task][task[1].index(at)]
                parts[task][task[1].index(at)] = None
        column = pa.schema([field])
        frame = TableFrame(op, pa.Table.from_arrays([pa.chunked_array(chunks, field.type)], schema=column), False)
        del chunks
        if selection is None or selection[0] != frame.lengths:
            rows = _core.Selection.gather(op, places, None, frame.lengths, "nullify", "out_of_bounds", -1)
            selection = frame.lengths, rows
        result.append(frame.take(selection[1], None, bounds == "nullify").column(0))
        del frame
        steps.next()
    return pa.Table.from_arrays(result, schema=schema)
