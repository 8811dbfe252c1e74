"""_cuda.pyi: types of the extension module for GPUs, which exists only if gatherscatter was built with CUDA."""

from typing import Any

devices: object
version: str

def facts() -> dict[str, Any]: ...
def counts() -> dict[str, int]: ...
def trim() -> int: ...
