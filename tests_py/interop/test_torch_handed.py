"""test_torch_handed.py: values and gradients beside ordered loops, byte for byte.

Small calls that record a gradient run by torch's functions where these have the same bytes (docs/design.md, "Calls
handed to other libraries"). What is drawn here lies on both sides of that condition.
"""

from __future__ import annotations

import collections

import numpy as np
import pytest

import gatherscatter as gs

torch = pytest.importorskip("torch", reason="torch is not installed")

OURS = {"_GatherBackward", "_ScatterBackward"}
DTYPES = (torch.float32, torch.float64, torch.float32, torch.float64, torch.float16, torch.complex64)
INDEX_DTYPES = (torch.int64, torch.int64, torch.int64, torch.int32, torch.int16, torch.uint8)
SPECIAL = (np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, 1e4, -1e4, 1e-7)


def drawn_values(rng, shape, dtype):
    """Values of many magnitudes, so that the order of a sum shows, and some that are no finite numbers."""
    kind = torch.empty(0, dtype=dtype).numpy().dtype
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 3, shape)
    if rng.random() < 0.4:
        values = np.where(rng.random(shape) < 0.3, rng.choice(SPECIAL, shape), values)
    return torch.from_numpy(np.asarray(values).astype(kind))


def laid_out(rng, tensor):
    """The tensor in another layout; an expanded or overlapping one has other values."""
    form, rank = rng.integers(0, 8), tensor.ndim
    if rank == 0 or form == 0:
        return tensor.contiguous()
    if form == 1:
        axes = [int(axis) for axis in rng.permutation(rank)]
        return tensor.permute(axes).contiguous().permute([int(axis) for axis in np.argsort(axes)])
    if form == 2:
        strided = tensor.new_zeros([2 * extent for extent in tensor.shape])[
            tuple(slice(0, None, 2) for _ in range(rank))
        ]
        return strided.copy_(tensor)
    if form == 3:
        axis = int(rng.integers(0, rank))
        return tensor.select(axis, 0).unsqueeze(axis).expand(tensor.shape)
    if form == 4:
        return tensor[(0,) * rank].expand(tensor.shape)  # as the gradient of a sum is
    if form == 5:
        return tensor.flip(list(range(rank)))
    if form == 7:  # strides of axes with one element are free
        strides = [stride if extent > 1 else 1 for extent, stride in zip(tensor.shape, _strides(tensor), strict=True)]
        return tensor.contiguous().as_strided(tensor.shape, strides)
    return tensor.new_zeros(tensor.numel() + 3)[3:].view(tensor.shape).copy_(tensor)


def _strides(tensor):
    return tensor.contiguous().stride()


def bytes_of(tensor):
    return tensor.detach().numpy().tobytes()


def summed(values, start):
    """The sum in this order, as ours are defined: narrow floats in float32, and a NaN is the positive quiet one."""
    kind = start.dtype
    total = start.astype(np.float32) if kind == np.float16 else start
    for value in values:
        total = total + value.astype(total.dtype)
    if kind == np.complex64:
        parts = (np.float32(np.nan) if np.isnan(part) else part for part in (total.real, total.imag))
        return np.array(list(parts), np.float32).view(np.complex64)[0]
    return kind.type(np.nan) if np.isnan(total) else kind.type(total)


def sums(shape, dtype, contributions, start=None):
    """An array that holds `start`, or 0, plus the values that fall on each of its elements, in order."""
    result = np.zeros(shape, dtype) if start is None else start.copy()
    for place, values in contributions.items():
        result[place] = summed(values, result[place])
    return result


