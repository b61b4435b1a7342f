"""Where the bits of a stored word come from, against what the contract says.

A word is cut where the contract's parts meet. Each cut must be a load, or the named conversion of
a load; then its address is compared. What is neither violates the contract wherever it is
selected.
"""

from __future__ import annotations

from collections.abc import Iterator

from tylo.proofs.effects import COMPUTED, VOTE, Part, Store
from tylo.proofs.ptx.bitvector import Expression, pieces
from tylo.proofs.ptx.by_thread import where
from tylo.proofs.ptx.load_guards import LoadGuards
from tylo.proofs.ptx.provenance import origins
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.symbolic import Access
from tylo.proofs.ptx.votes import voted

Compared = tuple[str, Expression, "Expression | str", "Expression | str"]


def part_obligations(
    scene: Scene, access: Access, store: Store, guards: LoadGuards
) -> Iterator[Compared]:
    """For each alternative of each part: its name, the violation, what is found and wanted."""
    domain = scene.domain
    assert access.value is not None
    if access.bits != store.bits:
        way_out = "what one instruction writes is a store of its own, under conditions of its own"
        yield "width", access.guard, f"{access.bits} bits", f"{store.bits} bits; {way_out}"
        return
    low = 0
    for index, part in enumerate(store.parts):
        bits = domain.extract(access.value, low, part.bits)
        low += part.bits
        label = f"part {index}"
        if part.conversion == COMPUTED:
            yield from origins(scene, "origin", access.guard, bits, part, guards)
            continue
        if part.conversion == VOTE:
            for there, word in _alternatives(scene, bits, access.guard):
                yield from voted(scene, label, there, word, part, guards)
            continue
        yield from _together(scene, _compared(scene, label, access.guard, bits, part))


def _compared(
    scene: Scene, label: str, access: Expression, bits: Expression, part: Part
) -> Iterator[Compared]:
    """One comparison for each place that the value may come from."""
    for guard, value in _alternatives(scene, bits, access):
        if part.conversion == "move":
            yield from _moved(scene, label, guard, value, part)
        elif value.operator == "function" and value.attribute == part.conversion:
            for inner, source in _alternatives(scene, value.operands[0], guard):
                yield from _moved(scene, label, inner, source, part)
        else:
            yield label, guard, _describe(value), str(part)


def _together(scene: Scene, compared: Iterator[Compared]) -> Iterator[Compared]:
    """The comparisons of addresses as one: they have most of what they say in common."""
    domain, merged = scene.domain, None
    for label, violation, found, wanted in compared:
        if isinstance(found, str) or isinstance(wanted, str):
            yield label, violation, found, wanted
        elif merged is None:
            merged = label, violation, found, wanted
        else:
            _, others, first, second = merged
            merged = (
                label,
                domain.bit_or(others, violation, 1),
                domain.select(others, first, found, 64),
                domain.select(others, second, wanted, 64),
            )
    if merged is not None:
        yield merged


def _alternatives(
    scene: Scene, value: Expression, guard: Expression
) -> Iterator[tuple[Expression, Expression]]:
    """The values that selections choose from, each with the condition that it is chosen.

    A value that several ways of choosing lead to comes once, under any of them: the ways may be
    very many more than the values.
    """
    domain = scene.domain
    chosen = {value.serial: (value, guard)}
    while chosen:
        # Operands are older than what is made of them, so nothing is added to a value afterwards.
        node, condition = chosen.pop(max(chosen))
        if node.operator != "ite" or node.operands[0].opaque:
            yield condition, node
            continue
        choice, *sides = node.operands
        for taken, side in zip((choice, scene.negate(choice)), sides, strict=True):
            here = domain.bit_and(condition, taken, 1)
            if side.serial in chosen:
                here = domain.bit_or(chosen[side.serial][1], here, 1)
            chosen[side.serial] = side, here


def _moved(
    scene: Scene, label: str, guard: Expression, value: Expression, part: Part
) -> Iterator[Compared]:
    """Every piece of the value is a load, or whole bytes of one, from where the part lies."""
    domain, start = scene.domain, 0
    if not value.opaque:
        yield label, guard, _describe(value), str(part)
        return
    for piece in pieces(value):
        for inner, leaf in _alternatives(scene, piece, guard):
            low = int(leaf.attribute) if leaf.operator == "extract" else 0
            load = leaf.operands[0] if leaf.operator == "extract" else leaf
            if load.operator != "load" or low % 8 or start % 8 or value.width != part.source_bits:
                yield label, inner, _describe(leaf), str(part)
                continue
            found = domain.add(load.operands[0], domain.constant(low // 8, 64), 64)
            wanted = domain.add(
                scene.address(part.buffer, part.offset), domain.constant(start // 8, 64), 64
            )
            thread = where(scene, inner)
            if thread is not scene.thread:
                # Which thread's value it is may be told by some bits of the own number.
                found, wanted = domain.substitute([found, wanted], {"thread": thread})
            yield label, domain.bit_and(inner, scene.differ(found, wanted), 1), found, wanted
        start += piece.width


def _describe(value: Expression) -> str:
    """A value in words, one level deep."""
    if value.operator == "function":
        return f"{value.attribute}({', '.join(operand.operator for operand in value.operands)})"
    if value.value is not None:
        return f"the constant {value.value}"
    if value.operator == "concat":
        return " : ".join(_describe(piece) for piece in reversed(value.operands))
    return f"{value.operator} of {value.width} bits"
