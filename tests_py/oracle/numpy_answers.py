"""numpy_answers.py: compares the results, writes and errors of NumPy's functions with those of gatherscatter's."""

from __future__ import annotations

import warnings
from array import array as python_array

import numpy as np

from layouts import root_of, significant


def matrix(values):
    """An np.matrix; NumPy warns whenever one is created."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(values)


def outcome(function, *args, **kwargs):
    """The outcome of a call: the value with its type and dtype, or the error."""
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        return error
    return type(result), getattr(result, "dtype", None), getattr(result, "shape", None), np.ma.getdata(result).tolist()


def assert_numpys_answer(ours, numpys, *args, **kwargs):
    """Check for an equal result, or an error of NumPy's class whose text begins with NumPy's."""
    expected, found = outcome(numpys, *args, **kwargs), outcome(ours, *args, **kwargs)
    if isinstance(expected, Exception):
        assert_refusal(expected, found)
    else:
        assert found == expected


def assert_refusal(expected, found):
    """Check that an error is of NumPy's class and begins with NumPy's text."""
    assert isinstance(found, type(expected)), found
    assert str(found).startswith(str(expected).strip()), (str(found), str(expected))


def assert_numpys_write(ours, numpys, make, *args, **kwargs):
    """Check for equal bytes in all memory of the array that `make` returns, or for NumPy's error and no write."""
    mine, theirs = make(), make()
    before = memory(mine)
    expected, found = outcome(numpys, theirs, *args, **kwargs), outcome(ours, mine, *args, **kwargs)
    if isinstance(expected, Exception):
        assert_refusal(expected, found)
        assert memory(mine) == before
    else:
        assert found == expected == (type(None), None, None, None)
        assert memory(mine) == memory(theirs)


def memory(array):
    """All bytes of the object that owns an array's memory, without the padding of long doubles."""
    root = root_of(array)
    return significant(root) if isinstance(root, np.ndarray) else bytes(root)


# Valid and invalid arguments as indices.
INDICES = {
    "ints": np.array([0, 2, -1]),
    "2-d": np.array([[0, 1], [-1, 1]]),
    "0-d": np.array(1),
    "scalar": 1,
    "numpy scalar": np.uint8(1),
    "list": [1, 0],
    "nested": [[1], [0]],
    "tuple": (1, 0),
    "range": range(2),
    "empty list": [],
    "empty nested": [[], []],
    "empty array": np.zeros((0, 2), int),
    "bool array": np.array([True, False]),
    "bool list": [True, False],
    "bool": True,
    "unsigned": np.array([1, 0], "u8"),
    "byte-swapped": np.array([1, 0], ">i4"),
    "list of floats": [1.0, 0.0],
    "float": 1.0,
    "list of strings": ["1", "0"],
    "string": "1",
    "float array": np.array([1.0]),
    "empty float array": np.array([]),
    "float scalar": np.float64(1),
    "object array": np.array([1, 0], object),
    "object array with a string": np.array([1, "x"], object),
    "string array": np.array(["1"]),
    "bytes array": np.array([b"1"]),
    "complex": [1j],
    "complex array": np.array([1j]),
    "datetime": np.array([1], "M8[s]"),
    "timedelta": np.array([1], "m8[s]"),
    "void": np.zeros(1, "V8"),
    "None": None,
    "list of None": [None],
    "word": "x",
    "ragged": [[0], [1, 2]],
    "dict": {},
    "object": object(),
    "slice": slice(2),
    "buffer": python_array("l", [1, 0]),
    "memoryview": memoryview(python_array("h", [1, 0])),
    "matrix": matrix([[0, 1]]),
    "masked": np.ma.array([0, 1], mask=[0, 1]),
    "too large": [7],
    "too small": np.array([0, -9]),
    "huge": 2**70,
}

# These say more in NumPy, or are arrays there and not here: the class of the error agrees, its text differs.
OWN_WORDS = {"dict", "object", "slice"}
