"""Mutants of PTX: one small change each, at every instruction of an entry.

What is changed: a segment of an instruction's name for its neighbours, registers for others of
their kind, constants, offsets, special registers, parameters, labels, guards, the order of
operands and of vectors; instructions are dropped, made twice, and exchanged with the next one.
Lines keep their numbers.

>>> text = ".visible .entry k()\\n{\\n\\tadd.s32 \\t%r1, %r2, 4;\\n\\tret;\\n}"
>>> found = list(mutants(text, seed=1))
>>> len({each.text for each in found}) == len(found), found[0].change
(True, 'sub.s32 \\t%r1, %r2, 4;')
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

# Segments of an instruction's name, and what each is changed to.
SEGMENTS: dict[str, tuple[str, ...]] = {
    "add": ("sub", "or", "and", "mul.lo"),
    "sub": ("add",),
    "mul": ("add",),
    "and": ("or", "xor"),
    "or": ("and", "xor", "add"),
    "xor": ("or", "and"),
    "not": ("neg",),
    "shl": ("shr",),
    "shr": ("shl",),
    "wide": ("lo", "hi"),
    "hi": ("lo",),
    "mad": ("mul",),
    "fma": ("mad",),
    "min": ("max",),
    "max": ("min",),
    "div": ("rem",),
    "rem": ("div",),
    "selp": ("slct",),
    "lt": ("le", "ne", "gt"),
    "le": ("lt", "eq"),
    "gt": ("ge", "lt"),
    "ge": ("gt", "eq"),
    "eq": ("ne", "lt", "ge"),
    "ne": ("eq", "gt"),
    "bfly": ("down", "idx", "up"),
    "idx": ("bfly",),
    "down": ("bfly",),
    "up": ("bfly",),
    "bf16x2": ("f16x2",),
    "f16x2": ("bf16x2",),
    "u32": ("s32", "u16", "u64"),
    "s32": ("u32", "s64"),
    "b32": ("b16", "b64"),
    "s64": ("u64", "s32"),
    "u64": ("s64", "u32"),
    "b64": ("b32",),
    "f32": ("u32", "u16", "f64"),
    "b16": ("b32", "u8"),
    "u16": ("u8", "s16", "u32"),
    "u8": ("s8", "u16"),
    "v4": ("v2",),
    "v2": ("v4",),
    "x4": ("x2",),
    "x2": ("x1",),
    "trans": ("",),
    "m8n8": ("m8n8.trans",),
    "row": ("col",),
    "col": ("row",),
    "ca": ("cg",),
    "cg": ("ca",),
    "global": ("shared",),
    "shared": ("global",),
    "sync": ("",),
}
_ACTIONS: dict[str, tuple[str, ...]] = {
    "ld.global": ("st.global",),
    "ld.shared": ("st.shared",),
    "bar.sync": ("bar.arrive",),
    "cp.async.wait_group": ("cp.async.commit_group",),
    "cp.async.wait_all": ("cp.async.commit_group",),
    "cp.async.commit_group": ("cp.async.wait_all",),
}
_SPECIAL: dict[str, tuple[str, ...]] = {
    "%tid": ("%ctaid", "%ntid"),
    "%ctaid": ("%tid", "%nctaid"),
    "%laneid": ("%tid.x",),
    "%warpid": ("%ctaid.x",),
}
_INSTRUCTION = re.compile(r"\s*(?:@!?%\w+\s+)?[a-z][\w.:]*(?:\s|;)")
_SCOPE = re.compile(r"\s*\{ \.reg")  # several instructions on a line, with names of their own
_REGISTER = re.compile(r"%[a-z]+\d+")
_CONSTANT = re.compile(r"(?<=[\s+,])-?\d+(?=[;\],\s])")
_PARAMETER = re.compile(r"\w+_param_\d+")
_LABEL = re.compile(r"\$\w+")
_DEFINED = re.compile(r"\s*(?:@!?%\w+\s+)?[a-z][\w.:]*\s+(\{[^}]*\}|%\w+(?:\|%\w+)?)")


@dataclass(frozen=True, slots=True)
class PtxMutant:
    """A changed module, the kind of change, the line that it begins at, and what stands there."""

    kind: str
    line: int
    change: str
    text: str


def mutants(ptx: str, seed: int) -> Iterator[PtxMutant]:
    """Every mutant, in the order of the text; the seed chooses which registers are tried."""
    generator = random.Random(seed)
    lines = ptx.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("{")) + 1
    body = [
        i
        for i in range(first, len(lines))
        if _INSTRUCTION.match(lines[i]) or _SCOPE.match(lines[i])
    ]
    within = "\n".join(lines[first:])
    every = sorted(set(_REGISTER.findall(within)))
    labels = sorted(set(re.findall(r"(?m)^\$\w+", within)))
    parameters = sorted(set(_PARAMETER.findall(ptx)))
    known: list[str] = []
    for i in body:
        seen = {lines[i]}
        others = _Others(known, every, labels, parameters, generator)
        for kind, text in _edits(lines[i], others):
            if text not in seen:
                seen.add(text)
                changed = "\n".join([*lines[:i], text, *lines[i + 1 :]])
                yield PtxMutant(kind, i + 1, text.strip(), changed)
        if found := _DEFINED.match(lines[i]):
            known += [each for each in _REGISTER.findall(found[1]) if each not in known]
    for i, j in pairwise(body):
        moved = list(lines)
        moved[i], moved[j] = moved[j], moved[i]
        if lines[i] != lines[j]:
            yield PtxMutant("exchange", i + 1, lines[j].strip(), "\n".join(moved))


@dataclass(frozen=True, slots=True)
class _Others:
    """What a name in a line may be changed to."""

    known: list[str]  # registers that lines before gave a value
    every: list[str]
    labels: list[str]
    parameters: list[str]
    generator: random.Random

    def registers(self, old: str) -> list[str]:
        """One that has a value there, and any one, of the same kind."""
        kind, found = old.rstrip("0123456789"), []
        for names in (self.known, self.every):
            same = [r for r in names if r.rstrip("0123456789") == kind and r != old]
            found += self.generator.sample(same, min(1, len(same)))
        return found


def _edits(line: str, others: _Others) -> Iterator[tuple[str, str]]:
    """Every changed version of one line, with the kind of change."""
    whole = not _SCOPE.match(line)
    if whole:
        yield from (("opcode", text) for text in _renamed(line))
    for match in _REGISTER.finditer(line):
        for new in others.registers(match[0]):
            yield "operand", _put(line, match, new)
    for old, news in _SPECIAL.items():
        for match in re.finditer(rf"{re.escape(old)}(?!\w)", line):
            for new in news:
                if not (new.endswith(".x") and line[match.end()] == "."):
                    yield "operand", _put(line, match, new)
    for pattern, news in ((_LABEL, others.labels), (_PARAMETER, others.parameters)):
        for match in pattern.finditer(line):
            yield from (("operand", _put(line, match, each)) for each in news[:4])
    for match in _CONSTANT.finditer(line):
        value = int(match[0])
        for new in (value + 1, value - 1, value + 4, value - 4, 2 * value, value ^ 4, -value, 0):
            yield "constant", _put(line, match, str(new))
    if "[%" in line and "+" not in line:
        for offset in (4, -4, 2, 128):
            yield "constant", line.replace("]", f"+{offset}]", 1)
    if whole:
        yield from (("order", text) for text in _reordered(line))
    yield from (("predicate", text) for text in _guarded(line, others.known))
    yield "deletion", ""
    yield "repetition", f"{line} {line.strip()}"


def _put(line: str, match: re.Match[str], new: str) -> str:
    return line[: match.start()] + new + line[match.end() :]


def _renamed(line: str) -> Iterator[str]:
    """The instruction's name with one segment changed."""
    found = re.match(r"(\s*(?:@!?%\w+\s+)?)([a-z][\w.:]*)", line)
    assert found is not None
    head, name, rest = found[1], found[2], line[found.end() :]
    for old, news in _ACTIONS.items():
        if name.startswith(old):
            yield from (f"{head}{new}{name[len(old) :]}{rest}" for new in news)
    segments = name.split(".")
    for index, segment in enumerate(segments):
        for new in SEGMENTS.get(segment, ()):
            others = [*segments[:index], *([new] if new else []), *segments[index + 1 :]]
            yield f"{head}{'.'.join(others)}{rest}"


