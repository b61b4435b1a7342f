"""Loads, stores, atomics and copies: widths, signs, order of elements, and who gets what.

Expected values are written byte by byte from the ISA's text, in plain Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from one_warp import run
from tylo.proofs.ptx.machine.launch import Unwritten, launch

SEEDS = (None, 0, 1)
LANES = range(32)
HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n) {
.reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .f32 %f<9>; .reg .pred %p<4>;
.shared .align 16 .b8 s[1024]; .local .align 16 .b8 l[64];
ld.param.u64 %d1, [x];
ld.param.u64 %d2, [y];
mov.u32 %r1, %tid.x;
mov.u32 %r2, s;
"""


def words(seed: int, columns: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, 1 << 32, size=(32, columns)).astype(np.uint32)


def number(data: bytes, kind: str, to: int) -> int:
    """What a load of a type leaves in a register of some width."""
    value = int.from_bytes(data, "little", signed=kind[0] == "s")
    return value % (1 << to)


# Type, elements, and the register class that receives them.
LOADS = [
    *((kind, 1, "%d") for kind in ("u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32")),
    *((kind, 1, "%r") for kind in ("u8", "s8", "u16", "s16", "u32", "f32")),
    *((kind, 1, "%d") for kind in ("u64", "s64", "b64", "f64")),
    *((kind, 1, "%h") for kind in ("u8", "s8", "u16")),
    *((kind, count, "%r") for kind in ("u8", "s8", "u16", "s16", "u32") for count in (2, 4)),
    ("u64", 2, "%d"),
]
WIDTH = {"%h": 16, "%r": 32, "%d": 64}


@pytest.mark.parametrize("space", ["global", "shared", "local", ""])
@pytest.mark.parametrize(("kind", "count", "register"), LOADS)
def test_loads(kind: str, count: int, register: str, space: str) -> None:
    """Each lane reads its own 16 bytes, and stores what its registers hold, 64 bits each."""
    data = np.random.default_rng(1).integers(0, 256, size=(32, 32), dtype=np.uint8)
    y = np.zeros((32, count), np.uint64)
    size = int(kind[1:]) // 8
    names = [f"{register}{5 + i}" for i in range(count)]
    given = "{" + ", ".join(names) + "}" if count > 1 else names[0]
    vector = f".v{count}" if count > 1 else ""
    body = f"mad.wide.u32 %d1, %r1, 32, %d1;\nmad.wide.u32 %d2, %r1, {8 * count}, %d2;\n"
    base = "%d1"
    if space in ("shared", "local"):
        body += "ld.global.v2.u64 {%d11, %d12}, [%d1];\nld.global.v2.u64 {%d13, %d14}, [%d1+16];\n"
        base = "%r3" if space == "shared" else "%d3"
        body += "mad.lo.u32 %r3, %r1, 32, %r2;\n" if space == "shared" else "mov.u64 %d3, l;\n"
        body += f"st.{space}.v2.b64 [{base}], {{%d11, %d12}};\n"
        body += f"st.{space}.v2.b64 [{base}+16], {{%d13, %d14}};\n"
    offset = size * count
    named = f".{space}" if space else ""
    body += f"ld{named}{vector}.{kind} {given}, [{base}+{offset}];\n"
    for index, name in enumerate(names):
        wide = name if register == "%d" else f"%d{15 + index}"
        body += "" if register == "%d" else f"cvt.u64.u{WIDTH[register]} {wide}, {name};\n"
        body += f"st.global.b64 [%d2+{8 * index}], {wide};\n"
    launch(HEAD + body + "ret;\n}", "k", 1, 32, [data, Unwritten(y), 0])
    for lane in LANES:
        for index in range(count):
            at = offset + size * index
            wanted = number(data[lane, at : at + size].tobytes(), kind, WIDTH[register])
            assert int(y[lane, index]) == wanted, (lane, index)


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(
    ("kind", "count"),
    [
        *((k, c) for k in ("u8", "s8", "b16", "u32", "f32") for c in (1, 2, 4)),
        ("b64", 1),
        ("f64", 2),
    ],
)
def test_stores(kind: str, count: int, space: str) -> None:
    values = np.random.default_rng(2).integers(0, 1 << 63, size=(32, 4)).astype(np.uint64)
    size = int(kind[1:]) // 8
    y = np.full((32, 64), 0xEE, np.uint8)
    register = "%d" if size == 8 else "%r"
    body = "mad.wide.u32 %d1, %r1, 32, %d1;\nmad.wide.u32 %d2, %r1, 64, %d2;\n"
    for index in range(count):
        read = "b64" if size == 8 else "b32"
        body += f"ld.global.{read} {register}{5 + index}, [%d1+{8 * index}];\n"
    names = [f"{register}{5 + i}" for i in range(count)]
    given = "{" + ", ".join(names) + "}" if count > 1 else names[0]
    vector = f".v{count}" if count > 1 else ""
    length = size * count
    if space == "shared":
        # Out through shared memory, byte by byte.
        body += f"mad.lo.u32 %r3, %r1, 32, %r2;\nst.shared{vector}.{kind} [%r3], {given};\n"
        for index in range(length):
            body += f"ld.shared.u8 %r9, [%r3+{index}];\n"
            body += f"st.global.u8 [%d2+{length + index}], %r9;\n"
    else:
        body += f"st.global{vector}.{kind} [%d2+{length}], {given};\n"
    launch(HEAD + body + "ret;\n}", "k", 1, 32, [values, y, 0])
    for lane in LANES:
        wanted = [0xEE] * 64
        for index in range(count):
            part = int(values[lane, index]).to_bytes(8, "little")[:size]
            at = length + size * index
            wanted[at : at + size] = part
        assert y[lane].tolist() == wanted


