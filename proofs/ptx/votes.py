"""Words that are votes: which byte of memory each lane's bit comes from.

`vote.sync.ballot` gives a word whose bit i is lane i's predicate (PTX ISA 9.7.13.10); that all
lanes of the warp come to it is an obligation, "converged". A part that is a `VOTE` says which byte
the thread of a lane has, and under which condition: its bit is one exactly where the condition
holds and the byte is not zero.

The predicate may be made of many loads: of a byte each, or of eight at once. Each byte that it
depends on has to be the one that is meant, wherever it is loaded ("address"). With one variable for
all of them, and others for what is not loaded, the predicate has to be what the part says ("vote"):
nothing that memory holds is left in that question.
"""

from __future__ import annotations

from collections.abc import Iterator

from tylo.proofs.effects import Part
from tylo.proofs.ptx.bitvector import Expression, order
from tylo.proofs.ptx.by_thread import values
from tylo.proofs.ptx.load_guards import LoadGuards
from tylo.proofs.ptx.scene import Scene

Compared = tuple[str, Expression, "Expression | str", "Expression | str"]
_LANE_BITS = 5
BALLOT = "vote.sync.ballot.b32"


def voted(
    scene: Scene, label: str, guard: Expression, value: Expression, part: Part, guards: LoadGuards
) -> Iterator[Compared]:
    """What has to hold of a word that is stored where `guard` is one."""
    thread = scene.domain.extend(scene.thread, scene.thread.width, 32, False)
    if value.operator != "function" or value.attribute != BALLOT or value.operands[1] is not thread:
        yield label, guard, "no vote of the warp that stores it", str(part)
        return
    # Lanes are even or odd: which of the bytes that it holds a lane votes by is then a constant.
    for odd in (0, 1):
        yield from _lanes(scene, label, guard, value.operands[0], part, guards, odd)


def _lanes(
    scene: Scene,
    label: str,
    guard: Expression,
    predicate: Expression,
    part: Part,
    guards: LoadGuards,
    odd: int,
) -> Iterator[Compared]:
    domain = scene.domain
    lane, low = scene.private("lane", _LANE_BITS - 1), domain.constant(odd, 1)
    lanes = [low, lane]
    if scene.thread.width > _LANE_BITS:
        warps = scene.thread.width - _LANE_BITS
        lanes.append(domain.extract(scene.thread, _LANE_BITS, warps))
    own = domain.concatenate(lanes, [each.width for each in lanes])
    assert part.within is not None
    folded = _folded(scene, predicate, odd)
    loads = [node for node in order([folded]) if node.operator == "load"]
    places = [
        domain.add(load.operands[0], domain.constant(byte, 64), 64)
        for load in loads
        for byte in range(load.width // 8)
    ]
    made = [guards.anywhere.get(place, domain.constant(1, 1)) for place in places]
    meant = [scene.address(part.buffer, part.offset), scene.holds(part.within)]
    moved = scene.at_thread([folded, *meant, *loads, *places, *made], own)
    (said, wanted, within), moved = moved[:3], moved[3:]
    loads, moved = moved[: len(loads)], moved[len(loads) :]
    places, made = moved[: len(places)], moved[len(places) :]
    # A variable for each byte; those that are left are the bytes that tell.
    bytes_ = [scene.private("byte", 8) for _ in places]
    contents: dict[Expression, Expression] = {}
    first = 0
    for load in loads:
        count = load.width // 8
        contents[load] = domain.concatenate(bytes_[first : first + count], [8] * count)
        first += count
    found = domain.replace(said, contents)
    byte = scene.private("byte", 8)
    meant_bytes: dict[Expression, Expression] = {}
    for place, where, each in zip(places, made, bytes_, strict=True):
        if str(each.attribute) in found.variables:
            known = dict(_constants(where))
            differ = scene.differ(*domain.substitute([place, wanted], known))
            elsewhere = domain.bit_and(where, differ, 1)
            yield f"{label}: address", domain.bit_and(guard, elsewhere, 1), place, wanted
            meant_bytes[each] = domain.select(where, byte, each, 8)
    found = domain.replace(found, meant_bytes)
    kept = domain.bit_and(within, scene.differ(byte, domain.constant(0, 8)), 1)
    violation = domain.bit_and(guard, scene.differ(found, kept), 1)
    yield f"{label}: vote", violation, "another bit", str(part)


def _folded(scene: Scene, value: Expression, odd: int) -> Expression:
    """A value of threads with odd numbers, or with even ones: shifts and masks are constants."""
    known: dict[Expression, Expression] = {}
    for node in order([value]):
        for each in node.operands if node.opaque else ():
            column = () if each.opaque or each.value is not None else values(scene, each) or ()
            if len(alike := set(column[odd::2])) == 1:
                known[each] = scene.domain.constant(alike.pop(), each.width)
    return scene.domain.replace(value, known)


def _constants(condition: Expression) -> Iterator[tuple[str, Expression]]:
    """Variables that are constants wherever a condition holds."""
    match condition.operator:
        case "bvand":
            for each in condition.operands:
                yield from _constants(each)
        case "=":
            left, right = condition.operands
            if left.operator == "variable" and right.value is not None:
                yield str(left.attribute), right