def _reordered(line: str) -> Iterator[str]:
    """Two neighbouring operands exchanged, in the list or in a vector."""
    head, separator, tail = line.rstrip().rstrip(";").partition(" \t")
    if not separator:
        head, separator, tail = re.sub(r"(\s)(?=[%\[{])", r"\1\n", line, count=1).partition("\n")
        tail = tail.rstrip().rstrip(";")
    parts = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^\s,{}\[\]]+", tail)
    for index in range(1, len(parts) - 1):
        other = list(parts)
        other[index], other[index + 1] = other[index + 1], other[index]
        yield f"{head}{separator}{', '.join(other)};"
    for index, part in enumerate(parts):
        inner = [each.strip() for each in part.strip("{}").split(",")]
        if part.startswith("{") and len(inner) > 1:
            for at in range(len(inner) - 1):
                turned = [*inner[:at], inner[at + 1], inner[at], *inner[at + 2 :]]
                every = [*parts[:index], f"{{{', '.join(turned)}}}", *parts[index + 1 :]]
                yield f"{head}{separator}{', '.join(every)};"


def _guarded(line: str, known: list[str]) -> Iterator[str]:
    """Guarded where it was not, the other way round where it was, and always."""
    text = line.strip()
    if text.startswith("@!"):
        yield text.replace("@!", "@", 1)
        yield text.partition(" ")[2]
    elif text.startswith("@"):
        yield text.replace("@", "@!", 1)
        yield text.partition(" ")[2]
    else:
        predicates = [each for each in known if each.startswith("%p")]
        for each in dict.fromkeys([*predicates[:1], *predicates[-1:]]):
            yield f"@{each} {text}"
            yield f"@!{each} {text}"
        words = [each for each in known if re.fullmatch(r"%r\d+", each)]
        if words and not _SCOPE.match(line):
            yield f"{{ .reg .pred %q; setp.ne.u32 %q, {words[0]}, 0; @%q {text} }}"
