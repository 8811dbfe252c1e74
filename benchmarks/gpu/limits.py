"""What the memory of a GPU could do: a walk over every sector that a case touches, and a copy of what it streams.

probe: a kernel that reads one word of each 32-byte sector of the table that the indices lead to, and writes nothing.
stream: the driver's own copy from device to device that reads and writes as many bytes as indices and results have.
No operator can be faster than the slower of the two, apart from what a better walk would gain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .cases import Workload

SECTOR = 32
PROBE = r"""
extern "C" __global__ void probe(const char* table, const INDEX* index, long long outer, long long inner,
                                 long long outer_step, long long index_step, long long inner_step, long long sectors,
                                 unsigned* sink) {
  const long long work = outer * inner * sectors;
  const long long stride = (long long)gridDim.x * blockDim.x;
  unsigned sum = 0;
  for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < work; at += stride * UNROLL) {
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
      const long long task = at + k * stride;
      if (task >= work) break;
      const long long point = sectors == 1 ? task : task / sectors;
      const long long sector = sectors == 1 ? 0 : task - point * sectors;
      const long long row = outer == 1 ? 0 : point / inner;
      const long long address = row * outer_step + (long long)index[point] * index_step +
                                (point - row * inner) * inner_step + sector * 32;
      sum += *(const unsigned char*)(table + address);
    }
  }
  if (sum == 0xFFFFFFFF) *sink = sum;
}
"""
C_TYPES = {"uint8": "unsigned char", "int32": "int", "int64": "long long"}

Walk = Callable[[dict[str, Any]], object]


class Unavailable(RuntimeError):
    """Why there is no probe."""


def _compiled(cupy: Any, index: str, unroll: int) -> Any:
    source = PROBE.replace("INDEX", C_TYPES[index]).replace("UNROLL", str(unroll))
    return cupy.RawKernel(source, "probe")


def probes(torch: Any, work: Workload) -> dict[str, Walk]:
    """Walks over the touched sectors, by name; CuPy compiles and launches them."""
    touch = work.touch
    if touch is None:
        return {}
    try:
        import cupy
    except ImportError:
        raise Unavailable("the probe needs CuPy") from None
    index = str(work.sets[0]["i"].dtype).removeprefix("torch.")
    # A row at a random place touches a little more than its own sectors where it is not aligned to them.
    sectors = max(1, -(-touch.bytes // SECTOR))
    sink = torch.zeros(1, dtype=torch.int32, device=work.source.device)
    processors = torch.cuda.get_device_properties(work.source.device).multi_processor_count
    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)

    def walk(unroll: int, per_processor: int) -> Walk:
        kernel = _compiled(cupy, index, unroll)

        def run(one: dict[str, Any]) -> None:
            with stream:
                kernel(
                    (processors * per_processor,),
                    (256,),
                    (
                        cupy.uint64(work.source.data_ptr()),
                        cupy.uint64(one["i"].data_ptr()),
                        *(
                            cupy.int64(n)
                            for n in (
                                touch.outer,
                                touch.inner,
                                touch.outer_step,
                                touch.index_step,
                                touch.inner_step,
                                sectors,
                            )
                        ),
                        cupy.uint64(sink.data_ptr()),
                    ),
                )

        return run

    return {f"{unroll} at a time, {blocks} blocks": walk(unroll, blocks) for unroll in (1, 4) for blocks in (8, 32)}


def streams(torch: Any, work: Workload) -> dict[str, Walk]:
    """A copy that reads and writes `stream_bytes` together."""
    half = max(work.stream_bytes // 2, 1)
    source = torch.empty((half,), dtype=torch.uint8, device=work.source.device).random_(0, 256)
    target = torch.empty_like(source)
    return {"copy": lambda one: target.copy_(source)}
