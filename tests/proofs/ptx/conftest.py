"""Hand-written pack kernels, their effects, and a simulator that shares nothing with the proofs.

The simulator reads PTX with regular expressions of its own and runs every thread of a block over
numpy arrays. It is the judge of mutants: whatever validation accepts must write, byte for byte,
what the kernel is meant to write.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tylo.layouts.terms import name
from tylo.proofs.effects import Buffer, Effect, Part, Store

ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a", "sm_120")


@dataclass(frozen=True)
class Pack:
    """`m` by `k` A operands of `warps` warps, from a row-major FP32 matrix of 16*m by 16*k each."""

    m: int = 1
    k: int = 1
    warps: int = 1
    half: str = "bf16"

    @property
    def source_bytes(self) -> int:
        return 1024 * self.m * self.k * self.warps

    @property
    def word_bytes(self) -> int:
        return 512 * self.m * self.k * self.warps

    def cuda(self, edit: Callable[[int, int, int, str, str], tuple[str, str]] | None = None) -> str:
        """The kernel; `edit` may change the two element expressions of word w of atom (m, k)."""
        body = []
        for k in range(self.k):
            for m in range(self.m):
                for word in range(4):
                    row = f"(row + {16 * m + 8 * (word % 2)})"
                    column = f"(column + {16 * k + 8 * (word // 2)})"
                    low = f"tile[{row} * {16 * self.k} + {column}]"
                    high = f"tile[{row} * {16 * self.k} + {column} + 1]"
                    if edit:
                        low, high = edit(m, k, word, low, high)
                    target = word + 4 * (m + self.m * k)
                    body.append(
                        f"{{ unsigned w; float low = {low}, high = {high};\n"
                        f'asm("cvt.rn.{self.half}x2.f32 %0, %1, %2;"'
                        ' : "=r"(w) : "f"(high), "f"(low));\n'
                        f"out[lane * {4 * self.m * self.k} + {target}] = w; }}"
                    )
        return (
            f'extern "C" __global__ void __launch_bounds__({32 * self.warps})\n'
            "pack(const float* __restrict__ source, unsigned* __restrict__ words) {\n"
            "unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
            "unsigned row = lane / 4, column = lane % 4 * 2;\n"
            f"unsigned long long group = (unsigned long long)blockIdx.x * {self.warps} + warp;\n"
            f"const float* tile = source + group * {256 * self.m * self.k};\n"
            f"unsigned* out = words + group * {128 * self.m * self.k};\n" + "\n".join(body) + "\n}"
        )

    def effect(self) -> Effect:
        thread, block = name("thread"), name("block")
        lane = thread % 32
        group = block * self.warps + thread // 32
        stores = []
        for k in range(self.k):
            for m in range(self.m):
                for word in range(4):
                    row = lane // 4 + (16 * m + 8 * (word % 2))
                    column = lane % 4 * 2 + (16 * k + 8 * (word // 2))
                    index = group * (256 * self.m * self.k) + row * (16 * self.k) + column
                    target = lane * (4 * self.m * self.k) + (word + 4 * (m + self.m * k))
                    conversion = f"cvt.rn.{self.half}.f32"
                    stores.append(
                        Store(
                            "words",
                            (group * (128 * self.m * self.k) + target) * 4,
                            (
                                Part(16, conversion, "source", index * 4),
                                Part(16, conversion, "source", (index + 1) * 4),
                            ),
                        )
                    )
        return Effect(
            "pack",
            32 * self.warps,
            (
                Buffer("source", "in", 32, self.source_bytes // 4, 16),
                Buffer("words", "out", 32, self.word_bytes // 4, 16),
            ),
            tuple(stores),
        )


BASES = (0x7F00_0000_0000, 0x7E00_0000_0000)  # aligned to 2^40: the simulator's two buffers


def content(address: np.ndarray) -> np.ndarray:
    """The FP32 bit pattern that lies at an address: scattered, finite, never twice in a row."""
    mixed = (address.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    return (mixed & np.uint64(0x3FFF_FFFF)) | np.uint64(0x2000_0000)


def rounded(bits: np.ndarray, half: str) -> np.ndarray:
    values = bits.astype(np.uint32).view(np.float32)
    kind: Any = ml_dtypes.bfloat16 if half == "bf16" else np.float16
    with np.errstate(over="ignore"):
        return values.astype(kind).view(np.uint16).astype(np.uint64)


class Wrong(Exception):
    """The simulated kernel does something that no right kernel does."""


def expected(pack: Pack, block: int) -> dict[int, int]:
    """Every byte that a block must write, from the definition of the fragment maps."""
    written: dict[int, int] = {}
    for thread in range(32 * pack.warps):
        warp, lane = divmod(thread, 32)
        group = block * pack.warps + warp
        for word in range(4 * pack.m * pack.k):
            atom, register = divmod(word, 4)
            k, m = divmod(atom, pack.m)
            row = 16 * m + lane // 4 + 8 * (register & 1)
            column = 16 * k + lane % 4 * 2 + 8 * (register >> 1)
            index = group * 256 * pack.m * pack.k + row * 16 * pack.k + column
            source = np.array([BASES[0] + 4 * index, BASES[0] + 4 * index + 4])
            low, high = rounded(content(source), pack.half)
            value = int(low) | int(high) << 16
            start = BASES[1] + 4 * (
                group * 128 * pack.m * pack.k + lane * 4 * pack.m * pack.k + word
            )
            for byte in range(4):
                written[start + byte] = value >> 8 * byte & 255
    return written


_LINE = re.compile(r"^(?:@(!?)(%\w+)\s+)?([a-z][\w.:]*)\s+(.*?)$")


def statements(ptx: str) -> list[str]:
    """The statements of the body, without declarations; what stands in braces is a scope."""
    body = ptx[ptx.index("{") + 1 : ptx.rindex("}")]
    found = []
    for line in body.splitlines():
        text = line.split("//")[0].strip()
        if text.startswith("{ .reg"):
            text = text.strip("{} ")
        found += [each.strip() for each in text.split(";")]
    return [each for each in found if each and not each.startswith(".")]


def simulate(ptx: str, pack: Pack, block: int) -> dict[int, int]:
    """Every byte that the threads of one block write; raises `Wrong` on any misbehaviour."""
    threads = 32 * pack.warps
    registers: dict[str, np.ndarray] = {}
    live = np.ones(threads, bool)
    special = {"%tid.x": np.arange(threads), "%ctaid.x": np.full(threads, block)}
    special |= {"%ntid.x": np.full(threads, threads)}
    written: dict[int, int] = {}

    def width(kind: str) -> int:
        return 1 if kind == "pred" else int(re.sub(r"\D", "", kind))

    def mask(bits: int) -> np.uint64:
        if bits > 64:
            raise Wrong(f"{bits} bits")
        return np.uint64((1 << bits) - 1)

    def read(text: str, bits: int) -> np.ndarray:
        if text in special:
            return special[text].astype(np.uint64)
        if text.startswith("%"):
            if text not in registers:
                raise Wrong(f"{text} is not written yet")
            return registers[text] & mask(bits)
        value = int(text[2:], 16) if text.startswith("0f") else int(text, 0)
        return np.full(threads, value % (1 << bits), dtype=np.uint64)

    def signed(value: np.ndarray, bits: int) -> np.ndarray:
        shift = np.int64(64 - bits)
        return (value.astype(np.int64) << shift) >> shift

    def located(text: str, size: int, buffer: int) -> np.ndarray:
        match = re.fullmatch(r"\[(%\w+)(?:\+(-?\d+))?\]", text)
        if match is None:
            raise Wrong(f"address {text}")
        address = read(match[1], 64) + np.uint64(int(match[2] or 0) % (1 << 64))
        share = (pack.source_bytes, pack.word_bytes)[buffer]
        offset = address - np.uint64(BASES[buffer])
        outside = offset > np.uint64((block + 1) * share - size)
        if ((address % np.uint64(size) != 0) | outside)[active].any():
            raise Wrong("out of bounds or misaligned")
        return address

    for text in statements(ptx):
        match = _LINE.match(text if " " in text or "\t" in text else f"{text} ")
        if match is None:
            raise Wrong(f"not an instruction: {text}")
        active, before = live, dict(registers)
        if match[2]:
            active = live & ((read(match[2], 1) == 1) != bool(match[1]))
        if match[3] == "ret":
            live = live & ~active
            if not live.any():
                return written
            continue
        parts = match[3].split(".")
        operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^\s,]+", match[4])
        target, kind = operands[0], parts[-1]
        bits = width(kind)
        inputs = operands[1:]
        with np.errstate(over="ignore"):
            match parts[0]:
                case "ld" if parts[1] == "param":
                    registers[target] = np.full(threads, BASES[int(inputs[0][-2])], dtype=np.uint64)
                case "ld":
                    targets = target.strip("{}").replace(",", " ").split()
                    address = located(inputs[0], len(targets) * bits // 8, 0)
                    if (address % np.uint64(4)).any() or bits != 32:
                        raise Wrong("partial element")
                    for index, register in enumerate(targets):
                        registers[register] = content(address + np.uint64(4 * index))
                case "st":
                    values = [
                        read(v, bits) for v in inputs[0].strip("{}").replace(",", " ").split()
                    ]
                    address = located(target, len(values) * bits // 8, 1)
                    for index, value in enumerate(values):
                        for thread in np.flatnonzero(active).tolist():
                            for byte in range(bits // 8):
                                where = int(address[thread]) + index * bits // 8 + byte
                                if where in written:
                                    raise Wrong("written twice")
                                written[where] = int(value[thread]) >> 8 * byte & 255
                case "cvt" if parts[1] == "rn":
                    half = parts[2].removesuffix("x2")
                    upper, lower = (rounded(read(v, 32), half) for v in inputs)
                    registers[target] = upper << np.uint64(16) | lower
                case "cvt":
                    value = read(inputs[0], bits)
                    value = signed(value, bits).astype(np.uint64) if kind[0] == "s" else value
                    registers[target] = value & mask(width(parts[1]))
                case "cvta" | "mov":
                    registers[target] = read(inputs[0], bits)
                case "mul" | "mad":
                    if parts[1] not in ("lo", "wide"):
                        raise Wrong(f"unknown {text}")
                    out = 2 * bits if parts[1] == "wide" else bits
                    left, right = (read(v, bits) for v in inputs[:2])
                    if kind[0] == "s":
                        left, right = (signed(v, bits).astype(np.uint64) for v in (left, right))
                    value = left * right
                    value = value + read(inputs[2], out) if parts[0] == "mad" else value
                    registers[target] = value & mask(out)
                case "setp":
                    left, right = (signed(read(v, bits), bits) for v in inputs)
                    if kind[0] == "u":
                        left, right = (read(v, bits) for v in inputs)
                    compare = {
                        "eq": np.equal,
                        "ne": np.not_equal,
                        "lt": np.less,
                        "le": np.less_equal,
                        "gt": np.greater,
                        "ge": np.greater_equal,
                    }[parts[1]]
                    registers[target] = compare(left, right).astype(np.uint64)
                case "selp":
                    chosen = read(inputs[2], 1) == 1
                    registers[target] = np.where(
                        chosen, read(inputs[0], bits), read(inputs[1], bits)
                    )
                case "shl" | "shr":
                    value, amount = read(inputs[0], bits), read(inputs[1], 32)
                    inside = amount < np.uint64(bits)
                    amount = np.minimum(amount, np.uint64(bits - 1))
                    if parts[0] == "shl":
                        moved = np.where(inside, value << amount, np.uint64(0))
                    elif kind[0] == "s":
                        moved = (signed(value, bits) >> amount.astype(np.int64)).astype(np.uint64)
                    else:
                        moved = np.where(inside, value >> amount, np.uint64(0))
                    registers[target] = moved & mask(bits)
                case "add" | "sub" | "and" | "or" | "xor" as operation:
                    left, right = (read(v, bits) for v in inputs)
                    registers[target] = {
                        "add": np.add,
                        "sub": np.subtract,
                        "and": np.bitwise_and,
                        "or": np.bitwise_or,
                        "xor": np.bitwise_xor,
                    }[operation](left, right) & mask(bits)
                case _:
                    raise Wrong(f"unknown {text}")
        if not active[live].all():
            for name_, value in registers.items():
                old = before.get(name_)
                if old is None:
                    raise Wrong(f"{name_} is written by some threads only")
                if value is not old:
                    registers[name_] = np.where(active, value, old)
    raise Wrong("no ret")


@cache
def compiled(source: str, architecture: str) -> str:
    from tylo.codegen.nvrtc import compile as compile_cuda

    return compile_cuda(source, architecture, kernels=["pack"]).ptx


@pytest.fixture(params=ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def kernels() -> Any:
    """This module, for tests to take kernels, effects and the simulator from."""
    import types

    return types.SimpleNamespace(**globals())
