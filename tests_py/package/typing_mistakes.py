"""typing_mistakes.py: wrong calls, of which a type checker reports each, with few overloads. It is never run."""

import numpy as np
import numpy.typing as npt

import gatherscatter as gs


def mistakes(x: npt.NDArray[np.float32], i: npt.NDArray[np.int64]) -> None:
    gs.plan(gs.take, x, i, axes=0)
    gs.plan(gs.gather, x, i, axes=0)
    gs.explain(gs.roll, x)
    gs.plan(gs.table.filter, x)
    gs.table.gather(x, i, bounds="fill")
    gs.table.scatter(x, i)
    gs.table.filter(x, i, partial=True)
    gs.gather(x, 0, i, bounds="nullify")
    gs.scatter(x, i, x, bounds="fill")
    gs.gather(x, dim=0, axis=0, index=i)
