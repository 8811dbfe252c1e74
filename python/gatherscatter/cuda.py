"""`gatherscatter.cuda`: availability and names of GPUs, and the errors of calls with deferred checks."""

from __future__ import annotations

from typing import Any

from gatherscatter import _core
from gatherscatter._libraries import devices as _devices
from gatherscatter._libraries.of_python import as_int as _as_int
from gatherscatter.errors import shown as _shown

__all__ = ["devices", "is_available", "synchronize", "why_not"]


def is_available() -> bool:
    """Check whether arrays on GPUs can be used.

    Returns
    -------
    bool
        True if this installation has its CUDA module and the machine has a driver and a GPU.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.cuda.is_available() == (gs.cuda.why_not() is None)
    True
    """
    return why_not() is None


def why_not() -> str | None:
    """Return the reason why arrays on GPUs cannot be used.

    Returns
    -------
    str or None
        The reason in a few words; None if they can be used.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> isinstance(gs.cuda.why_not(), (str, type(None)))
    True
    """
    return _devices.load() or None


def devices() -> tuple[str, ...]:
    """List the GPUs of this machine.

    Returns
    -------
    tuple of str
        One description for each device number; empty if no GPU can be used.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> len(gs.cuda.devices()) > 0 or not gs.cuda.is_available()
    True
    """
    return tuple(_core.device_facts()[1]) if is_available() else ()


def synchronize(device: Any = None) -> None:
    """Wait for the deferred checks of earlier calls, and raise the first of their errors.

    Calls with ``bounds="deferred"`` on a GPU return before the check of their indices has finished. An error that the
    check finds is raised by the next call of gatherscatter on a GPU, if the check has finished by then, and by this
    function in any case. Each call raises one error; the errors of later calls stay pending.

    Parameters
    ----------
    device : int, optional
        Number of the GPU whose calls are waited for; None means all GPUs.

    Raises
    ------
    DeferredOutOfBoundsError
        If an index of one of these calls was out of bounds. It is an OutOfBoundsError that names the call.
    TypeError
        If `device` is not an integer.
    ValueError
        If there is no such device.

    Notes
    -----
    The function waits for nothing else: work of other libraries, and calls that cannot fail, may still be running.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.cuda.synchronize()
    """
    number = -1 if device is None else _as_int(device, arrays=True)
    if number is None:
        raise TypeError(f"synchronize: device is {_shown(device)}, expected an integer")
    count = len(devices())
    if device is not None and not 0 <= number < max(count, 1):
        raise ValueError(f"synchronize: there is no device {number}; the number of usable GPUs is {count}")
    _core.synchronize(number)