class Case:
    """One call: which element of the target each element of the values belongs to, in C order of the values."""

    def __init__(self, rng):
        self.dtype = DTYPES[rng.integers(0, len(DTYPES))]
        self.kind = ("take", "rows", "along", "points", "set rows", "set along", "add rows", "add along")[
            rng.integers(0, 8)
        ]
        self.scatters = self.kind.startswith(("set", "add"))
        rank = int(rng.integers(1, 4))
        shape = tuple(int(extent) for extent in rng.integers(1, 7, rank))
        if rng.random() < 0.1:
            shape = tuple(int(extent) for extent in rng.integers(1, {1: 900, 2: 40, 3: 12}[rank], rank))
        self.axis = int(rng.integers(0, rank))
        self.input = laid_out(rng, drawn_values(rng, shape, self.dtype))
        self.index = self._drawn_index(rng, shape)
        places = np.arange(self.input.numel()).reshape(shape)
        ids = self.index.long().numpy()
        if self.kind == "take":
            self.places = places.reshape(-1)[ids]
        elif self.kind == "points":
            self.places = places[tuple(ids.T)]
        elif self.kind.endswith("rows"):
            self.places = places.take(ids, self.axis)
        else:
            lines = places[
                tuple(slice(extent) if d != self.axis else slice(None) for d, extent in enumerate(ids.shape))
            ]
            self.places = np.take_along_axis(lines, ids, self.axis)
        self.source = laid_out(rng, drawn_values(rng, self.places.shape, self.dtype))
        gradient_shape = shape if self.scatters else self.places.shape
        self.gradient = laid_out(rng, drawn_values(rng, gradient_shape, self.dtype))
        self.by_keyword = bool(rng.random() < 0.5)
        self.records = [bool(rng.random() < 0.8), bool(rng.random() < 0.8)]

    def _drawn_index(self, rng, shape):
        dtype, extent = INDEX_DTYPES[rng.integers(0, len(INDEX_DTYPES))], shape[self.axis]
        count = int(rng.integers(1, 9)) if rng.random() < 0.9 else int(rng.integers(1000, 1050))
        if self.kind == "take":
            dims = (count, int(rng.integers(1, 4)))[: int(rng.integers(1, 3))]
            highest = int(np.prod(shape))
        elif self.kind == "points":
            depth = int(rng.integers(1, len(shape) + 1))
            low = np.stack([rng.integers(0, shape[d], count) for d in range(depth)], 1)
            made = self._as_index(rng, low, dtype)  # a layout may give a coordinate to another axis
            fits = (made.long() < torch.tensor(shape[:depth])).all()
            return made if fits else torch.from_numpy(low)
        elif self.kind.endswith("rows"):
            dims, highest = (min(count, extent) if self.kind == "set rows" else count,), extent
        else:
            most = 8 if rng.random() < 0.8 else 200  # for many, torch has other kernels
            dims = tuple(
                min(count, most) if d == self.axis else int(rng.integers(1, each + 1)) for d, each in enumerate(shape)
            )
            highest = extent
        ids = rng.integers(0, highest, dims)
        if self.kind.startswith("set") and rng.random() < 0.7:  # no element twice
            axis = self.axis if ids.ndim == len(shape) and self.kind == "set along" else 0
            count = min(ids.shape[axis], extent)
            lines = [extent if d == axis else each for d, each in enumerate(ids.shape)]
            ids = np.argsort(rng.random(lines), axis).take(range(count), axis)
        return self._as_index(rng, ids, dtype)

    def _as_index(self, rng, ids, dtype):
        if ids.max(initial=0) > torch.iinfo(dtype).max:
            dtype = torch.int64
        return laid_out(rng, torch.from_numpy(np.array(ids)).to(dtype))

    def run(self):
        """The result, its gradients, and the name of what recorded it."""
        input, source = (
            tensor.detach().requires_grad_(records)
            for tensor, records in zip((self.input, self.source), self.records, strict=True)
        )
        if not self.scatters:
            input.requires_grad_()
        reduce = {"reduce": "add"} if self.kind.startswith("add") else {}
        if self.kind == "take":
            result = gs.take(input, self.index)
        elif self.kind == "points":
            result = gs.gather_nd(input, self.index)
        elif self.kind == "rows":
            result = gs.take(input, self.index, axis=self.axis)
        elif self.kind == "along":
            result = gs.gather(input, self.axis, self.index)
        elif self.kind.endswith("rows") and self.by_keyword:
            result = gs.scatter(input, indices=self.index, src=source, axis=self.axis, **reduce)
        elif self.kind.endswith("rows"):
            result = gs.scatter(input, self.index, source, axis=self.axis, **reduce)
        elif self.by_keyword:
            result = gs.scatter(input, dim=self.axis, index=self.index, src=source, **reduce)
        else:
            result = gs.scatter(input, self.axis, self.index, source, **reduce)
        if result.grad_fn is None:
            return result, {}, None
        leaves = {name: leaf for name, leaf in (("input", input), ("source", source)) if leaf.requires_grad}
        if not self.scatters:
            leaves.pop("source", None)
        gradients = torch.autograd.grad(result, list(leaves.values()), self.gradient)
        return result, dict(zip(leaves, gradients, strict=True)), type(result.grad_fn).__name__

    def expected(self):
        """The result and both gradients, by loops."""
        flat, source, gradient = (
            np.ascontiguousarray(each.numpy()).reshape(-1) for each in (self.input, self.source, self.gradient)
        )
        places, kind = self.places.reshape(-1), flat.dtype
        if not self.scatters:
            fallen = collections.defaultdict(list)
            for value, place in zip(gradient, places, strict=True):
                fallen[place].append(value)
            return flat[places], {"input": sums(flat.shape, kind, fallen)}
        if self.kind.startswith("add"):
            fallen = collections.defaultdict(list)
            for value, place in zip(source, places, strict=True):
                fallen[place].append(value)
            return sums(flat.shape, kind, fallen, flat), {"input": gradient, "source": gradient[places]}
        result, of_input, of_source, writer = flat.copy(), gradient.copy(), np.zeros_like(source), {}
        for number, place in enumerate(places):
            result[place], of_input[place], writer[place] = source[number], 0, number
        for place, number in writer.items():
            of_source[number] = gradient[place]
        return result, {"input": of_input, "source": of_source}


