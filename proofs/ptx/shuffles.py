"""Shuffles as maps between lanes, and what else the lanes of a warp do together.

The value that `shfl.sync` gives lane t is the source lane's: the same expression with another
thread in it. So an element that was moved across lanes is still a load from a known address. A
value that was computed from floats stays a value about which only its origin is known.

All 32 lanes must take part (PTX ISA 9.7.9.6): the member mask is -1, and if one lane of a warp
comes here, so do all. That is an obligation, "converged": no lane's condition holds without the
others'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tylo.proofs.effects import CONVERSIONS
from tylo.proofs.ptx.bitvector import Expression, order
from tylo.proofs.ptx.opcodes import Form
from tylo.proofs.ptx.program import Instruction, Number, Pair, Sink

if TYPE_CHECKING:
    from tylo.proofs.ptx.symbolic import Machine

_ALL = 0xFFFFFFFF
_LANE_BITS = 5


def shuffle(machine: Machine, instruction: Instruction, form: Form) -> None:
    """`shfl.sync` (PTX ISA 9.7.9.6): value and predicate for every lane."""
    domain = machine.domain
    target, value, by, limits, _ = instruction.operands
    require_warp(machine, instruction)
    own, second, third = (
        machine.scalar(instruction, operand, 32, False) for operand in (value, by, limits)
    )
    if second.opaque or third.opaque:
        raise instruction.error("a lane that depends on memory")
    lane = machine.special["%laneid"]
    low = domain.constant(31, 32)
    second = domain.bit_and(second, low, 32)
    clamp = domain.bit_and(third, low, 32)
    segment = domain.bit_and(domain.shift_right(third, domain.constant(8, 32), 32, False), low, 32)
    rest = domain.bit_xor(segment, low, 32)
    first = domain.bit_and(lane, segment, 32)
    most = domain.bit_or(first, domain.bit_and(clamp, rest, 32), 32)
    source = {
        "up": domain.subtract(lane, second, 32),
        "down": domain.add(lane, second, 32),
        "bfly": domain.bit_xor(lane, second, 32),
        "idx": domain.bit_or(first, domain.bit_and(second, rest, 32), 32),
    }[form.chosen["mode"]]
    bounds = (source, most) if form.chosen["mode"] == "up" else (most, source)
    inside = machine.scene.negate(domain.less(*bounds, 32, True))
    source = domain.select(inside, source, lane, 32)
    thread = in_warp(machine, domain.extract(source, 0, _LANE_BITS))
    moved = elsewhere(machine, own, thread, "shuffled")
    kind = form.opcode.operands[0]
    first_target, second_target = (
        (target.first, target.second) if isinstance(target, Pair) else (target, Sink())
    )
    machine.write(instruction, form, kind, first_target, moved)
    machine.write(instruction, form, kind, second_target, inside)


def opaque(machine: Machine, instruction: Instruction, form: Form) -> None:
    """Votes, matches and reductions: a value about which only its origin is known."""
    *sources, _ = instruction.operands[1:]
    require_warp(machine, instruction)
    kinds = form.opcode.operands
    values = [
        machine.source(instruction, form, kind, operand)
        for kind, operand in zip(kinds[1:-1], sources, strict=True)
    ]
    width = form.operand_width(kinds[0])
    thread = machine.domain.extend(machine.scene.thread, machine.scene.thread.width, 32, False)
    result = machine.domain.function(instruction.mnemonic, [*values, thread], width)
    machine.write(instruction, form, kinds[0], instruction.operands[0], result)


def no_change(machine: Machine, instruction: Instruction, form: Form) -> None:
    """Fences and warp barriers: values stay, and nothing is proven from them."""
    if form.opcode.action == "warp barrier":
        require_warp(machine, instruction)


def require_warp(machine: Machine, instruction: Instruction) -> None:
    """Every lane of the warp is here, and is named by the member mask."""
    members = instruction.operands[-1]
    mask = members.value if isinstance(members, Number) else None
    if mask is None:
        mask = machine.scalar(instruction, members, 32, False).value
    if mask is None or mask % (1 << 32) != _ALL:
        raise instruction.error("a part of a warp", hint="name all lanes: -1")
    whole_warp(machine, instruction)


def whole_warp(machine: Machine, instruction: Instruction) -> None:
    """If one lane of a warp comes here, so do all."""
    if instruction.guard is not None:
        raise instruction.error("a predicated instruction of a whole warp")
    if machine.scene.effect.threads % 32:
        raise instruction.error("a warp that is not full", hint="launch a multiple of 32 threads")
    lane = machine.scene.private("lane", _LANE_BITS)
    converged(machine, instruction, in_warp(machine, lane), "lane of the warp")


def converged(machine: Machine, instruction: Instruction, other: Expression, who: str) -> None:
    """If a thread comes here, so does another one."""
    scene, guard = machine.scene, machine.guard
    if guard.value == 1:
        return
    (there,) = scene.at_thread([guard], other)
    violation = machine.domain.bit_and(guard, scene.negate(there), 1)
    machine.fact("converged", instruction, violation, f"not every {who} comes here", "all do")


def in_warp(machine: Machine, lane: Expression) -> Expression:
    """The thread with that lane in the warp at hand."""
    domain, thread = machine.domain, machine.scene.thread
    if thread.width == _LANE_BITS:
        return lane
    warp = domain.extract(thread, _LANE_BITS, thread.width - _LANE_BITS)
    return domain.concatenate([lane, warp], [lane.width, warp.width])


def elsewhere(machine: Machine, value: Expression, thread: Expression, how: str) -> Expression:
    """The value that another thread has: its expression there if it was only moved or rounded."""
    computed = any(
        n.operator == "function" and n.attribute not in CONVERSIONS for n in order([value])
    )
    if computed:
        domain = machine.domain
        origin = domain.extend(thread, thread.width, 32, False)
        return domain.function(how, [value, origin], value.width)
    return _moved(machine, value, thread)


def _moved(machine: Machine, value: Expression, thread: Expression) -> Expression:
    """A value that was only moved: its loads are the other thread's, made where that one's are."""
    loads = [node for node in order([value]) if node.operator == "load"]
    if not loads:
        return machine.scene.at_thread([value], thread)[0]
    guards = machine.record.guards(machine.domain).anywhere
    addresses = [load.operands[0] for load in loads]
    performed = [guards.get(address, machine.domain.constant(1, 1)) for address in addresses]
    result, *there = machine.scene.at_thread([value, *addresses, *performed], thread)
    count = len(loads)
    for load, address, guard in zip(loads, there[:count], there[count:], strict=True):
        machine.record.loads.add(machine.domain, address, load.width, guard)
    return result
