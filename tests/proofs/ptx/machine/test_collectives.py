"""Votes, matches, reductions and matrix instructions give the values that the PTX ISA states.

Expected values are written lane by lane from the ISA's text and figures, in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from one_warp import run

SEEDS = (None, 0, 1)
LANES = range(32)


def words(seed: int, columns: int = 1, high: int = 1 << 32) -> Any:
    return np.random.default_rng(seed).integers(0, high, size=(32, columns)).astype(np.uint32)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("true", [0, 1, 1 << 31, 0xFFFFFFFF, 0xF0F0AA55])
def test_votes(true: int, seed: int | None) -> None:
    flags = np.array([[true >> lane & 1] for lane in LANES])
    body = "".join(
        f"vote.sync.{mode}.pred %p1, %p0, -1;\nselp.b32 %o{i}, 1, 0, %p1;\n"
        for i, mode in enumerate(("any", "all", "uni"))
    )
    body += "vote.sync.ballot.b32 %o3, %p0, -1;\nactivemask.b32 %o4;"
    wanted = [true != 0, true == 0xFFFFFFFF, true in (0, 0xFFFFFFFF), true, 0xFFFFFFFF]
    assert run(body, flags, 5, seed).tolist() == [wanted] * 32


@pytest.mark.parametrize("seed", SEEDS)
def test_votes_of_some_lanes(seed: int | None) -> None:
    """Each half of the warp votes by itself."""
    flags = np.array([[lane % 16 < 3] for lane in LANES])
    body = """setp.lt.u32 %p1, %r0, 16;
    @%p1 bra LOW;
    vote.sync.ballot.b32 %o0, %p0, 0xffff0000;
    bra END;
    LOW: vote.sync.ballot.b32 %o0, %p0, 0x0000ffff;
    END:"""
    assert run(body, flags, 1, seed)[:, 0].tolist() == [7] * 16 + [7 << 16] * 16


@pytest.mark.parametrize("seed", SEEDS)
def test_match(seed: int | None) -> None:
    values = words(3, high=5)
    wanted = [
        sum(1 << other for other in LANES if values[other, 0] == values[lane, 0]) for lane in LANES
    ]
    assert run("match.any.sync.b32 %o0, %i0, -1;", values, 1, seed)[:, 0].tolist() == wanted


REDUCTIONS: dict[str, Callable[[list[int]], int]] = {
    "add.u32": sum,
    "add.s32": sum,
    "min.u32": lambda v: min(x % (1 << 32) for x in v),
    "max.u32": lambda v: max(x % (1 << 32) for x in v),
    "min.s32": min,
    "max.s32": max,
    "and.b32": lambda v: int(np.bitwise_and.reduce(np.array(v))),
    "or.b32": lambda v: int(np.bitwise_or.reduce(np.array(v))),
    "xor.b32": lambda v: int(np.bitwise_xor.reduce(np.array(v))),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("operation", REDUCTIONS)
def test_redux(operation: str, seed: int | None) -> None:
    values = words(4) | np.uint32(0x1000)
    signed = [int(value) for value in values[:, 0].view(np.int32)]
    wanted = REDUCTIONS[operation](signed) % (1 << 32)
    got = run(f"redux.sync.{operation} %o0, %i0, -1;", values, 1, seed)
    assert got[:, 0].tolist() == [wanted] * 32


@pytest.mark.parametrize("seed", SEEDS)
def test_elect(seed: int | None) -> None:
    got = run("elect.sync %o0|%p1, -1;\nselp.b32 %o1, 1, 0, %p1;", words(5), 2, seed)
    leader = int(got[0, 0])
    assert got.tolist() == [[leader, int(lane == leader)] for lane in LANES]


def shuffled(mode: str, by: int, third: int, lane: int) -> tuple[int, bool]:
    """The lane that one lane reads from, and whether it lies inside (PTX ISA 9.7.9.6)."""
    clamp, segment = third & 31, third >> 8 & 31
    highest = (lane & segment) | (clamp & ~segment & 31)
    by &= 31
    match mode:
        case "up":
            source, inside = lane - by, lane - by >= highest
        case "down":
            source, inside = lane + by, lane + by <= highest
        case "bfly":
            source, inside = lane ^ by, lane ^ by <= highest
        case _:
            source = (lane & segment) | (by & ~segment & 31)
            inside = source <= highest
    return (source if inside else lane), inside


# Widths 32, 16, 8 and 4 of shuffles up, and of all others.
CLAMPS = (0x0000, 0x1000, 0x1800, 0x1C00, 0x001F, 0x101F, 0x181F, 0x1C1F, 0x0007, 0x180B, 0x111E)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles(mode: str, seed: int | None) -> None:
    for third in CLAMPS:
        values = np.concatenate([words(9), words(10, high=40)], axis=1)
        body = f"""shfl.sync.{mode}.b32 %o0|%p1, %i0, %i1, {third}, -1;
        selp.b32 %o1, 1, 0, %p1;
        shfl.sync.{mode}.b32 %o2, %i0, 5, {third}, -1;"""
        wanted = []
        for lane in LANES:
            source, inside = shuffled(mode, int(values[lane, 1]), third, lane)
            fixed, _ = shuffled(mode, 5, third, lane)
            wanted.append([int(values[source, 0]), int(inside), int(values[fixed, 0])])
        assert run(body, values, 3, seed).tolist() == wanted, third


def halves(register: Any) -> Any:
    """The 8x8 matrix of a register: lane 4 r + c holds columns 2 c and 2 c + 1 of row r."""
    matrix = np.zeros((8, 8), np.uint32)
    for lane in LANES:
        for half in range(2):
            matrix[lane // 4, lane % 4 * 2 + half] = int(register[lane]) >> 16 * half & 0xFFFF
    return matrix


@pytest.mark.parametrize("seed", SEEDS)
def test_movmatrix(seed: int | None) -> None:
    values = words(6)
    got = run("movmatrix.sync.aligned.m8n8.trans.b16 %o0, %i0;", values, 1, seed)
    assert np.array_equal(halves(got[:, 0]), halves(values[:, 0]).T)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_stmatrix(count: int, transposed: bool, seed: int | None) -> None:
    """Row r of matrix i goes where lane 8 i + r says: here to row 8 i + 7 - r of shared memory."""
    values = words(7, count)
    trans = ".trans" if transposed else ""
    given = ", ".join(f"%i{i}" for i in range(count))
    body = f"""and.b32 %r1, %r0, {8 * count - 1};
    xor.b32 %r1, %r1, 7;
    shl.b32 %r1, %r1, 4;
    mov.u32 %r2, s;
    add.u32 %r1, %r1, %r2;
    stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r1], {{{given}}};
    bar.sync 0;
    mad.lo.u32 %r3, %r0, {4 * count}, %r2;
    """ + "\n".join(f"ld.shared.u32 %o{i}, [%r3+{4 * i}];" for i in range(count))
    memory = run(body, values, count, seed, shared=128 * count).reshape(-1).view(np.uint16)
    for index in range(count):
        matrix = halves(values[:, index])
        matrix = matrix.T if transposed else matrix
        stored = memory[64 * index : 64 * (index + 1)].reshape(8, 8)
        assert np.array_equal(stored[::-1], matrix)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_ldmatrix(count: int, transposed: bool, seed: int | None) -> None:
    """Row r of matrix i comes from where lane 8 i + r says: here row 8 i + 7 - r."""
    values = words(11, count)
    trans = ".trans" if transposed else ""
    names = ", ".join(f"%o{i}" for i in range(count))
    body = f"""mov.u32 %r2, s;
    mad.lo.u32 %r3, %r0, {4 * count}, %r2;
    """
    body += "\n".join(f"st.shared.u32 [%r3+{4 * i}], %i{i};" for i in range(count))
    body += f"""
    bar.sync 0;
    and.b32 %r1, %r0, {8 * count - 1};
    xor.b32 %r1, %r1, 7;
    shl.b32 %r1, %r1, 4;
    add.u32 %r1, %r1, %r2;
    ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{names}}}, [%r1];"""
    got = run(body, values, count, seed, shared=128 * count)
    memory = values.reshape(-1).view(np.uint16)
    for index in range(count):
        rows = memory[64 * index : 64 * (index + 1)].reshape(8, 8)[::-1]
        assert np.array_equal(halves(got[:, index]), rows.T if transposed else rows)


# How many elements a register holds, and how to make patterns of small integers.
ENCODE: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "f16": (2, lambda v: v.astype(np.float16).view(np.uint16)),
    "bf16": (2, lambda v: v.astype(ml_dtypes.bfloat16).view(np.uint16)),
    "tf32": (1, lambda v: v.astype(np.float32).view(np.uint32)),
    "s8": (4, lambda v: v.astype(np.int8).view(np.uint8)),
    "u8": (4, lambda v: v.astype(np.uint8)),
}


def a_place(shape: str, kind: str, lane: int, i: int) -> tuple[int, int]:
    """Row and column of element i of A (PTX ISA 9.7.14.5: the figures of each shape)."""
    group, member = lane >> 2, lane % 4
    match shape, kind:
        case "m16n8k16", "f16" | "bf16":
            row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
            return row, member * 2 + (i & 1) + (8 if i >= 4 else 0)
        case "m16n8k8", "f16" | "bf16":
            return (group if i < 2 else group + 8), member * 2 + (i & 1)
        case "m16n8k4", "tf32":
            return (group if i == 0 else group + 8), member
        case "m16n8k8", "tf32":
            return (group if i in (0, 2) else group + 8), (member if i < 2 else member + 4)
        case "m16n8k16", "s8" | "u8":
            return (group if i < 4 else group + 8), member * 4 + (i & 3)
    row = group if 0 <= i < 4 or 8 <= i < 12 else group + 8
    return row, member * 4 + (i & 3) + (0 if i < 8 else 16)


def b_place(shape: str, kind: str, lane: int, i: int) -> tuple[int, int]:
    """Row and column of element i of B."""
    group, member = lane >> 2, lane % 4
    match kind:
        case "f16" | "bf16":
            return member * 2 + (i & 1) + (8 if i >= 2 else 0), group
        case "tf32":
            return (member if i == 0 else member + 4), group
    return member * 4 + (i & 3) + (0 if i < 4 else 16), group


SHAPES = [
    ("m16n8k16", "f32", "f16"),
    ("m16n8k16", "f32", "bf16"),
    ("m16n8k8", "f32", "f16"),
    ("m16n8k8", "f32", "bf16"),
    ("m16n8k16", "f16", "f16"),
    ("m16n8k8", "f16", "f16"),
    ("m16n8k8", "f32", "tf32"),
    ("m16n8k4", "f32", "tf32"),
    ("m16n8k32", "s32", "s8"),
    ("m16n8k32", "s32", "u8"),
    ("m16n8k16", "s32", "s8"),
    ("m16n8k16", "s32", "u8"),
]


@pytest.mark.parametrize(("shape", "result", "kind"), SHAPES)
def test_mma(shape: str, result: str, kind: str) -> None:
    per, encode = ENCODE[kind]
    depth = int(shape.rpartition("k")[2])
    generator = np.random.default_rng(8)
    low, high = (0, 200) if kind == "u8" else (-100, 100) if kind == "s8" else (-7, 8)
    a, b = generator.integers(low, high, (16, depth)), generator.integers(low, high, (depth, 8))
    c = generator.integers(-50, 50, (16, 8))
    registers: dict[str, Any] = {}
    for name, matrix, place, count in (
        ("a", a, a_place, 16 * depth // 32),
        ("b", b, b_place, 8 * depth // 32),
    ):
        elements = np.array(
            [[matrix[place(shape, kind, lane, i)] for i in range(count)] for lane in LANES]
        )
        registers[name] = np.ascontiguousarray(encode(elements)).view(np.uint32)
        assert registers[name].shape == (32, count // per)
    rows = np.array([[lane // 4 + 8 * (i // 2) for i in range(4)] for lane in LANES])
    columns = np.array([[lane % 4 * 2 + i % 2 for i in range(4)] for lane in LANES])
    number: Any = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[result]
    registers["c"] = np.ascontiguousarray(c[rows, columns].astype(number)).view(np.uint32)
    inputs = np.concatenate([registers[name] for name in "abc"], axis=1)
    names = iter(f"%i{i}" for i in range(inputs.shape[1]))
    lists = ["{" + ", ".join(next(names) for _ in registers[n][0]) + "}" for n in "abc"]
    outputs = registers["c"].shape[1]
    target = "{" + ", ".join(f"%o{i}" for i in range(outputs)) + "}"
    body = f"mma.sync.aligned.{shape}.row.col.{result}.{kind}.{kind}.{result} {target}, "
    got = run(body + ", ".join(lists) + ";", inputs, outputs)
    assert np.array_equal(np.ascontiguousarray(got).view(number), (a @ b + c)[rows, columns])
