"""training.py: steps of a small model that learns, with torch's embedding and ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

CLASSES = 10


class Step(NamedTuple):
    """A step of torch's model and of ours, which return the same loss: forward, backward and the optimizer."""

    name: str
    theirs: Callable[[], Any]
    ours: Callable[[], Any]


def steps(quick: bool) -> Iterator[Step]:
    """The step, eager and compiled; with `quick` of a small model, compiled without generated code."""
    import numpy as np
    import torch

    from gatherscatter.torch import Embedding

    words, size, texts, length = (1000, 16, 16, 8) if quick else (1 << 17, 64, 1024, 32)
    rng = np.random.default_rng(1)
    ids = torch.from_numpy(np.minimum(rng.zipf(1.2, (texts, length)), words) - 1)
    labels = torch.from_numpy(rng.integers(0, CLASSES, texts))

    def step(make_table: Callable[[int, int], Any], backend: str | None) -> Callable[[], Any]:
        torch.manual_seed(0)  # every model begins with the same weights
        table, layer = make_table(words, size), torch.nn.Linear(size, CLASSES)
        optimizer = torch.optim.SGD([*table.parameters(), *layer.parameters()], lr=0.1)

        def loss_of_batch() -> Any:
            return torch.nn.functional.cross_entropy(layer(table(ids).mean(1)), labels)

        forward = loss_of_batch if backend is None else torch.compile(loss_of_batch, fullgraph=True, backend=backend)

        def run() -> Any:
            optimizer.zero_grad()
            loss = forward()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return run

    for name, backend in (("eager", None), ("compiled", "aot_eager" if quick else "inductor")):
        yield Step(f"training step, {name}", step(torch.nn.Embedding, backend), step(Embedding, backend))


def check(step: Step) -> None:
    """Both models have the same losses, up to the rounding of sums in another order."""
    import torch

    for _ in range(3):
        torch.testing.assert_close(step.ours(), step.theirs(), rtol=1e-4, atol=1e-4)
