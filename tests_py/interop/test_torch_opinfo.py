"""test_torch_opinfo.py: sample inputs and error inputs of torch's own tests (OpInfo), run on our functions."""

from __future__ import annotations

from typing import Any

import pytest

import gatherscatter as gs
import opinfo_samples
from torch_functions import OURS

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("expecttest", reason="expecttest, which torch's own tests need, is not installed")

INTS = ("uint8", "int8", "int16", "int32", "int64")
FLOATS = ("bfloat16", "float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
FULL_WIDTH = ("float32", "float64", *COMPLEX)
COMPUTES = ("bool", *INTS, *FLOATS, *COMPLEX)

# All dtypes for which torch has samples on the CPU; `test_nothing_is_left_out` checks that none is missing.
DTYPES = {
    "gather": COMPUTES,
    "take": COMPUTES,
    "take_along_dim": COMPUTES,
    "index_select": (*COMPUTES, "complex32"),
    "index_copy": (*COMPUTES, "complex32"),
    "index_add": COMPUTES,
    "scatter": COMPUTES,
    "scatter_add": COMPUTES,
    "scatter_reduce.sum": ("bool", *INTS, *FLOATS),
    "scatter_reduce.prod": ("bool", *INTS, *FLOATS),
    "scatter_reduce.mean": (*INTS, *FLOATS),
    "scatter_reduce.amin": ("bool", *INTS, *FLOATS),
    "scatter_reduce.amax": ("bool", *INTS, *FLOATS),
}
NOT_OURS = {("index_add", "complex32"): "complex32 is moved as it is; no reduction computes with it"}

# The numbers in torch 2.13, with each sample contiguous and not. With fewer, this file would silently check less.
FEWEST_SAMPLES, FEWEST_ERRORS = 4_000, 21


# Warnings of torch, once in a process: complex32 supports few operations, and functions of its own will change.
pytestmark = [
    pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental"),
    pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter"),
    pytest.mark.filterwarnings("ignore:An output with one or more elements was resized"),
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("opinfo") / "samples.pt"
    return opinfo_samples.read(path, {name.split(".")[0] for name in DTYPES})


SCATTERS = ("index_copy", "index_add", "scatter", "scatter_add", "scatter_reduce")


def function_of(name: str) -> str:
    return name.split(".")[0]


def reduces(name: str, kwargs: dict[str, Any]) -> bool:
    return name not in ("gather", "take", "take_along_dim", "index_select", "index_copy") and (
        name != "scatter" or "reduce" in kwargs
    )


# ---- differences and their reasons


def refused(function: str, input: Any, args: tuple[Any, ...]) -> tuple[type[Exception], str] | None:
    """The error of gatherscatter for a sample that only torch accepts."""
    if isinstance(args[-1], float) and not (input.dtype.is_floating_point or input.dtype.is_complex):
        return ValueError, r"2\.5"  # torch truncates the fraction without an error
    if function == "gather" and args[1].ndim > input.ndim:
        return ValueError, "rank"  # torch accepts an empty index of any rank, and rank 1 for an input of rank 0
    return None


# Error inputs of torch, by function and text of torch's error: our error. For all others it is a ValueError.
ERRORS: dict[tuple[str, str], tuple[type[Exception], str]] = {
    ("gather", "Expected out tensor to have dtype"): (TypeError, "out has dtype float64"),
    ("gather", "index 23 is out of bounds for dimension"): (gs.OutOfBoundsError, "index 23 is out of bounds"),
    ("scatter", "Expected self.dtype to be equal to src.dtype"): (TypeError, "float32"),
    ("scatter", "index 34 is out of bounds for dimension 0 with size 3"): (gs.OutOfBoundsError, "index 34 .* size 3"),
    ("scatter_add", "Expected self.dtype to be equal to src.dtype"): (TypeError, "float32"),
    ("scatter_add", "index 34 is out of bounds for dimension 0 with size 3"): (gs.OutOfBoundsError, "index 34 .* size"),
}
# Error inputs, by function and place in torch's list, that are valid here.
ANSWERED = {
    ("take", 2): "out may overlap the index: the answer is as if it had been copied",
    ("index_add", 0): "the source broadcasts to what is written",
}


# ---- samples


def outcome(function: str, input: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch's result. Half-width floats are computed in float32 and rounded once; torch itself rounds at every step."""
    if input.dtype not in (torch.bfloat16, torch.float16):
        return getattr(torch, function)(input, *args, **kwargs)
    wide = tuple(one.float() if isinstance(one, torch.Tensor) and one.dtype == input.dtype else one for one in args)
    return getattr(torch, function)(input.float(), *wide, **kwargs).to(input.dtype)


def same_bytes(result: Any, expected: Any) -> bool:
    plain = (one.clone(memory_format=torch.contiguous_format).reshape(-1) for one in (result, expected))
    left, right = (one.view(torch.uint8) for one in plain)
    return bool(torch.equal(left, right))


def assert_same(result: Any, expected: Any, reduced: bool) -> None:
    """Check for equal bytes; after a reduction in full width, within the rounding of another order of a few steps."""
    assert type(result) is torch.Tensor
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    if reduced and str(result.dtype).removeprefix("torch.") in FULL_WIDTH:
        step = torch.finfo(result.dtype).eps
        largest = float(torch.nan_to_num(expected.abs().double()).max()) if expected.numel() else 0.0
        torch.testing.assert_close(result, expected, rtol=4 * step, atol=4 * step * largest, equal_nan=True)
    else:
        assert same_bytes(result, expected)


def folded(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with many duplicates: torch's samples have few, because some of its gradients require that."""
    return (args[0], args[1] % 2, *args[2:])


ALL = [(name, dtype) for name, dtypes in DTYPES.items() for dtype in dtypes]


@pytest.mark.parametrize(("name", "dtype"), ALL)
def test_samples(written, name, dtype):
    function = function_of(name)
    for input, args, kwargs in written["samples"][name, dtype]:
        before = input.clone()
        if (error := refused(function, input, args)) is not None:
            with pytest.raises(error[0], match=error[1]):
                OURS[function](input, *args, **kwargs)
            assert same_bytes(input, before)
            continue
        reduced = reduces(function, kwargs)
        for given in (args, folded(args)) if reduced else (args,):
            expected = outcome(function, input, given, kwargs)
            assert_same(OURS[function](input, *given, **kwargs), expected, reduced)
            assert same_bytes(input, before)
            out = torch.empty_like(expected)
            assert OURS[function](input, *given, **kwargs, out=out) is out
            assert_same(out, expected, reduced)
            if function in SCATTERS:
                target = input.clone()  # the clone keeps the strides of a sample that is not contiguous
                assert OURS[function](target, *given, **kwargs, out=target) is target
                assert_same(target, expected, reduced)


def test_nothing_is_left_out(written):
    samples = written["samples"]
    assert {*ALL, *NOT_OURS} == samples.keys()
    assert sum(len(several) for several in samples.values()) >= FEWEST_SAMPLES
    assert sum(len(several) for several in written["errors"].values()) >= FEWEST_ERRORS
    assert all(samples.values())


def plain(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], input: Any) -> Any:
    """torch's result for an error input that is valid here, without the part that torch rejects."""
    if name == "index_add":
        dim, index, source = args
        args = (dim, index, source.expand(len(index), -1))
    kwargs = {key: value for key, value in kwargs.items() if key != "out"}
    return getattr(torch, name)(input, *args, **kwargs)


@pytest.mark.parametrize("name", ["gather", "take", "index_select", "index_add", "scatter", "scatter_add"])
def test_errors(written, name):
    """torch's error inputs raise here too, before anything is written, or have a documented meaning."""
    assert written["errors"][name]
    for number, (input, args, kwargs, words) in enumerate(written["errors"][name]):
        if (name, number) in ANSWERED:
            expected = plain(name, args, kwargs, input)
            assert_same(OURS[name](input, *args, **kwargs), expected, False)
        else:
            error, own_words = ERRORS.get((name, words), (ValueError, "."))
            target = kwargs.get("out", input)
            before = target.clone()
            for out in ({}, {"out": input}) if name in SCATTERS else ({},):
                with pytest.raises(error, match=own_words):
                    OURS[name](input, *args, **kwargs, **out)
                assert same_bytes(target, before)
        with pytest.raises(Exception, match=words):  # after ours, because torch resizes `out` before it raises
            getattr(torch, name)(input, *args, **kwargs)


def test_every_difference_is_met(written):
    """Every entry of the tables above occurs."""
    errors = written["errors"]
    assert {(name, words) for name, several in errors.items() for *_, words in several} >= ERRORS.keys()
    assert {(name, place) for name, several in errors.items() for place in range(len(several))} >= ANSWERED.keys()
    met = {
        refused(function_of(name), input, args)
        for (name, _), several in written["samples"].items()
        for input, args, _ in several
    }
    assert met == {None, (ValueError, r"2\.5"), (ValueError, "rank")}
