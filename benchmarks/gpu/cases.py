"""The cases on a GPU: larger than on the CPU, made on the device by torch, and which bytes each has to touch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..cases import SETS, Touch

Ki, Mi, Gi = 1 << 10, 1 << 20, 1 << 30
Build = Callable[[Any, str, bool], "Workload"]


@dataclass
class Workload:
    """One case's tensors. `sets` holds what rotates, by the names that the forms use; `out` is result memory."""

    source: Any
    sets: list[dict[str, Any]]
    out: Any
    expected: Callable[..., Any]  # the right result, by plain torch
    touch: Touch | None = None
    constants: dict[str, Any] = field(default_factory=dict)
    stream_bytes: int = 0  # bytes read and written in order by every implementation: indices, results
    in_place: bool = False  # `out` begins as a copy of the source


@dataclass(frozen=True)
class Case:
    number: str
    name: str
    kind: str
    about: str
    build: Build
    graph: bool = False  # also as replays of a captured graph


def random(torch: Any, device: str, shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Random bytes: zeros and repeated values flatter."""
    generator = torch.Generator(device=device).manual_seed(seed)
    item = getattr(torch, dtype).itemsize
    raw = torch.empty((math.prod(shape) * item,), dtype=torch.uint8, device=device)
    for begin in range(0, len(raw), Gi):  # torch draws numbers of 64 bits first
        part = raw[begin : begin + Gi]
        part.random_(0, 256, generator=generator)
    return raw.view(getattr(torch, dtype)).view(shape)


def indices(torch: Any, device: str, pattern: str, extent: int, shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    generator = torch.Generator(device=device).manual_seed(100 + seed)
    count, kind = math.prod(shape), getattr(torch, dtype)
    if pattern == "arange":
        values = torch.arange(count, device=device) % extent
    elif (
        pattern == "zipf"
    ):  # exponent 1 by its inverse distribution; an odd multiplier spreads the hot ranks (2^k rows)
        drawn = torch.rand(count, generator=generator, device=device, dtype=torch.float64)
        rank = (drawn * math.log(extent + 1)).exp().long().sub(1).clamp(max=extent - 1)
        values = (rank * 2654435761) & (extent - 1)
    else:
        values = torch.randint(0, extent, (count,), generator=generator, device=device)
        if pattern == "sorted":
            values = values.sort().values
    return values.to(kind).view(shape)


def _bytes(*tensors: Any) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def take(extent: int, count: int, dtype: str, index: str, pattern: str = "uniform") -> Build:
    def build(torch: Any, device: str, quick: bool) -> Workload:
        table, n = (max(extent >> 12, 256), max(count >> 14, 16)) if quick else (extent, count)
        source = random(torch, device, (table,), dtype, 1)
        sets = [{"i": indices(torch, device, pattern, table, (n,), index, seed)} for seed in range(SETS)]
        out = torch.empty((n,), dtype=source.dtype, device=device)
        touch = Touch(table, 1, n, 0, source.element_size(), 0, source.element_size())
        in_order = pattern in ("arange", "sorted")
        stream = _bytes(sets[0]["i"], out) + (_bytes(out) if in_order else 0)
        return Workload(source, sets, out, lambda i: source[i.long()], None if in_order else touch, {}, stream)

    return build


def rows(extent: int, width: int, count: int, index: str, pattern: str = "uniform", dtype: str = "float32") -> Build:
    def build(torch: Any, device: str, quick: bool) -> Workload:
        high, n = (max(extent >> 10, 128), max(count >> 10, 64)) if quick else (extent, count)
        source = random(torch, device, (high, width), dtype, 2)
        sets = [{"i": indices(torch, device, pattern, high, (n,), index, seed)} for seed in range(SETS)]
        out = torch.empty((n, width), dtype=source.dtype, device=device)
        size = width * source.element_size()
        touch = Touch(high, 1, n, 0, size, 0, size)
        return Workload(source, sets, out, lambda i: source[i.long()], touch, {}, _bytes(sets[0]["i"], out))

    return build


def along(axis: int, shape: tuple[int, int], index_shape: tuple[int, int], sets: int = SETS) -> Build:
    def build(torch: Any, device: str, quick: bool) -> Workload:
        high, wide = (max(n >> 6, 16) for n in shape) if quick else shape
        index = tuple(max(n >> 6, 16) for n in index_shape) if quick else index_shape
        source = random(torch, device, (high, wide), "float32", 3)
        last, extent = axis == 1, (high, wide)[axis]
        drawn = [{"i": indices(torch, device, "uniform", extent, index, "int64", seed)} for seed in range(sets)]
        out = torch.empty(index, dtype=source.dtype, device=device)
        touch = Touch(
            extent,
            *index,
            outer_step=wide * 4 if last else 0,
            index_step=4 if last else wide * 4,
            inner_step=0 if last else 4,
            bytes=4,
        )
        stream = _bytes(drawn[0]["i"], out)
        return Workload(source, drawn, out, lambda i: torch.gather(source, axis, i), touch, {}, stream)

    return build


def batch(torch: Any, device: str, quick: bool) -> Workload:
    batches, extent, width, count = (4, 256, 16, 64) if quick else (64, 8192, 64, 1024)
    source = random(torch, device, (batches, extent, width), "float32", 4)
    number = torch.arange(batches, device=device, dtype=torch.int32)[:, None]
    sets = [{"i": indices(torch, device, "uniform", extent, (batches, count), "int32", seed)} for seed in range(8)]
    out = torch.empty((batches, count, width), device=device)
    touch = Touch(extent, batches, count, extent * width * 4, width * 4, 0, width * 4)
    constants = {"batch": number, "batch_start": number * extent, "width": width, "out_shape": out.shape}
    stream = _bytes(sets[0]["i"], out)
    return Workload(source, sets, out, lambda i: source[number.long(), i.long()], touch, constants, stream)


def tile(torch: Any, device: str, quick: bool) -> Workload:
    extent, shape = (8192, (256, 32)) if quick else (2 * Mi, (Mi, 32))
    source, pad, sets = random(torch, device, (extent,), "float32", 5), -1.0, []
    for seed in range(SETS):
        generator = torch.Generator(device=device).manual_seed(seed)
        index = indices(torch, device, "uniform", extent, shape, "int32", seed)
        outside, below, mask = (torch.rand(shape, generator=generator, device=device) for _ in range(3))
        outer = torch.where(below < 0.5, -1 - index, index + extent)
        sets.append({"i": torch.where(outside < 0.1, outer, index), "m": mask >= 0.4})

    def expected(i: Any, m: Any) -> Any:
        inside = m & (i >= 0) & (i < extent)
        return torch.where(inside, source[i.clamp(0, extent - 1).long()], pad)

    out = torch.empty(shape, device=device)
    stream = _bytes(sets[0]["i"], sets[0]["m"], out)
    return Workload(source, sets, out, expected, None, {"n": extent, "pad": pad, "out_shape": shape}, stream)


def points(torch: Any, device: str, quick: bool) -> Workload:
    side, n = (32, 2 * Ki) if quick else (512, 32 * Mi)
    source = random(torch, device, (side, side, side), "float32", 8)
    sets = [{"i": indices(torch, device, "uniform", side, (n, 3), "int64", seed)} for seed in range(SETS)]
    out = torch.empty((n,), device=device)
    stream = _bytes(sets[0]["i"], out)
    return Workload(source, sets, out, lambda i: source[i[:, 0], i[:, 1], i[:, 2]], None, {"side": side}, stream)


def _scatter(torch: Any, source: Any, sets: list[dict[str, Any]], write: Callable[..., Any], touch: Touch) -> Workload:
    stream = _bytes(sets[0]["i"], sets[0]["b"])
    return Workload(
        source, sets, source.clone(), lambda i, b: write(source.clone(), i, b), touch, {}, stream, in_place=True
    )


def set_rows(torch: Any, device: str, quick: bool) -> Workload:
    high, width = (4 * Ki if quick else 16 * Mi), 32
    sets = []
    for seed in range(2):
        generator = torch.Generator(device=device).manual_seed(seed)
        order = torch.randperm(high, generator=generator, device=device)
        sets.append({"i": order, "b": random(torch, device, (high, width), "float32", 10 + seed)})
    touch = Touch(high, 1, high, 0, width * 4, 0, width * 4)
    source = random(torch, device, (high, width), "float32", 9)
    return _scatter(torch, source, sets, lambda target, i, b: target.index_copy_(0, i, b), touch)


def set_or_add(index: str, add: bool) -> Build:
    def build(torch: Any, device: str, quick: bool) -> Workload:
        extent, n = (4 * Ki, 16 * Ki) if quick else (Mi, 4 * Mi)

        def values(count: int, seed: int) -> Any:
            if not add:
                return random(torch, device, (count,), "float32", seed)
            generator = torch.Generator(device=device).manual_seed(seed)
            return torch.randint(-8, 9, (count,), generator=generator, device=device).float()

        def write(target: Any, i: Any, b: Any) -> Any:
            if add:  # whole numbers: every order gives the same sum
                return target.index_add_(0, i.long(), b)
            # The last one wins: of every target the highest position, by a sort that keeps the order of equals.
            order = i.long().sort(stable=True)
            is_last = torch.ones_like(order.values, dtype=torch.bool)
            is_last[:-1] = order.values[1:] != order.values[:-1]
            target[order.values[is_last]] = b[order.indices[is_last]]
            return target

        sets = [
            {"i": indices(torch, device, "zipf", extent, (n,), index, seed), "b": values(n, 10 + seed)}
            for seed in range(SETS)
        ]
        return _scatter(torch, values(extent, 9), sets, write, Touch(extent, 1, n, 0, 4, 0, 4))

    return build


CASES = (
    Case("1", "take_lut_u8", "take", "256 u8, 64 Mi uint8 uniform", take(256, 64 * Mi, "uint8", "uint8")),
    Case("2", "take_L1", "take", "4 Ki f32, 64 Mi int64 uniform", take(4 * Ki, 64 * Mi, "float32", "int64")),
    Case("3", "take_L2", "take", "128 Ki f32, 64 Mi int32 uniform", take(128 * Ki, 64 * Mi, "float32", "int32")),
    Case("4", "take_LLC", "take", "8 Mi f32, 64 Mi int64 uniform", take(8 * Mi, 64 * Mi, "float32", "int64")),
    Case("5", "take_DRAM", "take", "1 Gi f32, 256 Mi int32 uniform", take(Gi, 256 * Mi, "float32", "int32")),
    Case("6", "take_DRAM_f64", "take", "512 Mi f64, 128 Mi int64", take(512 * Mi, 128 * Mi, "float64", "int64")),
    Case("7", "take_seq", "take", "256 Mi f32, int64 arange", take(256 * Mi, 256 * Mi, "float32", "int64", "arange")),
    Case("8a", "take_zipf", "take", "1 Gi f32, 256 Mi zipf", take(Gi, 256 * Mi, "float32", "int32", "zipf")),
    Case("8b", "take_sorted", "take", "1 Gi f32, 256 Mi sorted", take(Gi, 256 * Mi, "float32", "int32", "sorted")),
    Case("9", "rows_16B", "rows", "64 Mi x 4 f32, 64 Mi int64", rows(64 * Mi, 4, 64 * Mi, "int64")),
    Case("10", "rows_64B", "rows", "32 Mi x 16 f32, 32 Mi int64", rows(32 * Mi, 16, 32 * Mi, "int64")),
    Case("11", "rows_100B", "rows", "16 Mi x 25 f32, 16 Mi int32", rows(16 * Mi, 25, 16 * Mi, "int32")),
    Case(
        "12",
        "rows_256B",
        "rows",
        "8 Mi x 128 bf16, 8 Mi int64 zipf",
        rows(8 * Mi, 128, 8 * Mi, "int64", "zipf", "bfloat16"),
    ),
    Case("13", "rows_1KB", "rows", "2 Mi x 256 f32, 2 Mi int64", rows(2 * Mi, 256, 2 * Mi, "int64")),
    Case("14", "rows_8KB", "rows", "1 Mi x 2048 f32, 512 Ki int32", rows(Mi, 2048, 512 * Ki, "int32")),
    Case("15", "gather_last_wide", "last", "[16384,16384], [16384,4096]", along(1, (16384, 16384), (16384, 4096))),
    Case("16a", "gather_last_vocab_64", "last", "[128,50000], [128,64]", along(1, (128, 50000), (128, 64), 64), True),
    Case("16b", "gather_last_vocab_all", "last", "[128,50000], same", along(1, (128, 50000), (128, 50000))),
    Case("17", "gather_dim0", "first", "[16384,16384], same", along(0, (16384, 16384), (16384, 16384))),
    Case("18", "gather_batch", "batch", "[64,8192,64], [64,1024] int32", batch, True),
    Case("19", "tile_masked", "tile", "8 MiB f32, [1 Mi,32] int32, 10 % outside, 40 % masked", tile),
    Case("22", "scatter_rows_unique", "set_rows", "16 Mi x 32 f32, int64 permutation", set_rows),
    Case("23", "scatter_dups_det", "set", "4 Mi f32 into 1 Mi, int32 zipf, last wins", set_or_add("int32", False)),
    Case("24a", "small_16", "take", "1 Ki f32, 16 int64", take(Ki, 16, "float32", "int64"), True),
    Case("24b", "small_256", "take", "1 Ki f32, 256 int64", take(Ki, 256, "float32", "int64"), True),
    Case("24c", "small_4096", "take", "1 Ki f32, 4096 int64", take(Ki, 4096, "float32", "int64"), True),
    Case("26", "scatter_add_zipf", "add", "4 Mi f32 into 1 Mi, int64 zipf", set_or_add("int64", True)),
    Case("27", "gather_nd", "points", "[512,512,512] f32, 32 Mi int64 coordinates", points),
)
