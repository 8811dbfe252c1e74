"""device_libraries.py: array libraries on GPUs for the tests: how NumPy's arrays are converted to theirs and back.

Arrays of `cupy_emulated` and `dlpack_emulated` are on an emulated GPU; the other libraries need a real one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from fake_cuda import FakeCupyArray, Namespaced, played_gpu
from layouts import TORCH_VIA, root_of, to_torch, torch
from optional import optional


@dataclass(frozen=True)
class DeviceLibrary:
    """How to use a library. `why_not` returns the reason why it is not available, `holds` whether it has a dtype."""

    there: Callable[[np.ndarray], Any]
    back: Callable[[Any], np.ndarray]
    is_own: Callable[[Any], bool]
    holds: Callable[[np.dtype], bool]
    why_not: Callable[[], str | None]
    writable: bool = True
    setting: Callable[[], Any] = nullcontext


def _plain(dtype: np.dtype) -> bool:
    """Whether a dtype is one of NumPy's own numbers, of the sizes that DLPack supports."""
    return (
        dtype.kind in "biufc"
        and dtype.isbuiltin == 1
        and dtype.isnative
        and dtype.itemsize <= 16
        and dtype.char not in "gG"
    )


def _missing(module: str, has_gpu: Callable[[Any], bool]) -> str | None:
    found = optional(module)
    if found is None:
        return f"no {module}"
    try:
        return None if has_gpu(found) else f"no GPU for {module}"
    except Exception as error:
        return f"no GPU for {module}: {type(error).__name__}"


# ---- torch


def _torch_there(array: np.ndarray) -> Any:
    """A tensor on the GPU with the strides of the array, if torch supports them."""
    if min(array.strides, default=0) < 0 or not array.flags.writeable:
        array = array.copy()
    tensor = to_torch(array)
    fresh = tensor.cuda()
    if fresh.stride() == tensor.stride() or 0 in tensor.stride():
        return fresh
    root = to_torch(np.asarray(root_of(array)).reshape(-1).view(array.dtype)) if _is_view(array) else None
    if root is None:
        return fresh
    offset = (array.ctypes.data - np.asarray(root_of(array)).ctypes.data) // array.itemsize
    return root.cuda().as_strided(tensor.shape, tensor.stride(), offset)


def _is_view(array: np.ndarray) -> bool:
    root = root_of(array)
    return (
        isinstance(root, np.ndarray)
        and root.flags.c_contiguous
        and root.nbytes % max(array.itemsize, 1) == 0
        and (array.ctypes.data - root.ctypes.data) % max(array.itemsize, 1) == 0
        and min(array.strides, default=0) >= 0
    )


def _torch_back(tensor: Any) -> np.ndarray:
    host = tensor.cpu().contiguous()
    name = str(host.dtype).removeprefix("torch.")
    via = TORCH_VIA.get(name)
    if via is None:
        return host.numpy()
    import ml_dtypes

    return host.view(getattr(torch, via)).numpy().view(getattr(ml_dtypes, name))


# ---- the others


def _cupy_there(array: np.ndarray) -> Any:
    return optional("cupy").asarray(array)


def _jax_there(array: np.ndarray) -> Any:
    jax = optional("jax")
    return jax.device_put(array, jax.devices("gpu")[0])


def _jax_with_64_bits() -> Any:
    jax = optional("jax")
    return jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64()


LIBRARIES: dict[str, DeviceLibrary] = {
    "cupy_emulated": DeviceLibrary(
        FakeCupyArray,
        lambda array: array.host,
        lambda array: type(array) is FakeCupyArray,
        lambda dtype: dtype.itemsize > 0,
        lambda: None,
        setting=played_gpu,
    ),
    "dlpack_emulated": DeviceLibrary(
        Namespaced,
        lambda array: array.host,
        lambda array: type(array) is Namespaced,
        _plain,
        lambda: None,
        setting=played_gpu,
    ),
    "torch": DeviceLibrary(
        _torch_there,
        _torch_back,
        lambda array: type(array).__module__ == "torch" and array.device.type == "cuda",
        lambda dtype: dtype.isnative and dtype.name in TORCH_VIA,
        lambda: _missing("torch", lambda torch: torch.cuda.is_available()),
    ),
    "cupy": DeviceLibrary(
        _cupy_there,
        lambda array: optional("cupy").asnumpy(array),
        lambda array: type(array).__module__.startswith("cupy"),
        _plain,
        lambda: _missing("cupy", lambda cupy: cupy.cuda.runtime.getDeviceCount() > 0),
    ),
    "jax": DeviceLibrary(
        _jax_there,
        np.asarray,
        lambda array: type(array).__module__.startswith("jax"),
        _plain,
        lambda: _missing("jax", lambda jax: len(jax.devices("gpu")) > 0),
        writable=False,
        setting=_jax_with_64_bits,
    ),
}
EMULATED = [name for name in LIBRARIES if name.endswith("_emulated")]
REAL = [name for name in LIBRARIES if not name.endswith("_emulated")]


@contextmanager
def in_use(name: str) -> Iterator[DeviceLibrary]:
    """The library, with the GPU that it needs, for the duration of a `with` block."""
    library = LIBRARIES[name]
    with library.setting():
        yield library
