# _core.pyi: types of the extension module. Its operators take positional arguments only, which the public modules
# describe.
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar, final

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from gatherscatter._ops.keywords import Bounds, Duplicates, Negative, Reduce, ScatterBounds

@final
class DLPackArray:
    @staticmethod
    def from_capsule(capsule: object, on_device: bool = False) -> DLPackArray: ...
    @staticmethod
    def from_interface(
        owner: object,
        data: int,
        shape: Sequence[int],
        strides: Sequence[int] | None,
        dtype: np.dtype[Any],
        writable: bool,
        device: int,
    ) -> DLPackArray: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
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

@disjoint_base
class PlanBase:
    _core: Plan
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

_PlanClass = TypeVar("_PlanClass", bound=type[PlanBase])

def plan_class(type: _PlanClass, /) -> _PlanClass: ...

@final
class Operator:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Any: ...
    def bind(self, *args: Any, **kwargs: Any) -> Call: ...

def operator(function: Callable[..., Any], forms: list[dict[str, Any]], returns_none: bool = False) -> Operator: ...

@final
class Call:
    def run(self) -> Any: ...
    def plan(self) -> Plan: ...
    def parts(self) -> tuple[Any, ...]: ...
    def then(self, function: Callable[[Any], Any], /) -> Call: ...
    def run_by(self, function: Callable[[], Any], /) -> Call: ...
    def otherwise(self, handler: Callable[..., Any], /, *arguments: Any) -> Call: ...

def run(object: object) -> Any: ...
def steps(op: str, run: Callable[[], Any], reason: str) -> Call: ...
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
) -> Call: ...
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
) -> Call: ...
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
) -> Call: ...
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
) -> Call: ...
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
) -> Call: ...
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
) -> Call: ...
def scatter_masked(op: str, input: object, mask: object, src: object, out: object, /) -> Call: ...
def gather_tiled(op: str, input: object, index: object, axis: int, tile: tuple[int, ...], /) -> Call: ...
def restore_plan(state: dict[str, Any]) -> Plan: ...
def plan_of(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Plan: ...
def pyarrow_gather(
    import_batch: Callable[[int, Any], Any],
    from_batches: Callable[[list[Any], Any], Any] | None,
    integer_arrays: Sequence[type],
) -> Callable[[Any, Any], Any]: ...

@final
class ArrowTable:
    def __init__(self, source: object, table: bool | None = None, full: bool = False, op: str = "table") -> None: ...
    @staticmethod
    def of_batch(batch: object, schema: object, full: bool, op: str) -> ArrowTable: ...
    @staticmethod
    def of_column(column: object, schema: object, full: bool, op: str) -> ArrowTable | None: ...
    def to_batches(
        self, source: ArrowTable, import_batch: Callable[[int, Any], Any], schema: object
    ) -> list[Any] | None: ...
    def __len__(self) -> int: ...
    @property
    def has_extensions(self) -> bool: ...
    @property
    def lengths(self) -> tuple[int, ...]: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    @property
    def num_chunks(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def column_types(self) -> list[str]: ...
    @property
    def is_table(self) -> bool: ...
    @property
    def device(self) -> int: ...
    @property
    def is_cpu(self) -> bool: ...
    def with_columns(self, columns: Sequence[int]) -> ArrowTable: ...
    def to_device(self, op: str, device: int) -> ArrowTable: ...
    def check_like(
        self, other: ArrowTable, op: str, target: str = "the target", source: str = "the source"
    ) -> None: ...
    def check_names(
        self, other: ArrowTable, op: str, target: str = "the target", source: str = "the source"
    ) -> None: ...
    def take(self, selection: Selection, other: ArrowTable | None = None, nullable: bool = False) -> ArrowTable: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __arrow_c_device_array__(self, requested_schema: object = None, **words: None) -> tuple[object, object]: ...

@final
class Selection:
    @staticmethod
    def gather(
        op: str,
        gather_map: object,
        valid: npt.NDArray[np.bool_] | None,
        lengths: tuple[int, ...],
        bounds: str,
        negative: str,
        device: int,
    ) -> Selection: ...
    @staticmethod
    def scatter(
        op: str,
        scatter_map: object,
        valid: npt.NDArray[np.bool_] | None,
        target: tuple[int, ...],
        source: tuple[int, ...],
        one_row: bool,
        bounds: str,
        negative: str,
        device: int,
    ) -> Selection: ...
    @staticmethod
    def mask_scatter(
        op: str,
        mask: object,
        valid: npt.NDArray[np.bool_] | None,
        target: tuple[int, ...],
        source: tuple[int, ...],
        one_row: bool,
        device: int,
    ) -> Selection: ...
    @staticmethod
    def filter(
        op: str, mask: object, valid: npt.NDArray[np.bool_] | None, lengths: tuple[int, ...], device: int
    ) -> Selection: ...
    @staticmethod
    def choose(
        op: str,
        mask: object,
        valid: npt.NDArray[np.bool_] | None,
        when_true: tuple[int, ...],
        when_false: tuple[int, ...],
        device: int,
    ) -> Selection: ...
    @property
    def count(self) -> int: ...
    @property
    def missing(self) -> int: ...
    def positions(self) -> npt.NDArray[np.int64]: ...
    def replaced(self, size: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
    def take(self, arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]: ...

def is_plain(tensor: object, /) -> bool: ...
def empty_like(op: str, like: Any) -> Any: ...
def repeated_positions(op: str, counts: npt.NDArray[np.int64], like: npt.NDArray[Any]) -> npt.NDArray[Any] | None: ...
def positions(op: str, mask: object) -> DLPackArray: ...
def device_facts() -> tuple[str, list[str]]: ...
def place_of(address: int) -> tuple[str, int]: ...
def pending_calls() -> int: ...
def synchronize(device: int) -> None: ...
def segmented_gather(op: str, lists: ArrowTable, maps: ArrowTable, bounds: str) -> ArrowTable: ...
def set_offset_limit(limit: int) -> int: ...
def kernel_takes() -> int: ...
def config() -> dict[str, Any]: ...
def saved_tuning() -> dict[str, Any]: ...
def get_num_threads() -> int: ...
def set_num_threads(count: int) -> None: ...

thread_limits: ContextVar[tuple[list[int], ...]]
progress_blocks: ContextVar[tuple[list[Any], ...]]

def progress_has_begun() -> bool: ...
def progress_is_hidden() -> bool: ...
def progress_silence(milliseconds: int) -> int: ...
def trim() -> int: ...
def offer_devices(capsule: object) -> None: ...

foreign_calls: object  # a capsule, which gatherscatter._jax reads