@pytest.mark.filterwarnings("ignore:(invalid value|overflow) encountered:RuntimeWarning")
@pytest.mark.parametrize("seed", range(4))
def test_values_and_gradients_have_the_bytes_of_ordered_loops(seed):
    rng, recorders = np.random.default_rng(seed), collections.Counter()
    for _ in range(150):
        case = Case(rng)
        result, gradients, name = case.run()
        expected, of_arguments = case.expected()
        where = (
            case.kind,
            case.dtype,
            case.index.dtype,
            case.index.shape,
            case.index.stride(),
            case.input.stride(),
            name,
        )
        assert result.is_contiguous() and bytes_of(result) == expected.tobytes(), where
        for argument, gradient in gradients.items():
            layout = (*where, argument, case.gradient.stride())
            assert bytes_of(gradient) == of_arguments[argument].tobytes(), layout
        recorders[name in OURS] += 1
    assert min(recorders[False], recorders[True]) > 20, "one side of the condition was hardly drawn"


@pytest.mark.parametrize("columns", [3, 257])
def test_values_that_putmask_repeats_have_gradients_in_the_order_of_the_points(columns):
    rng = np.random.default_rng(columns)
    gradient = torch.from_numpy((rng.standard_normal((500, columns)) * 10.0 ** rng.integers(-3, 4)).astype(np.float32))
    mask = torch.from_numpy(rng.random((500, columns)) < 0.5)
    values = torch.ones(columns, requires_grad=True)
    target = torch.zeros(500, columns)
    written = target.clone()
    gs.putmask(written, mask, values)
    assert torch.equal(written, mask.float())
    (found,) = torch.autograd.grad(written, values, gradient)
    expected = np.zeros(columns, np.float32)
    for row, chosen in zip(gradient.numpy(), mask.numpy(), strict=True):
        expected += np.where(chosen, row, np.float32(0))
    assert bytes_of(found) == expected.tobytes()


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning")
@pytest.mark.parametrize("seed", range(3))
def test_complex32_is_summed_in_complex64(seed):
    rng = np.random.default_rng(seed)
    x = torch.view_as_complex(torch.from_numpy(rng.standard_normal((6, 2)).astype(np.float32))).to(torch.complex32)
    index = torch.from_numpy(rng.integers(0, 6, 9))
    gradient = torch.view_as_complex(torch.from_numpy(rng.standard_normal((9, 2)).astype(np.float32)))
    (found,) = torch.autograd.grad(gs.take(x.requires_grad_(), index), x, gradient.to(torch.complex32))
    whole = x.detach().to(torch.complex64).requires_grad_()
    (expected,) = torch.autograd.grad(gs.take(whole, index), whole, gradient.to(torch.complex32).to(torch.complex64))
    assert torch.equal(found.to(torch.complex64), expected.to(torch.complex32).to(torch.complex64))
    with pytest.raises(TypeError, match=r"complex32, which reduce='add' does not support.*x\.to\(torch\.complex64\)"):
        gs.scatter(x.detach(), index[:2], x.detach()[:2], axis=0, reduce="add")


@pytest.mark.parametrize("points", [1024, 1025, 5000, 8192, 8193])
@pytest.mark.parametrize("form", ["rows", "along"])
def test_sums_along_the_only_axis(form, points):
    """They are handed to torch up to 8,192 points; an index that torch refuses is left to ours, wherever it stands."""
    rng = np.random.default_rng(points)
    for dtype in (torch.float32, torch.float64):
        drawn = (rng.standard_normal(n) * 10.0 ** rng.integers(-2, 3, n) for n in (100, points))
        x, source = (torch.from_numpy(each).to(dtype).requires_grad_() for each in drawn)
        index = torch.from_numpy(rng.integers(0, 100, points))

        def call(index, x=x, source=source):
            axis = () if form == "rows" else (0,)
            return gs.scatter(x, *axis, index, source, reduce="add")

        result = call(index)
        assert (type(result.grad_fn).__name__ in OURS) == (points > 8192)
        by_target = collections.defaultdict(list)
        for target, value in zip(index.tolist(), source.detach().numpy(), strict=True):
            by_target[target].append(value)
        wanted = [summed(by_target[target], start) for target, start in enumerate(x.detach().numpy())]
        assert bytes_of(result) == np.array(wanted).tobytes()
        weights = drawn_values(rng, 100, dtype)
        of_x, of_source = torch.autograd.grad(result, (x, source), weights)
        assert bytes_of(of_x) == bytes_of(weights) and bytes_of(of_source) == bytes_of(weights[index])
        negative = index.clone()
        negative[points - 2] -= 100
        assert bytes_of(call(negative)) == bytes_of(result)
        for bad in (100, -101):
            index[points - 2] = bad
            with pytest.raises(gs.OutOfBoundsError, match=f"index {bad} "):
                call(index)
