"""test_attacks.py: cases from hostile use; each once gave a wrong answer, a crash or a wrong error text."""

import pickle

import numpy as np
import pytest

import gatherscatter as gs


@pytest.mark.parametrize("dtype", [">i2", ">f8", ">c16", "<i4"])
def test_a_pickled_plan_keeps_its_fill_value(dtype):
    x, index = np.arange(3, dtype=dtype), np.array([0, 9])
    plan = gs.plan(gs.gather, x, 0, index, bounds="fill", fill_value=-32000)
    again = pickle.loads(pickle.dumps(plan))
    assert again(x, index).tolist() == plan(x, index).tolist() == [0, -32000]
    assert again == plan


def test_a_plan_owns_its_padding():
    padding, a, index = np.array(7.0), np.arange(6.0), (np.array([9]),)
    plan = gs.plan(gs.tile_gather, a, index, padding_value=padding)
    padding[()] = 8
    assert plan(a, index).tolist() == [7]


class Shrinks(np.ndarray):
    armed = False

    def __array_finalize__(self, parent):
        if parent is not None and Shrinks.armed:
            np.ndarray.resize(self, (1,), refcheck=False)


def test_a_result_that_its_class_shrinks_is_not_written_to():
    a = np.arange(20000.0).view(Shrinks)
    Shrinks.armed = True
    try:
        with pytest.raises(ValueError):
            gs.gather(a, 0, np.arange(10000))
    finally:
        Shrinks.armed = False


def test_strides_that_are_never_followed_may_be_anything():
    x = np.lib.stride_tricks.as_strided(np.arange(3.0), (1, 1, 3), (-(2**63), 2**63 - 1, 8))
    np.testing.assert_array_equal(gs.gather(x, 2, np.zeros((1, 1, 2), int)), [[[0, 0]]])
    np.testing.assert_array_equal(gs.gather(x, np.array([2, 0]), axis=2), [[[2, 0]]])


def test_ranks_that_numpy_lacks_may_overlap():
    torch = pytest.importorskip("torch", reason="needs torch")
    z = torch.zeros((1,) * 70)
    assert gs.gather(z, 0, torch.zeros((1,) * 70, dtype=torch.int64), out=z) is z
    strided = torch.as_strided(torch.arange(3.0), (1, 3), (2**62, 1))
    assert gs.gather(strided, 1, torch.tensor([[2]])).tolist() == [[2]]


def test_an_unknown_integer_mode_is_numpys_error():
    with pytest.raises(ValueError, match="clipmode"):
        gs.take(np.arange(3), [0], mode=5)


def test_integers_of_thousands_of_digits_are_named_in_messages():
    huge = 10**5000
    with pytest.raises(ValueError, match="out of range"):
        gs.tile_gather(np.zeros(2, "u1"), ([9],), padding_value=huge)
    with pytest.raises(ValueError, match="does not fit"):
        gs.gather(np.zeros(2, "u1"), 0, np.array([9]), bounds="fill", fill_value=huge)
    with pytest.raises(ValueError, match="1 to 1024"):
        gs.set_num_threads(huge)


def test_a_masked_constant_is_no_fill_value():
    with pytest.raises(ValueError, match="does not fit"):
        gs.gather(np.zeros(2, "i4"), 0, np.array([9]), bounds="fill", fill_value=np.ma.masked)


def test_lazy_paddings_are_resolved():
    torch = pytest.importorskip("torch", reason="needs torch")
    a = torch.zeros(2, dtype=torch.complex64)
    got = gs.tile_gather(a, (torch.tensor([7]),), padding_value=torch.tensor(1 + 2j).conj())
    assert got.tolist() == [1 - 2j]
