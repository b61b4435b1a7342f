"""Random straight-line kernels from the opcode table, to compare this machine with a device.

A program is a list of instructions on registers that hold inputs or earlier results, and every
result is stored, so that a disagreement names one opcode and its operands. Results that the ISA
leaves open in part (approximate ones, NaN of unspecified payload, division by zero) are never
operands of later instructions.

>>> import numpy as np
>>> program = programs(seed=1, count=1, length=3)[0]
>>> [step.mnemonic for step in program.steps]  # doctest: +ELLIPSIS
[...]
>>> values = inputs(seed=1, threads=64)
>>> values.shape, values.dtype
((64, 14), dtype('uint64'))
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tylo.proofs.ptx.machine.floats import approximate
from tylo.proofs.ptx.opcodes import OPCODES, Form, OperandKind

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
THREADS = 128
# Registers that hold inputs, by their width; predicates are made of the first inputs.
_INPUTS = {16: 3, 32: 6, 64: 5}
SLOTS = sum(_INPUTS.values())
_NAMES = {1: "%p", 16: "%h", 32: "%r", 64: "%d"}
_KINDS = {1: "pred", 16: "b16", 32: "b32", 64: "b64"}


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """One instruction: what it reads and writes, by register name, and where results are stored.

    `first` is the index of its first result among all that the program stores.
    """

    form: Form
    text: str
    sources: tuple[str, ...]
    results: tuple[str, ...]
    first: int

    @property
    def mnemonic(self) -> str:
        """The mnemonic as written."""
        return self.form.mnemonic


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel ``name(inputs, results)``: its entry as text, its steps and how many results.

    Thread i reads row i of the inputs, and stores result j at ``results[j][i]``, 64 bits each.
    """

    name: str
    entry: str
    steps: tuple[ProgramStep, ...]
    results: int


def forms() -> list[Form]:
    """Every form of the table that computes on registers of 16 bits or more alone."""
    found = {}
    for opcode in OPCODES:
        if opcode.semantics is None or opcode.mnemonic == "cvta":
            continue
        for mnemonic in _mnemonics(opcode.syntax.split(" ")[0], opcode.choices):
            form = opcode.match(mnemonic)
            if form is not None and not _refused(form):
                found[opcode.syntax, mnemonic] = form
    return list(found.values())


def _mnemonics(head: str, choices: Any) -> Iterator[str]:
    """All spellings of a syntax line's head; a segment named twice is one alternative."""
    segments = [part for part in head.replace("{.", ".{").split(".") if part]
    names = list(dict.fromkeys(segment.strip("{}") for segment in segments))
    alternatives = []
    for name in names:
        given = [f".{each}" for each in choices.get(name, (name,))]
        alternatives.append([*given, ""] if f"{{{name}}}" in segments else given)
    for chosen in itertools.product(*alternatives):
        spelling = dict(zip(names, chosen, strict=True))
        yield "".join(spelling[segment.strip("{}")] for segment in segments)[1:]


def _refused(form: Form) -> bool:
    """Whether it needs registers of 8 bits, which `mov` packs and unpacks: they are left out."""
    return any(
        kind.mark != "immediate" and form.operand_width(kind) == 8 and not kind.loose
        for kind in form.opcode.operands
    )


def inputs(seed: int, threads: int) -> Any:
    """A row of patterns for each thread: special and random ones, small counts, floats."""
    generator = np.random.default_rng(seed)
    rows = generator.integers(0, 1 << 64, size=(threads, SLOTS), dtype=np.uint64)
    chosen = generator.random(rows.shape)
    rows = np.where(chosen < 0.45, _special(generator, rows.shape), rows)
    return np.where(chosen > 0.9, generator.integers(0, 70, rows.shape).astype(np.uint64), rows)


