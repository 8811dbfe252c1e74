"""test_interop_dlpack.py: arrays of unknown libraries by DLPack; valid ones work, hostile ones give errors."""

import gc
import json
import subprocess
import sys

import numpy as np
import pytest

import child_process
import gatherscatter as gs
import hostile_dlpack
from hostile_dlpack import CASES, CUDA_HOST, INT64_MAX, IS_COPIED, READ_ONLY, REFUSED, ROLES, LegacyProducer, Producer

pytestmark = pytest.mark.long

DTYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
KINDS = pytest.mark.parametrize("kind", [Producer, LegacyProducer])


def as_numpy(array):
    return array if isinstance(array, np.ndarray | np.generic) else np.from_dlpack(array)


# ---- valid producers


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@KINDS
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(kind, dtype, rng):
    x = (rng.integers(0, 100, (5, 4)) % (2 if dtype == "?" else 100)).astype(dtype)
    producer = kind(x)
    result = as_numpy(gs.take(producer, [3, 0, -1], axis=0))
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, x[[3, 0, -1]])
    del result
    gc.collect()
    assert producer.settled() and producer.exports[0].taken()


LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: np.asfortranarray(x),
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, ::-1],
    "sliced": lambda x: x[1:, ::2],
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
}


@KINDS
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_the_data(kind, layout, rng):
    x = LAYOUTS[layout](rng.integers(0, 1000, (5, 6)))
    index = rng.integers(0, x.shape[1], (x.shape[0], 3))
    result = as_numpy(gs.gather(kind(x), 1, index))
    np.testing.assert_array_equal(result, np.take_along_axis(x, index, 1))


@KINDS
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_the_index(kind, layout, rng):
    index = LAYOUTS[layout](rng.integers(-5, 5, (5, 6)))
    x = rng.integers(0, 1000, 5)
    result = gs.take(x, kind(index))
    assert type(result) is np.ndarray, "the library of the data decides"
    np.testing.assert_array_equal(result, x[index])


@KINDS
def test_mask_from_elsewhere(kind, rng):
    x, index, mask = rng.integers(0, 1000, 9), rng.integers(0, 9, (3, 4)), rng.integers(0, 2, (3, 4)).astype(bool)
    result = gs.gather(x, index, axis=0, mask=kind(mask), fill_value=-1)
    np.testing.assert_array_equal(result, np.where(mask, x[index], -1))


@KINDS
def test_strides_may_be_null(kind):
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(as_numpy(gs.take(kind(x, strides=None), [2, 0], axis=0)), x[[2, 0]])


@KINDS
def test_byte_offset_counts(kind):
    x = np.arange(12.0)
    view = kind(x, shape=(4,), byte_offset=8 * 8)
    np.testing.assert_array_equal(as_numpy(gs.take(view, [0, 3])), [8, 11])


@KINDS
def test_byte_offset_of_an_index(kind):
    index = np.array([99, 99, 2, 0])
    np.testing.assert_array_equal(gs.take(np.arange(3.0), kind(index, shape=(2,), byte_offset=16)), [2, 0])


@KINDS
def test_unaligned_data(kind):
    raw = np.arange(41, dtype=np.uint8)
    x = raw[1:].view(np.float64)
    aligned = np.zeros(5)
    producer = kind(aligned, data=raw.ctypes.data + 1)
    assert as_numpy(gs.take(producer, [4, 1])).tobytes() == x[[4, 1]].tobytes()


@KINDS
def test_zero_dimensions(kind):
    assert as_numpy(gs.take(kind(np.array(5.0)), 0)) == 5.0
    assert gs.take(np.arange(4), kind(np.array(3))) == 3


@KINDS
def test_empty_array_may_have_no_data(kind):
    empty = kind(np.zeros((0, 3)), data=None)
    assert as_numpy(gs.gather(empty, np.zeros(0, int), axis=0)).shape == (0, 3)
    assert gs.take(np.arange(4.0), kind(np.zeros((0, 2), int), data=None)).shape == (0, 2)


def test_a_later_minor_version_is_fine():
    assert as_numpy(gs.take(Producer(np.arange(4.0), minor=99), [3]))[0] == 3


def test_pinned_host_memory_is_host_memory():
    assert as_numpy(gs.take(Producer(np.arange(4.0), device_type=CUDA_HOST), [3]))[0] == 3


@pytest.mark.parametrize("flags", [READ_ONLY, IS_COPIED, READ_ONLY | IS_COPIED])
def test_flags_do_not_matter_for_reading(flags):
    assert as_numpy(gs.take(Producer(np.arange(4.0), flags=flags), [3]))[0] == 3
    assert gs.take(np.arange(4.0), Producer(np.arange(4), flags=flags)).tolist() == [0, 1, 2, 3]


def test_a_producer_without_deleter():
    assert as_numpy(gs.take(Producer(np.arange(4.0), deleter=False), [3]))[0] == 3


def test_a_producer_gets_no_stream_and_a_maximum_version():
    producer = Producer(np.arange(4.0))
    gs.take(producer, [3])
    (request,) = producer.requests
    assert request["stream"] is None, "on the CPU there is no stream"
    assert request["max_version"][0] == 1
    assert request["copy"] is not True


@KINDS
def test_fill_values(kind):
    x = np.arange(5, dtype=np.int16)
    result = gs.gather(kind(x), [4, 9], axis=0, bounds="fill", fill_value=-3)
    assert as_numpy(result).tolist() == [4, -3]


