"""Stores of which one instruction makes several steps, or several instructions share the steps.

Compilers unroll: one trip of a loop makes several steps of the effect's store, and what is left
over is made by another loop or none. Then the number of a trip is not that of a step. The trip
becomes a variable of its own, and which step is made is read off the address. With `slope` the
distance from one step's address to the next, a number or what the launch says, an instruction at
address a makes step

    (a - address of step 0) / slope.

How that is divided is a guess (`sums`); these are the obligations, for each instruction and each
trip in which it is performed:

address, where
    At that step the effect's store has the address a, and it is performed there. What is stored is
    held against every step that has the address a.
all steps
    Each step in which the effect's store is performed is made, by one of the instructions: in
    every trip that makes it the instruction is performed, and there is such a trip, as far from
    trip 0 as the step is from the step made there.
once
    No two instructions, and no two trips, write one address.

In ``for (c = lane; c < columns; c += 32)``, unrolled to four steps a trip, instruction j makes step
4 * trip + j. Where steps lie a grid apart, solvers are told of the products that conditions
compare: so far as the first step of the trip is, times the slope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tylo.proofs.effects import Store
from tylo.proofs.ptx.bitvector import Expression, evaluate
from tylo.proofs.ptx.obligation import Spoken
from tylo.proofs.ptx.scene import Scene, conditions
from tylo.proofs.ptx.sums import quotient
from tylo.proofs.ptx.symbolic import Access

_WIDTH = 64


class Unrolled:
    """The instructions that share the steps of one store, each with a trip of its own."""

    def __init__(self, scene: Scene, store: Store, accesses: Sequence[Access]) -> None:
        self.scene, self.store = scene, store
        self.address = scene.address(store.buffer, store.offset)
        self.first = self._at(self.address, scene.domain.constant(0, _WIDTH))
        second = self._at(self.address, scene.domain.constant(1, _WIDTH))
        self.slope = scene.domain.subtract(second, self.first, _WIDTH)
        self.trips = [self._trip() if access.looped else None for access in accesses]
        self.found = list(accesses)
        self.accesses = [
            access if trip is None else self._in_trip(access, trip)
            for access, trip in zip(accesses, self.trips, strict=True)
        ]

    def _at(self, expression: Expression, number: Expression, name: str = "step") -> Expression:
        """An expression where a counter is a number of 64 bits."""
        domain, counter = self.scene.domain, self.scene.made.get(name, self.scene.step)
        narrow = domain.extract(number, 0, counter.width)
        found = domain.replace(expression, {self._wide(counter): number})
        return domain.substitute([found], {name: narrow})[0]

    def _trip(self) -> Expression:
        scene = self.scene
        trip = scene.private("trip", scene.step.width)
        bounds = scene.domain.substitute(scene.assumed.get("step", ()), {"step": trip})
        scene.assumed[str(trip.attribute)] = tuple(bounds)
        return trip

    def _in_trip(self, access: Access, trip: Expression) -> Access:
        assert access.value is not None
        address, guard, value = self.scene.domain.substitute(
            [access.address, access.guard, access.value], {"step": trip}
        )
        return replace(access, address=address, guard=guard, value=value)

    def step_made(self, access: Access) -> Expression:
        """The step that an instruction makes, if it makes one, in 64 bits."""
        scene, domain = self.scene, self.scene.domain
        distance = domain.subtract(access.address, self.first, _WIDTH)
        made = quotient(domain, distance, self.slope)
        if made is None:
            (slope,) = evaluate([self.slope], scene.point(0, 0))
            made = domain.divide(distance, domain.constant(max(slope, 1), _WIDTH), _WIDTH, False)
        return made

    def misplaced(self, access: Access) -> Expression:
        """Where an instruction is at no step's address."""
        there = self._at(self.address, self.step_made(access))
        return self._and(access.guard, self.scene.differ(access.address, there))

    def unwanted(self, access: Access) -> Expression:
        """Where an instruction makes a step that the effect's store does not make."""
        return self._and(access.guard, self.scene.negate(self._meant(access)))

    def _meant(self, access: Access) -> Expression:
        """Whether the effect's store makes the step that an instruction makes."""
        scene, width = self.scene, self.scene.round.width
        made = self.step_made(access)
        # Conditions compare numbers with a sign: one of them is that steps end.
        negative = scene.domain.less(made, scene.domain.constant(0, _WIDTH), _WIDTH, True)
        meant = self._and(scene.negate(negative), self._at(scene.performed(self.store), made))
        if self.store.rounds == 1 and "round" in access.counters:
            first = scene.domain.equal(scene.round, scene.domain.constant(0, width), width)
            meant = self._and(meant, first)
        return meant

    def placed(self, access: Access) -> Access:
        """The instruction where it makes a step as it must: that it does is shown elsewhere."""
        here = self.scene.negate(self.misplaced(access))
        known = self._and(here, self._meant(access))
        return replace(access, guard=self._and(access.guard, known))

    def known(self) -> Iterator[tuple[Expression, Expression, Spoken]]:
        """What holds wherever the kernel comes to an instruction, by the condition of that."""
        for found, access, trip in zip(self.found, self.accesses, self.trips, strict=True):
            meant = self._meant(access)
            if trip is not None:
                name, step = str(trip.attribute), self.scene.step
                (meant,) = self.scene.domain.substitute([meant], {name: step})
                yield found.guard, meant, self._spoken(access, trip, step)

    def spoken(self, access: Access) -> Spoken:
        """How far the first step of a trip lies from step 0, which conditions are about."""
        trip = self.trips[self.accesses.index(access)]
        return () if trip is None else self._spoken(access, trip, trip)

    def _spoken(self, access: Access, trip: Expression, counter: Expression) -> Spoken:
        pace, number = self._pace(access, trip), self._wide(counter)
        for other, its_trip in zip(self.accesses, self.trips, strict=True):
            if its_trip is not None and self._pace(other, its_trip) == pace:
                made = self._at(self.step_made(other), number, str(its_trip.attribute))
                return (made, self.slope), (number, self.slope)
        return ()

    def meeting(self, access: Access) -> Access:
        """The instruction where it has the address of the step at hand."""
        return replace(access, guard=self._and(access.guard, self._here(access)))

    def missing(self) -> Iterator[tuple[Expression, Spoken]]:
        """Where a step is made by none of the instructions: a case for each that may make it.

        Of instructions that make every k-th step, one may make the step at hand; that the others
        do not is left out, which says more. With each case, what it speaks of.
        """
        scene, domain = self.scene, self.scene.domain
        paces = [
            1 if trip is None else self._pace(access, trip)
            for access, trip in zip(self.accesses, self.trips, strict=True)
        ]
        most = max(paces)
        rest = scene.performed(self.store)
        for access, trip, pace in zip(self.accesses, self.trips, paces, strict=True):
            if pace < most or most == 1:
                made = self._and(access.guard, self._here(access))
                if trip is not None:
                    _, number, made = self._due(access, trip, pace)
                    guard = self._at(access.guard, number, str(trip.attribute))
                    made = self._and(guard, made)
                rest = self._and(rest, scene.negate(made))
        other, astray = rest, domain.constant(0, 1)
        for access, trip, pace in zip(self.accesses, self.trips, paces, strict=True):
            if trip is not None and pace == most > 1:
                # Any trip in which it makes the step at hand, and that there is one.
                makes = self.step_made(access)
                same = domain.equal(makes, self._wide(scene.step), _WIDTH)
                left_out = self._and(same, scene.negate(access.guard))
                yield self._and(rest, left_out), (*self.spoken(access), (makes, self.slope))
                due, _, made = self._due(access, trip, pace)
                astray = domain.bit_or(astray, self._and(due, scene.negate(made)), 1)
                other = self._and(other, scene.negate(due))
        yield other, ()
        yield self._and(rest, astray), ()

    def _due(
        self, access: Access, trip: Expression, pace: int
    ) -> tuple[Expression, Expression, Expression]:
        """Whether a trip seems to make the step at hand, which one, and whether it does.

        An instruction that makes a step is at its address: that is shown of all its trips.
        """
        scene, domain, name = self.scene, self.scene.domain, str(trip.attribute)
        step, zero = self._wide(scene.step), domain.constant(0, _WIDTH)
        by = domain.constant(pace, _WIDTH)
        made = self.step_made(access)
        at_zero = self._at(made, zero, name)
        later = domain.subtract(step, at_zero, _WIDTH)
        number = domain.divide(later, by, _WIDTH, False)
        due = self._and(
            scene.negate(domain.less(step, at_zero, _WIDTH, False)),
            domain.equal(domain.remainder(later, by, _WIDTH, False), zero, _WIDTH),
        )
        same = domain.equal(self._at(made, number, name), step, _WIDTH)
        end = domain.constant(scene.ranges["step"][1] + 1, _WIDTH)
        there = domain.less(number, end, _WIDTH, False)
        return due, number, self._and(there, same)

    def _wide(self, counter: Expression) -> Expression:
        return self.scene.domain.extend(counter, counter.width, _WIDTH, False)

    def _pace(self, access: Access, trip: Expression) -> int:
        """Steps from one trip to the next."""
        name, point = str(trip.attribute), self.scene.point(0, 0)
        made = self.step_made(access)
        first, second = (evaluate([made], point | {name: number})[0] for number in range(2))
        return max(second - first, 1)

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
