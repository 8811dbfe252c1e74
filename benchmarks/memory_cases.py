"""The calls whose memory is counted, each with the formula of what it may allocate beyond inputs and result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

KIB, MIB = 1 << 10, 1 << 20
BASE = 64 * KIB  # for each thread, of every call

# Scratch memory of one point, in bytes. A scatter on more than three threads lists the points of a round by their
# targets: a target and a value of at most 16 bytes. A call that checks all indices before it writes to an array of the
# caller keeps positions in place of 64-bit indices. A scatter of rows lists their targets
# and keeps them.
DIVIDED_POINT, FEW_THREADS, ROUND = 4 + 16, 3, 1 << 19
CHECKED_POINT = 4
MARKED_POINT = 4
BITMAPS_POINT = 8
SPARSE = 4  # running totals of a reduction have counts where targets outnumber values so often
# A list that grows by doubling: its bytes an entry, while it is copied to twice its size.
RANGE, NUMBER = 3 * 24, 3 * 8  # a range of rows of nested lists, a row number of table.segmented_gather

Sizes = tuple[int, int]  # n points (of tables: entries of the map), m items of the indexed axis (of tables: rows)
Limit = Callable[[int, int, int, int], int]  # n, m, threads, bytes of L2 -> bytes beyond BASE * threads


@dataclass(frozen=True)
class Operator:
    name: str
    set_up: str  # Python code, with n and `rows` for m
    call: str
    formula: str  # `limit` in words
    limit: Limit


PRELUDE = """
import numpy as np, gatherscatter as gs

def index(shape, extent, dtype="i8"):
    return np.random.default_rng(1).integers(0, extent, shape, dtype)

def nulls(column, every):
    import pyarrow as pa
    return pa.array(column, mask=np.arange(len(column)) % every == 0)

def lists(column):
    import pyarrow as pa
    ends = np.arange(0, len(column) + 1, 3, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), column)

def columns(kind, k):
    import pyarrow as pa
    numbers = np.arange(k)
    if kind == "numbers":
        return pa.table({"a": nulls(numbers.astype("i1"), 7), "b": pa.array(numbers.astype("i2"))})
    if kind == "text":
        return pa.table({"a": pa.array(numbers).cast(pa.string())})
    if kind == "lists":
        return pa.table({"a": lists(pa.array(np.arange(3 * k, dtype="i2")))})
    if kind == "lists of text":
        return pa.table({"a": lists(columns("text", 3 * k)["a"].chunk(0))})
    if kind == "structs":
        return pa.table({"a": pa.StructArray.from_arrays([pa.array(numbers), nulls(numbers, 5)], ["x", "y"])})
    words = pa.array([str(word) for word in range(100)])
    return pa.table({"a": pa.DictionaryArray.from_arrays(pa.array((numbers % 100).astype("i4")), words)})

