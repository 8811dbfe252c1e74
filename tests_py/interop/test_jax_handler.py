"""test_jax_handler.py: our declarations of XLA's interface are jaxlib's, and what happens where jaxlib refuses them."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import child_process
import gatherscatter as gs

jax = pytest.importorskip("jax", reason="jax is not installed")
ffi = pytest.importorskip("jax.ffi", reason="jax is not installed")

# Our struct, its struct in XLA's header, and pairs of fields.
STRUCTS = """
FfiExtension EXTENSION struct_size:struct_size type:type next:next
FfiApiVersion XLA_FFI_Api_Version major_version:major_version minor_version:minor_version
FfiErrorArguments XLA_FFI_Error_Create_Args extensions:extension_start message:message code:errc
FfiApi XLA_FFI_Api version:api_version internal:internal_api make_error:XLA_FFI_Error_Create
FfiBuffer XLA_FFI_Buffer dtype:dtype data:data rank:rank dims:dims
FfiByteSpan XLA_FFI_ByteSpan data:ptr size:len
FfiArray XLA_FFI_Array dtype:dtype size:size data:data
FfiBuffers XLA_FFI_Args size:size kinds:types buffers:args
FfiBuffers XLA_FFI_Rets size:size kinds:types buffers:rets
FfiAttributes XLA_FFI_Attrs size:size types:types names:names values:attrs
FfiCallFrame XLA_FFI_CallFrame api:api context:ctx stage:stage future:future
FfiCallFrame XLA_FFI_CallFrame arguments:args results:rets attributes:attrs
FfiMetadata XLA_FFI_Metadata version:api_version traits:traits state_type:state_type_id
FfiMetadataExtension XLA_FFI_Metadata_Extension base:extension_base metadata:metadata
"""
# The last struct of XLA's table of functions is longer: we read its start only.
LONGER = {"FfiApi"}
VALUES = {
    "kMetadataExtension": "XLA_FFI_Extension_Metadata",
    "kInvalidArgument": "XLA_FFI_Error_Code_INVALID_ARGUMENT",
    "kResourceExhausted": "XLA_FFI_Error_Code_RESOURCE_EXHAUSTED",
    "kOutOfRange": "XLA_FFI_Error_Code_OUT_OF_RANGE",
    "kInternal": "XLA_FFI_Error_Code_INTERNAL",
    "kBuffer": "XLA_FFI_ArgType_BUFFER",
    "kArray": "XLA_FFI_AttrType_ARRAY",
    "kString": "XLA_FFI_AttrType_STRING",
    "kExecute": "XLA_FFI_ExecutionStage_EXECUTE",
    "kFfiMajor": "XLA_FFI_API_MAJOR",
    **{
        f"k{name}": f"XLA_FFI_DataType_{name.upper()}"
        for name in (
            *("Pred", "S8", "S16", "S32", "S64", "U8", "U16", "U32", "U64", "F16", "F32", "F64", "C64", "BF16", "C128"),
            *("F8E5M2", "F8E4M3FN", "F8E4M3B11FNUZ", "F8E5M2FNUZ", "F8E4M3FNUZ", "F8E4M3", "F8E3M4", "F8E8M0FNU"),
        )
    },
}


def test_our_header_agrees_with_that_of_jaxlib(tmp_path):
    compiler = shutil.which(sysconfig.get_config_var("CXX").split()[0]) or shutil.which("c++")
    header = Path(__file__).parents[2] / "src/jax/ffi_abi.h"
    theirs = Path(ffi.include_dir()) / "xla/ffi/api/c_api.h"
    if compiler is None or not header.exists() or not theirs.exists():
        pytest.skip("a C++ compiler, the sources or the headers of jaxlib are missing")
    lines = [f'#include "{theirs}"', f'#include "{header}"', "using namespace gs;"]
    # jaxlib 0.11, whose interface has version 0.4, takes the handler; a version that was never seen is looked at first.
    lines.append("static_assert(kFfiMinor == 3 && (XLA_FFI_API_MINOR == 3 || XLA_FFI_API_MINOR == 4));")
    text = theirs.read_text(encoding="utf-8")
    extension = "XLA_FFI_Extension_Base"
    if extension not in text:  # since version 0.4, with the same fields
        extension = "XLA_FFI_InternalExtension"
    for line in STRUCTS.strip().replace("EXTENSION", extension).splitlines():
        ours, other, *fields = line.split()
        if ours not in LONGER:
            lines.append(f"static_assert(sizeof({ours}) == sizeof({other}));")
        for pair in fields:
            mine, his = pair.split(":")
            lines.append(f"static_assert(offsetof({ours}, {mine}) == offsetof({other}, {his}));")
            lines.append(f"static_assert(sizeof({ours}::{mine}) == sizeof({other}::{his}));")
    lines += [f"static_assert(int{{{mine}}} == int{{{his}}});" for mine, his in VALUES.items()]
    source = tmp_path / "compare.cpp"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_handler_is_used():
    lowered = jax.jit(lambda x, i: gs.take(x, i)).lower(np.zeros(3, np.float32), np.array([0]))
    assert "gatherscatter_move" in lowered.as_text() and "callback" not in lowered.as_text()


WITHOUT = """
import logging, numpy as np, jax, jax.numpy as jnp, gatherscatter as gs
lines = []
handler = logging.Handler()
logging.getLogger("jax").setLevel(logging.CRITICAL + 1)  # it logs what callbacks raise
handler.emit = lambda record: lines.append(record.getMessage())
logging.getLogger("gatherscatter").addHandler(handler)

