"""The protocol of an attention kernel, from its plan: every step of every role, with its operands.

Threads of the last group are the producer, of which one thread copies; the others are consumers.
What waits for what is the schedule's; where each step goes are the plan's places, the tiles' boxes
and descriptors; which rows and heads are those of `attention_work`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tylo.proofs.pipelines import schedule as steps
from tylo.proofs.ptx.asynchronous.attention_output import KernelOutput
from tylo.proofs.ptx.asynchronous.attention_terms import K
from tylo.proofs.ptx.asynchronous.attention_work import assumed, lemmas
from tylo.proofs.ptx.asynchronous.protocol import (
    Ask,
    End,
    Let,
    Operands,
    Protocol,
    Values,
)
from tylo.proofs.ptx.asynchronous.scene import Argument, Field, Launch, Scene
from tylo.proofs.ptx.asynchronous.terms import Level
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.specifications.attention_arguments import (
    ARGUMENTS_ALIGNMENT,
    MAP_ALIGNMENT,
    MAP_BYTES,
    MAPS,
    MOST_SHARES,
    SHARE_BYTES,
    fields,
    structure_bytes,
    table_offset,
)
from tylo.proofs.specifications.attention_plan import (
    BARRIER_BYTES,
    SHARED_BYTES,
    Plan,
)


def launch(plan: Plan) -> Launch:
    """What the kernel is launched with."""
    listed = tuple(
        (offset, Field(label, int(kind[1:]), 0 if label == "zero" else None))
        for offset, label, kind in fields()
    )
    return Launch(
        "attention",
        plan.groups + 1,
        (
            *(Argument(each, MAP_BYTES, MAP_ALIGNMENT) for each in MAPS),
            Argument("arguments", structure_bytes(), ARGUMENTS_ALIGNMENT, listed),
        ),
        plan.shared_bytes,
        SHARED_BYTES,
        MOST_SHARES * SHARE_BYTES,
        table_offset(),
        lambda scene: assumed(scene, plan.rows),
    )


def protocol(plan: Plan, scene: Scene) -> Protocol:
    """The protocol of every thread."""
    return _Kernel(plan, scene).protocol()


class _Kernel(KernelOutput):
    """The flowchart of every role."""

    def protocol(self) -> Protocol:
        d, plan, scene = self.d, self.plan, self.scene
        self.add(End(), "end")
        producer, consumer = self._producer(), self._consumer()
        self.role = ""
        roles = self.add(Ask(lambda values: self.in_group(plan.groups), producer, consumer))
        start = self.step(
            "block barrier",
            "block barrier",
            roles,
            lambda values: {"number": self.constant(0)},
            Level.BLOCK,
        )
        start = self._setup(start)
        values = {"round": self.constant(0), "tile": self.constant(0)}
        for ring in self.schedule.rings:
            for what in ("slot", "parity"):
                values[f"{ring.name}.{what}"] = self.constant(0)
        values |= dict.fromkeys(("v.tile", "k step", "share", *self.searched), self.constant(0))

        def ranges(values: Values) -> list[Expression]:
            found = []
            for ring in self.schedule.rings:
                found.append(
                    d.less(values[f"{ring.name}.slot"], self.constant(ring.slots), 32, False)
                )
                found.append(d.less(values[f"{ring.name}.parity"], self.constant(2), 32, False))
            found.append(d.negate(d.less(values["share"], self.constant(0), 32, True)))
            limit = self.constant(plan.depth // K + 1)
            found.append(d.less(values["k step"], limit, 32, False))
            return found + self.searching(values)

        return Protocol(
            self.nodes,
            start,
            values,
            ranges,
            lambda values: [
                *lemmas(scene, self.work(values), plan.keys),
                self.listed_last(values),
                *self.rows_named(values),
            ],
            lambda values: [self.work(values).item],
            self.known,
            lambda values: [self.own_share(values["round"]), *self.mask_reads(values)],
            self.renamed,
        )

    def _shares(self, then: str, first: Callable[[Values], Expression]) -> str:
        """One thread reads what the block takes after the whole turns."""
        d, scene, given = self.d, self.scene, self.scene.fields

        def more(values: Values) -> Expression:
            return d.less(values["share"], given["shares"], 32, True)

        def kept(values: Values) -> Operands:
            place = d.add(d.multiply(given["shares"], scene.block, 32), values["share"], 32)
            return {
                "address": self.share_place(values["share"]),
                "bits": SHARE_BYTES * 8,
                "value": scene.listed(place),
            }

        onward = self.add(
            Let(lambda values: {"share": d.add(values["share"], self.constant(1), 32)}, "shares")
        )
        store = self.step("keep a share", "shared store", onward, kept)
        self.known[store] = more
        over = self.add(Let(lambda values: {"share": self.constant(0)}, then))
        self.add(Ask(more, store, over), "shares")
        return self.add(Ask(first, "shares", then))

    def _setup(self, then: str) -> str:
        """One thread makes the barriers."""
        tid = self.scene.special["%tid.x"]

        def first(values: Values) -> Expression:
            return self.d.equal(tid, self.constant(0), 32)

        then = self._shares(then, first)
        then = self.step("publish barriers", "publish barriers", then, guard=first)
        for barrier in reversed(self.schedule.barriers):
            for slot in reversed(range(self.schedule.ring(barrier.ring).slots)):
                place = self.plan.barrier_place(barrier.name) + BARRIER_BYTES * slot

                def made(
                    values: Values, place: int = place, count: int = barrier.arrivals
                ) -> Operands:
                    return {
                        "address": self.scene.at(place, self.base),
                        "arrivals": self.constant(count),
                    }

                label = f"barrier {barrier.name}[{slot}]"
                then = self.step(label, "barrier init", then, made, guard=first)
        return then

    def _rounds(self, sections: Callable[[str], str], after: Callable[[str], str]) -> str:
        """Round after round of work: its sections, and what follows, also where no tile is."""

        def following(values: Values) -> Values:
            return {
                "round": self.d.add(values["round"], self.constant(1), 32),
                **dict.fromkeys(("tile", "v.tile", *self.searched), self.constant(0)),
            }

        head = f"{self.role} round"
        onward = self.add(Let(following, head))
        again = after(onward)
        first = self.add(Let(lambda values: {"v.tile": values["tile"]}, sections(again)))
        tiles = self.last_tile(first, again)
        some = self.add(Ask(lambda values: self.work(values).none, onward, tiles))
        self.known[head] = lambda values: self.in_shares(values["round"])
        self.known[some] = lambda values: self.work(values).exists
        self.known[tiles] = lambda values: self.d.bit_and(
            self.work(values).exists, self.d.negate(self.work(values).none), 1
        )
        self.add(Ask(lambda values: self.work(values).exists, some, self._ending()), head)
        return head

    def _ending(self) -> str:
        if self.role == "producer":
            return "end"
        return self.step(
            "await stores",
            "await stores",
            "end",
            lambda values: {"pending": 0},
            guard=self.first_thread,
        )

    def _sections(self, program: steps.Program, then: str, each: Callable[..., str]) -> str:
        """First, further for each tile but the first, and last."""
        last = each(program.last, then)
        ask = f"{self.role} tile"

        self.tile_before(each(program.further, ask), last, ask)
        return each(program.first, ask)

    def _chain(self, program: Iterable[steps.Step], then: str, **how: object) -> str:
        for each in reversed(list(program)):
            then = self.scheduled(each, then)
        return then

    # Roles.

    def _producer(self) -> str:
        self.role = "producer"
        program = self.schedule.program("producer")
        rounds = self._rounds(
            lambda then: self._sections(program, then, self._chain), lambda then: then
        )
        copies = self.add(
            Ask(
                lambda values: self.d.bit_and(
                    self.d.equal(self.scene.warp, self.d.constant(0, 2), 2), self.scene.elected, 1
                ),
                rounds,
                "end",
            )
        )
        return self._registers("dec", self.plan.registers[0], copies)

    def _consumer(self) -> str:
        self.role = "consumer"
        programs = [self.schedule.program(f"group {n}") for n in range(self.plan.groups)]
        shared = {(p.first, p.further, p.last, p.end) for p in programs}
        ((first, further, last, _),) = shared
        program = replace(programs[0], first=first, further=further, last=last)
        then = self._rounds(lambda then: self._sections(program, then, self._chain), self.epilogue)
        for number in reversed(range(self.plan.groups)):
            for each in reversed(programs[number].begin):
                then = self.scheduled(each, then, self.in_group(number))
        return self._registers("inc", self.plan.registers[1], then)

    def _registers(self, change: str, count: int, then: str) -> str:
        return self.step(
            f"{change}rease registers",
            "registers",
            then,
            lambda values: {"change": change, "count": count},
            Level.GROUP,
        )
