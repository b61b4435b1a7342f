"""Logic, shifts, bit fields and byte permutation (PTX ISA 9.7.1.14 to 9.7.1.20, 9.7.8, 9.7.9.7)."""

from __future__ import annotations

from typing import Any

from tylo.proofs.ptx.opcodes.domain import Domain
from tylo.proofs.ptx.opcodes.table import Form, Opcode

_WORDS = ("pred", "b16", "b32", "b64")
_SHIFTED = ("b16", "b32", "b64")
_FIELDS = ("u32", "u64", "s32", "s64")


def _shift(d: Domain[Any], f: Form, a: Any, amount: Any, left: bool) -> Any:
    """Amounts have 32 bits whatever the type, so 16-bit values are shifted in 32 bits."""
    width = max(f.width, 32)
    wide = d.extend(a, f.width, width, f.signed)
    amount = d.extend(amount, 32, width, False)
    shifted = (
        d.shift_left(wide, amount, width) if left else d.shift_right(wide, amount, width, f.signed)
    )
    return d.extract(shifted, 0, f.width)


def _funnel(d: Domain[Any], f: Form, a: Any, b: Any, c: Any) -> Any:
    """The 64 bits b:a shifted by c, wrapped modulo 32 or clamped at 32."""
    limit = d.constant(32, 32)
    amount = (
        d.bit_and(c, d.constant(31, 32), 32)
        if f.chosen["mode"] == "wrap"
        else d.select(d.less(c, limit, 32, False), c, limit, 32)
    )
    both, amount = d.concatenate([a, b], [32, 32]), d.extend(amount, 32, 64, False)
    if f.chosen["direction"] == "l":
        return d.extract(d.shift_left(both, amount, 64), 32, 32)
    return d.extract(d.shift_right(both, amount, 64, False), 0, 32)


def _complement(d: Domain[Any], value: Any, width: int) -> Any:
    return d.bit_xor(value, d.constant((1 << width) - 1, width), width)


def _low_bits(d: Domain[Any], length: Any, width: int) -> Any:
    """The lowest `length` bits set."""
    one = d.constant(1, width)
    return d.subtract(d.shift_left(one, length, width), one, width)


def _byte(d: Domain[Any], value: Any, width: int) -> Any:
    """Positions and lengths of bit fields are the lowest byte of their operand."""
    return d.extend(d.extract(value, 0, 8), 8, width, False)


def _extract_field(d: Domain[Any], f: Form, a: Any, b: Any, c: Any) -> Any:
    width = f.width
    position, length = _byte(d, b, width), _byte(d, c, width)
    mask = _low_bits(d, length, width)
    field = d.bit_and(d.shift_right(a, position, width, False), mask, width)
    if not f.signed:
        return field
    # The sign is the field's highest bit, or the register's where the field reaches beyond it;
    # an empty field is zero.
    zero, one, top = (d.constant(value, width) for value in (0, 1, width - 1))
    highest = d.subtract(d.add(position, length, width), one, width)
    highest = d.select(d.less(highest, top, width, False), highest, top, width)
    sign = d.extract(d.shift_right(a, highest, width, False), 0, 1)
    inside = d.bit_and(mask, d.shift_right(d.constant(-1, width), position, width, False), width)
    filled = d.bit_or(field, _complement(d, inside, width), width)
    signed = d.select(sign, filled, field, width)
    return d.select(d.equal(length, zero, width), zero, signed, width)


def _insert_field(d: Domain[Any], f: Form, a: Any, b: Any, c: Any, e: Any) -> Any:
    width = f.width
    position, length = _byte(d, c, width), _byte(d, e, width)
    mask = d.shift_left(_low_bits(d, length, width), position, width)
    kept = d.bit_and(b, _complement(d, mask, width), width)
    return d.bit_or(kept, d.bit_and(d.shift_left(a, position, width), mask, width), width)


def _lookup(d: Domain[Any], f: Form, a: Any, b: Any, c: Any, lut: int) -> Any:
    """Bit 4a + 2b + c of `lut`, in every bit position."""
    result = d.constant(0, 32)
    for row in range(8):
        if lut >> row & 1:
            term = d.constant(-1, 32)
            for value, bit in ((a, row & 4), (b, row & 2), (c, row & 1)):
                term = d.bit_and(term, value if bit else _complement(d, value, 32), 32)
            result = d.bit_or(result, term, 32)
    return result


