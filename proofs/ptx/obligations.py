"""What must be proven for PTX to have an effect: one bit-vector condition per conjunct.

Each obligation is stated as its violation, a condition that no thread, block, step, size or base
address may satisfy. On every path through the kernel, a store gives rise to these:

address
    It goes where the contract's store goes. Stores are paired by where they go at sample points;
    the pairing is one to one, and proven, never trusted.
repeat
    It is performed in as many steps as the contract's store.
bounds, alignment
    Its bytes lie inside the buffer for every grid that contains the block, and start at a multiple
    of their width.
part i
    Bits of the stored word are the named conversion of the element at the contract's address. A
    word that selects between values gives one obligation for each, under the condition of the
    selection.

A store of the contract that a path does not perform must have no steps there, or the path must not
be possible ("made"). Loads are in bounds and aligned too, whether or not a store uses them.
Instructions whose result PTX leaves open for some operands, such as a division by zero, never see
those ("specified result"). What loops give rise to is said in `paths`. Of the contract itself: in
step zero block zero writes every byte of the step's share of each output exactly once (by
enumerating all its threads and stores); the shares of all steps are the block's share; and every
store in step s of block b lies s step shares and b block shares after step zero of block zero.
Together no two of (thread, block, step, store) overlap and nothing is left out: the shares of b
blocks are the extent.

Since base addresses are symbolic and arithmetic is that of the machine, a wrap-around that moves
any address, in 32 or 64 bits, violates an address or bounds obligation.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tylo.layouts.terms import Integer, show
from tylo.layouts.terms import evaluate as evaluate_term
from tylo.layouts.terms import name as named
from tylo.proofs.effects import Effect, Less, Store
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.contract import sample, step_share, written_once
from tylo.proofs.ptx.coverage import written_as_said
from tylo.proofs.ptx.extents import inside
from tylo.proofs.ptx.load_guards import LoadGuards
from tylo.proofs.ptx.obligation import Obligation
from tylo.proofs.ptx.pairing import pair, sources, unrolled_stores
from tylo.proofs.ptx.parser import parse
from tylo.proofs.ptx.parts import part_obligations
from tylo.proofs.ptx.paths import walk
from tylo.proofs.ptx.races import races
from tylo.proofs.ptx.scene import Scene, build, conditions, parameters, special_registers
from tylo.proofs.ptx.shared_steps import shared_steps
from tylo.proofs.ptx.surroundings import require_module, shared_variables
from tylo.proofs.ptx.symbolic import Access, Machine, Record


def obligations(ptx_text: str, effect: Effect, architecture: str | None = None) -> list[Obligation]:
    """Everything to prove; raises `PtxError` for PTX outside what is covered.

    With an `architecture`, the PTX must be for exactly that one.
    """
    scene = build(effect)
    of_text = list(of_kernel(scene, ptx_text, architecture))
    # What is said twice is said once; what folds to false needs no solver, but is counted.
    every = (*of_contract(scene), *of_text)
    return _numbered(list({(o.label, o.line, o.violation): o for o in every}.values()))


def of_kernel(scene: Scene, ptx_text: str, architecture: str | None = None) -> Iterator[Obligation]:
    """What PTX must do; raises `PtxError` for PTX outside what is covered.

    The whole of the text is walked before the first is stated.
    """
    module = parse(ptx_text)
    entry = require_module(module, scene.effect, architecture)
    machine = Machine(
        scene,
        entry,
        parameters(scene, entry),
        special_registers(scene),
        shared_variables(module, entry),
        scene.domain.constant(1, 1),
        Record(),
    )
    walk(machine, module.target)
    record = machine.record
    stores = [access for access in record.accesses if access.value is not None]
    loads = [access for access in record.accesses if access.value is None]
    guards = record.guards(scene.domain)
    pairing = pair(scene, stores)
    several = unrolled_stores(scene, stores, pairing)
    for index, unrolled in several.items():
        yield from shared_steps(scene, unrolled, index, guards)
    yield from _performed(scene, stores, guards, pairing, several, entry.line)
    known = {
        guard: (meant, spoken) for each in several.values() for guard, meant, spoken in each.known()
    }
    for position, (access, buffer) in enumerate(zip(loads, sources(scene, loads), strict=True)):
        meant, spoken = known.get(access.guard, (access.guard, ()))
        there = replace(access, guard=scene.domain.bit_and(access.guard, meant, 1))
        yield from inside(scene, there, f"load {position}", buffer, spoken)
    for each in record.unspecified:
        at = each.instruction
        yield Obligation(
            "specified result",
            at.line,
            at.text,
            scene,
            each.condition,
            "operands for which PTX does not specify the result",
            "operands for which it does",
        )
    for fact in (*record.facts, *races(machine)):
        at = fact.instruction
        about = fact.label, at.line, at.text, scene
        yield Obligation(*about, fact.violation, fact.found, fact.wanted, spoken=fact.spoken)


def _numbered(stated: Sequence[Obligation]) -> list[Obligation]:
    """The obligations, those of one label at one line told apart by a number."""
    whole = Counter((each.label, each.line) for each in stated)
    seen: Counter[tuple[str, int]] = Counter()
    result = []
    for each in stated:
        key = each.label, each.line
        seen[key] += 1
        number = f" {seen[key]} of {whole[key]}" if whole[key] > 1 else ""
        result.append(replace(each, number=number))
    return result


def _performed(
    scene: Scene,
    stores: Sequence[Access],
    guards: LoadGuards,
    pairing: Mapping[int, int],
    several: Collection[int],
    line: int,
) -> Iterator[Obligation]:
    """What the stores must do, and the stores that must not be left out or made twice.

    Of those that `several` instructions share the steps of, nothing is said here.
    """
    domain = scene.domain
    for position, access in enumerate(stores):
        if pairing.get(position) not in several:
            yield from _store(scene, access, pairing.get(position), guards)
    for index, store in enumerate(scene.effect.stores):
        if index in several:
            continue
        made = [
            (access, _guard(scene, access, store))
            for position, access in enumerate(stores)
            if pairing.get(position) == index
        ]
        missing = scene.performed(store)
        for _, guard in made:
            missing = domain.bit_and(missing, scene.negate(guard), 1)
        if missing.value != 0:
            yield Obligation(
                f"store {index}: made",
                made[0][0].instruction.line if made else line,
                made[0][0].instruction.text if made else f".entry {scene.effect.entry}",
                scene,
                missing,
                f"threads with {len(stores)} stores or fewer, none of them this",
                scene.address(store.buffer, store.offset),
            )
        for (first, guard), (second, other) in itertools.combinations(made, 2):
            yield Obligation(
                f"store {index}: once",
                second.instruction.line,
                second.instruction.text,
                scene,
                domain.bit_and(guard, other, 1),
                f"line {first.instruction.line} makes it too",
                "made once",
            )


def _guard(scene: Scene, access: Access, store: Store) -> Expression:
    """Where an access is performed; what stands in no loop is done in round and step zero."""
    counts = {"round": store.rounds, "step": store.repeat}
    alone = [each for each, count in counts.items() if count != 1 and each not in access.counters]
    return _in_first(scene, access.guard, alone)


def _in_first(scene: Scene, condition: Expression, counters: Iterable[str]) -> Expression:
    """A condition, where counters are zero."""
    domain = scene.domain
    for each in counters:
        counter = {"round": scene.round, "step": scene.step}[each]
        zero = domain.equal(counter, domain.constant(0, counter.width), counter.width)
        condition = domain.bit_and(condition, zero, 1)
    return condition


def of_contract(scene: Scene) -> Iterator[Obligation]:
    """What the effect itself must be, whatever the PTX does."""
    domain, effect = scene.domain, scene.effect
    always, never = domain.constant(1, 1), domain.constant(0, 1)
    about = 0, "the contract", scene
    for buffer in effect.buffers:
        if buffer.elements is not None:
            yield Obligation(
                f"{buffer.name}: extent",
                *about,
                scene.holds(Less(buffer.elements, 0)),
                "a negative number of elements",
                f"{show(buffer.elements)} of them",
            )
        if buffer.direction == "in":
            continue
        if buffer.written is not None:
            for said in written_as_said(scene, buffer):
                yield Obligation(said.label, *about, said.violation, said.found, said.wanted)
            continue
        share, repeat = step_share(effect, buffer.name)
        fault = written_once(effect, buffer.name)
        yield Obligation(
            f"{buffer.name}: block 0 writes every byte exactly once",
            *about,
            always if fault else never,
            fault,
            settled="fails" if fault else "holds",
        )
        if repeat != 1 or not isinstance(buffer.bytes_per_block, int):
            whole, steps = scene.value(buffer.bytes_per_block), scene.value(repeat * share)
            yield Obligation(
                f"{buffer.name}: the steps fill the block's share",
                *about,
                scene.differ(whole, steps),
                f"{share} bytes a step",
                str(buffer.bytes_per_block),
            )
    for index, store in enumerate(effect.stores):
        buffer = effect.buffer(store.buffer)
        if buffer.written is not None:
            continue
        share, _ = step_share(effect, store.buffer)
        first = {"thread": named("thread"), "block": 0, "step": 0, **sample(effect)}
        local: Integer = evaluate_term(store.offset, first)
        moved = named("block") * buffer.bytes_per_block + local
        if store.repeat != 1:
            moved = moved + named("step") * share
        found, wanted = (scene.address(store.buffer, term) for term in (store.offset, moved))
        yield Obligation(
            f"store {index}: same place in every block",
            *about,
            domain.bit_and(_repeated(scene, store.repeat), scene.differ(found, wanted), 1),
            found,
            wanted,
        )


def _repeated(scene: Scene, repeat: Integer) -> Expression:
    """Whether the step is one of those that a store is repeated for."""
    domain = scene.domain
    if repeat == 1:
        return domain.constant(1, 1)
    step = domain.extend(scene.step, scene.step.width, 64, False)
    return domain.less(step, scene.value(repeat), 64, False)


def _store(
    scene: Scene, access: Access, index: int | None, guards: LoadGuards
) -> Iterator[Obligation]:
    instruction, domain = access.instruction, scene.domain
    where = instruction.line, instruction.text, scene
    if index is None:
        yield Obligation("store: address", *where, access.guard, access.address, "no further store")
        return
    store, label = scene.effect.stores[index], f"store {index}"
    wanted = scene.address(store.buffer, store.offset)
    elsewhere = domain.bit_and(access.guard, scene.differ(access.address, wanted), 1)
    yield Obligation(f"{label}: address", *where, elsewhere, access.address, wanted)
    counts = {"round": store.rounds, "step": store.repeat}
    if access.counters or set(counts.values()) != {1} or store.where:
        alone = [each for each in counts if counts[each] == 1 and each in access.counters]
        meant = _in_first(scene, scene.performed(store), alone)
        guard = _guard(scene, access, store)
        stated = [*(Less(named(each), 1) for each in alone), *conditions(store)]
        yield Obligation(
            f"{label}: where",
            *where,
            domain.bit_and(guard, scene.negate(meant), 1),
            "performed",
            f"performed only where {' and '.join(map(str, stated))}",
        )
    yield from inside(scene, access, label, scene.effect.buffer(store.buffer))
    for name, violation, found, goal in part_obligations(scene, access, store, guards):
        yield Obligation(f"{label}: {name}", *where, violation, found, goal)
