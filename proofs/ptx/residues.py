"""Low bits of sums and differences, without what wraps above them.

How far after an aligned vector an address lies is (base + 4 * row) / 4 % 4. Written literally, that
is a sum that may wrap in 64 bits, divided, cut to 32 bits and divided again; of all that the two
bits depend on row alone. So a node's low bits are read off a sum of numbers times constants that is
congruent to it, with everything left out that is a multiple of the modulus. What two texts compute
in different orders then has one spelling.

>>> from tylo.proofs.ptx.bitvector import BitVectors
>>> d = BitVectors()
>>> base, row = d.variable("base", 28), d.variable("row", 30)
>>> address = d.add(
...     d.concatenate([d.constant(0, 4), base], [4, 28]),
...     d.concatenate([d.constant(0, 2), row], [2, 30]), 32
... )
>>> residue(d.shift_right(address, d.constant(2, 32), 32, False), 2, lambda node: node.attribute)
'(mod row 4)'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tylo.proofs.ptx.nodes import Expression

_Sum: TypeAlias = dict[str, int]  # text of a number to how often it is counted; "" for ones
_Text: TypeAlias = Callable[[Expression], str]


def residue(node: Expression, bits: int, text: _Text) -> str:
    """The number that the lowest `bits` of a node are; `text` gives the number that a node is."""
    found = _congruent(node, bits, text)
    ones = found.pop("", 0)
    terms = [f"(* {count} {each})" if count != 1 else each for each, count in sorted(found.items())]
    terms += [str(ones)] if ones else []
    if not found:
        return str(ones)
    total = f"(+ {' '.join(terms)})" if len(terms) > 1 else terms[0]
    return f"(mod {total} {1 << bits})"


def _congruent(node: Expression, bits: int, text: _Text) -> _Sum:
    """A sum congruent to the node modulo 2^bits, which is no more than the node has."""
    operands, size = node.operands, 1 << bits
    constant = operands[1].value if len(operands) == 2 else None
    match node.operator:
        case "constant":
            return _counted({"": int(node.attribute)}, size)
        case "bvadd":
            return _combined(operands, (1, 1), bits, text)
        case "bvsub":
            return _combined(operands, (1, -1), bits, text)
        case "bvmul" if constant is not None:
            return _combined(operands[:1], (constant,), bits, text)
        case "bvshl" if constant is not None:
            return _combined(operands[:1], (1 << min(constant, bits),), bits, text)
        case "concat":
            return _joined(operands, bits, text)
        case "extract":
            low = int(node.attribute)
            return _above(node, operands[0], low, bits, text)
        case "bvlshr" if constant is not None and constant + bits <= node.width:
            return _above(node, operands[0], constant, bits, text)
        case "bvurem" | "bvand" if constant is not None and _cuts(node.operator, constant, size):
            return _congruent(operands[0], bits, text)
    return _counted({text(node): 1}, size)


def _cuts(operator: str, constant: int, size: int) -> bool:
    """Whether an operation leaves the number modulo the size as it is."""
    if operator == "bvand":
        return constant % size == size - 1
    return constant > 0 and constant % size == 0


def _above(node: Expression, whole: Expression, low: int, bits: int, text: _Text) -> _Sum:
    """The bits from `low` on, where what lies below them is zero."""
    found = _congruent(whole, low + bits, text)
    if any(count % (1 << low) for count in found.values()):
        return _counted({text(node): 1}, 1 << bits)
    return {each: count >> low for each, count in found.items()}


def _joined(pieces: tuple[Expression, ...], bits: int, text: _Text) -> _Sum:
    total: _Sum = {}
    low = 0
    for piece in pieces:
        if low < bits:
            # The last piece that matters is cut; those below it are the numbers that they are.
            last = low + piece.width >= bits
            part = _congruent(piece, bits - low, text) if last else _number(piece, text)
            total = _added(total, part, 1 << low)
        low += piece.width
    return _counted(total, 1 << bits)


def _number(node: Expression, text: _Text) -> _Sum:
    return {text(node): 1} if node.value is None else {"": node.value}


def _combined(
    operands: tuple[Expression, ...], factors: tuple[int, ...], bits: int, text: _Text
) -> _Sum:
    total: _Sum = {}
    for operand, factor in zip(operands, factors, strict=True):
        total = _added(total, _congruent(operand, bits, text), factor)
    return _counted(total, 1 << bits)


def _added(total: _Sum, more: _Sum, factor: int) -> _Sum:
    result = dict(total)
    for each, count in more.items():
        result[each] = result.get(each, 0) + count * factor
    return result


def _counted(found: _Sum, size: int) -> _Sum:
    """Counts modulo the size; what is counted not at all is left out."""
    return {each: count % size for each, count in found.items() if count % size}
