# _core.pyi: the extension module. Operators take positional arguments only; see the public modules for their meaning.
from collections.abc import Callable
from typing import Any, TypeVar, final

from gatherscatter._types import Bounds, Duplicates, Negative, Reduce, ScatterBounds

@final
class DLPackArray:
    @staticmethod
    def from_capsule(capsule: object) -> DLPackArray: ...
    def __dlpack__(
        self, *, stream: object = None, max_version: object = None, dl_device: object = None, copy: object = None
    ) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class Plan:
    def __call__(
        self, input: object, indices: object, src: object = None, /, *, mask: object = None, out: object = None
    ) -> Any: ...
    def scatter(
        self,
        target: object,
        indices: object,
        src: object,
        reduce: Reduce | None,
        include_self: bool,
        duplicates: Duplicates,
        mask: object,
        out: object,
        /,
    ) -> Any: ...
    def to_dict(self) -> dict[str, Any]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

_Function = TypeVar("_Function", bound=Callable[..., Any])

@final
class Operator:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Any: ...

def operator_lane(name: str) -> Callable[[_Function], _Function]: ...
def take_axis(
    op: str,
    input: object,
    indices: object,
    axis: int | None,
    batch_dims: int,
    bounds: Bounds,
    negative: Negative,
    fill: object,
    mask: object,
    out: object,
    /,
) -> Any: ...
def along_axis(
    op: str,
    input: object,
    index: object,
    axis: int | None,
    match: str,
    bounds: Bounds,
    negative: Negative,
    fill: object,
    mask: object,
    out: object,
    /,
) -> Any: ...
def at_points(
    op: str,
    array: object,
    indices: object,
    batch_dims: int,
    bounds: Bounds,
    negative: Negative,
    fill: object,
    mask: object,
    out: object,
    /,
) -> Any: ...
def scatter_axis(
    op: str,
    input: object,
    indices: object,
    axis: int | None,
    batch_dims: int,
    src: object,
    bounds: ScatterBounds,
    negative: Negative,
    reduce: Reduce | None,
    include_self: bool,
    duplicates: Duplicates,
    mask: object,
    out: object,
    /,
) -> Any: ...
def scatter_along(
    op: str,
    input: object,
    index: object,
    axis: int | None,
    match: str,
    src: object,
    bounds: ScatterBounds,
    negative: Negative,
    reduce: Reduce | None,
    include_self: bool,
    duplicates: Duplicates,
    mask: object,
    out: object,
    /,
) -> Any: ...
def scatter_points(
    op: str,
    array: object,
    indices: object,
    batch_dims: int,
    src: object,
    bounds: ScatterBounds,
    negative: Negative,
    reduce: Reduce | None,
    include_self: bool,
    duplicates: Duplicates,
    mask: object,
    out: object,
    /,
) -> Any: ...
def scatter_masked(op: str, input: object, mask: object, src: object, out: object, /) -> Any: ...
def gather_tiled(op: str, input: object, index: object, axis: int, tile: tuple[int, ...], /) -> Any: ...
def restore_plan(state: tuple[Any, ...]) -> Plan: ...
def plan_of(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Plan: ...
def config() -> dict[str, Any]: ...
def get_num_threads() -> int: ...
def set_num_threads(count: int) -> None: ...
def get_thread_limit() -> int: ...
def set_thread_limit(count: int) -> None: ...
def trim() -> int: ...
