"""`gatherscatter.cuda`: whether there is a GPU, which ones, and the errors of calls that did not wait for it."""

from __future__ import annotations

from operator import index as _index
from typing import Any

from gatherscatter import _core, _device

__all__ = ["devices", "is_available", "synchronize", "why_not"]


def is_available() -> bool:
    """Tell whether arrays on GPUs can be used.

    Returns
    -------
    bool
        True where this installation has its CUDA module, and a driver and a GPU are there.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.cuda.is_available() == (gs.cuda.why_not() is None)
    True
    """
    return why_not() is None


def why_not() -> str | None:
    """Tell why no array on a GPU can be used.

    Returns
    -------
    str or None
        The reason in a few words; None where there is a GPU.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> isinstance(gs.cuda.why_not(), (str, type(None)))
    True
    """
    return _device.load() or None


def devices() -> tuple[str, ...]:
    """Name the GPUs of this machine.

    Returns
    -------
    tuple of str
        One description for each device number; empty where none can be used.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> len(gs.cuda.devices()) > 0 or not gs.cuda.is_available()
    True
    """
    return tuple(_core.device_facts()[1]) if is_available() else ()


def synchronize(device: Any = None) -> None:
    """Wait for the calls that did not wait themselves, and raise the first of their errors.

    Calls with ``bounds="deferred"`` on a GPU return before anybody knows whether their indices are inside. What they
    found is raised by the next call of gatherscatter on a GPU, if it is known by then, and by this function in any
    case. One error is raised at a time; those of later calls wait for the next one.

    Parameters
    ----------
    device : int, optional
        Number of the GPU whose calls are meant; None: of all.

    Raises
    ------
    DeferredOutOfBoundsError
        An index of one of these calls was outside. It is an OutOfBoundsError that names the call.
    TypeError
        `device` is no integer.
    ValueError
        There is no such device.

    Notes
    -----
    Waits for nothing else: work of other libraries, and calls that cannot fail, may still be under way.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.cuda.synchronize()
    """
    if isinstance(device, bool):
        raise TypeError("synchronize: device is a bool, expected an integer")
    number = -1 if device is None else _index(device)
    count = len(devices())
    if device is not None and not 0 <= number < max(count, 1):
        raise ValueError(f"synchronize: there is no device {number}, only {count}")
    _core.synchronize(number)
