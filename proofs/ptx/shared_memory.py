"""Shared memory between barriers: bounds, races, and who wrote what a load reads.

Barriers that all threads of the block pass part its accesses into intervals. Each access gives
rise to these obligations:

bounds, alignment
    Its bytes lie in the variable, and start at a multiple of their width.
no race
    In one interval no two threads touch a byte that one of them writes.
written
    Each piece that a load reads was written, by a store that a known thread performed before. Which
    thread that is, is read off at a sample launch, as a table from the thread that loads, and then
    proven for every launch: a wrong table is refused, never believed.
not overwritten
    No store after that one, up to the load, touches the piece.

The value of the load is then the value of that store, in that thread. A barrier is passed by all
threads ("converged"), is not predicated, and does not stand where two ways part that meet again.
Shared memory inside a loop that is cut is refused: loops of a constant number of steps are walked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
    from tylo.proofs.ptx.symbolic import Fact, Machine


@dataclass(frozen=True, eq=False, slots=True)
class SharedAccess:
    """A load or a store of `bits` at `offset` in a shared variable, between two barriers."""

    instruction: Instruction
    variable: Variable
    offset: Expression
    bits: int
    value: Expression | None
    guard: Expression
    interval: int
    # Offsets and guards of all threads at sample launches, once they were worked out.
    places: dict[int, list[list[int]]] = field(default_factory=dict)


def barrier(machine: Machine, instruction: Instruction, form: Form) -> None:
    """`bar.sync 0` by all threads: a new interval."""
    identifier = instruction.operands[0]
    if len(instruction.operands) != 1 or identifier != Number(0):
        raise instruction.error("a barrier other than `bar.sync 0`", hint="not covered")
    if instruction.guard is not None or machine.parted:
        raise instruction.error("a barrier where threads part", hint="not covered")
    if machine.looped:
        raise instruction.error("a barrier inside a loop of any number of steps")
    converged(machine, instruction, _other(machine.scene), "thread of the block")
    machine.interval += 1


def store(machine: Machine, instruction: Instruction, form: Form) -> None:
    """`st.shared`: recorded for the loads that follow."""
    kind, operand = form.opcode.operands[1], instruction.operands[1]
    value = machine.source(instruction, form, kind, operand)
    elements = value if isinstance(value, list) else [value]
    word = machine.domain.concatenate(elements, [form.width] * len(elements))
    access = _place(machine, instruction, instruction.operands[0], word.width, word)
    machine.record.shared.append(access)


def load(machine: Machine, instruction: Instruction, form: Form) -> None:
    """`ld.shared`: what earlier stores wrote there."""
    kind = form.opcode.operands[0]
    count = form.operand_count(kind)
    access = _place(machine, instruction, instruction.operands[1], form.width * (count or 1), None)
    pieces = [
        _read(machine, access, index * form.width // 8, form.width) for index in range(count or 1)
    ]
    machine.record.shared.append(access)
    machine.write(instruction, form, kind, instruction.operands[0], pieces if count else pieces[0])


def _place(
    machine: Machine,
    instruction: Instruction,
    operand: Operand,
    bits: int,
    value: Expression | None,
) -> SharedAccess:
    """Where an access lies, with the obligations on that."""
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
    offset = domain.subtract(address, base, width)
    guard = machine.taken(instruction)
    size = scene.shared_size(variable)
    if size < bits // 8:
        raise instruction.error(f"{variable.name} has {size} bytes")
    beyond = domain.less(domain.constant(size - bits // 8, width), offset, width, False)
    within = f"within the {size} bytes of {variable.name}"
    machine.fact("shared bounds", instruction, domain.bit_and(guard, beyond, 1), offset, within)
    low = domain.bit_and(address, domain.constant(bits // 8 - 1, width), width)
    misaligned = scene.differ(low, domain.constant(0, width))
    aligned = f"a multiple of {bits // 8}"
    violation = domain.bit_and(guard, misaligned, 1)
    machine.fact("shared alignment", instruction, violation, offset, aligned)
    offset = domain.extract(offset, 0, 32)
    return SharedAccess(instruction, variable, offset, bits, value, guard, machine.interval)


def _read(machine: Machine, access: SharedAccess, start: int, bits: int) -> Expression:
    """The value of one piece of a load."""
    domain, scene, instruction = machine.domain, machine.scene, access.instruction
    offset = domain.add(access.offset, domain.constant(start, 32), 32)
    earlier = [
        each
        for each in machine.record.shared
        if each.value is not None and each.variable == access.variable
    ]
    writers = _writers(scene, access, offset, bits, earlier)
    if not writers:
        raise instruction.error("a load of shared memory that nobody wrote")
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
    if store.interval == access.interval:
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
    other = _other(scene)
    for store in later:
        place, performed = store.offset, store.guard
        if store.interval != access.interval:
            place, performed = scene.at_thread([place, performed], other)
        touched = _overlap(scene, place, store.bits, offset, bits)
        violation = domain.bit_and(domain.bit_and(here, performed, 1), touched, 1)
        line = store.instruction.line
        wanted = f"not what line {line} stores"
        machine.fact("shared: not overwritten", access.instruction, violation, offset, wanted)


def races(machine: Machine) -> Iterator[Fact]:
    """For each access: no other thread touches its bytes in its interval, if one of them writes."""
    from tylo.proofs.ptx.symbolic import Fact

    domain, scene = machine.domain, machine.scene
    other = _other(scene)
    apart = scene.differ(other, scene.thread)
    accesses = machine.record.shared
    for index, first in enumerate(accesses):
        met = [
            second
            for second in accesses[index:]
            if second.interval == first.interval
            and second.variable == first.variable
            and (first.value is not None or second.value is not None)
        ]
        anything = domain.constant(0, 1)
        for second in met:
            place, performed = scene.at_thread([second.offset, second.guard], other)
            touched = _overlap(scene, first.offset, first.bits, place, second.bits)
            anything = domain.bit_or(anything, domain.bit_and(performed, touched, 1), 1)
        violation = domain.bit_and(domain.bit_and(first.guard, apart, 1), anything, 1)
        if met:
            yield Fact(
                "shared: no race",
                first.instruction,
                violation,
                first.offset,
                "bytes of its own between two barriers",
            )


def _overlap(
    scene: Scene, first: Expression, first_bits: int, second: Expression, second_bits: int
) -> Expression:
    """Whether two ranges of bytes meet; both are in bounds, so that nothing wraps."""
    domain = scene.domain
    end_of_first = domain.add(first, domain.constant(first_bits // 8, 32), 32)
    end_of_second = domain.add(second, domain.constant(second_bits // 8, 32), 32)
    return domain.bit_and(
        domain.less(first, end_of_second, 32, False),
        domain.less(second, end_of_first, 32, False),
        1,
    )


def _other(scene: Scene) -> Expression:
    """Any thread of the block."""
    other = scene.private("other", scene.thread.width)
    threads = scene.effect.threads
    if threads < 1 << other.width:
        limit = scene.domain.constant(threads, other.width)
        scene.assumed[str(other.attribute)] = (scene.domain.less(other, limit, other.width, False),)
    return other