"""

# ---- limits


def _nothing(n: int, m: int, threads: int, l2: int) -> int:
    return 0


def _tiles(n: int, m: int, threads: int, l2: int) -> int:
    return threads * l2 // 2


def _divided(n: int, m: int, threads: int, l2: int) -> int:
    return DIVIDED_POINT * min(n, ROUND) if threads > FEW_THREADS else 0


def _checked(n: int, m: int, threads: int, l2: int) -> int:
    return CHECKED_POINT * n


def _put(n: int, m: int, threads: int, l2: int) -> int:
    return _divided(n, m, threads, l2) + _checked(n, m, threads, l2)


def _bitmaps(n: int, m: int, threads: int) -> int:
    """A bit for each target and thread, in all at most so many bytes a point or one bitmap."""
    return max(m // 8, min(threads * (m // 8), BITMAPS_POINT * n))


def _marked(n: int, m: int, threads: int, l2: int) -> int:
    return max(_bitmaps(n, m, threads), _divided(n, m, threads, l2)) + _checked(n, m, threads, l2)


def _rows(n: int, m: int, threads: int, l2: int) -> int:
    """The bitmaps; with threads the targets of the rows as well."""
    kept = MARKED_POINT * (n // 32) if threads > 1 else 0
    return max(_bitmaps(n // 32, m // 32, threads) + kept, _divided(n // 32, m, threads, l2))


def _each(points: float = 0, items: float = 0, more: Limit = _nothing) -> Limit:
    """So many bytes for each of n points and each of m items of the axis."""

    def limit(n: int, m: int, threads: int, l2: int) -> int:
        return int(points * n + items * m) + more(n, m, threads, l2)

    return limit


def _window(record: int) -> int:
    """Targets that have records at a time. Those of one byte are flags, whose windows are longer."""
    return 1 << (26 if record == 1 else 23)


def _totals(record: int, sparse: int) -> Limit:
    """`record` bytes for each target of a window; `sparse` where only few of the targets get a value."""

    def limit(n: int, m: int, threads: int, l2: int) -> int:
        return (sparse if m > SPARSE * n else record) * min(m, _window(record)) + _divided(n, m, threads, l2)

    return limit


# ---- gathers

_X, _I = "x = np.zeros(rows, 'f4'); i = index(n, rows)", "x = np.zeros(rows); i = index(n, rows, 'i4')"
_ALONG_0 = "x = np.zeros((n // 512, 512), 'f4'); i = index((n // 512, 512), n // 512)"
_ALONG_1 = "x = np.zeros((512, n // 512), 'f4'); i = index((512, n // 512), n // 512)"
_ND = "x = np.zeros((64, rows // 64), 'f4'); i = index((n, 2), min(64, rows // 64))"
_TILE = "x = np.zeros((512, 99), 'f4'); i = index((n // 512, 1), 512); j = index((512,), 200)"
NONE, PER_THREAD = "nothing", "threads · L2 / 2"
CHECKED = "4 n, of 64-bit indices"
REPEATED = "n values where these are repeated"  # neither one value nor one for each point
DIVIDED = "nothing; from four threads on (4 + item) min(n, 2^19)"


def _gather(name: str, set_up: str, call: str, formula: str = NONE, limit: Limit = _nothing) -> Operator:
    return Operator(name, set_up, call, formula, limit)


GATHERS = (
    _gather("take", _X, "gs.take(x, i)"),
    _gather("take, narrow", "x = np.zeros(200, 'u1'); i = index(n, 256, 'u1')", "gs.take(x, i, mode='wrap')"),
    _gather("take, rows", "x = np.zeros((rows, 25), 'f4'); i = index(n // 16, rows)", "gs.take(x, i, axis=0)"),
    _gather("take, transposed source", "x = np.zeros((512, rows // 512 + 1)).T; i = index(n, rows)", "gs.take(x, i)"),
    _gather("take, transposed index", "x = np.zeros(rows); i = index((64, n // 64), rows).T", "gs.take(x, i)"),
    _gather("take, list", "x = np.zeros(rows); i = index(n, rows).tolist()", "gs.take(x, i)", "8 n", _each(8)),
    _gather("gather, last axis", _ALONG_1, "gs.gather(x, 1, i)"),
    _gather("gather, axis 0", _ALONG_0, "gs.gather(x, 0, i)", PER_THREAD, _tiles),
    _gather(
        "gather, batch_dims",
        "x = np.zeros((16, rows // 16, 4), 'f4'); i = index((16, n // 64), rows // 16)",
        "gs.gather(x, i, axis=1, batch_dims=1)",
    ),
    _gather("gather, mask", _X + "; m = i % 2 == 0", "gs.gather(x, i, axis=0, mask=m, fill_value=2)"),
    _gather("gather, fill", "x = np.zeros(rows); i = index(n, 2 * rows)", "gs.gather(x, i, axis=0, bounds='fill')"),
    _gather("gather_nd", _ND, "gs.gather_nd(x, i)"),
    _gather("tile_gather", _TILE, "gs.tile_gather(x, (i, j))"),
    _gather("Plan", _I + "; plan = gs.plan(gs.take, x, i)", "plan(x, i)"),
    _gather("take, out=", _X + "; out = np.zeros(n, 'f4')", "gs.take(x, i, out=out)", CHECKED, _checked),
    _gather("gather_nd, out=", _ND + "; out = np.zeros(n, 'f4')", "gs.gather_nd(x, i, out=out)", CHECKED, _checked),
    _gather(
        "gather, axis 0, out=",
        _ALONG_0 + "; out = np.zeros(x.shape, 'f4')",
        "gs.gather(x, 0, i, out=out)",
        f"{PER_THREAD} + {CHECKED}",
        lambda *sizes: _tiles(*sizes) + _checked(*sizes),
    ),
    _gather(
        "take, out= overlaps",
        "x = np.zeros(n, 'f4'); i = index(n, n)",
        "gs.take(x, i, out=x)",
        "a copy of the result or of what overlaps it, the smaller one",
        _each(4, more=_checked),
    ),
    _gather("roll", "x = np.zeros(n, 'f4')", "gs.roll(x, 7)", "4 n, never touched", _each(4)),
    _gather("roll, long rows", "x = np.zeros((n // 16, 16))", "gs.roll(x, 7, axis=0)", "4 a row", _each(4 / 16)),
    _gather("repeat", "x = np.zeros(n // 2, 'f4')", "gs.repeat(x, 2)", "4 n + 4 an item of x", _each(6)),
    _gather(
        "repeat, counts",
        "x = np.zeros(n // 2, 'f4'); counts = np.full(n // 2, 2)",
        "gs.repeat(x, counts)",
        "4 n + 8 a count",
        _each(8),
    ),
    _gather(
        "compress", "x = np.zeros(n, 'f4'); c = np.arange(n) % 2 == 0", "gs.compress(c, x)", "8 a true item", _each(4)
    ),
)

# ---- scatters


def _scatter(
    name: str, call: str, dtype: str = "f4", formula: str = DIVIDED, limit: Limit = _divided, set_up: str = ""
) -> Operator:
    arrays = f"x = np.zeros(rows, '{dtype}'); i = index(n, rows); v = np.ones(n, '{dtype}')"
    return Operator(name, set_up or arrays, call, formula, limit)


def _apart(n: int, m: int, threads: int, l2: int) -> int:
    """Of reductions of float32 without the input: a record for each target, or a flag."""
    record, near = 8, 8  # bytes; L2 caches that all records take at most
    each = record if m <= SPARSE * n and record * m <= near * l2 else 1
    return _totals(each, each)(n, m, threads, l2)


def _reduction(name: str, reduce: str, dtype: str, record: int, sparse: int = 0) -> Operator:
    code = f"gs.scatter(x, 0, i, v, reduce='{reduce}')"
    window = f"min(m, 2^{_window(record).bit_length() - 1})"
    formula = (f"{record} " if record > 1 else "") + window + (f"; {sparse} where m > {SPARSE} n" if sparse else "")
    return _scatter(name, code, dtype, formula, _totals(record, sparse or record))


_ROWS = "x = np.zeros((rows // 32, 32), 'f4'); i = {}; v = np.ones((n // 32, 32), 'f4')"
_DUPLICATES, _UNIQUE = _ROWS.format("index(n // 32, rows // 32)"), "np.arange(rows // 32)[: n // 32]"
_MASKED = "x = np.zeros(n, 'f4'); m = np.arange(n) % 2 == 0; v = np.ones(n, 'f4')"

SCATTERS = (
    _scatter("scatter", "gs.scatter(x, 0, i, v)"),
    _scatter("scatter, in place", "gs.scatter(x, 0, i, v, out=x)", formula=CHECKED, limit=_put),
    _scatter("scatter, first", "gs.scatter(x, 0, i, v, duplicates='first')"),
    _scatter(
        "scatter, error",
        "gs.scatter(x, 0, i, v, duplicates='error')",
        formula=f"m / 8 a thread, in all at most 8 n or m / 8; {CHECKED}",
        limit=_marked,
        set_up="x = np.zeros(rows, 'f4'); i = np.arange(rows)[:n]; v = np.ones(len(i), 'f4')",
    ),
    _scatter("scatter, add", "gs.scatter(x, 0, i, v, reduce='add')"),
    _scatter("scatter, max", "gs.scatter(x, 0, i, v, reduce='max')", "i8"),
    _reduction("scatter, add, float16", "add", "f2", 6, sparse=8),
    _scatter("scatter, max, float16", "gs.scatter(x, 0, i, v, reduce='max')", "f2"),
    _reduction("scatter, mean, float16", "mean", "f2", 8),
    _reduction("scatter, mean, float32", "mean", "f4", 8),
    _reduction("scatter, mean, float64", "mean", "f8", 16),
    _reduction("scatter, mean, complex128", "mean", "c16", 24),
    _scatter(
        "scatter, add without the input",
        "gs.scatter(x, 0, i, v, reduce='add', include_self=False)",
        formula=f"8 min(m, L2); min(m, 2^{_window(1).bit_length() - 1}) where m > {SPARSE} n or L2",
        limit=_apart,
    ),
    _scatter("scatter, axis 0", "gs.scatter(x, 0, i, v)", set_up=_ALONG_0 + "; v = x + 1"),
    _scatter(
        "scatter, rows",
        "gs.scatter(x, i, v, axis=0)",
        formula="rows / 8 a thread, in all at most 8 a row or bytes moved / 16; with threads 4 a row as well",
        limit=_rows,
        set_up=_DUPLICATES,
    ),
    _scatter(
        "scatter, unique rows",
        "gs.scatter(x, i, v, axis=0)",
        formula="rows / 8 a thread, in all at most 8 a row or bytes moved / 16; with threads 4 a row as well",
        limit=_rows,
        set_up=_ROWS.format(_UNIQUE).replace("v = np.ones((n // 32, 32), 'f4')", "v = np.ones((len(i), 32), 'f4')"),
    ),
    _scatter("scatter, rows, add", "gs.scatter(x, i, v, axis=0, reduce='add')", set_up=_DUPLICATES),
    _scatter("scatter_nd", "gs.scatter_nd(x, i, v)", set_up=_ND + "; v = np.ones(n, 'f4')"),
    _scatter(
        "tile_scatter",
        "gs.tile_scatter(x, (i, j), v)",
        limit=_put,
        set_up=_TILE + "; v = np.ones((n // 512, 512), 'f4')",
    ),
    _scatter("put", "gs.put(x, i, v)", formula=f"{CHECKED}; {REPEATED}", limit=_put),
    _scatter(
        "put, other dtype",
        "gs.put(x, i, v)",
        formula=f"the values as the target's dtype + {CHECKED}",
        limit=_each(4, more=_put),
        set_up=_X + "; v = np.ones(n)",
    ),
    _scatter(
        "put_along_axis", "gs.put_along_axis(x, i, v, 1)", formula=CHECKED, limit=_put, set_up=_ALONG_1 + "; v = x + 1"
    ),
    _scatter("putmask", "gs.putmask(x, m, v)", formula=f"n, the mask; {REPEATED}", limit=_each(1), set_up=_MASKED),
    _scatter(
        "place",
        "gs.place(x, m, v)",
        formula="n, the mask, + 8 a true item, then 12; a value a true item where these are repeated",
        limit=_each(6),
        set_up=_MASKED,
    ),
    _scatter(
        "scatter, source overlaps out=",
        "gs.scatter(x, 0, i, x, out=x)",
        formula=f"a copy of what overlaps + {CHECKED}",
        limit=_each(4, more=_put),
        set_up="x = np.zeros(n, 'f4'); i = index(n, n)",
    ),
)

# ---- tables


def _tables(kind: str) -> tuple[Operator, ...]:
    """The operators of tables on columns of one kind, and what each column needs beside the row numbers."""
    target, map_ = f"t = columns('{kind}', rows); ", "i = index(n, rows); "
    source = f"s = columns('{kind}', {{}}); "
    starts = 4 if kind in ("text", "lists") else RANGE if kind == "lists of text" else 0

    def words(rows: str, numbers: int) -> str:
        ranges = f" + 24 to {RANGE} {rows}" if starts == RANGE else ""
        return f"{numbers + (starts if starts < RANGE else 0)} {rows}{ranges}"

    mask = "m = np.arange(rows) % 3 == 0; "
    return (
        Operator(f"table.gather, {kind}", target + map_, "gs.table.gather(t, i)", words("n", 4), _each(4 + starts)),
        Operator(
            f"table.scatter, {kind}",
            target + map_ + source.format("n"),
            "gs.table.scatter(s, i, t)",
            words("m", 12) + " + m / 8 + 4 n",
            _each(4, 12 + 1 / 8 + starts),
        ),
        Operator(
            f"table.boolean_mask_scatter, {kind}",
            target + mask + source.format("int(m.sum())"),
            "gs.table.boolean_mask_scatter(s, t, m)",
            words("m", 12) + " + m / 8",
            _each(0, 12 + 1 / 8 + starts),
        ),
        Operator(
            f"table.filter, {kind}",
            target + mask,
            "gs.table.filter(t, m)",
            words("a true row", 4) + " + m / 8",
            _each(0, (4 + starts) / 3 + 1 / 8),
        ),
        Operator(
            f"table.copy_if_else, {kind}",
            target + mask + source.format("rows"),
            "gs.table.copy_if_else(s, t, m)",
            words("m", 12) + " + m / 8",
            _each(0, 12 + 1 / 8 + starts),
        ),
    )


_KINDS = ("numbers", "text", "lists", "lists of text", "structs", "dictionaries")
_NUMBERS = "import pyarrow as pa; t = columns('numbers', rows); i = index(n, rows); "
_CHUNKS = "import pyarrow as pa; t = pa.concat_tables([columns('{}', rows // 2)] * 2); i = index(n, rows)"

TABLES = (
    *(one for kind in _KINDS for one in _tables(kind)),
    Operator(
        "table.gather, null rows",
        _NUMBERS + "i = pa.array(i, mask=i % 3 == 0)",
        "gs.table.gather(t, i, 'nullify')",
        "4 n + n / 8",
        _each(4 + 1 / 8),
    ),
    Operator(
        "table.gather, 2 chunks",
        _CHUNKS.format("numbers"),
        "gs.table.gather(t, i)",
        "12 n + m / 8",
        _each(12, 1 / 8),
    ),
    Operator("table.gather, 2 chunks of text", _CHUNKS.format("text"), "gs.table.gather(t, i)", "16 n", _each(16)),
    Operator(
        "table.scatter, few rows",
        _NUMBERS + "i = index(max(rows // 16, 1), rows); s = columns('numbers', len(i))",
        "gs.table.scatter(s, i, t)",
        "4 m + m / 8 + 12 a replaced row",
        lambda n, m, threads, l2: int(m * (4 + 1 / 8 + 12 / 16)),
    ),
    Operator(
        "table.scatter, scalars",
        _NUMBERS,
        "gs.table.scatter([1, 2], i, t)",
        "12 m + m / 8 + 4 n",
        _each(4, 12 + 1 / 8),
    ),
    Operator(
        "table.segmented_gather",
        "import pyarrow as pa; t = columns('lists', rows)['a']; i = lists(pa.array(index(3 * rows, 3)))",
        "gs.table.segmented_gather(t, i)",
        "8 to 24 an entry of the lists of the map",
        _each(0, 3 * NUMBER),
    ),
)

OPERATORS = (*GATHERS, *SCATTERS, *TABLES)
