"""test_interop_torch.py: tensors give tensors: dtypes, layouts, mixed libraries, and tensors that must be rejected."""

import gc
import threading
import warnings

import numpy as np
import pytest

import gatherscatter as gs

torch = pytest.importorskip("torch", reason="torch is not installed")

DTYPES = (
    *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
INDEX_DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
POOLED = 1 << 20  # bytes of a result that is allocated from the recycling pool


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(20)


def random_tensor(dtype, shape, generator):
    """Random bytes, NaNs included, read as `dtype`."""
    dtype = getattr(torch, dtype)
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator, dtype=torch.uint8).bool()
    raw = torch.randint(0, 256, (*shape[:-1], shape[-1] * dtype.itemsize), generator=generator, dtype=torch.uint8)
    return raw.view(dtype)


def raw(tensor):
    """The bytes of every element, as an array with one more axis."""
    tensor = tensor.contiguous()
    return tensor.reshape(-1).view(torch.uint8).numpy().reshape(*tensor.shape, tensor.element_size())


# ---- dtypes


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_every_dtype(dtype, generator):
    x = random_tensor(dtype, (7, 6), generator)
    result = gs.take(x, torch.tensor([6, 0, -1]), axis=0)
    assert type(result) is torch.Tensor and result.dtype == x.dtype and result.device == x.device
    np.testing.assert_array_equal(raw(result), raw(x)[[6, 0, -1]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_of_every_dtype(dtype, generator):
    x = random_tensor(dtype, (5, 9), generator)
    index = torch.randint(0, 9, (5, 4), generator=generator)
    result = gs.gather(x, 1, index)
    assert result.dtype == x.dtype and result.is_contiguous()
    np.testing.assert_array_equal(raw(result), raw(x)[np.arange(5)[:, None], index.numpy()])


@pytest.mark.parametrize("dtype", DTYPES)
def test_padding_of_every_dtype(dtype, generator):
    x = random_tensor(dtype, (6,), generator)
    result = gs.gather(x, torch.tensor([5, 6, 0]), axis=0, bounds="fill")
    np.testing.assert_array_equal(raw(result)[[0, 2]], raw(x)[[5, 0]])
    assert not raw(result)[1].any(), "the default padding is zero bytes"


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_every_index_dtype(dtype):
    x = torch.arange(300.0)
    values = [0, 7, 127] if dtype == "int8" else [0, 7, 255]
    index = torch.tensor(values, dtype=getattr(torch, dtype))
    assert gs.take(x, index).tolist() == values


@pytest.mark.parametrize("dtype", ["bool", "float32", "complex64", "bfloat16"])
def test_what_is_no_index(dtype):
    with pytest.raises(TypeError):
        gs.gather(torch.arange(5.0), torch.zeros(3, dtype=getattr(torch, dtype)), axis=0)


# ---- layouts

LAYOUTS = {
    "contiguous": lambda t: t,
    "transposed": lambda t: t.T,
    "sliced": lambda t: t[1:, ::2],
    "expanded": lambda t: t[:1].expand(6, -1),
    "offset": lambda t: t[2:],
    "empty": lambda t: t[:0],
    "one row": lambda t: t[:1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_layouts(layout, dim, generator):
    x = LAYOUTS[layout](torch.randn(6, 8, generator=generator))
    count = x.shape[dim] if x.numel() else 0
    index = torch.randint(0, max(count, 1), (min(x.shape[0], 4), min(x.shape[1], 3)), generator=generator)
    index = index[:0] if not count else index
    result = gs.gather(x, dim, index)
    assert torch.equal(result, torch.gather(x, dim, index)) and result.is_contiguous()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_the_index(layout, generator):
    index = LAYOUTS[layout](torch.randint(0, 9, (6, 8), generator=generator))
    x = torch.randn(9, 3, generator=generator)
    assert torch.equal(gs.gather(x, index, axis=0), x[index])


def test_zero_dimensions():
    x = torch.tensor(5.0)
    result = gs.gather(x, 0, torch.tensor(0))
    assert type(result) is torch.Tensor and result.shape == () and result == 5
    result = gs.gather(torch.arange(4.0), torch.tensor(3), axis=0)
    assert type(result) is torch.Tensor and result.shape == () and result == 3


@pytest.mark.parametrize("rank", [20, 64])
def test_many_dimensions(rank, generator):
    shape = [2 if axis % (rank // 10) == 0 else 1 for axis in range(rank)]
    x, index = torch.randn(shape, generator=generator), torch.randint(0, 2, shape, generator=generator)
    dim = 4 * (rank // 10)
    expected = torch.gather(x, dim, index)
    assert torch.equal(gs.gather(x, dim, index), expected)
    out = torch.zeros(shape)
    gs.gather(x, dim, index, out=out)
    assert torch.equal(out, expected)


# ---- libraries mixed


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_numpy_index_of_a_tensor(dtype):
    result = gs.take(torch.arange(50.0), np.array([[3, 4], [49, 0]], dtype))
    assert type(result) is torch.Tensor and result.tolist() == [[3, 4], [49, 0]]


def test_tensor_index_of_a_numpy_array():
    result = gs.take(np.arange(50.0), torch.tensor([3, 49]))
    assert type(result) is np.ndarray and result.tolist() == [3, 49]


@pytest.mark.parametrize("index", [[3, 1], (3, 1), 3, np.int16(3), range(3)], ids=repr)
def test_python_index_of_a_tensor(index):
    result = gs.take(torch.arange(5.0), index)
    assert type(result) is torch.Tensor
    assert result.tolist() == np.take(np.arange(5.0), index).tolist()


@pytest.mark.parametrize("library", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize("mask_library", [np.asarray, torch.as_tensor], ids=["numpy mask", "torch mask"])
def test_masks(library, mask_library):
    x, index, mask = np.arange(10.0), np.array([[1, 99], [3, 4]]), np.array([[True, False], [False, True]])
    result = gs.gather(library(x), library(index), axis=0, mask=mask_library(mask), fill_value=-1)
    assert isinstance(result, type(library(x))) and result.tolist() == [[1, -1], [-1, 4]]


@pytest.mark.parametrize("fill", [2.5, np.float32(2.5), torch.tensor(2.5)], ids=["python", "numpy", "torch"])
def test_fill_values(fill):
    result = gs.gather(torch.arange(3.0), torch.tensor([0, 5]), axis=0, bounds="fill", fill_value=fill)
    assert result.tolist() == [0, 2.5]


def test_fill_value_of_bfloat16():
    x = torch.arange(3, dtype=torch.bfloat16)
    result = gs.gather(x, torch.tensor([2, 5]), axis=0, bounds="fill", fill_value=-1.5)
    assert result.dtype == torch.bfloat16 and result.tolist() == [2, -1.5]


def test_errors_are_those_of_every_library():
    with pytest.raises(gs.OutOfBoundsError, match="index 7 is out of bounds for axis 0 with size 5") as caught:
        gs.take(torch.arange(5.0), torch.tensor([[0, 1], [2, 7]]))
    assert caught.value.position == (1, 1)


# ---- gradients: nothing is detached silently (test_torch_gradients.py has their values)


def requires_grad():
    return torch.arange(4.0, requires_grad=True)


@pytest.mark.parametrize("x", [requires_grad, lambda: requires_grad() * 2, lambda: torch.nn.Parameter(torch.ones(4))])
def test_the_result_of_a_tensor_that_requires_grad_requires_grad(x):
    assert gs.take(x(), torch.tensor([1])).requires_grad


def test_a_gradient_does_not_get_lost_in_another_library():
    x = requires_grad()
    for call in (
        lambda: gs.scatter(np.zeros(4, np.float32), 0, np.arange(4), x),
        lambda: gs.gather(np.zeros(4), np.array([9]), axis=0, bounds="fill", fill_value=x[0]),
        lambda: gs.tile_gather(np.zeros(4, np.float32), np.arange(4), padding_value=x),
        lambda: gs.plan(gs.gather, x, [9], axis=0, bounds="fill", fill_value=x[0]),
    ):
        with pytest.raises(RuntimeError, match="detach"):
            call()


def test_a_plan_of_a_tensor_that_requires_grad():
    x, index = requires_grad(), torch.tensor([3, 1])
    plan = gs.plan(gs.take, x, index)
    assert torch.is_grad_enabled() and not plan(x.detach(), index).requires_grad
    assert plan(x, index).tolist() == [3, 1] and plan(x, index).requires_grad


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_it_is_a_tensor_like_any(mode):
    x = requires_grad()
    with mode():
        result = gs.take(x, torch.tensor([3, 1]))
    assert result.tolist() == [3, 1] and not result.requires_grad
    assert gs.take(x, torch.tensor([3, 1])).requires_grad


def test_a_detached_tensor_is_fine():
    assert gs.take(requires_grad().detach(), torch.tensor([3])).tolist() == [3]


def test_a_parameter_without_gradient_is_fine():
    result = gs.take(torch.nn.Parameter(torch.arange(4.0), requires_grad=False), torch.tensor([3]))
    assert type(result) is torch.Tensor and result.tolist() == [3]


# ---- lazy bits: the right values or an error


def lazily_conjugated():
    return torch.tensor([1 + 2j, 3 - 4j]).conj()


def lazily_negated():
    return torch.tensor([1 + 2j, 3 - 4j]).conj().imag


@pytest.mark.parametrize("lazy", [lazily_conjugated, lazily_negated])
def test_lazy_bits_of_the_data(lazy):
    x = lazy()
    assert x.is_conj() or x.is_neg()
    try:
        result = gs.take(x, [1, 0])
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        assert "resolve_" in str(error)
    else:
        assert torch.equal(result.resolve_conj().resolve_neg(), x[[1, 0]].resolve_conj().resolve_neg())


def test_lazy_bits_of_out():
    base = torch.zeros(2, dtype=torch.complex64)
    out = base.conj()
    try:
        gs.gather(torch.tensor([1 + 2j, 3 - 4j]), [1, 0], axis=0, out=out)
    except (BufferError, RuntimeError, TypeError, ValueError):
        assert base.tolist() == [0, 0]
    else:
        assert out.tolist() == [3 - 4j, 1 + 2j]


# ---- tensors without memory that can be read


class Labelled(torch.Tensor):
    """A subclass that overrides nothing."""


def test_a_subclass_is_a_tensor_or_refused():
    x = torch.arange(4.0).as_subclass(Labelled)
    try:
        result = gs.take(x, torch.tensor([3, 1]))
    except TypeError as error:
        assert "torch.Tensor" in str(error)
    else:
        assert isinstance(result, torch.Tensor) and result.tolist() == [3, 1]


def test_a_subclass_that_requires_grad_is_refused():
    x = torch.arange(4.0).as_subclass(Labelled).requires_grad_()
    with pytest.raises((RuntimeError, TypeError, ValueError, BufferError), match=r"detach|plain"):
        gs.take(x, torch.tensor([3, 1]))


def fake():
    fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor", reason="this torch has no FakeTensor")
    with fake_tensor.FakeTensorMode():
        return torch.ones(4)


UNREADABLE = {
    "sparse coo": lambda: torch.ones(4).to_sparse(),
    "sparse csr": lambda: torch.ones(2, 2).to_sparse_csr(),
    "quantised": lambda: torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.quint8),
    "mkldnn": lambda: torch.ones(4).to_mkldnn(),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
}


ONLY_SHAPES = {"fake": fake, "meta": lambda: torch.ones(4, device="meta")}


def unreadable(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that some of them are experimental or deprecated
        return (UNREADABLE | ONLY_SHAPES)[kind]()


@pytest.mark.parametrize("kind", UNREADABLE)
def test_unreadable_data_is_a_type_error(kind):
    with pytest.raises(TypeError):
        gs.take(unreadable(kind), [0])


@pytest.mark.parametrize("kind", ONLY_SHAPES)
def test_tensors_that_have_only_a_shape_give_one(kind):
    x = unreadable(kind)
    index = x.to(torch.int64)
    for result in (gs.take(x, [0, 2, 2]), gs.gather(x, 0, index[:3]), gs.scatter(x, index[:3], x[:3])[:3]):
        assert result.shape == (3,) and result.dtype == x.dtype and type(result) is type(x)
        assert result.device == x.device


@pytest.mark.parametrize("kind", UNREADABLE)
def test_unreadable_indices_are_a_type_error(kind):
    with pytest.raises(TypeError):
        gs.gather(torch.ones(4), unreadable(kind), axis=0)


@pytest.mark.parametrize("kind", [*UNREADABLE, *ONLY_SHAPES])
def test_unreadable_out_is_a_type_error(kind):
    with pytest.raises(TypeError):
        gs.gather(torch.ones(4), torch.arange(4), axis=0, out=unreadable(kind))


@pytest.mark.parametrize("kind", ["fake", "meta"])
def test_unreadable_int_indices_are_a_type_error(kind):
    with pytest.raises(TypeError):
        gs.take(np.arange(4.0), unreadable(kind).to(torch.int64))


# ---- results have memory of their own, are writable, and outlive the arguments


def test_results_are_writable_and_their_own():
    x = torch.arange(6.0)
    result = gs.take(x, torch.arange(6))
    result += 10
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and result.tolist() == [10, 11, 12, 13, 14, 15]
    assert result.data_ptr() != x.data_ptr() and not result.requires_grad


@pytest.mark.parametrize("count", [16, POOLED])
def test_results_outlive_their_arguments(count):
    x, index = torch.arange(float(count)), torch.arange(count - 1, -1, -1)
    expected = x.flip(0)
    result = gs.take(x, index)
    del x, index
    gc.collect()
    _ = [torch.full((count,), -1.0) for _ in range(3)]
    assert torch.equal(result, expected)


def test_views_keep_a_pooled_result_alive():
    view = gs.take(torch.arange(float(POOLED)), torch.arange(POOLED))[5:9]
    gc.collect()
    others = [gs.take(torch.zeros(POOLED), torch.arange(POOLED)) for _ in range(3)]
    assert view.tolist() == [5, 6, 7, 8] and all(other.untyped_storage().data_ptr() for other in others)


def test_pooled_results_are_recycled():
    if not gs.show_config()["pool_enabled"]:
        pytest.skip("GS_POOL=0: there is no pool")
    x, index = torch.arange(float(POOLED)), torch.arange(POOLED)
    first = gs.take(x, index)
    address = first.data_ptr()
    assert gs.take(x, index).data_ptr() != address, "memory in use is not recycled"
    del first
    gc.collect()
    seen = {gs.take(x, index).data_ptr() for _ in range(4)}
    assert address in seen


def test_a_result_may_be_freed_in_another_thread():
    x, index = torch.arange(float(POOLED)), torch.arange(POOLED)
    for _ in range(5):
        results = [gs.take(x, index) for _ in range(3)]
        thread = threading.Thread(target=results.clear)
        thread.start()
        thread.join()
    assert torch.equal(gs.take(x, index), x)


# ---- out


def test_out():
    x, index = torch.arange(12.0).reshape(3, 4), torch.tensor([[3, 0], [1, 1], [2, 0]])
    out = torch.zeros(3, 2)
    assert gs.gather(x, 1, index, out=out) is out
    assert torch.equal(out, torch.gather(x, 1, index))


def test_out_may_be_strided():
    x, index = torch.arange(12.0).reshape(3, 4), torch.tensor([[3, 0], [1, 1], [2, 0]])
    base = torch.full((5, 3), -1.0)
    gs.gather(x, 1, index, out=base.T[:, 1:3])
    assert torch.equal(base.T[:, 1:3], torch.gather(x, 1, index))
    assert (base[0] == -1).all() and (base[3:] == -1).all()


def test_out_of_another_dtype_is_a_type_error():
    with pytest.raises(TypeError):
        gs.gather(torch.ones(4), torch.tensor([1]), axis=0, out=torch.zeros(1, dtype=torch.float64))


@pytest.mark.parametrize("out", [lambda: torch.zeros(3), lambda: torch.zeros(2, 1), lambda: torch.zeros(1).expand(2)])
def test_out_that_does_not_fit_is_a_value_error(out):
    with pytest.raises(ValueError):
        gs.gather(torch.ones(4), torch.tensor([1, 2]), axis=0, out=out())


def test_out_overlapping_the_input():
    x = torch.arange(8.0)
    gs.gather(x[:6], torch.tensor([5, 4, 3, 2, 1, 0]), axis=0, out=x[2:])
    assert x.tolist() == [0, 1, 5, 4, 3, 2, 1, 0]


def test_an_error_leaves_out_as_it_was():
    out = torch.full((3,), 5.0)
    with pytest.raises(gs.OutOfBoundsError):
        gs.gather(torch.ones(4), torch.tensor([1, 2, 9]), axis=0, out=out)
    assert out.tolist() == [5, 5, 5]
