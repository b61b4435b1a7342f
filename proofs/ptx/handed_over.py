"""Shared memory whose places depend on threads alone: who wrote what a load reads, one by one.

Each byte has a list of the stores that may write it, in the order of the text, with the thread that
does: those of all threads of the block, but for conditions that depend on threads alone. The writer
of a piece is the last of its list, so that nothing is left to be shown of later stores. Whether it
was performed may depend on sizes too; that is the obligation "written". Where it may not be, the
store before it counts as well, if it is the same thread's to the same place: a vector copied whole,
or else put together from single elements.

A copy that has not landed, and a store of another thread with no barrier between, are no writers:
that neither meets the load is the business of `races`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tylo.proofs.ptx.by_thread import flags, values
from tylo.proofs.ptx.fits import fit
from tylo.proofs.ptx.nodes import Expression, order
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.shuffles import elsewhere
from tylo.proofs.ptx.tables import selected

if TYPE_CHECKING:
    from tylo.proofs.ptx.shared_memory import SharedAccess
    from tylo.proofs.ptx.symbolic import Machine

_WIDTH, _BYTE = 32, 8
_Writers = tuple[int, ...]  # numbers of stores, the last first


@dataclass(slots=True)
class Owners:
    """For each byte of a variable: numbers of the stores that may write it, and their threads."""

    stores: list[SharedAccess] = field(default_factory=list)
    bytes: dict[int, list[tuple[int, int]]] = field(default_factory=dict)


def owners(
    scene: Scene, known: dict[str, Owners], name: str, stores: list[SharedAccess]
) -> Owners | None:
    """Who may write which byte, or `None` where a place depends on more than the thread."""
    found = known.setdefault(name, Owners())
    count = len(found.stores)
    if found.stores != stores[:count]:
        found = known[name] = Owners()
    for store in stores[len(found.stores) :]:
        places = values(scene, store.offset)
        if places is None:
            return None
        may, _ = flags(scene, store.guard)
        for thread, place in enumerate(places):
            for byte in range(place, place + store.bits // 8) if may[thread] else ():
                found.bytes.setdefault(byte, []).append((len(found.stores), thread))
        found.stores.append(store)
    return found


def read(
    machine: Machine,
    access: SharedAccess,
    offset: Expression,
    bits: int,
    stores: list[SharedAccess],
    landed: list[int],
) -> Expression | None:
    """The value of one piece of a load, or `None` where going through threads does not tell.

    `stores` are those to its variable, `landed` the interval that each is complete in. A piece that
    several stores make up is read part by part.
    """
    domain, mark = machine.domain, machine.record.mark()
    whole = _read(machine, access, offset, bits, stores, landed)
    if whole is not None or bits <= _BYTE:
        return whole
    half = bits // 2
    above = domain.add(offset, domain.constant(half // _BYTE, _WIDTH), _WIDTH)
    parts = [read(machine, access, at, half, stores, landed) for at in (offset, above)]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        machine.record.rewind(mark)
        return None
    return domain.concatenate(found, [half] * len(found))


def _read(
    machine: Machine,
    access: SharedAccess,
    offset: Expression,
    bits: int,
    stores: list[SharedAccess],
    landed: list[int],
) -> Expression | None:
    scene = machine.scene
    places = values(scene, offset)
    found = owners(scene, machine.record.owners, access.variable.name, stores)
    if places is None or found is None:
        return None
    may, _ = flags(scene, access.guard)
    kinds: dict[tuple[_Writers, int], dict[int, int]] = {}
    for thread, place in enumerate(places):
        if not may[thread]:
            continue
        writers = _writers(scene, found, landed, access.interval, thread, place, bits // 8)
        if writers is None:
            return None
        numbers, piece, writer = writers
        kinds.setdefault((numbers, piece), {})[thread] = writer
    if not kinds:
        return None
    _require_performed(machine, access, offset, stores, kinds)
    return _value(machine, bits, stores, kinds)


def _writers(
    scene: Scene,
    found: Owners,
    landed: list[int],
    interval: int,
    reader: int,
    place: int,
    size: int,
) -> tuple[_Writers, int, int] | None:
    """The stores that one thread may read a piece from, the byte in them, and their thread."""

    def listed(byte: int) -> list[tuple[int, int]]:
        result = []
        for number, thread in reversed(found.bytes.get(byte, [])):
            there = landed[number]
            if there < interval or (there == interval and thread == reader):
                result.append((number, thread))
        return result

    first, *others = (listed(byte) for byte in range(place, place + size))
    if not first or any(other[:1] != first[:1] for other in others):
        return None
    (number, writer), *earlier = first
    numbers = [number]
    start = _place(scene, found, number, writer)
    while not _always(scene, found.stores[numbers[-1]]) and earlier:
        number, thread = earlier.pop(0)
        alike = found.stores[number].bits == found.stores[numbers[0]].bits
        if thread != writer or not alike or _place(scene, found, number, writer) != start:
            break
        if any((number, thread) not in other for other in others):
            break
        numbers.append(number)
    return tuple(numbers), place - start, writer


def _place(scene: Scene, found: Owners, number: int, thread: int) -> int:
    places = values(scene, found.stores[number].offset)
    assert places is not None
    return places[thread]


def _always(scene: Scene, store: SharedAccess) -> bool:
    """Whether nothing but the thread decides about a store."""
    return flags(scene, store.guard)[1].value == 1


def _performed(scene: Scene, stores: list[SharedAccess], numbers: _Writers) -> Expression:
    """Whether one of the stores is performed, as far as more than the thread decides."""
    result = scene.domain.constant(0, 1)
    for number in numbers:
        result = scene.domain.bit_or(result, flags(scene, stores[number].guard)[1], 1)
    return result


def _require_performed(
    machine: Machine,
    access: SharedAccess,
    offset: Expression,
    stores: list[SharedAccess],
    kinds: dict[tuple[_Writers, int], dict[int, int]],
) -> None:
    domain, scene = machine.domain, machine.scene
    together: dict[Expression, dict[int, int]] = {}
    lines: dict[Expression, int] = {}
    for (numbers, _), table in kinds.items():
        performed = _performed(scene, stores, numbers)
        together.setdefault(performed, {}).update(table)
        lines.setdefault(performed, stores[numbers[0]].instruction.line)
    readers = {thread for table in kinds.values() for thread in table}
    for performed, table in together.items():
        chosen = _among(scene, set(table), readers)
        there = _at_writers(scene, performed, offset, table)
        here = domain.bit_and(access.guard, chosen, 1)
        violation = domain.bit_and(here, scene.negate(there), 1)
        wanted = f"what line {lines[performed]} stores there"
        machine.fact("shared: written", access.instruction, violation, offset, wanted)


def _at_writers(
    scene: Scene, condition: Expression, offset: Expression, table: dict[int, int]
) -> Expression:
    """A condition of writers, as their readers have it, which `table` is about.

    What it says of a writer's number is told from the place, if that is arithmetic. Then there is
    nothing else in it that each thread has its own of.
    """
    domain, places = scene.domain, values(scene, offset)
    assert places is not None
    parts: dict[Expression, Expression] = {}
    fits = True
    for node in order([condition], lambda each: values(scene, each) is not None):
        column = values(scene, node)
        if node.value is not None or column is None:
            fits = fits and not (node.operator == "variable" and str(node.attribute) in scene.made)
            continue
        told = {places[reader]: column[writer] for reader, writer in table.items()}
        one = all(told[places[reader]] == column[writer] for reader, writer in table.items())
        found = fit(told) if one else None
        if found is None or node.width > _WIDTH:
            fits = False
            break
        factor, base, more, divisor = (domain.constant(each, _WIDTH) for each in found)
        count = domain.divide(domain.add(offset, more, _WIDTH), divisor, _WIDTH, False)
        whole = domain.add(domain.multiply(count, factor, _WIDTH), base, _WIDTH)
        parts[node] = domain.extract(whole, 0, node.width)
    if fits:
        return domain.replace(condition, parts)
    writer = selected(domain, scene.thread, table, scene.thread.width)
    return scene.at_thread([condition], writer)[0]


def _value(
    machine: Machine,
    bits: int,
    stores: list[SharedAccess],
    kinds: dict[tuple[_Writers, int], dict[int, int]],
) -> Expression:
    """What the writers stored, each for the threads that read from it."""
    domain, scene = machine.domain, machine.scene
    all_of_them = {thread: writer for table in kinds.values() for thread, writer in table.items()}
    writer = selected(domain, scene.thread, all_of_them, scene.thread.width)
    result: Expression | None = None
    for (numbers, piece), table in kinds.items():
        held: Expression | None = None
        for number in reversed(numbers):
            store = stores[number]
            assert store.value is not None
            part = domain.extract(store.value, 8 * piece, bits)
            performed = flags(scene, store.guard)[1]
            held = part if held is None else domain.select(performed, part, held, bits)
        assert held is not None
        part = elsewhere(machine, held, writer, "shared")
        chosen = _among(scene, set(table), set(all_of_them))
        result = part if result is None else domain.select(chosen, part, result, bits)
    assert result is not None
    return result


def _among(scene: Scene, some: set[int], readers: set[int]) -> Expression:
    """Whether the thread is one of some, given that it is one of the readers."""
    table = {thread: int(thread in some) for thread in readers}
    return selected(scene.domain, scene.thread, table, 1)