def _special(generator: Any, shape: tuple[int, int]) -> Any:
    singles = [
        0.0,
        1.0,
        1.5,
        2.5,
        0.1,
        3.0,
        65504.0,
        65520.0,
        2.0**31,
        2.0**32,
        2.0**63,
        16777217.0,
    ]
    singles += [2.0**-126, 2.0**-149, 1.5 * 2.0**-127, 3.4028235e38, np.inf, 1 + 2.0**-23, 2.0**-25]
    words = np.array(singles, np.float32).view(np.uint32).tolist()
    words += [0x7FC00000, 0x7F800001, 0x7FFFFFFF, 0x477FF000, 0x3F808000, 0x3F818000, 0x33000000]
    halves = [0, 1, 0x3C00, 0x03FF, 0x0400, 0x7BFF, 0x7C00, 0x7E00, 0x7C01, 0x3F80, 0x7F80, 0x7FC0]
    doubles = np.array([0.0, 1.0, -1.5, 2.0**-1074, 1e300, np.inf, 2.0**63, 0.1]).view(np.uint64)
    edges = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, (1 << 31) - 1, 1 << 31, (1 << 32) - 1]
    edges += [(1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - (1 << 31)]
    # A single in both halves of a word, with either sign; halves in all four quarters.
    pool = [word << 32 | word ^ sign for word in words for sign in (0, 1 << 31)]
    pool += [sum(half << 16 * i for i in range(4)) for half in halves]
    pool += [*doubles.tolist(), *edges]
    return np.array(pool, np.uint64)[generator.integers(len(pool), size=shape)]


def programs(seed: int, count: int, length: int) -> list[Program]:
    """`count` programs of `length` instructions, which take the forms of the table in turn."""
    generator = random.Random(seed)
    every = forms()
    order: list[Form] = []
    while len(order) < count * length:
        order += generator.sample(every, len(every))
    return [
        _program(f"program_{index}", generator, order[index * length : (index + 1) * length])
        for index in range(count)
    ]


def _program(name: str, generator: random.Random, chosen: list[Form]) -> Program:
    registers: dict[int, list[str]] = {1: ["%p0", "%p1"], 16: [], 32: [], 64: []}
    lines = ["ld.param.u64 %d0, [in];", "ld.param.u64 %d1, [out];", "mov.u32 %r0, %tid.x;"]
    lines += [f"mad.wide.u32 %d0, %r0, {8 * SLOTS}, %d0;", "mad.wide.u32 %d1, %r0, 8, %d1;"]
    slot = 0
    count = {1: 2, 16: 0, 32: 1, 64: 2}
    for width, number in _INPUTS.items():
        for _ in range(number):
            register = f"{_NAMES[width]}{count[width]}"
            count[width] += 1
            registers[width].append(register)
            lines.append(f"ld.global.b{width} {register}, [%d0+{8 * slot}];")
            slot += 1
    for index in range(2):
        lines.append(f"setp.lt.s32 %p{index}, %r{1 + index}, 0;")
    steps: list[ProgramStep] = []
    stored = 0
    for form in chosen:
        sources: list[str] = []
        targets: list[str] = []
        operands: list[str] = []
        for kind in form.opcode.operands:
            if kind.mark == "immediate":
                operands.append(str(generator.randrange(256)))
                continue
            width = _register_width(form, kind)
            names = []
            for _ in range(form.operand_count(kind) or 1):
                if kind.destination:
                    names.append(f"{_NAMES[width]}{count[width]}")
                    count[width] += 1
                else:
                    names.append(generator.choice(registers[width]))
            (targets if kind.destination else sources).extend(names)
            operands.append(f"{{{', '.join(names)}}}" if kind.vector else names[0])
        text = f"{form.mnemonic} {', '.join(operands)};"
        steps.append(ProgramStep(form, text, tuple(sources), tuple(targets), stored))
        lines.append(text)
        for target in targets:
            width = next(w for w, prefix in _NAMES.items() if target.startswith(prefix))
            lines += _stored(target, width, stored)
            stored += 1
            if not open_result(form):
                registers[width].append(target)
    declared = "".join(f".reg .{_KINDS[w]} {_NAMES[w]}<{max(n, 1)}>;\n" for w, n in count.items())
    body = "\n".join(lines)
    entry = (
        f".visible .entry {name}(.param .u64 in, .param .u64 out)\n"
        f"{{\n{declared}.reg .b32 %stored;\n{body}\nret;\n}}\n"
    )
    return Program(name, entry, tuple(steps), stored)


def _stored(register: str, width: int, index: int) -> list[str]:
    place = f"[%d1+{index * 8 * THREADS}]"
    if width == 1:
        return [f"selp.b32 %stored, 1, 0, {register};", f"st.global.b32 {place}, %stored;"]
    return [f"st.global.b{width} {place}, {register};"]


def _register_width(form: Form, kind: OperandKind) -> int:
    width = form.operand_width(kind)
    return 16 if width == 8 else width


def open_result(form: Form) -> bool:
    """Whether the ISA leaves some results of a form open: these compare by `same`."""
    head, *rest = form.mnemonic.split(".")
    floating = any(each in ("f16", "bf16", "f32", "f64") for each in rest)
    if approximate(form.mnemonic) or head in ("div", "rem", "bfe", "bfi"):
        return True
    if head in ("min", "max") and floating:
        # Of one register and itself the assembler makes a copy, NaN's payload and all.
        return True
    if head in ("abs", "neg"):
        return floating or head == "abs"
    if head == "cvt":
        # NaN has no stated payload in wider formats, nor from doubles; otherwise it has.
        return (rest[-2] in ("f32", "f64") or rest[-1] == "f64") and not set("us") & {
            rest[-2][0],
            rest[-1][0],
        }
    return "f64" in rest and head in ("add", "sub", "mul", "fma", "min", "max", "rcp", "sqrt")
