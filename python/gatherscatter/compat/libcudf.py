"""libcudf.py: libcudf's own words: its bounds policy and its three exception classes."""

from __future__ import annotations

import enum

__all__ = ["OutOfBoundsPolicy", "data_type_error", "invalid_argument", "logic_error", "out_of_bounds_policy"]


class out_of_bounds_policy(enum.IntEnum):
    """What a gather does with a row number outside of its table.

    Attributes
    ----------
    NULLIFY
        The row of the result is null in every column.
    DONT_CHECK
        The caller vouches for every row number. The document leaves a wrong one undefined; here it raises
        `OutOfBoundsError`.

    Notes
    -----
    Semantics of ``cudf::out_of_bounds_policy``.

    Examples
    --------
    >>> out_of_bounds_policy(1)
    <out_of_bounds_policy.DONT_CHECK: 1>
    """

    NULLIFY = 0
    DONT_CHECK = 1


OutOfBoundsPolicy = out_of_bounds_policy


class invalid_argument(ValueError):
    """Counts and lengths that do not fit together, or a null where none may be: ``std::invalid_argument``."""


class data_type_error(invalid_argument, TypeError):
    """A column, scalar or mask of the wrong type: ``cudf::data_type_error``."""


class logic_error(RuntimeError):
    """A map that cannot serve as one: ``cudf::logic_error``."""