UPDATES = {
    "add": lambda a, b, _: a + b,
    "min": lambda a, b, _: min(a, b),
    "max": lambda a, b, _: max(a, b),
    "and": lambda a, b, _: a & b,
    "or": lambda a, b, _: a | b,
    "xor": lambda a, b, _: a ^ b,
    "exch": lambda _, b, __: b,
    "cas": lambda a, b, c: c if a == b else a,
}
ATOMICS = [
    *(("add", kind) for kind in ("u32", "s32", "u64", "f32")),
    *((head, kind) for head in ("min", "max") for kind in ("u32", "s32", "u64", "s64")),
    *((head, kind) for head in ("and", "or", "xor", "exch", "cas") for kind in ("b32", "b64")),
]


def _as_number(pattern: int, kind: str) -> Any:
    width = int(kind[1:])
    if kind == "f32":
        return np.array([pattern], np.uint32).view(np.float32)[0]
    return pattern - (1 << width) if kind[0] == "s" and pattern >> (width - 1) else pattern


def _as_pattern(value: Any, kind: str) -> int:
    if kind == "f32":
        return int(np.array([value], np.float32).view(np.uint32)[0])
    return int(value) % (1 << int(kind[1:]))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(("operation", "kind"), ATOMICS)
def test_atomics_on_one_place_and_on_many(
    operation: str, kind: str, space: str, seed: int | None
) -> None:
    """Lanes 4 i to 4 i + 3 update one place each: some order of the four gives all they saw."""
    width = int(kind[1:])
    size, letter = width // 8, "%d" if width == 64 else "%r"
    generator = np.random.default_rng(3)
    number: Any = np.uint64 if width == 64 else np.uint32
    pool = generator.integers(0, 1 << 62, size=(32, 3)).astype(number)
    pool[::2, 1] = generator.integers(0, 9, size=16).astype(number)
    if kind == "f32":
        pool = generator.integers(-50, 50, size=(32, 3)).astype(np.float32).view(np.uint32)
    if operation == "cas":
        first = pool[np.arange(32) // 4 * 4, 0]
        pool[:, 1] = np.where(generator.random(32) < 0.6, first, pool[:, 1])
    y = np.zeros((32, 2), number)
    body = f"mad.wide.u32 %d1, %r1, {3 * size}, %d1;\nmad.wide.u32 %d2, %r1, {2 * size}, %d2;\n"
    body += "".join(f"ld.global.b{width} {letter}{4 + i}, [%d1+{size * i}];\n" for i in range(3))
    base = "%d9" if space == "global" else "%r9"
    if space == "global":
        body += "and.b32 %r8, %r1, 28;\nld.param.u64 %d9, [y];\n"
        body += f"mad.wide.u32 %d9, %r8, {2 * size}, %d9;\n"
    else:
        body += f"and.b32 %r8, %r1, 28;\nmad.lo.u32 %r9, %r8, {size}, %r2;\n"
    body += "and.b32 %r10, %r1, 3;\nsetp.eq.u32 %p1, %r10, 0;\n"
    body += f"@%p1 st.{space}.b{width} [{base}], {letter}4;\nbar.sync 0;\n"
    third = f", {letter}6" if operation == "cas" else ""
    body += f"atom.{space}.{operation}.{kind} {letter}7, [{base}], {letter}5{third};\nbar.sync 0;\n"
    if space == "shared":
        body += f"ld.shared.b{width} {letter}12, [{base}];\n"
        body += f"@%p1 st.global.b{width} [%d2], {letter}12;\n"
    body += f"st.global.b{width} [%d2+{size}], {letter}7;\n"
    launch(HEAD + body + "ret;\n}", "k", 1, 32, [pool, y, 0], seed=seed)
    for group in range(8):
        lanes = list(range(4 * group, 4 * group + 4))
        value = _as_number(int(pool[lanes[0], 0]), kind)
        seen = {lane: int(y[lane, 1]) for lane in lanes}
        while lanes:
            # Whoever saw the value that is there now may have been next.
            here = _as_pattern(value, kind)
            lane = next(each for each in lanes if seen[each] == here)
            lanes.remove(lane)
            given = [_as_number(int(pool[lane, i]), kind) for i in (1, 2)]
            value = UPDATES[operation](value, *given)
            value = _as_number(_as_pattern(value, kind), kind)
        assert int(y[4 * group, 0]) == _as_pattern(value, kind)


@pytest.mark.parametrize(("operation", "kind"), ATOMICS[:18])
def test_updates_without_a_result(operation: str, kind: str) -> None:
    width = int(kind[1:])
    size, letter = width // 8, "%d" if width == 64 else "%r"
    number: Any = np.uint64 if width == 64 else np.uint32
    x = np.random.default_rng(4).integers(0, 1 << 62, size=(32, 1)).astype(number)
    if kind == "f32":
        x = np.arange(-9, 23, dtype=np.float32).reshape(32, 1).view(np.uint32)
    y = np.array([[_as_pattern(5, kind), 77]], number)
    body = f"mad.wide.u32 %d1, %r1, {size}, %d1;\nld.global.b{width} {letter}4, [%d1];\n"
    body += f"red.global.{operation}.{kind} [%d2], {letter}4;\n"
    launch(HEAD + body + "ret;\n}", "k", 1, 32, [x, y, 0])
    value = _as_number(_as_pattern(5, kind), kind)
    for lane in LANES:
        value = UPDATES[operation](value, _as_number(int(x[lane, 0]), kind), 0)
    assert y.tolist() == [[_as_pattern(value, kind), 77]]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("cop", "size"), [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)])
