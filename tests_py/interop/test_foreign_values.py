"""test_foreign_values.py: values that are no arrays: Arrow scalars, lists that contain themselves, unnamed dtypes."""

import numpy as np
import pyarrow as pa
import pytest

import gatherscatter as gs
from hostile_dlpack import Producer

X = np.array([1.0, 2.0, 3.0])
RUN = pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array([2.5]))
ENCODED = pa.array([2.5]).dictionary_encode()
HIDDEN = pa.DictionaryArray.from_arrays(pa.array([1]), pa.array([1.0, None]))


@pytest.mark.parametrize("scalar", [pa.scalar(2.5), pa.scalar(2.5, pa.float32()), ENCODED[0], RUN[0]])
def test_a_scalar_of_arrow_is_its_value(scalar):
    for target in (X, X.astype("f4")):
        assert gs.gather(target, 0, [9], bounds="fill", fill_value=scalar).tolist() == [2.5]
        assert gs.scatter(target, 0, [1], scalar).tolist() == [1, 2.5, 3]
        assert gs.scatter(target, 0, [1], [scalar]).tolist() == [1, 2.5, 3]
        assert gs.scatter_nd(target, [[1]], scalar).tolist() == [1, 2.5, 3]
    assert gs.take(X, [9], bounds="fill", fill_value=scalar).tolist() == [2.5]
    assert gs.tile_gather(X, [9], padding_value=scalar).tolist() == [2.5]
    target = X.copy()
    gs.put(target, [1], scalar)
    assert target.tolist() == [1, 2.5, 3]
    for call in (
        lambda: gs.scatter(np.zeros(3, int), 0, [1], scalar),
        lambda: gs.gather(np.zeros(3, int), 0, [9], bounds="fill", fill_value=scalar),
    ):
        with pytest.raises(ValueError, match=r"(src|fill_value) .*2\.5.* does not fit dtype int64"):
            call()


def test_a_moment_of_arrow_keeps_its_nanoseconds():
    moment, target = pa.scalar(2**53 + 1, pa.timestamp("ns")), np.zeros(1, "M8[ns]")
    assert gs.scatter(target, 0, [0], moment).astype(int).tolist() == [2**53 + 1]
    assert gs.gather(target, 0, [9], bounds="fill", fill_value=moment).astype(int).tolist() == [2**53 + 1]


@pytest.mark.parametrize("scalar", [pa.scalar(None, pa.float64()), HIDDEN[0], pa.scalar(None)])
def test_a_null_scalar_of_arrow_is_said(scalar):
    for call in (
        lambda: gs.gather(X, 0, [9], bounds="fill", fill_value=scalar),
        lambda: gs.scatter(X, 0, [1], scalar),
        lambda: gs.scatter(X, 0, [1], [scalar]),
        lambda: gs.tile_gather(X, [9], padding_value=scalar),
        lambda: gs.put(X, [1], scalar),
    ):
        with pytest.raises(ValueError, match=r"is a pyarrow\.\w+ with a null"):
            call()


def test_a_list_that_contains_itself_is_refused():
    values = []
    values.append(values)
    for call in (lambda: gs.scatter(X, 0, [0], values), lambda: gs.scatter_nd(X, [[0]], values)):
        with pytest.raises(ValueError, match=r"(src|updates) is a list that is nested too deeply, or contains itself"):
            call()


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"bits": 128, "shape": (2,), "strides": (1,)}, "int128"),
        ({"code": 4}, "bfloat64"),
        ({"code": 4, "bits": 16}, "bfloat16"),  # which ml_dtypes adds to NumPy, but not to numpy.from_dlpack
        ({"code": 6}, "bool64"),
    ],
)
def test_a_producer_of_a_dtype_that_numpy_has_not_is_refused(fields, name):
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes")
    calls = {
        "the result": lambda producer: gs.gather(producer, 0, [0]),
        "take: input": lambda producer: gs.take(producer, [0], bounds="fill", fill_value=1),
        "scatter: input": lambda producer: gs.scatter(producer, 0, [0], 1),
        "put: input": lambda producer: gs.put(producer, [0], 1),
        "put: index": lambda producer: gs.put(X, producer, 1.0),
        "put: v": lambda producer: gs.put(X, [0], producer),
        "compress: condition": lambda producer: gs.compress(producer, X),
    }
    for where, call in calls.items():
        producer = Producer(np.zeros(4, np.int64), **fields)
        with pytest.raises(TypeError, match=f"{where} has dtype {name}, which NumPy does not have"):
            call(producer)
        assert producer.settled()


def test_another_error_of_numpys_import_keeps_its_words(monkeypatch):
    def fail(array):
        raise BufferError("no such device")

    monkeypatch.setattr(np, "from_dlpack", fail)
    with pytest.raises(BufferError, match="no such device"):
        gs.put(X.copy(), Producer(np.zeros(1, np.int64)), 1.0)


def test_a_jitted_call_refuses_it_too():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    producer = Producer(np.zeros(4, np.int64), code=4, bits=16)
    with pytest.raises(TypeError, match="gather: input has dtype bfloat16, which NumPy does not have"):
        jax.jit(lambda i: gs.gather(producer, 0, i))(np.array([0]))


def test_a_tensor_of_bits_is_no_number():
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "uint3"):
        pytest.skip("this torch has no dtypes of fewer bits than a byte")
    bits = torch.zeros(3, dtype=torch.uint8).view(torch.uint3)
    for target in (X, torch.zeros(3)):
        with pytest.raises(TypeError, match=r"gather: fill_value has dtype torch\.uint3, which has no numbers"):
            gs.gather(target, 0, np.array([9]), bounds="fill", fill_value=bits[0])
        with pytest.raises(TypeError, match=r"scatter: src has dtype torch\.uint3, which has no numbers"):
            gs.scatter(target, 0, np.array([0]), bits[0])
    for op, call in {"put": lambda: gs.put(bits, [0], 1), "scatter": lambda: gs.scatter(bits, 0, [0], 1)}.items():
        with pytest.raises(TypeError, match=rf"{op}: .*torch\.uint3.*; pass tensor\.view\(torch\.uint8\)"):
            call()


def test_moments_of_pandas_are_values_and_fill_values():
    pd = pytest.importorskip("pandas")
    day, long = np.array(["2024-01-31"], "M8[D]"), np.array([7], "m8[h]")
    for x, value, same in (
        (day, pd.Timestamp("2020-05-05"), np.datetime64("2020-05-05")),
        (day, pd.NaT, np.datetime64("NaT")),
        (long, pd.Timedelta(2, "h"), np.timedelta64(2, "h")),
        (long, pd.NaT, np.timedelta64("NaT")),
    ):
        expected = np.array([same], x.dtype)
        for result in (
            gs.gather(x, [5], axis=0, bounds="fill", fill_value=value),
            gs.scatter(x, [0], value),
            gs.scatter(x, [0], [value]),
            gs.scatter_nd(x, [[0]], value),
        ):
            np.testing.assert_array_equal(result, expected, strict=True)
    for value in (pd.NaT, pd.NA):
        for call in (
            lambda value: gs.scatter(np.zeros(1), [0], value),
            lambda value: gs.gather(np.zeros(1), [5], axis=0, bounds="fill", fill_value=value),
        ):
            with pytest.raises(ValueError, match=r"does not fit dtype float64$"):
                call(value)
