"""test_compat_libcudf.py: gs.compat.libcudf: its policy and its exceptions."""

from __future__ import annotations

import copy
import doctest
import enum
import pickle

import pytest

import gatherscatter as gs
from gatherscatter.compat import libcudf


def test_out_of_bounds_policy():
    policy = libcudf.out_of_bounds_policy
    assert issubclass(policy, enum.IntEnum) and libcudf.OutOfBoundsPolicy is policy
    assert {member.name: member.value for member in policy} == {"NULLIFY": 0, "DONT_CHECK": 1}
    assert policy(0) is policy.NULLIFY and policy["DONT_CHECK"] == 1
    assert pickle.loads(pickle.dumps(policy.NULLIFY)) is policy.NULLIFY
    with pytest.raises(ValueError):
        policy(2)


@pytest.mark.parametrize(
    ("name", "bases"),
    [
        ("invalid_argument", (ValueError,)),
        ("data_type_error", (libcudf.invalid_argument, TypeError)),
        ("logic_error", (RuntimeError,)),
    ],
)
def test_exceptions(name, bases):
    cls = getattr(libcudf, name)
    assert cls.__name__ == name and cls.__bases__ == bases
    error = cls("why")
    for other in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(other) is cls and str(other) == "why"


def test_data_type_error_is_caught_by_both_names():
    for caught in (ValueError, TypeError, libcudf.invalid_argument):
        with pytest.raises(caught):
            raise libcudf.data_type_error("int32 is not int64")
    assert not issubclass(libcudf.logic_error, (ValueError, libcudf.invalid_argument))


def test_the_out_of_bounds_error_suits_every_caller():
    """DONT_CHECK is undefined there; the error that it raises here is one of IndexError, ValueError, RuntimeError."""
    assert issubclass(gs.OutOfBoundsError, (IndexError, ValueError, RuntimeError))
    assert {IndexError, ValueError, RuntimeError} <= set(gs.OutOfBoundsError.__mro__)


def test_docstrings():
    results = doctest.testmod(libcudf)
    assert results.attempted >= 1 and results.failed == 0
