"""test_changing_lists.py: lists whose items change the lists while a call reads them end no process."""

from child_process import run
from gatherscatter._libraries.private_lists import private

CODE = """
import random
import numpy as np, pandas as pd, pyarrow as pa
import gatherscatter as gs
from gatherscatter import table
from gatherscatter.compat import cutile, pypto

rng = random.Random(40)

class Changing:
    # Clears, shortens, fills and replaces the lists that hold it, at a random method call.
    def __init__(self, lists, value):
        self.lists, self.value, self.left = lists, value, rng.randrange(4)

    def change(self):
        self.left -= 1
        if self.left >= 0:
            return
        for items in self.lists:
            rng.choice([items.clear, lambda: items.__delitem__(slice(1, None)), lambda: items.extend([0] * 4096),
                        lambda: items.__setitem__(slice(None), [[1], "a", None])])()

    def __index__(self):
        self.change()
        return self.value

    def __int__(self):
        self.change()
        return self.value

    def __float__(self):
        self.change()
        return float(self.value)

    def __bool__(self):
        self.change()
        return bool(self.value)

class Listed(Changing):
    def __array__(self, dtype=None, copy=None):
        self.change()
        return np.array(self.value, dtype)

class Counted(Changing):
    def __len__(self):
        self.change()
        return 2

    def __getitem__(self, at):
        self.change()
        if at > 1:
            raise IndexError
        return self.value

class Kept(list):
    pass

def hostile(depth):
    outer = rng.choice([list, Kept])()
    rows = [rng.choice([list, Kept])() for _ in range(3)] if depth == 2 else [outer]
    lists = [outer, *rows]
    for row in rows:
        for _ in range(6):
            row.append(rng.choice([0, 1, rng.choice([Changing, Listed, Counted])(lists, rng.randrange(2))]))
    if depth == 2:
        outer.extend(rows)
    return tuple(outer) if rng.random() < 0.2 else outer

X = np.arange(24.0).reshape(6, 4)
df = pd.DataFrame({"a": [1, 2, 3]})
column = pa.array([[1, 2]] * 6)
plan = gs.plan(gs.take, X, [0, 1], axis=0)
nd_plan = gs.plan(gs.gather_nd, X, [[0, 0]])
FORMS = [
    lambda h: gs.take(X, h), lambda h: gs.take(X, h, axis=0, mode="clip"), lambda h: gs.take(h, [0, 1]),
    lambda h: gs.take(X, h, axis=0, bounds="fill"), lambda h: gs.take_along_axis(X, h, axis=1),
    lambda h: gs.take_along_axis(h, np.zeros((1, 2), int), axis=0), lambda h: gs.compress(h, X, axis=0),
    lambda h: gs.compress([True], h), lambda h: gs.put(X.copy(), h, [1.0]), lambda h: gs.put(X.copy(), [0, 1], h),
    lambda h: gs.put_along_axis(X.copy(), h, 1.0, axis=1), lambda h: gs.put_along_axis(X.copy(), [[0]], h, axis=1),
    lambda h: gs.putmask(X.copy(), h, [1.0]), lambda h: gs.putmask(X.copy(), X > 3, h),
    lambda h: gs.place(X.copy(), h, [1.0]), lambda h: gs.place(X.copy(), X > 3, h),
    lambda h: gs.repeat(h, 2), lambda h: gs.repeat(X, h), lambda h: gs.repeat(X, h, axis=0),
    lambda h: gs.roll(h, 1), lambda h: gs.roll(X, h), lambda h: gs.roll(X, 1, h),
    lambda h: gs.gather(X, h, axis=0), lambda h: gs.gather(X, 0, h), lambda h: gs.gather(h, [0], axis=0),
    lambda h: gs.gather(X, [0], axis=0, mask=h), lambda h: gs.gather(X, [9], axis=0, bounds="fill", fill_value=h),
    lambda h: gs.gather_nd(X, h), lambda h: gs.gather_nd(h, [[0]]), lambda h: gs.gather_nd(X, [[0, 0]], batch_dims=h),
    lambda h: gs.scatter(X, h, 1.0, axis=0), lambda h: gs.scatter(X, [0, 1], h, axis=0),
    lambda h: gs.scatter(X, 0, h, X),
    lambda h: gs.scatter(X, 0, [[0, 1]], h, reduce="add"), lambda h: gs.scatter(h, 0, [0], [1]),
    lambda h: gs.scatter_nd(X, h, 1.0), lambda h: gs.scatter_nd(X, [[0, 0]], h), lambda h: gs.tile_gather(X, (h, 0)),
    lambda h: gs.tile_gather(X, h), lambda h: gs.tile_gather(X, (0, 1), mask=h),
    lambda h: gs.tile_gather(X, (9, 1), padding_value=h), lambda h: gs.tile_scatter(X.copy(), (h, 0), 1.0),
    lambda h: gs.tile_scatter(X.copy(), (0, [1, 2]), h), lambda h: plan(X, h), lambda h: nd_plan(X, h),
    lambda h: gs.plan(gs.gather_nd, X, h), lambda h: gs.explain(gs.take, X, h), lambda h: plan(X, [0, 1], mask=h),
    lambda h: cutile.gather(X, (h, 0)), lambda h: pypto.gather(X, 0, h), lambda h: table.gather(df, h),
    lambda h: table.filter(df, h), lambda h: table.scatter(h, [0], df), lambda h: table.scatter([h], [0], column),
    lambda h: table.segmented_gather(column, h), lambda h: table.boolean_mask_scatter([5], df, h),
    lambda h: plan(h, [0, 1]), lambda h: plan.scatter(h, [0, 1], 1.0), lambda h: plan.scatter(X, [0, 1], 1.0, mask=h),
    lambda h: plan.scatter(X, [0, 1], h), lambda h: gs.dask.take(h, [0, 1]), lambda h: gs.dask.gather(X, h, axis=0),
    lambda h: gs.dask.take(X, [0, 1], mask=h), lambda h: gs.dask.scatter(X, [0, 1], h, axis=0),
    lambda h: gs.take(np.ma.array(X), h), lambda h: gs.put(np.ma.array(X), h, 1.0),
    lambda h: gs.take(X.astype(object), h), lambda h: gs.put(X.copy(), [0], h, mode="wrap"),
]
done = 0
for _ in range(25):
    for form in FORMS:
        try:
            form(hostile(rng.choice([1, 2])))
            done += 1
        except Exception as error:
            assert not isinstance(error, SystemError), error
print(done)
"""


def test_items_that_change_their_lists():
    assert int(run(f"import faulthandler; faulthandler.enable()\n{CODE}")) > 0


def test_numbers_are_those_of_the_list_at_the_call():
    code = """
import numpy as np, gatherscatter as gs
from gatherscatter import table
import pandas as pd

class Clearing:
    def __init__(self, items): self.items = items
    def __index__(self):
        self.items.clear()
        return 2
    __int__ = __index__

for call in (lambda i: gs.take(np.arange(9), i).tolist(), lambda i: table.gather(pd.Series(range(9)), i).tolist()):
    items = [0, 1]
    items[:] = [2, Clearing(items), 4, 5, 6]
    assert call(items) == [2, 2, 4, 5, 6]
"""
    run(code)


def test_lists_of_plain_numbers_are_read_in_place():
    deep = [[[1, 2.0], (3,)], ["a", None], []]
    itself = [1]
    itself += [itself, itself]
    assert private(deep) is deep
    assert private(rows := [[k] for k in range(1000)]) is rows
    copy = private(itself)
    assert copy is not itself and copy[1] is copy