# ---- out


def test_out_is_written_and_returned():
    out = np.zeros(3)
    producer = Producer(out)
    assert gs.gather(np.arange(5.0), np.array([4, 2, 0]), axis=0, out=producer) is producer
    np.testing.assert_array_equal(out, [4, 2, 0])
    assert producer.settled()


@pytest.mark.parametrize(
    "producer",
    [lambda a: Producer(a, flags=READ_ONLY), LegacyProducer],
    ids=["read_only", "a struct that cannot say whether it is read-only"],
)
def test_out_that_may_be_read_only_is_refused(producer):
    out = np.full(3, 5.0)
    target = producer(out)
    with pytest.raises(ValueError, match=r"(?i)read-?only|writ"):
        gs.gather(np.arange(5.0), np.array([4, 2, 0]), axis=0, out=target)
    assert out.tolist() == [5, 5, 5] and target.settled()


# ---- errors release what was imported


@KINDS
@pytest.mark.parametrize("role", ["input", "index", "mask"])
def test_an_error_of_ours_releases_every_capsule(kind, role):
    arguments = {"input": np.arange(5.0), "index": np.array([0, 99]), "mask": np.array([True, True])}
    arguments[role] = producer = kind(arguments[role])
    with pytest.raises(gs.OutOfBoundsError):
        gs.gather(arguments["input"], arguments["index"], axis=0, mask=arguments["mask"])
    gc.collect()
    assert producer.settled() and producer.exports[0].taken()


@KINDS
def test_a_float_index_releases_its_capsule(kind):
    producer = kind(np.array([0.0, 1.0]))
    with pytest.raises(TypeError):
        gs.gather(np.arange(5.0), producer, axis=0)
    gc.collect()
    assert producer.settled()


def test_one_producer_in_two_roles():
    producer = Producer(np.array([2, 0, 1]))
    np.testing.assert_array_equal(as_numpy(gs.take(producer, producer)), [1, 2, 0])
    assert len(producer.exports) == 2 and producer.settled()


def test_a_capsule_handed_out_twice_is_used_once():
    class Twice(Producer):
        def __dlpack__(self, **kwargs):
            if not self.exports:
                super().__dlpack__(**kwargs)
            return self.exports[0].capsule

    producer = Twice(np.array([2, 0, 1]))
    with pytest.raises((BufferError, TypeError, ValueError)):
        gs.take(producer, producer)
    gc.collect()
    assert producer.settled()


# Python code runs inside the call: an array that this code shrinks must not be read at its old address.
SHRINK = """
import numpy as np, gatherscatter as gs
from hostile_dlpack import Producer

class Shrinks(Producer):
    def __dlpack__(self, **kwargs):
        victim.resize(1, refcheck=False)
        return super().__dlpack__(**kwargs)

calls = {
    "gather": lambda x, index: gs.gather(x, index, axis=0),
    "gather dim": lambda x, index: gs.gather(x, 0, index),
    "take": lambda x, index: gs.take(x, index),
    "take_along_axis": lambda x, index: gs.take_along_axis(x, index, axis=0),
    "tile_gather": lambda x, index: gs.tile_gather(x, index),
    "mask": lambda x, mask: gs.gather(x, np.array([1 << 21, 5]), axis=0, mask=mask),
}
victim = np.zeros(1 << 22, np.int64)
values = {"mask": [True, True], "input": [1 << 21, 5], "index": np.arange(9)}
other = Shrinks(np.array(values["mask" if NAME == "mask" else ROLE]))
try:
    calls[NAME](victim, other) if ROLE == "input" else calls[NAME](other, victim)
except (TypeError, IndexError, ValueError, BufferError):
    pass
print("alive")
"""


@pytest.mark.parametrize(
    ("name", "role"),
    [
        *((name, "input") for name in ("gather", "gather dim", "take", "take_along_axis", "tile_gather", "mask")),
        *((name, "index") for name in ("gather", "gather dim", "take", "take_along_axis")),
    ],
)
def test_a_producer_that_shrinks_the_other_argument(name, role):
    assert child_process.run(f"NAME, ROLE = {name!r}, {role!r}\n{SHRINK}").strip() == "alive"


# ---- hostile producers: all of them in one child, with a fork for each


@pytest.fixture(scope="module")
def outcomes():
    script = hostile_dlpack.__file__
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {(answer["name"], answer["role"]): answer for answer in answers}


def test_there_are_enough_hostile_cases(outcomes):
    assert len(CASES) >= 60 and len(outcomes) == len(CASES) * len(ROLES)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", CASES)
def test_hostile(outcomes, name, role):
    answer = outcomes[name, role]
    allowed = set(CASES[name][1])
    if role in ("mask", "out"):  # their shape and dtype are compared too, and that error may come first
        allowed |= set(REFUSED)
    assert allowed & set(answer["outcome"]), answer
    assert answer["settled"], f"the deleter did not run exactly once: {answer}"
    assert answer["works"]


def test_an_extent_beyond_memory_is_never_read_without_an_index():
    # The extent is false, and no check can find that; the index selects positions that exist.
    huge = Producer(np.arange(4, dtype=np.uint8), shape=(INT64_MAX // 2,))
    assert as_numpy(gs.take(huge, [3, 1])).tolist() == [3, 1]
