"""Stores of which one instruction makes several steps, or several instructions share the steps.

Compilers unroll: one trip of a loop makes several steps of the effect's store, and what is left
over is made by another loop or none. Then the number of a trip is not that of a step. The trip
becomes a variable of its own, and which step is made is told by the address. With `slope` the
distance from one step's address to the next, an instruction at address a makes step

    (a - address of step 0) / slope.

These are the obligations, for each instruction and each trip in which it is performed:

address, where
    That is a step, its address is a, and the effect's store is performed in it. What is stored is
    held against every step that has the address a.
all steps
    Each step in which the effect's store is performed is made, by one of the instructions: in the
    trip that is as far from trip 0 as the step is from the step made there.
once
    No two instructions, and no two trips, write one address.

In ``for (c = lane; c < columns; c += 32)``, unrolled to four steps a trip, instruction j makes step
4 * trip + j.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tylo.proofs.effects import Store
from tylo.proofs.ptx.bitvector import Expression, evaluate
from tylo.proofs.ptx.scene import Scene, conditions
from tylo.proofs.ptx.symbolic import Access

_WIDTH = 64


class Unrolled:
    """The instructions that share the steps of one store, each with a trip of its own."""

    def __init__(self, scene: Scene, store: Store, accesses: Sequence[Access]) -> None:
        self.scene, self.store = scene, store
        self.address = scene.address(store.buffer, store.offset)
        self.first = self._at(self.address, scene.domain.constant(0, scene.step.width))
        point = scene.point(0, 0)
        before, after = (evaluate([self.address], point | {"step": step})[0] for step in range(2))
        self.slope = max(after - before, 1)
        self.trips = [self._trip() if access.looped else None for access in accesses]
        self.accesses = [
            access if trip is None else self._in_trip(access, trip)
            for access, trip in zip(accesses, self.trips, strict=True)
        ]

    def _at(self, expression: Expression, step: Expression) -> Expression:
        return self.scene.domain.substitute([expression], {"step": step})[0]

    def _trip(self) -> Expression:
        scene = self.scene
        trip = scene.private("trip", scene.step.width)
        bounds = [self._at(each, trip) for each in scene.assumed.get("step", ())]
        scene.assumed[str(trip.attribute)] = tuple(bounds)
        return trip

    def _in_trip(self, access: Access, trip: Expression) -> Access:
        address, guard = (self._at(each, trip) for each in (access.address, access.guard))
        assert access.value is not None
        return replace(access, address=address, guard=guard, value=self._at(access.value, trip))

    def step_made(self, access: Access) -> Expression:
        """The step that an instruction makes, if it makes one."""
        scene, domain = self.scene, self.scene.domain
        distance = domain.subtract(access.address, self.first, _WIDTH)
        made = domain.divide(distance, domain.constant(self.slope, _WIDTH), _WIDTH, False)
        return domain.extract(made, 0, scene.step.width)

    def misplaced(self, access: Access) -> Expression:
        """Where an instruction is at no step's address."""
        there = self._at(self.address, self.step_made(access))
        return self._and(access.guard, self.scene.differ(access.address, there))

    def unwanted(self, access: Access) -> Expression:
        """Where an instruction makes a step that the effect's store does not make."""
        scene, width = self.scene, self.scene.round.width
        meant = self._at(scene.performed(self.store), self.step_made(access))
        if self.store.rounds == 1 and "round" in access.counters:
            first = scene.domain.equal(scene.round, scene.domain.constant(0, width), width)
            meant = self._and(meant, first)
        return self._and(access.guard, self.scene.negate(meant))

    def meeting(self, access: Access) -> Access:
        """The instruction where it has the address of the step at hand."""
        return replace(access, guard=self._and(access.guard, self._here(access)))

    def missing(self) -> Iterator[Expression]:
        """Where a step is made by none of the instructions: a case for each that may make it.

        Of instructions that make every k-th step, one may make the step at hand; that the others
        do not is left out, which says more.
        """
        paces = [
            1 if trip is None else self._pace(access, trip)
            for access, trip in zip(self.accesses, self.trips, strict=True)
        ]
        most = max(paces)
        wanted = self.scene.performed(self.store)
        rest = wanted
        for access, trip, pace in zip(self.accesses, self.trips, paces, strict=True):
            if pace < most or most == 1:
                made = self._and(access.guard, self._here(access))
                if trip is not None:
                    made = self._witnessed(access, trip, made, pace)[0]
                rest = self._and(rest, self.scene.negate(made))
        other = rest
        for access, trip, pace in zip(self.accesses, self.trips, paces, strict=True):
            if trip is not None and pace == most > 1:
                made = self._and(access.guard, self._here(access))
                made, due = self._witnessed(access, trip, made, pace)
                yield self._and(self._and(rest, due), self.scene.negate(made))
                other = self._and(other, self.scene.negate(due))
        yield other

    def _witnessed(
        self, access: Access, trip: Expression, made: Expression, pace: int
    ) -> tuple[Expression, Expression]:
        """What holds in the trip that should make the step at hand, and whether there is one."""
        scene, domain, width = self.scene, self.scene.domain, trip.width
        name = str(trip.attribute)
        at_zero = domain.substitute([self.step_made(access)], {name: domain.constant(0, width)})[0]
        later = domain.subtract(scene.step, at_zero, width)
        by = domain.constant(pace, width)
        number = domain.divide(later, by, width, False)
        left = domain.remainder(later, by, width, False)
        due = self._and(
            scene.negate(domain.less(scene.step, at_zero, width, False)),
            domain.equal(left, domain.constant(0, width), width),
        )
        return domain.substitute([made], {name: number})[0], due

    def _pace(self, access: Access, trip: Expression) -> int:
        """Steps from one trip to the next."""
        name, point = str(trip.attribute), self.scene.point(0, 0)
        first, second = (
            evaluate([access.address], point | {name: number})[0] for number in range(2)
        )
        return max((second - first) // self.slope, 1)

    def twice(self) -> Iterator[tuple[Access, Expression]]:
        """For each instruction, where it or one before it writes its address again."""
        scene, domain = self.scene, self.scene.domain
        for number, (access, trip) in enumerate(zip(self.accesses, self.trips, strict=True)):
            for other, its_trip in zip(self.accesses[: number + 1], self.trips, strict=False):
                address, guard = other.address, other.guard
                if other is access:
                    if trip is None or its_trip is None:
                        continue
                    again = scene.private("trip", trip.width)
                    scene.assumed[str(again.attribute)] = tuple(
                        domain.substitute(
                            scene.assumed[str(trip.attribute)], {str(trip.attribute): again}
                        )
                    )
                    address, guard = domain.substitute(
                        [address, guard], {str(trip.attribute): again}
                    )
                    guard = self._and(guard, domain.less(trip, again, trip.width, False))
                same = domain.equal(access.address, address, _WIDTH)
                yield access, self._and(self._and(access.guard, guard), same)

    def conditions(self) -> str:
        """Where the effect's store is performed, in words."""
        return " and ".join(map(str, conditions(self.store)))

    def _here(self, access: Access) -> Expression:
        return self.scene.domain.equal(access.address, self.address, _WIDTH)

    def _and(self, left: Expression, right: Expression) -> Expression:
        return self.scene.domain.bit_and(left, right, 1)
