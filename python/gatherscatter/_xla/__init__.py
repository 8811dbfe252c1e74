"""Calls inside of transforms of JAX: jit, grad, vmap and others. Imported when a call has a tracer."""

from importlib import import_module
from typing import Any

# Its types are not read: a type check must not depend on whether JAX is installed.
try:
    jax: Any = import_module("jax")
except ModuleNotFoundError as _error:
    if _error.name != "jax":  # JAX is installed, and lacks something itself
        raise
    raise ModuleNotFoundError("gatherscatter.jax needs JAX for this call: pip install jax", name="jax") from _error
jnp: Any = import_module("jax.numpy")
try:
    for _name in ("jax.ffi", "jax.extend.core"):
        import_module(_name)
    ad: Any = import_module("jax.interpreters.ad")
    batching: Any = import_module("jax.interpreters.batching")
    mlir: Any = import_module("jax.interpreters.mlir")
except ImportError as _error:  # pragma: no cover - versions before 0.4.36
    raise ImportError(
        f"gatherscatter inside of jit, grad or vmap needs JAX 0.4.36 or newer, found {jax.__version__}: "
        "pip install -U jax"
    ) from _error
