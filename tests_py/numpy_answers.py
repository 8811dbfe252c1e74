"""numpy_answers.py: what a call of NumPy gives, result or error, and whether ours gives the same."""

from __future__ import annotations

import warnings

import numpy as np


def matrix(values):
    """NumPy warns of this class wherever one is made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(values)


def outcome(function, *args, **kwargs):
    """What a call gives: the value with its type and dtype, or the error."""
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        return error
    return type(result), getattr(result, "dtype", None), getattr(result, "shape", None), np.ma.getdata(result).tolist()


def assert_numpys_answer(ours, numpys, *args, **kwargs):
    """The same result, or an error of NumPy's class whose text begins with NumPy's."""
    expected, found = outcome(numpys, *args, **kwargs), outcome(ours, *args, **kwargs)
    if isinstance(expected, Exception):
        assert isinstance(found, type(expected)), found
        assert str(found).startswith(str(expected).strip()), (str(found), str(expected))
    else:
        assert found == expected