def _permute(d: Domain[Any], f: Form, a: Any, b: Any, c: Any) -> Any:
    """Each nibble of c picks one of the eight bytes b:a, or its sign eight times."""
    both = d.concatenate([a, b], [32, 32])
    picked = []
    for nibble in range(4):
        index = d.extend(d.extract(c, 4 * nibble, 3), 3, 64, False)
        amount = d.shift_left(index, d.constant(3, 64), 64)
        byte = d.extract(d.shift_right(both, amount, 64, False), 0, 8)
        sign = d.extend(d.extract(byte, 7, 1), 1, 8, True)
        picked.append(d.select(d.extract(c, 4 * nibble + 3, 1), sign, byte, 8))
    return d.concatenate(picked, [8] * 4)


def _population(d: Domain[Any], f: Form, a: Any) -> Any:
    total = d.constant(0, 32)
    for position in range(f.width):
        total = d.add(total, d.extend(d.extract(a, position, 1), 1, 32, False), 32)
    return total


def _leading_zeros(d: Domain[Any], f: Form, a: Any) -> Any:
    count = d.constant(f.width, 32)
    for position in range(f.width):
        here = d.constant(f.width - 1 - position, 32)
        count = d.select(d.extract(a, position, 1), here, count, 32)
    return count


def _find_bit(d: Domain[Any], f: Form, a: Any) -> Any:
    """The highest bit that is set, or is not in a negative number; all ones where there is none."""
    if f.signed:
        sign = d.extract(a, f.width - 1, 1)
        a = d.select(sign, _complement(d, a, f.width), a, f.width)
    found = d.constant(-1, 32)
    for position in range(f.width):
        here = f.width - 1 - position if "shiftamt" in f.chosen else position
        found = d.select(d.extract(a, position, 1), d.constant(here, 32), found, 32)
    return found


def _reverse(d: Domain[Any], f: Form, a: Any) -> Any:
    bits = [d.extract(a, f.width - 1 - position, 1) for position in range(f.width)]
    return d.concatenate(bits, [1] * f.width)


BITS = (
    Opcode("popc.type  d:u32, a", "9.7.1.14", {"type": ("b32", "b64")}, _population),
    Opcode("clz.type  d:u32, a", "9.7.1.15", {"type": ("b32", "b64")}, _leading_zeros),
    Opcode(
        "bfind{.shiftamt}.type  d:u32, a",
        "9.7.1.16",
        {"shiftamt": ("shiftamt",), "type": _FIELDS},
        _find_bit,
    ),
    Opcode("brev.type  d, a", "9.7.1.18", {"type": ("b32", "b64")}, _reverse),
    Opcode(
        "and.type  d, a, b",
        "9.7.8.1",
        {"type": _WORDS},
        lambda d, f, a, b: d.bit_and(a, b, f.width),
    ),
    Opcode(
        "or.type  d, a, b", "9.7.8.2", {"type": _WORDS}, lambda d, f, a, b: d.bit_or(a, b, f.width)
    ),
    Opcode(
        "xor.type  d, a, b",
        "9.7.8.3",
        {"type": _WORDS},
        lambda d, f, a, b: d.bit_xor(a, b, f.width),
    ),
    Opcode(
        "not.type  d, a", "9.7.8.4", {"type": _WORDS}, lambda d, f, a: _complement(d, a, f.width)
    ),
    Opcode("lop3.b32  d:b32, a:b32, b:b32, c:b32, lut:immediate", "9.7.8.6", {}, _lookup),
    Opcode(
        "shf.direction.mode.b32  d:b32, a:b32, b:b32, c:u32",
        "9.7.8.7",
        {"direction": ("l", "r"), "mode": ("wrap", "clamp")},
        _funnel,
    ),
    Opcode(
        "shl.type  d, a, b:u32",
        "9.7.8.8",
        {"type": _SHIFTED},
        lambda d, f, a, b: _shift(d, f, a, b, True),
    ),
    Opcode(
        "shr.type  d, a, b:u32",
        "9.7.8.9",
        {"type": (*_SHIFTED, "u16", "u32", "u64", "s16", "s32", "s64")},
        lambda d, f, a, b: _shift(d, f, a, b, False),
    ),
    Opcode("bfe.type  d, a, b:u32, c:u32", "9.7.1.19", {"type": _FIELDS}, _extract_field),
    Opcode("bfi.type  d, a, b, c:u32, e:u32", "9.7.1.20", {"type": ("b32", "b64")}, _insert_field),
    Opcode("prmt.b32  d:b32, a:b32, b:b32, c:b32", "9.7.9.7", {}, _permute),
)
