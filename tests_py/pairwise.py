"""pairwise.py: few cases out of many factors, such that every allowed pair of values meets in at least one case."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence

Row = dict[str, Hashable]
Pair = tuple[str, Hashable, str, Hashable]


def allowed_pairs(
    factors: Mapping[str, Sequence[Hashable]], allows: Callable[[Row], bool], crossed: Collection[str] | None = None
) -> Iterator[Pair]:
    """Every pair of values of two factors that may stand together; of the factors in `crossed` alone if it is given."""
    for a, b in itertools.combinations([name for name in factors if crossed is None or name in crossed], 2):
        for x in factors[a]:
            for y in factors[b]:
                if allows({a: x, b: y}):
                    yield a, x, b, y


def all_pairs(
    factors: Mapping[str, Sequence[Hashable]], allows: Callable[[Row], bool], crossed: Collection[str] | None = None
) -> list[Row]:
    """Greedy: start from a missing pair, give every other factor the value that covers most missing pairs.

    `allows` judges a partial case. Factors outside of `crossed`, if it is given, take their values in turn.
    Deterministic: the same factors always give the same cases.
    """
    names = list(factors)
    rank = {name: i for i, name in enumerate(names)}
    missing: dict[Pair, None] = dict.fromkeys(allowed_pairs(factors, allows, crossed))

    def gain(row: Row, name: str, value: Hashable) -> int:
        return sum(pair_of(other, chosen, name, value) in missing for other, chosen in row.items())

    def pair_of(a: str, x: Hashable, b: str, y: Hashable) -> Pair:
        return (a, x, b, y) if rank[a] < rank[b] else (b, y, a, x)

    rows: list[Row] = []
    while missing:
        a, x, b, y = next(iter(missing))
        row: Row = {a: x, b: y}
        for name in names:
            if name in row:
                continue
            values = [v for v in factors[name] if allows({**row, name: v})]
            if not values:
                raise ValueError(f"no value of {name} goes with {row}")
            turn = len(rows) % len(values)  # ties go round, so that no value is favoured
            row[name] = max(values[turn:] + values[:turn], key=lambda v, name=name: gain(row, name, v))
        row = {name: row[name] for name in names}
        for c, d in itertools.combinations(names, 2):
            missing.pop((c, row[c], d, row[d]), None)
        rows.append(row)
    return rows
