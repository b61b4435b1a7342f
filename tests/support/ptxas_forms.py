"""Which spellings of PTX instructions an assembler takes: asked once, and kept as data.

`FAMILIES`, the keys of tests/data/ptx_forms.json, are a grammar of their own, wider than the opcode
table's: each has the alternatives of every segment (a single dot for none) and the operands; what
follows a # is taken as it is. Letters stand for registers: T of the type's
width, W of twice that, D and A of the conversion's types, h, r, d and p of 16, 32, 64 bits and
predicates; V is a vector of T as long as the family's vector segment says.

    python tests/support/ptxas_forms.py    # asks ptxas (CUDA 13.0) again and rewrites the answers

A new family is a new key; its answers may be empty until then.

>>> family = "add .|.sat T=.u32|.s32 ; T, T, T"
>>> [spelling for spelling, _ in spellings(family)]
['add.u32', 'add.s32', 'add.sat.u32', 'add.sat.s32']
>>> texts(family)[3]
'add.sat.s32 %r1, %r2, %r3;'
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "ptx_forms.json"
ANSWERS = json.loads(DATA.read_text())
FAMILIES = tuple(ANSWERS)
TARGETS = ("sm_80", "sm_89", "sm_90a")
# Families with more spellings are thinned out, by a step that visits all combinations of segments.
MOST, STEP = 500, 7919

_WIDTH = {"p": 1, "b": 8, "h": 16, "r": 32, "d": 64}
_NAMED = {width: name for name, width in _WIDTH.items()}
CLASSES = "phrd"
_FLOAT = {"r": ("0f3F800000",), "d": ("0d3FF0000000000000",)}


def _width(kind: str) -> int:
    digits = re.search(r"\d+", kind)
    return (int(digits[0]) * (2 if "x2" in kind else 1)) if digits else 1


def spellings(family: str) -> list[tuple[str, dict[str, str]]]:
    """Every spelling with its named segments, or a sample of them all."""
    head = family.split(" ; ")[0].split()
    names, alternatives = [], []
    for token in head:
        name, _, rest = token.rpartition("=")
        names.append(name)
        alternatives.append([each.removesuffix(".") for each in rest.split("|")])
    count = 1
    for each in alternatives:
        count *= len(each)
    indices = range(count) if count <= MOST else sorted(i * STEP % count for i in range(MOST))
    found = []
    for index in indices:
        chosen = []
        for each in reversed(alternatives):
            index, at = divmod(index, len(each))
            chosen.insert(0, each[at])
        named = {name: each for name, each in zip(names, chosen, strict=True) if name}
        found.append(("".join(chosen), named))
    return found


def texts(family: str) -> list[str]:
    """One instruction for each spelling, with registers of the widths that the letters say."""
    operands = (family + " ").split(" ; ")[1].strip()
    return [
        f"{spelling} {_filled(operands, spelling, named)};" for spelling, named in spellings(family)
    ]


def _filled(operands: str, spelling: str, named: dict[str, str]) -> str:
    count = itertools.count(1)

    def registers(width: int, number: int = 1) -> str:
        # Registers of 8 bits are rare: what has 8 bits lies in 16.
        names = [
            f"%{_NAMED[max(width, 16) if width > 1 else 1]}{next(count)}" for _ in range(number)
        ]
        return names[0]

    def one(match: re.Match[str]) -> str:
        letter = match[0]
        if letter in _WIDTH:
            return registers(_WIDTH[letter])
        if letter == "a":
            return "cc" if ".const" in spelling else registers(64)
        if letter in "TWDA":
            width = _width(named["T" if letter == "W" else letter])
            return registers(min(width * (2 if letter == "W" else 1), 64))
        length = named.get("V") or (re.search(r"\.[vx]\d", spelling) or [""])[0]
        width = 32 if letter == "X" else _width(named["T"])
        if not length:
            return registers(width)
        return "{" + ", ".join(registers(width) for _ in range(int(length[2:]))) + "}"

    return re.sub(r"(?<![#\w])[a-zA-Z](?!\w)", one, operands).replace("#", "")


def varied(text: str) -> Iterator[str]:
    """The same with each register of another width or a constant, with constants in registers, with
    an operand fewer or more, and with a segment fewer."""
    head, _, rest = text.removesuffix(";").partition(" ")
    for match in re.finditer(r"%[phrd](\d+)", rest):
        # What stands in an address or in a pair is a register in any case.
        around = rest[max(match.start() - 1, 0)] + rest[match.end() : match.end() + 1]
        constant = () if {*around} & {*"[|"} else ("1", *_FLOAT.get(match[0][1], ()))
        for other in (*(f"%{name}{match[1]}" for name in CLASSES), *constant):
            yield f"{head} {rest[: match.start()]}{other}{rest[match.end() :]};"
    for match in re.finditer(r"(?<![\w%])\d+", rest):
        for name in CLASSES:
            yield f"{head} {rest[: match.start()]}%{name}9{rest[match.end() :]};"
    parts = re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", rest)
    if parts:
        yield f"{head} {', '.join(parts[:-1])};"
    yield f"{head} {', '.join([*parts, '%r9'])};"
    segments = head.split(".")
    for index in range(1, len(segments)):
        yield f"{'.'.join(segments[:index] + segments[index + 1 :])} {rest};"


def representatives(accepted: list[str]) -> list[str]:
    """Of the instructions that are accepted, the first with each segment, with each type for each
    mnemonic and number of segments, and with each two types that are converted."""
    seen: set[object] = set()
    chosen = []
    for text in accepted:
        segments = text.removesuffix(";").split(" ")[0].split(".")
        parts: set[object] = {*segments, (segments[0], segments[-1], len(segments))}
        if segments[0] == "cvt":
            parts.add((len(segments), *segments[-2:]))
        if not parts <= seen:
            seen |= parts
            chosen.append(text)
    return chosen


HEAD = """.version {version}
.target {target}
.address_size 64
.const .align 16 .b8 cc[64];
.visible .entry k(.param .u64 x, .param .align 16 .b8 y[64])
{{
.reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<20>; .reg .b64 %d<20>;
"""
TAIL = "\nL: ret;\n}\n"


def assembled(instructions: list[str], target: str) -> list[bool]:
    """Which instructions ptxas takes."""
    refused: set[int] = set()
    head = HEAD.format(version="9.0", target=target)
    while True:
        left = [i for i in range(len(instructions)) if i not in refused]
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(head + "\n".join(instructions[i] for i in left) + TAIL)
            file.flush()
            command = ["ptxas", "-O0", f"-arch={target}", file.name, "-o", "/dev/null"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return [i not in refused for i in range(len(instructions))]
        lines = re.findall(r"line (\d+); (?:error|fatal) ", done.stderr)
        now = {left[min(int(line) - head.count("\n") - 1, len(left) - 1)] for line in lines}
        if not now:
            # It ended without a word, as it does at some cache operators: find out at which.
            middle = len(left) // 2
            parts = (left[:middle], left[middle:]) if middle else ()
            now = set(left) if not parts else set()
            for part in parts:
                taken = assembled([instructions[i] for i in part], target)
                now |= {i for i, accepted in zip(part, taken, strict=True) if not accepted}
        refused |= now


def _pack(answers: list[bool]) -> str:
    return format(sum(answer << i for i, answer in enumerate(answers)), "x")


def unpacked(packed: str, count: int) -> list[bool]:
    """The answers that a string of the data file holds."""
    return [bool(int(packed, 16) >> index & 1) for index in range(count)]


def main() -> None:
    """Ask for every family, and for the representatives with other operands."""
    data = {}
    for family in FAMILIES:
        every = texts(family)
        answers = {target: assembled(every, target) for target in TARGETS}
        accepted = [text for text, taken in zip(every, answers[TARGETS[-1]], strict=True) if taken]
        other = [text for each in representatives(accepted) for text in varied(each)]
        data[family] = {
            **{target: _pack(answer) for target, answer in answers.items()},
            "operands": _pack(assembled(other, TARGETS[-1])),
        }
        print(len(every), len(accepted), len(other), family[:70], file=sys.stderr)
    DATA.write_text(json.dumps(data, indent=0) + "\n")


if __name__ == "__main__":
    main()
