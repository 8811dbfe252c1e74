"""_tile_options.py: the current tile shape of pypto's operators, kept per thread and context, with pypto's scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, NamedTuple

from gatherscatter._settings.scopes import decorated
from gatherscatter._values.integers import integer

__all__ = ["get_vec_tile_shapes", "options", "reset_options", "set_vec_tile_shapes"]


class _Scope(NamedTuple):
    """A tile shape (empty if there is none) and the enclosing scope. It is immutable, so contexts may share it."""

    tile: tuple[int, ...] = ()
    outer: _Scope | None = None


_OUTERMOST = _Scope()
_scope: ContextVar[_Scope] = ContextVar("vec_tile_shapes", default=_OUTERMOST)


def set_vec_tile_shapes(*args: int) -> None:
    """Set the tile shape of the operators that follow, in this thread and context.

    Parameters
    ----------
    *args : int
        Extents of the tile, one for each axis of the result. Every operator compares them with its tensors. No
        arguments mean no tile.

    Raises
    ------
    TypeError
        An extent that is no integer.

    Notes
    -----
    Semantics of ``pypto.set_vec_tile_shapes``.

    Examples
    --------
    >>> set_vec_tile_shapes(2, 3)
    >>> get_vec_tile_shapes()
    [2, 3]
    >>> reset_options()
    """
    _scope.set(_scope.get()._replace(tile=_tile("set_vec_tile_shapes", args)))


def get_vec_tile_shapes() -> list[int]:
    """Return the current tile shape of this thread and context.

    Returns
    -------
    list of int
        The extents as they were set; empty if no tile shape is set.

    Notes
    -----
    Semantics of ``pypto.get_vec_tile_shapes``.

    Examples
    --------
    >>> with options(vec_tile_shapes=[4, 4]):
    ...     get_vec_tile_shapes()
    [4, 4]
    """
    return list(_scope.get().tile)


def reset_options() -> None:
    """Remove the current tile shape. Leaving an enclosing `options` block still restores the one from before the block.

    Notes
    -----
    Semantics of ``pypto.reset_options``.

    Examples
    --------
    >>> set_vec_tile_shapes(8)
    >>> reset_options()
    >>> get_vec_tile_shapes()
    []
    """
    set_vec_tile_shapes()


class options:
    """A scope with a tile shape of its own: a context manager and a decorator.

    Leaving the scope restores the tile shape from before it, also after a call of `set_vec_tile_shapes` inside. An
    instance has no state: it may be entered repeatedly, recursively and from several threads. A decorated generator or
    coroutine has the scope only while its own code runs; its caller never has it.

    Parameters
    ----------
    name : str, default ""
        A label; it has no effect.
    vec_tile_shapes : sequence of int, optional
        The tile shape inside the scope; by default that of the enclosing scope.

    Notes
    -----
    Semantics of ``pypto.options``.

    Examples
    --------
    >>> @options(vec_tile_shapes=[2, 2])
    ... def tile_inside():
    ...     return get_vec_tile_shapes()
    >>> tile_inside(), get_vec_tile_shapes()
    ([2, 2], [])
    """

    def __init__(self, name: str = "", *, vec_tile_shapes: Iterable[int] | None = None) -> None:
        self.name = name
        self._tile = None if vec_tile_shapes is None else _tile("options", vec_tile_shapes)

    @property
    def vec_tile_shapes(self) -> list[int] | None:
        """The tile shape that the scope sets; None if it keeps that of the enclosing scope."""
        return None if self._tile is None else list(self._tile)

    def _new(self) -> _Scope:
        outer = _scope.get()
        return _Scope(outer.tile if self._tile is None else self._tile, outer)

    @contextmanager
    def _inside(self) -> Iterator[_Scope]:
        yield self._new()

    def __enter__(self) -> options:
        _scope.set(self._new())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _scope.set(_scope.get().outer or _OUTERMOST)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return decorated(function, _scope, self._inside, self)


def _tile(op: str, extents: Iterable[int]) -> tuple[int, ...]:
    return tuple(integer(op, "an extent of the tile", extent) for extent in extents)
