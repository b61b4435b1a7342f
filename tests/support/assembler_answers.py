"""The assembler's answers, ready to be asked of an opcode table.

>>> from tylo.proofs.ptx.opcodes import OPCODES
>>> next(differences(OPCODES, {"add", "fma"}), "none")
'none'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

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
from tylo.proofs.ptx.opcodes import Opcode
from tylo.proofs.ptx.parser import parse
from tylo.proofs.ptx.program import Entry, Instruction

# What the assembler takes and the table refuses: it may be narrower, but not by accident.
NARROWER = {
    "arithmetic of halves but max.NaN of two": r"(?!max\.NaN\.b?f16x2)"
    r"(add|sub|mul|fma|abs|neg|min|max|ex2|tanh|setp)\b.*f16(x2)?",
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
    "generic addresses of matrices": r"(ld|st)matrix\..*\.x\d(\.trans)?\.b16",
    "matches of all lanes": r"match\.all\.sync\.b\d+",
    "products of integers of either sign": r"mma\..*(s8\.u8|u8\.s8)\.s32",
}
# An atomic's last operand may be a policy for the caches; the table has it for `.cas` alone.
_POLICY = re.compile(r"atom\.(?!.*cas).* %\w+, \[%[rd]\d\], [%\w]+, [%\w]+;")
# Operands that the assembler takes, for all that the ISA says of them, and the table may refuse.
_MAY_REFUSE = {
    "addresses of 16 bits": r".*\[%h.*",
    "predicates in words": r"(ldmatrix|stmatrix|movmatrix|mma|ld|st|mov\.b64|cp)\b.* .*%p.*",
    "wide registers of floats": r"cvt\.\S*\bf(16|32)\S* .*%d.*|cvt\.\S*\bf16\S* .*%r.*",
    "constants in vectors": r".*\{.*\b(1|0[fd]\w+)\b.*",
}
# Operands that the assembler refuses and the table may take: nothing is wrong then, or the machine
# faults at them.
_MAY_TAKE = {
    "constants in matrices": r"(mma|stmatrix)\..*\{(1|0f\w+)\}.*|movmatrix\..*, 1",
    "floats as patterns to combine": r"redux\.sync\.\w+\.b32 %r1, 0f\w+, %r3",
    "variables of .const by generic loads": r"ld\.(?!.*const).*\[cc\]",
    "addresses of 32 bits": r"st\..*\[%r1\].*",
}


def narrower(text: str) -> bool:
    """Whether an instruction is one of those that the table leaves out."""
    head = text.split(" ")[0].removesuffix(";")
    return bool(_POLICY.match(text)) or any(re.fullmatch(each, head) for each in NARROWER.values())


def _spared(instruction: Instruction, taken: bool) -> bool:
    """Whether the table may answer otherwise than the assembler."""
    some = _MAY_TAKE if taken else _MAY_REFUSE
    known = any(re.fullmatch(each, instruction.text) for each in some.values())
    return known or (not taken and narrower(f"{instruction.text};"))


@cache
def _asked() -> dict[str, tuple[Entry, list[list[bool]]]]:
    """For each mnemonic, the instructions of its families and what is right for each target."""
    found: dict[str, tuple[list[str], list[list[bool]]]] = {}
    for family in FAMILIES:
        every = texts(family)
        right = [
            [yes and not narrower(text) for text, yes in zip(every, taken, strict=True)]
            for taken in (unpacked(ANSWERS[family][each], len(every)) for each in TARGETS)
        ]
        for index, text in enumerate(every):
            lines, answers = found.setdefault(
                text.replace(".", " ").split()[0].strip(";"), ([], [])
            )
            lines.append(text)
            answers.append([answer[index] for answer in right])
    return {head: (_entry(lines), answers) for head, (lines, answers) in found.items()}


@cache
def _varied() -> dict[str, tuple[Entry, list[bool]]]:
    """For each mnemonic, instructions with other operands: which may be taken, which must be."""
    found: dict[str, tuple[list[str], list[bool]]] = {}
    for family in FAMILIES:
        every = texts(family)
        taken = unpacked(ANSWERS[family][TARGETS[-1]], len(every))
        accepted = [text for text, yes in zip(every, taken, strict=True) if yes]
        other = [text for each in representatives(accepted) for text in varied(each)]
        right = unpacked(ANSWERS[family]["operands"], len(other))
        for text, yes in zip(other, right, strict=True):
            lines, answers = found.setdefault(
                text.replace(".", " ").split()[0].strip(";"), ([], [])
            )
            lines.append(text)
            answers.append(yes)
    return {head: (_entry(lines), answers) for head, (lines, answers) in found.items()}


def _entry(lines: list[str]) -> Entry:
    return parse(HEAD.format(version="8.8", target="sm_90") + "\n".join(lines) + TAIL).entry("k")


def _takes(decoder: Decoder, instruction: Instruction) -> bool:
    try:
        decoder.step(instruction)
    except PtxError:
        return False
    return True


def _decoder(entry: Entry, target: str, table: tuple[Opcode, ...]) -> Decoder:
    registers = dict.fromkeys(entry.registers)
    return Decoder(entry, registers, {"cc": 0}, {"x": (0, 64), "y": (0, 512)}, (target,), table)


def differences(table: tuple[Opcode, ...], heads: set[str]) -> Iterator[str]:
    """Instructions that the table takes and should not, or does not take and should."""
    for head in sorted(heads & _asked().keys()):
        for target_index, target in enumerate(TARGETS):
            entry, answers = _asked()[head]
            decoder = _decoder(entry, target, table)
            for instruction, right in zip(entry.body, answers, strict=False):
                if _takes(decoder, instruction) != right[target_index]:
                    taken = "refused" if right[target_index] else "taken"
                    yield f"{target}: {taken}: {instruction.text}"
        entry, every = _varied()[head]
        decoder = _decoder(entry, TARGETS[-1], table)
        for instruction, yes in zip(entry.body, every, strict=False):
            ours = _takes(decoder, instruction)
            if ours != yes and not _spared(instruction, ours):
                yield f"{'taken' if ours else 'refused'}: {instruction.text}"


def heads() -> list[str]:
    """The mnemonics there are answers for."""
    return list(_asked())
