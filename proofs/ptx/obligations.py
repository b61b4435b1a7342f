"""What must be proven for PTX to have an effect: one bit-vector condition per conjunct.

Each obligation is stated as its violation, a condition that no thread, block or base address may
satisfy. A store gives rise to these:

address
    It goes where the contract's store goes. Stores are paired by where they go at sample points;
    the pairing is one to one, and proven, never trusted.
bounds, alignment
    Its bytes lie inside the buffer for every grid that contains the block, and start at a multiple
    of their width.
part i
    Bits of the stored word are the named conversion of the element at the contract's address. A
    word that selects between values gives one obligation for each, under the condition of the
    selection.

Loads are in bounds and aligned too, whether or not a store uses them. Of the contract itself:
block zero writes every byte of its share of each output exactly once (by enumerating all its
threads and stores), and every store of block b lies b shares after block zero's. Together no two
of (thread, block, store) overlap and nothing is left out: the shares of b blocks are the extent.

Since base addresses are symbolic and arithmetic is that of the machine, a wrap-around that moves
any address, in 32 or 64 bits, violates an address or bounds obligation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tylo.layouts.terms import Integer
from tylo.layouts.terms import evaluate as evaluate_term
from tylo.layouts.terms import name as named
from tylo.proofs.effects import Buffer, Effect
from tylo.proofs.ptx.bitvector import Expression, evaluate
from tylo.proofs.ptx.contract import written_once
from tylo.proofs.ptx.parser import parse
from tylo.proofs.ptx.parts import part_obligations
from tylo.proofs.ptx.scene import Scene, build, parameters, special_registers
from tylo.proofs.ptx.smtlib import script
from tylo.proofs.ptx.symbolic import Access, Machine

_SAMPLE_THREADS = 16
_SAMPLE_BLOCKS = (0, 5)


@dataclass(frozen=True, eq=False)
class Obligation:
    """A condition that must not be satisfiable, and what it is about.

    `line` and `text` are those of the PTX instruction; an obligation about the contract alone has
    line 0. `found` and `wanted` are addresses to compare in a report, or words. `settled` is the
    verdict of an obligation decided by enumeration, which has no script.
    """

    label: str
    line: int
    text: str
    scene: Scene
    violation: Expression
    found: Expression | str = ""
    wanted: Expression | str = ""
    settled: str = ""

    @cached_property
    def script(self) -> str:
        """SMT-LIB text: satisfiable exactly where the obligation fails."""
        return "" if self.settled else self.restricted()

    def restricted(self, *conditions: Expression) -> str:
        """The script under further conditions."""
        return script([*self.scene.assumptions(self.violation), *conditions, self.violation])


def obligations(ptx_text: str, effect: Effect) -> list[Obligation]:
    """Everything to prove; raises `PtxError` for PTX outside what is covered."""
    scene = build(effect)
    entry = parse(ptx_text).entry(effect.entry)
    machine = Machine(
        scene.domain, entry, parameters(scene, entry), special_registers(scene), {}, []
    )
    accesses = machine.run()
    stores = [access for access in accesses if access.value is not None]
    loads = [access for access in accesses if access.value is None]
    pairing = _pair(scene, stores)
    result = list(_contract(scene))
    for index, store in enumerate(effect.stores):
        if index not in pairing.values():
            message = f"stores {len(stores)} times, none of them this"
            result.append(
                Obligation(
                    f"store {index}: address",
                    entry.line,
                    f".entry {entry.name}",
                    scene,
                    scene.domain.constant(1, 1),
                    message,
                    scene.address(store.buffer, store.offset),
                )
            )
    for position, access in enumerate(stores):
        result += _store(scene, access, pairing.get(position))
    for position, (access, buffer) in enumerate(zip(loads, _sources(scene, loads), strict=True)):
        result += _inside(scene, access, f"load {position}", buffer)
    return result


def _pair(scene: Scene, stores: Sequence[Access]) -> dict[int, int]:
    """Which store of the contract each store of the kernel is taken to be."""
    wanted = [scene.address(store.buffer, store.offset) for store in scene.effect.stores]
    roots = [access.address for access in stores]
    agree: Counter[tuple[int, int]] = Counter()
    for point in _sample(scene):
        values = evaluate(roots + wanted, point)
        goals = {address: index for index, address in enumerate(values[len(roots) :])}
        for position, address in enumerate(values[: len(roots)]):
            if address in goals:
                agree[position, goals[address]] += 1
    pairing: dict[int, int] = {}
    for (position, index), _ in agree.most_common():
        if position not in pairing and index not in pairing.values():
            pairing[position] = index
    # What agrees nowhere is paired in order, so that a report can say what was expected.
    rest = [index for index in range(len(wanted)) if index not in pairing.values()]
    for position in range(len(roots)):
        if position not in pairing and rest:
            pairing[position] = rest.pop(0)
    return pairing


def _sample(scene: Scene) -> Iterator[dict[str, int]]:
    effect = scene.effect
    for thread in range(0, effect.threads, max(1, effect.threads // _SAMPLE_THREADS)):
        for block in _SAMPLE_BLOCKS:
            if block < effect.maximum_blocks:
                yield scene.point(thread, block)


def _sources(scene: Scene, loads: Sequence[Access]) -> list[Buffer | None]:
    """The input buffer that each load most often lies in at sample points."""
    votes: list[Counter[str]] = [Counter() for _ in loads]
    roots = [access.address for access in loads]
    for point in _sample(scene):
        for count, address in zip(votes, evaluate(roots, point), strict=True):
            found = scene.place(address)
            if found and found[0].direction == "in":
                count[found[0].name] += 1
    return [scene.effect.buffer(max(v, key=lambda name: v[name])) if v else None for v in votes]


def _contract(scene: Scene) -> Iterator[Obligation]:
    domain, effect = scene.domain, scene.effect
    always, never = domain.constant(1, 1), domain.constant(0, 1)
    for buffer in effect.buffers:
        if buffer.direction == "out":
            label = f"{buffer.name}: block 0 writes every byte exactly once"
            fault = written_once(effect, buffer.name)
            yield Obligation(
                label,
                0,
                "the contract",
                scene,
                always if fault else never,
                fault,
                settled="fails" if fault else "holds",
            )
    for index, store in enumerate(effect.stores):
        local: Integer = evaluate_term(store.offset, {"thread": named("thread"), "block": 0})
        moved = named("block") * effect.buffer(store.buffer).bytes_per_block + local
        found, wanted = (scene.address(store.buffer, term) for term in (store.offset, moved))
        yield Obligation(
            f"store {index}: same place in every block",
            0,
            "the contract",
            scene,
            _differ(scene, found, wanted),
            found,
            wanted,
        )


def _differ(scene: Scene, found: Expression, wanted: Expression) -> Expression:
    domain = scene.domain
    return domain.bit_xor(domain.equal(found, wanted, 64), domain.constant(1, 1), 1)


def _store(scene: Scene, access: Access, index: int | None) -> Iterator[Obligation]:
    instruction = access.instruction
    if index is None:
        yield Obligation(
            "store: address",
            instruction.line,
            instruction.text,
            scene,
            scene.domain.constant(1, 1),
            access.address,
            "no further store",
        )
        return
    store, label = scene.effect.stores[index], f"store {index}"
    wanted = scene.address(store.buffer, store.offset)
    yield Obligation(
        f"{label}: address",
        instruction.line,
        instruction.text,
        scene,
        _differ(scene, access.address, wanted),
        access.address,
        wanted,
    )
    yield from _inside(scene, access, label, scene.effect.buffer(store.buffer))
    for name, violation, found, meant in part_obligations(scene, access, store):
        yield Obligation(
            f"{label}: {name}", instruction.line, instruction.text, scene, violation, found, meant
        )


def _inside(
    scene: Scene, access: Access, label: str, buffer: Buffer | None
) -> Iterator[Obligation]:
    """In bounds, and aligned to its width."""
    domain, size = scene.domain, access.bits // 8
    where = access.instruction.line, access.instruction.text, scene
    always = domain.constant(1, 1)
    if buffer is None:
        yield Obligation(f"{label}: bounds", *where, always, access.address, "an input buffer")
        return
    # The smallest grid that contains the block is the tightest: its extent ends with the block.
    spare = buffer.bytes_per_block - size
    offset = domain.subtract(access.address, scene.bases[buffer.name], 64)
    block = domain.extend(scene.block, scene.block.width, 64, False)
    share = domain.constant(buffer.bytes_per_block, 64)
    last = domain.add(domain.multiply(block, share, 64), domain.constant(spare, 64), 64)
    beyond = domain.less(last, offset, 64, False) if spare >= 0 else always
    within = f"within the {buffer.bytes_per_block} * blocks bytes of {buffer.name}"
    yield Obligation(f"{label}: bounds", *where, beyond, access.address, within)
    remainder = domain.bit_and(access.address, domain.constant(size - 1, 64), 64)
    aligned = domain.equal(remainder, domain.constant(0, 64), 64)
    yield Obligation(
        f"{label}: alignment",
        *where,
        domain.bit_xor(aligned, always, 1),
        access.address,
        f"a multiple of {size}",
    )