def refuse(*_, **__):
    raise RuntimeError("its API version (0.3) is incompatible with the framework's (0.9)\\nand a trace")

jax.ffi.register_ffi_target = refuse
x, i = np.arange(12, dtype=np.float32).reshape(3, 4), np.array([[3, 0], [1, 1], [-1, 2]])
s = np.ones((3, 2), np.float32)
for call in (
    lambda x, i, s: gs.gather(x, 1, i, mask=i > 0, fill_value=3),
    lambda x, i, s: gs.scatter(x, 1, i, s, reduce="mean"),
    lambda x, i, s: gs.scatter(x, 1, i, s, mask=i > 0),
    lambda x, i, s: gs.gather_nd(x, i),
):
    i = np.minimum(i, 2)
    np.testing.assert_array_equal(np.asarray(jax.jit(call)(x, i, s)), call(x, i, s))
gradient = jax.jit(jax.vmap(jax.grad(lambda x, i: (gs.take(x, i) ** 2).sum())))(x, i)
np.testing.assert_array_equal(np.asarray(gradient[1]), [0, 20, 0, 0])
try:
    jax.block_until_ready(jax.jit(lambda x, i: gs.take(x, i, axis=0))(x, np.array([7])))
except Exception as error:
    assert "index 7 is out of bounds for axis 0 with size 3" in str(error), error
    print(len(lines), "jax.pure_callback" in lines[0], "(0.9)" in lines[0], "trace" in lines[0])
"""


def test_a_jaxlib_of_another_version_gets_callbacks_and_one_line_of_the_log():
    assert child_process.run(WITHOUT, env={"JAX_PLATFORMS": "cpu"}).split() == ["1", "True", "True", "False"]


@pytest.mark.parametrize(
    ("shape", "index", "keywords"),
    [
        ((3,), 7, {}),
        ((3,), [0, -4], {}),
        ((3,), [[0, 5], [9, 1]], {}),
        ((3,), [-1], {"negative": "out_of_bounds"}),
        ((3,), np.array([200], np.uint8), {}),
        ((1,), [1, 0], {"negative": "out_of_bounds"}),
        ((0,), [0], {}),
    ],
)
def test_the_text_is_that_of_the_error_of_a_plain_call(shape, index, keywords):
    x, index = np.zeros(shape, np.float32), np.asarray(index)
    with pytest.raises(gs.OutOfBoundsError) as plain:
        gs.gather(x, index, axis=0, **keywords)
    with pytest.raises((ValueError, RuntimeError)) as jitted:
        jax.block_until_ready(jax.jit(lambda x, i: gs.gather(x, i, axis=0, **keywords))(x, index))
    assert str(plain.value) in str(jitted.value)


NOT_AWAITED = """
import gatherscatter as gs, jax, jax.numpy as jnp
slow = lambda x: jax.lax.fori_loop(0, 20, lambda k, c: c @ c * 0.001, x)
x, i = jnp.ones((600, 600)), jnp.array([900])
call = jax.jit(lambda x, i: gs.gather(slow(x), i, axis=0))
call.lower(x, i).compile()
call(x, i)
print("done")
"""


def test_a_failing_call_that_is_not_awaited_does_not_keep_the_process_from_its_end():
    done = child_process.start(NOT_AWAITED, env={"JAX_PLATFORMS": "cpu"}, timeout=60)
    assert done.returncode == 0 and done.stdout.strip() == "done"
