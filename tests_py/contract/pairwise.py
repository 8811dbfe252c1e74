"""pairwise.py: few cases of many factors, such that every allowed pair of values occurs in at least one case."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence

Row = dict[str, Hashable]
Pair = tuple[str, Hashable, str, Hashable]


def allowed_pairs(
    factors: Mapping[str, Sequence[Hashable]], allows: Callable[[Row], bool], crossed: Collection[str] | None = None
) -> Iterator[Pair]:
    """Every allowed pair of values of two factors; only of the factors in `crossed` if it is given."""
    for a, b in itertools.combinations([name for name in factors if crossed is None or name in crossed], 2):
        for x in factors[a]:
            for y in factors[b]:
                if allows({a: x, b: y}):
                    yield a, x, b, y


def all_pairs(
    factors: Mapping[str, Sequence[Hashable]], allows: Callable[[Row], bool], crossed: Collection[str] | None = None
) -> list[Row]:
    """Cases by a greedy choice: start from a missing pair, give other factors the value that covers most missing pairs.

    `allows` checks a partial case. Factors outside of `crossed`, if it is given, take their values in turn. The choice
    is deterministic: equal factors give equal cases.
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
            turn = len(rows) % len(values)  # the order rotates, so that ties do not favour one value
            row[name] = max(values[turn:] + values[:turn], key=lambda v, name=name: gain(row, name, v))
        row = {name: row[name] for name in names}
        for c, d in itertools.combinations(names, 2):
            missing.pop((c, row[c], d, row[d]), None)
        rows.append(row)
    return rows
