"""test_memory_bytes.py: the bytes that every operator allocates beyond inputs and result stay within its formula."""

from pathlib import Path

import pytest

from benchmark_results import load_result
from sanitized import own_allocator

ROOT = Path(__file__).resolve().parents[2]
SIZES = ((1 << 12, 1 << 10), (1 << 16, 1 << 14), (1 << 14, 1 << 17))  # points, extent of the indexed axis
LARGE = ((1 << 20, 1 << 18), (1 << 18, 1 << 21))

pytestmark = [
    pytest.mark.skipif(not (ROOT / "benchmarks" / "memory.py").exists(), reason="no benchmarks/ beside the tests"),
    own_allocator,
]


@pytest.fixture
def memory(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import limits, memory, memory_cases

    def measure(operators, sizes, threads):
        try:
            return memory.measure(operators, sizes, threads)
        except limits.Unavailable as reason:
            pytest.skip(f"the counter of bytes cannot be compiled: {reason}")

    return memory, memory_cases, measure


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_every_operator_stays_within_its_formula(memory, threads):
    pytest.importorskip("pyarrow")
    bytes_counted, cases, measure = memory
    entries = measure(cases.OPERATORS, SIZES, threads)
    assert len(entries) == len(cases.OPERATORS) * len(SIZES)
    assert not bytes_counted.over(entries)


@pytest.mark.long
def test_every_operator_stays_within_its_formula_at_large_sizes(memory):
    pytest.importorskip("pyarrow")
    bytes_counted, cases, measure = memory
    assert not bytes_counted.over(measure(cases.OPERATORS, LARGE, 2))


def test_gathers_need_no_memory_that_grows_with_the_call(memory):
    _, cases, measure = memory
    plain = [one for one in cases.GATHERS if one.formula == cases.NONE]
    assert {"take", "gather, last axis", "gather_nd", "tile_gather", "gather, mask"} <= {o.name for o in plain}
    for entry in measure(plain, [(1 << 20, 1 << 18)], 2):
        assert entry["limit"] - 2 * cases.BASE == (cases.CHECKED_POINT << 20 if "out=" in entry["name"] else 0)
        assert entry["scratch"] <= entry["limit"], entry


# Calls that need a known number of bytes, so that the counter itself is checked.
KNOWN = {
    "a temporary array": ("x = np.zeros(n)", "(x + 1).sum(keepdims=True)", 8),
    "two of them": ("x = np.zeros(n)", "((x + 1) * (x + 2)).sum(keepdims=True)", 16),
    "an index that is cast": ("x = np.zeros(9); i = index(n, 9, 'i2')", "gs.take(x, i.astype('i8'))", 8),
}


@pytest.mark.parametrize("name", KNOWN)
def test_temporary_memory_is_counted_and_reported(memory, name):
    bytes_counted, cases, measure = memory
    set_up, call, each = KNOWN[name]
    wasteful = cases.Operator(name, set_up, call, "nothing", lambda n, m, threads, l2: 0)
    (entry,) = measure([wasteful], [(1 << 18, 1 << 10)], 2)
    assert each << 18 <= entry["scratch"] <= (each << 18) + (64 << 10)
    assert len(bytes_counted.over([entry])) == 1


def test_memory_that_a_call_keeps_is_reported(memory):
    bytes_counted, cases, measure = memory
    hoards = cases.Operator("hoards", "kept = []", "kept.append(np.zeros(n))", "8 n", lambda n, m, threads, l2: 8 * n)
    (entry,) = measure([hoards], [(1 << 18, 1 << 10)], 1)
    assert entry["kept"] >= 8 << 18
    assert len(bytes_counted.over([entry])) == 1


def test_a_failing_call_is_an_error(memory):
    _, cases, measure = memory
    fails = cases.Operator("fails", "x = np.zeros(3)", "gs.take(x, [3])", "nothing", lambda n, m, threads, l2: 0)
    with pytest.raises(RuntimeError, match="index 3 is out of bounds"):
        measure([fails], [(1, 1)], 1)


def test_few_values_are_repeated_for_each_point(memory):
    bytes_counted, cases, measure = memory
    x = "x = np.zeros(n, 'f8'); i = index(n, n); m = np.arange(n) % 2 == 0; v = np.ones(3); "
    operators = [
        cases.Operator("put", x, "gs.put(x, i, v)", "", lambda n, m, threads, l2: 12 * n),
        cases.Operator("putmask", x, "gs.putmask(x, m, v)", "", lambda n, m, threads, l2: 9 * n),
        cases.Operator("place", x, "gs.place(x, m, v)", "", lambda n, m, threads, l2: 20 * (n // 2)),
        *(
            cases.Operator(
                f"repeat {kind}",
                f"x = np.zeros(n, 'u1'); c = np.ones(n, '{kind}')",
                "gs.repeat(x, c)",
                "",
                lambda n, m, threads, l2: 12 * n,
            )
            for kind in ("i1", "u2", "i4", "u4", "i8", "?")
        ),
    ]
    assert not bytes_counted.over(measure(operators, [(1000, 1000), (1 << 20, 1 << 20)], 2))


def test_the_page_has_the_formula_of_every_operator(memory):
    bytes_counted, _, _ = memory
    assert bytes_counted.formulas() in (ROOT / "docs" / "memory.md").read_text()


def test_the_note_shows_the_committed_result(memory):
    bytes_counted, cases, _ = memory
    result = load_result(ROOT / "benchmarks" / "results" / "amd-epyc-zen5-2-threads-memory.json")
    assert bytes_counted.table(result["memory"]) in (ROOT / "benchmarks" / "notes" / "2026-11-memory.md").read_text()
    assert {entry["name"] for entry in result["memory"]} == {operator.name for operator in cases.OPERATORS}
    assert not result["quick"] and not bytes_counted.over(result["memory"])


def test_operators_have_names_of_their_own(memory):
    _, cases, _ = memory
    names = [operator.name for operator in cases.OPERATORS]
    assert len(set(names)) == len(names)
    assert all(operator.formula for operator in cases.OPERATORS)
