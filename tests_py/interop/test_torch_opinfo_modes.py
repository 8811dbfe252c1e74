"""test_torch_opinfo_modes.py: torch's sample inputs with our functions in every mode: forward, backward, forward over
backward, and vmapped.

The normal run takes some samples of each function and dtype, and --every-sample all of them.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

import opinfo_samples
from torch_functions import OURS

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("expecttest", reason="expecttest, which torch's own tests need, is not installed")

REAL, BOTH = ("float64",), ("float64", "complex128")
VARIANTS = {
    "scatter_reduce": ("sum", "prod", "mean", "amin", "amax"),
    "index_reduce": ("prod", "mean", "amin", "amax"),
}
CASES = [
    (f"{name}.{variant}" if variant else name, dtype)
    for name in OURS
    for variant in VARIANTS.get(name, ("",))
    for dtype in (REAL if name in VARIANTS else BOTH)
]
SOME = pytest.mark.parametrize("most", [6, pytest.param(None, marks=pytest.mark.every_sample)], ids=["some", "all"])

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns about parts of itself


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("opinfo") / "samples.pt"
    return opinfo_samples.read(path, OURS, BOTH, references=False)


def test_every_function_has_samples(written):
    assert {*CASES} == written["samples"].keys() and all(written["samples"].values())


class Function:
    """A function of the tensors of a sample that have derivatives, ours and torch's."""

    def __init__(self, name: str, input: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.name, self.kwargs = name.split(".")[0], kwargs
        self.all = [input, *args]
        self.places = [
            k for k, one in enumerate(self.all) if isinstance(one, torch.Tensor) and one.dtype == input.dtype
        ]

    def tensors(self) -> list[Any]:
        return [self.all[k].detach().clone() for k in self.places]

    def __call__(self, *tensors: Any) -> Any:
        return self._call(OURS[self.name], tensors)

    def of_torch(self, *tensors: Any) -> Any:
        return self._call(getattr(torch, self.name), tensors)

    def _call(self, function: Any, tensors: tuple[Any, ...]) -> Any:
        filled = list(self.all)
        for place, tensor in zip(self.places, tensors, strict=True):
            filled[place] = tensor
        return function(*filled, **self.kwargs)

    def writes_twice(self) -> bool:
        """Whether two values are written to one element, where torch gives the gradient to both."""
        if self.name not in ("scatter", "index_copy", "put", "index_put") or "reduce" in self.kwargs:
            return False
        if any(one is True for one in self.all):  # accumulates
            return False
        if len(self.places) == 1:
            return False
        total = self.all[0].numel()
        numbers = torch.arange(total, dtype=torch.float64).reshape(self.all[0].shape)
        values = torch.full_like(self.tensors()[1], 1).real.double()
        empty = torch.zeros_like(numbers)
        adding = {"scatter": "scatter_add", "index_copy": "index_add"}
        if self.name in adding:
            counts = getattr(torch, adding[self.name])(empty, *self.all[1:-1], values)
        else:
            counts = getattr(torch, self.name)(empty, *self.all[1 : self.places[1]], values, True)
        return bool((counts > 1).any())


def functions(written: dict[str, Any], name: str, dtype: str, most: int | None) -> list[Function]:
    """Those of the samples that both accept, or about `most` of them."""
    made = [Function(name, *sample) for sample in written["samples"][name, dtype]]
    if name == "gather":  # torch accepts an empty index of any rank, and rank 1 for an input of rank 0
        made = [one for one in made if one.all[2].ndim == one.all[0].ndim]
    return made if most is None else made[:: math.ceil(len(made) / most)]


def weights_of(result: Any) -> Any:
    weights = torch.linspace(1, 2, result.numel(), dtype=torch.float64).reshape(result.shape).to(result.dtype)
    return weights * (1 + 0.5j) if result.dtype.is_complex else weights


def gradients(function: Any, tensors: list[Any], create_graph: bool = False) -> tuple[Any, ...]:
    leaves = [tensor.requires_grad_() for tensor in tensors]
    result = function(*leaves)
    found: tuple[Any, ...] = torch.autograd.grad(
        result, leaves, weights_of(result), create_graph=create_graph, allow_unused=True, materialize_grads=True
    )
    return found


@SOME
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_forward(written, name, dtype, most):
    """The functions that test_torch_opinfo.py leaves out are compared here only."""
    compared = 0
    for function in functions(written, name, dtype, most):
        if function.writes_twice():  # which value is kept is not defined in torch
            continue
        torch.testing.assert_close(
            function(*function.tensors()), function.of_torch(*function.tensors()), equal_nan=True
        )
        compared += 1
    assert compared > 0


@SOME
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_backward(written, name, dtype, most):
    for function in functions(written, name, dtype, most):
        # torch gives a gradient to values that were overwritten, and has none for a scatter with reduce=.
        if function.writes_twice() or (function.name == "scatter" and "reduce" in function.kwargs):
            tensors = [tensor.requires_grad_() for tensor in function.tensors()]
            assert torch.autograd.gradcheck(function, tensors, fast_mode=True)
            continue
        found, expected = (gradients(each, function.tensors()) for each in (function, function.of_torch))
        for own, other in zip(found, expected, strict=True):
            torch.testing.assert_close(own, other, equal_nan=True)


@SOME
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_forward_over_backward(written, name, dtype, most):
    """The tangent of the gradient is the second derivative, which backward over backward gives too."""
    for function in functions(written, name, dtype, most):
        tensors = function.tensors()
        places = tuple(range(len(tensors)))

        def loss(*arguments, function=function):
            result = function(*arguments)
            return (result * result * weights_of(result)).sum().real

        tangents = tuple(torch.linspace(-1, 1, t.numel(), dtype=torch.float64).reshape(t.shape).to(t) for t in tensors)
        _, found = torch.func.jvp(torch.func.grad(loss, places), tuple(tensors), tangents)
        leaves = [tensor.requires_grad_() for tensor in tensors]
        first = torch.autograd.grad(loss(*leaves), leaves, create_graph=True)
        dot = sum((a.conj() * b).sum().real for a, b in zip(first, tangents, strict=True))
        expected = torch.autograd.grad(dot, leaves, allow_unused=True, materialize_grads=True)
        for own, other in zip(found, expected, strict=True):
            torch.testing.assert_close(own, other, equal_nan=True)


@SOME
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_vmapped(written, name, dtype, most):
    """A batch has the results, and the gradients, of a loop."""
    for function in functions(written, name, dtype, most):
        tensors = function.tensors()
        for mapped in range(1, 2 ** len(tensors)):
            dims = tuple(0 if mapped >> k & 1 else None for k in range(len(tensors)))
            batch = [t if d is None else torch.stack([t, t * 2]) for t, d in zip(tensors, dims, strict=True)]
            parts = [[t if d is None else t[k] for t, d in zip(batch, dims, strict=True)] for k in range(2)]
            found = torch.func.vmap(function, dims)(*batch)
            assert torch.equal(found, torch.stack([function(*part) for part in parts]))

            def pull(*arguments, function=function):
                result, back = torch.func.vjp(function, *arguments)
                return back(weights_of(result))

            for own, *others in zip(torch.func.vmap(pull, dims)(*batch), *(pull(*part) for part in parts), strict=True):
                torch.testing.assert_close(own, torch.stack(others), equal_nan=True)


# Error inputs, by function and place in torch's list, that are valid here (test_torch_opinfo.py says why).
ANSWERED = {("take", 2), ("index_add", 0)}
ERRORS = (ValueError, TypeError, IndexError, RuntimeError)
WITH_ERRORS = ["gather", "take", "index_select", "index_add", "scatter", "scatter_add"]


@pytest.mark.parametrize("mode", ["backward", "forward over backward", "vmapped"])
@pytest.mark.parametrize("name", WITH_ERRORS)
def test_errors(written, name, mode):
    assert written["errors"].keys() >= {*WITH_ERRORS}
    for number, (input, args, kwargs, _) in enumerate(written["errors"][name]):
        if (name, number) in ANSWERED or not input.dtype.is_floating_point:
            continue

        def call(tensor, args=args, kwargs=kwargs):
            return OURS[name](tensor, *args, **kwargs).sum()

        with pytest.raises(ERRORS):
            if mode == "backward":
                call(input.clone().requires_grad_())
            elif mode == "vmapped":
                torch.func.vmap(call)(torch.stack([input, input]))
            else:
                torch.func.jvp(torch.func.grad(call), (input,), (input,))
