"""The opcode table takes no form that the assembler refuses, by answers kept as data."""

from __future__ import annotations

import re

import pytest

from ptxas_forms import (
    ANSWERS,
    FAMILIES,
    HEAD,
    TAIL,
    TARGETS,
    representatives,
    texts,
    unpacked,
    varied,
)
from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.machine.decode import Decoder
from tylo.proofs.ptx.opcodes import OPCODES, Opcode
from tylo.proofs.ptx.parser import parse

NEWEST = TARGETS[-1]
# What the assembler takes and the table refuses: it may be narrower, but not by accident.
NARROWER = {
    "arithmetic of halves": r"(add|sub|mul|fma|abs|neg|min|max|ex2|tanh|setp)\b.*f16(x2)?",
    "conversions of halves but from and to f32": r"cvt\.(rn\.)?(f|bf)16\.b?f16"
    r"|cvt\.rn\.(bf16\.([us]\d+|f64)|(ftz\.)?f(32|64)\.bf16|ftz\.(b?f16\.f32|f32\.[us]\d+))"
    r"|cvt\.ftz\.f32\.b?f16|cvt\.r[nzmp]i\..*(\.bf16|f16\.f16)|cvt\.f64\.f64"
    r"|cvt\.rn\.(relu|satfinite)\..*",
    "roundings but to nearest": r"(add|sub|mul|fma|div|cvt)\b.*\.rz\b.*",
    "saturation of integers": r"(add|sub|mad\.hi)\.sat\.s32",
    "approximations of doubles": r"r(cp|sqrt)\.approx\.(ftz\.)?f64|rcp\.rn\.ftz\.f64",
    "vectors of 32 bytes": r"(ld|st)\b.*\.(v8\..*|v4\.[usbf]64)",
    "eviction where order matters": r"(ld|st)\.(relaxed|acquire|release|volatile)\..*L[12]::.*",
    "eviction before .nc": r"ld\.global\.L1::.*\.nc\b.*",
    "atomics of doubles, and counters": r"(atom|red)\b.*(\.f64|\.inc\.u32)",
    "modes of prmt": r"prmt\.b32\..*",
    "generic addresses of constants": r"cvta\.(to\.)?const\.u64",
    "matches of all lanes": r"match\.all\.sync\.b\d+",
    "products of integers of either sign": r"mma\..*(s8\.u8|u8\.s8)\.s32",
}
# An atomic's last operand may be a policy for the caches; the table has it for `.cas` alone.
_POLICY = re.compile(r"atom\.(?!.*cas).* %\w+, \[%d\d\], %\w+, %\w+;")


def narrower(text: str) -> bool:
    """Whether an instruction is one of those that the table leaves out."""
    head = text.split(" ")[0].removesuffix(";")
    return bool(_POLICY.match(text)) or any(re.fullmatch(each, head) for each in NARROWER.values())


def covered(
    instructions: list[str], targets: tuple[str, ...], table: tuple[Opcode, ...] = OPCODES
) -> list[list[bool]]:
    """For each target, which instructions the table and the decoder take."""
    module = parse(HEAD.format(version="8.8", target=NEWEST) + "\n".join(instructions) + TAIL)
    entry = module.entry("k")
    registers = dict.fromkeys(entry.registers)
    parameters = {"x": (0, 64), "y": (0, 512)}
    answers = []
    for target in targets:
        decoder = Decoder(entry, registers, {"cc": 0}, parameters, (target,), table)
        taken = []
        for instruction in entry.body[: len(instructions)]:
            try:
                decoder.step(instruction)
            except PtxError as error:
                assert f"line {instruction.line}, column {instruction.column}: `" in str(error)  # noqa: PT017
                taken.append(False)
            else:
                taken.append(True)
        answers.append(taken)
    return answers


@pytest.mark.parametrize("family", FAMILIES)
def test_no_form_is_taken_that_the_assembler_refuses(family: str) -> None:
    every = texts(family)
    answers = {each: unpacked(ANSWERS[family][each], len(every)) for each in TARGETS}
    for target, ours in zip(TARGETS, covered(every, TARGETS), strict=True):
        wrong = [
            t for t, taken, right in zip(every, ours, answers[target], strict=True) if taken > right
        ]
        assert not wrong, f"{target}: {wrong[:5]}"
        missing = [
            t
            for t, taken, right in zip(every, ours, answers[target], strict=True)
            if taken != (right and not narrower(t))
        ]
        assert not missing, f"{target}: {missing[:5]}"
    accepted = [text for text, yes in zip(every, answers[NEWEST], strict=True) if yes]
    other = [text for each in representatives(accepted) for text in varied(each)]
    right = unpacked(ANSWERS[family]["operands"], len(other))
    (ours,) = covered(other, (NEWEST,))
    wrong = [text for text, taken, yes in zip(other, ours, right, strict=True) if taken > yes]
    assert not wrong, wrong[:5]
