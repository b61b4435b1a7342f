"""Shared memory between barriers: bounds, races, and who wrote what a load reads.

Barriers that all threads of the block pass part its accesses into intervals. Each access gives
rise to these obligations:

bounds, alignment
    Its bytes lie in the variable, and start at a multiple of their width.
written
    Each piece that a load reads was written, by a store that a known thread performed before. Which
    thread that is, is read off at a sample launch, as a table from the thread that loads, and then
    proven for every launch: a wrong table is refused, never believed.
not overwritten
    No store after that one, up to the load, touches the piece.

The value of the load is then the value of that store, in that thread. A barrier is passed by all
threads ("converged"), is not predicated, and does not stand where two ways part that meet again.
Shared memory inside a loop that is cut is refused: loops of a constant number of steps are walked.
What must not meet what is the business of `races`; copies that land later that of `copies`, and
what a warp loads and stores together that of `matrices`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tylo.proofs.ptx import handed_over
from tylo.proofs.ptx.by_thread import never
from tylo.proofs.ptx.meetings import any_thread, overlap
from tylo.proofs.ptx.nodes import Expression, evaluate, evaluate_each
from tylo.proofs.ptx.opcodes import Form
from tylo.proofs.ptx.program import (
    Address,
    Instruction,
    Number,
    Operand,
    Register,
    Symbol,
    Variable,
)
from tylo.proofs.ptx.samples import launches
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.shuffles import converged, elsewhere
from tylo.proofs.ptx.tables import selected

if TYPE_CHECKING:
    from tylo.proofs.ptx.symbolic import Machine

_ADDRESS = 32  # bits of an address of the shared space


@dataclass(frozen=True, eq=False, slots=True)
class SharedAccess:
    """A load or a store of `bits` at `offset` in a shared variable, between two barriers.

    A `collective` one is part of what a warp does together. A copy that lands later has a `group`.
    """

    instruction: Instruction
    variable: Variable
    offset: Expression
    bits: int
    value: Expression | None
    guard: Expression
    interval: int
    position: int  # among all accesses
    collective: bool = False
    group: int | None = None
    # Offsets and guards of all threads at sample launches, once they were worked out.
    places: dict[int, list[list[int]]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Landing:
    """Where a copy is complete for the thread that asked for it: after so many accesses."""

    copy: SharedAccess
    position: int
    interval: int


@dataclass(frozen=True, slots=True)
class Place:
    """An address of the shared space: the variable that it lies in, and the offset (32 bits)."""

    variable: Variable
    offset: Expression


def barrier(machine: Machine, instruction: Instruction, form: Form) -> None:
    """`bar.sync 0` by all threads: a new interval."""
    identifier = instruction.operands[0]
    if len(instruction.operands) != 1 or identifier != Number(0):
        raise instruction.error("a barrier other than `bar.sync 0`", hint="not covered")
    if instruction.guard is not None or machine.parted:
        raise instruction.error("a barrier where threads part", hint="not covered")
    if machine.looped:
        raise instruction.error("a barrier inside a loop of any number of steps")
    converged(machine, instruction, any_thread(machine.scene), "thread of the block")
    machine.interval += 1


def store(machine: Machine, instruction: Instruction, form: Form) -> None:
    """`st.shared`: recorded for the loads that follow."""
    kind, operand = form.opcode.operands[1], instruction.operands[1]
    value = machine.source(instruction, form, kind, operand)
    elements = value if isinstance(value, list) else [value]
    word = machine.domain.concatenate(elements, [form.width] * len(elements))
    place = placed(machine, instruction, instruction.operands[0])
    guard = machine.taken(instruction)
    inside(machine, instruction, place, word.width, guard)
    record(machine, instruction, place, word.width, word, guard)


def load(machine: Machine, instruction: Instruction, form: Form) -> None:
    """`ld.shared`: what earlier stores wrote there."""
    kind = form.opcode.operands[0]
    count = form.operand_count(kind)
    bits, guard = form.width * (count or 1), machine.taken(instruction)
    place = placed(machine, instruction, instruction.operands[1])
    inside(machine, instruction, place, bits, guard)
    access = record(machine, instruction, place, bits, None, guard)
    pieces = [
        read(machine, access, index * form.width // 8, form.width) for index in range(count or 1)
    ]
    machine.write(instruction, form, kind, instruction.operands[0], pieces if count else pieces[0])


def convert(machine: Machine, instruction: Instruction, form: Form) -> None:
    """`cvta`: a generic address is one of the shared space moved by an amount that nobody knows.

    What has no place in the shared space, whose addresses have 32 bits, has no counterpart.
    """
    domain, scene = machine.domain, machine.scene
    (target, into), (source, operand) = zip(form.opcode.operands, instruction.operands, strict=True)
    address = machine.scalar(instruction, operand, form.operand_width(source), False)
    window = scene.made.setdefault("window", domain.variable("window", 64))
    back = instruction.mnemonic.startswith("cvta.to.")
    result = (domain.subtract if back else domain.add)(address, window, 64)
    shared = result if back else address
    high = scene.differ(domain.extract(shared, 32, 32), domain.constant(0, 32))
    machine.unspecified(instruction, high)
    machine.write(instruction, form, target, into, result)


def placed(machine: Machine, instruction: Instruction, operand: Operand) -> Place:
    """What an address operand of the shared space means."""
    domain, scene = machine.domain, machine.scene
    if machine.looped:
        raise instruction.error("shared memory inside a loop of any number of steps")
    assert isinstance(operand, Address)
    match operand.base:
        case Register(name) if name in machine.registers:
            address = machine.registers[name]
        case Symbol(name) if name in machine.variables:
            address = scene.shared_base(machine.variables[name])
        case _:
            raise instruction.error("an address in shared memory that is not understood")
    if address.opaque or address.width not in (32, 64):
        raise instruction.error("an address that depends on memory")
    width = address.width
    address = domain.add(address, domain.constant(operand.offset, width), width)
    (sample,) = evaluate([address], scene.point(0, 0))
    variable = scene.shared_variable(sample)
    if variable is None:
        raise instruction.error("an address in no shared variable")
    base = domain.extend(scene.shared_base(variable), 32, width, False)
    offset = domain.subtract(_narrowed(scene, address), base, width)
    if width == 64:
        high = scene.differ(domain.extract(offset, 32, 32), domain.constant(0, 32))
        violation = _both(scene, machine.taken(instruction), high)
        machine.fact("shared bounds", instruction, violation, offset, f"inside {variable.name}")
    return Place(variable, domain.extract(offset, 0, 32))


def _narrowed(scene: Scene, address: Expression) -> Expression:
    """The low bits of a sum as the sum of the low bits, in which a base is found.

    Compilers narrow an address before they add the rest of it, or after, or between.
    """
    domain, width = scene.domain, address.width
    parts: tuple[Expression, ...] = ()
    if width == _ADDRESS and address.operator == "bvadd":
        parts = address.operands
    elif width == _ADDRESS and address.operator == "extract" and not address.attribute:
        (whole,) = address.operands
        if whole.operator == "bvadd":
            parts = tuple(domain.extract(each, 0, width) for each in whole.operands)
    if not parts:
        return address
    left, right = (_narrowed(scene, part) for part in parts)
    return domain.add(left, right, width)


def _both(scene: Scene, guard: Expression, condition: Expression) -> Expression:
    """Both conditions, or what is never so if no thread has them both."""
    if never(scene, guard, condition):
        return scene.domain.constant(0, 1)
    return scene.domain.bit_and(guard, condition, 1)


def inside(
    machine: Machine, instruction: Instruction, place: Place, bits: int, guard: Expression
) -> None:
    """The bytes at a place lie in its variable, and are aligned to their number."""
    domain, scene = machine.domain, machine.scene
    size, bytes_ = scene.shared_size(place.variable), bits // 8
    if size < bytes_:
        raise instruction.error(f"{place.variable.name} has {size} bytes")
    beyond = domain.less(domain.constant(size - bytes_, 32), place.offset, 32, False)
    within = f"within the {size} bytes of {place.variable.name}"
    violation = _both(scene, guard, beyond)
    machine.fact("shared bounds", instruction, violation, place.offset, within)
    address = place.offset
    if place.variable.alignment % bytes_:
        address = domain.add(scene.shared_base(place.variable), address, 32)
    low = domain.bit_and(address, domain.constant(bytes_ - 1, 32), 32)
    misaligned = _both(scene, guard, scene.differ(low, domain.constant(0, 32)))
    aligned = f"a multiple of {bytes_}"
    machine.fact("shared alignment", instruction, misaligned, place.offset, aligned)


def record(
    machine: Machine,
    instruction: Instruction,
    place: Place,
    bits: int,
    value: Expression | None,
    guard: Expression,
    collective: bool = False,
    group: int | None = None,
) -> SharedAccess:
    """Note an access for those that follow."""
    access = SharedAccess(
        *(instruction, place.variable, place.offset, bits, value, guard),
        *(machine.interval, len(machine.record.shared), collective, group),
    )
    machine.record.shared.append(access)
    return access


def landing(machine: Machine, access: SharedAccess) -> Landing | None:
    """Where an access is complete: a copy where it was waited for, all others at once."""
    if access.group is None:
        return Landing(access, access.position, access.interval)
    return next((each for each in machine.record.landings if each.copy is access), None)


def read(machine: Machine, access: SharedAccess, start: int, bits: int) -> Expression:
    """The value of one piece of a load."""
    domain, scene, instruction = machine.domain, machine.scene, access.instruction
    offset = domain.add(access.offset, domain.constant(start, 32), 32)
    earlier = [
        each
        for each in machine.record.shared
        if each.value is not None
        and each.variable == access.variable
        and landing(machine, each) is not None
    ]
    of_variable = [each for each in earlier if each.variable == access.variable]
    landed = [_landed(machine, each) for each in of_variable]
    handed = handed_over.read(machine, access, offset, bits, of_variable, landed)
    if handed is not None:
        return handed
    writers = _writers(scene, access, offset, bits, earlier)
    if not writers:
        raise instruction.error(
            "a load of shared memory that nobody wrote",
            hint="copies count as written once they were waited for",
        )
    kinds = list(dict.fromkeys((number, piece) for number, piece, _ in writers.values()))
    value: Expression | None = None
    known = domain.constant(0, 1)
    for kind in kinds:
        number, piece = kind
        store = earlier[number]
        chosen = selected(
            domain, scene.thread, {t: int((n, p) == kind) for t, (n, p, _) in writers.items()}, 1
        )
        table = {t: u for t, (n, p, u) in writers.items() if (n, p) == kind}
        thread = selected(domain, scene.thread, table, scene.thread.width)
        known = domain.bit_or(known, chosen, 1)
        here = domain.bit_and(access.guard, chosen, 1)
        _require_written(machine, access, offset, bits, store, piece, thread, here)
        _require_kept(machine, access, offset, bits, earlier[number + 1 :], here)
        assert store.value is not None
        part = elsewhere(machine, domain.extract(store.value, 8 * piece, bits), thread, "shared")
        value = part if value is None else domain.select(chosen, part, value, bits)
    # The tables say nothing about threads that do not load in the sample launch.
    violation = domain.bit_and(access.guard, scene.negate(known), 1)
    machine.fact("shared: written", instruction, violation, offset, "what some thread stores there")
    assert value is not None
    return value


def _writers(
    scene: Scene,
    access: SharedAccess,
    offset: Expression,
    bits: int,
    earlier: list[SharedAccess],
) -> dict[int, tuple[int, int, int]]:
    """At a sample launch, for each thread: the store it reads from, the byte in it, its thread."""
    best: dict[int, tuple[int, int, int]] = {}
    threads = scene.effect.threads
    for sizes in launches(scene.effect) or ({},):
        points = [scene.point(thread, 0, 0, sizes=sizes or None) for thread in range(threads)]
        wrote: dict[int, tuple[int, int, int]] = {}
        for number, store in enumerate(earlier):
            if id(sizes) not in store.places:
                roots = [store.offset, store.guard]
                store.places[id(sizes)] = list(evaluate_each(roots, points))
            for thread, (at, performed) in enumerate(store.places[id(sizes)]):
                if performed:
                    for piece in range(0, store.bits // 8 - bits // 8 + 1):
                        wrote[at + piece] = (number, piece, thread)
                    for piece in range(1, bits // 8):
                        wrote.pop(at - piece, None)
                        wrote.pop(at + store.bits // 8 - piece, None)
        found = {}
        reads = evaluate_each([offset, access.guard], points)
        for thread, (at, performed) in enumerate(reads):
            if performed and at in wrote:
                found[thread] = wrote[at]
        if len(found) > len(best):
            best = found
        if len(best) == threads:
            break
    return best


def _require_written(
    machine: Machine,
    access: SharedAccess,
    offset: Expression,
    bits: int,
    store: SharedAccess,
    piece: int,
    thread: Expression,
    here: Expression,
) -> None:
    domain, scene = machine.domain, machine.scene
    place = domain.add(store.offset, domain.constant(piece, 32), 32)
    there, performed = scene.at_thread([place, store.guard], thread)
    wide = domain.extend(thread, thread.width, 32, False)
    exists = domain.less(wide, domain.constant(scene.effect.threads, 32), 32, False)
    right = domain.bit_and(domain.bit_and(performed, exists, 1), domain.equal(there, offset, 32), 1)
    if _landed(machine, store) == access.interval:
        right = domain.bit_and(right, domain.equal(thread, scene.thread, thread.width), 1)
    violation = domain.bit_and(here, scene.negate(right), 1)
    line = store.instruction.line
    machine.fact(
        "shared: written", access.instruction, violation, offset, f"what line {line} stores there"
    )


def _require_kept(
    machine: Machine,
    access: SharedAccess,
    offset: Expression,
    bits: int,
    later: list[SharedAccess],
    here: Expression,
) -> None:
    """No later store touches the piece; in the load's own interval, none of its own thread."""
    domain, scene = machine.domain, machine.scene
    other = any_thread(scene)
    for store in later:
        place, performed = store.offset, store.guard
        if _landed(machine, store) != access.interval:
            place, performed = scene.at_thread([place, performed], other)
        touched = overlap(scene, place, store.bits, offset, bits)
        violation = domain.bit_and(domain.bit_and(here, performed, 1), touched, 1)
        line = store.instruction.line
        wanted = f"not what line {line} stores"
        machine.fact("shared: not overwritten", access.instruction, violation, offset, wanted)


def _landed(machine: Machine, store: SharedAccess) -> int:
    found = landing(machine, store)
    assert found is not None
    return found.interval