def test_copies_fill_with_zeros(cop: str, size: int, seed: int | None) -> None:
    """Lane i takes i % (size / 4 + 1) words; without a size taken, all of them."""
    x = np.random.default_rng(5).integers(1, 1 << 32, size=(32, 4)).astype(np.uint32)
    y = np.zeros((32, 8), np.uint32)
    count = size // 4
    body = f"""mad.wide.u32 %d1, %r1, 16, %d1;
    mad.wide.u32 %d2, %r1, 32, %d2;
    mad.lo.u32 %r3, %r1, 32, %r2;
    rem.u32 %r4, %r1, {count + 1};
    shl.b32 %r4, %r4, 2;
    cp.async.{cop}.shared.global [%r3], [%d1], {size}, %r4;
    cp.async.{cop}.shared.global [%r3+16], [%d1], {size};
    cp.async.commit_group;
    cp.async.wait_group 0;
    """
    for half in range(2):
        for index in range(count):
            at = 16 * half + 4 * index
            body += f"ld.shared.u32 %r9, [%r3+{at}];\nst.global.u32 [%d2+{at}], %r9;\n"
    launch(HEAD + body + "ret;\n}", "k", 1, 32, [x, y, 0], seed=seed)
    for lane in LANES:
        taken = lane % (count + 1)
        row = x[lane, :count].tolist()
        assert y[lane, :count].tolist() == row[:taken] + [0] * (count - taken)
        assert y[lane, 4 : 4 + count].tolist() == row


def test_special_registers() -> None:
    names = (
        "%laneid",
        "%lanemask_eq",
        "%lanemask_lt",
        "%lanemask_le",
        "%lanemask_gt",
        "%lanemask_ge",
    )
    body = "".join(f"mov.u32 %o{i}, {name};\n" for i, name in enumerate(names))
    wanted = []
    for lane in LANES:
        others = range(32)
        wanted.append(
            [
                lane,
                1 << lane,
                *(
                    sum(1 << other for other in others if chosen(other, lane))
                    for chosen in (
                        lambda o, i: o < i,
                        lambda o, i: o <= i,
                        lambda o, i: o > i,
                        lambda o, i: o >= i,
                    )
                ),
            ]
        )
    assert run(body, words(6), 6).tolist() == wanted
