"""What variables of a module hold before a kernel runs (PTX ISA 5.4.4).

Elements that an initialiser leaves out are zero, and so is a variable without one. Numbers and bit
patterns are read; the addresses of other variables, which the linker would fill in, are not.

>>> from tylo.proofs.ptx.tokens import tokens
>>> initial_bytes(tokens("1, 0xffff")[:3:2], "u16", 3).hex()
'0100ffff0000'
"""

from __future__ import annotations

from collections.abc import Sequence

from tylo.proofs.ptx.program import TYPES
from tylo.proofs.ptx.tokens import Token, number


def initial_bytes(elements: Sequence[Token], kind: str, count: int) -> bytes:
    """The bytes of `count` elements of a type, the first of them given; raises `PtxError`.

    A negative number of a narrow unsigned element wraps, as `.b8` tables written by hand have them;
    a bit pattern must be as wide as its element.
    """
    if len(elements) > count:
        raise elements[count].error(
            f"more elements than the variable has, which are {count}", hint="shorten the list"
        )
    width = TYPES[kind]
    if width % 8:
        raise elements[0].error(f"a .{kind} variable in memory")
    content = bytearray(width // 8 * count)
    for index, element in enumerate(elements):
        value = number(element)
        fits = -(1 << (width - 1)) <= value < 1 << width
        pattern = element.kind == "float"
        if not fits or (pattern and 4 * (len(element.text) - 2) != width):
            raise element.error(f"{element.text} is no element of .{kind}")
        if not pattern and kind[0] not in "bus":
            raise element.error(
                f"{element.text} is no element of .{kind}", hint="write its bit pattern, as 0f..."
            )
        place = slice(width // 8 * index, width // 8 * (index + 1))
        content[place] = (value % (1 << width)).to_bytes(width // 8, "little")
    return bytes(content)
