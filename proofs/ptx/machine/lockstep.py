"""The schedule: which lanes of which warps run next, and how control flows.

Every lane has a program counter of its own. One step runs one instruction for all lanes, of the
chosen warps, that stand at it. Without a generator the lowest counter of all goes first, and all
warps that stand there go together: fast, and lanes that diverged meet again as early as they can.

Under a random schedule, only *events* are ordered: accesses to memory, and instructions at which
lanes meet. What lies between them touches a lane's own registers alone, so that its order among
warps makes no difference, and all of them run it together. At events, a random place is chosen
among those where lanes stand, and there a random number of warps, one at least, goes in random
order; of a warp whose lanes have parted, some of them may go without the others. Any order of
events may come of that, and each run shows one.

An instruction with a member mask waits until all lanes it names stand at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tylo.proofs.ptx.machine import accesses, collectives, copies, matrix
from tylo.proofs.ptx.machine.barriers import Barriers
from tylo.proofs.ptx.machine.decode import Step
from tylo.proofs.ptx.machine.faults import MachineFault
from tylo.proofs.ptx.machine.floats import approximate
from tylo.proofs.ptx.machine.state import State
from tylo.proofs.ptx.program import Entry

Action = Callable[[State, Step, Any, Any], None]
Compute = Callable[[Any, Any], None]


def _value(source: Any, rows: Any) -> Any:
    """An operand: a vector, a constant of the syntax, or a register."""
    if isinstance(source, list):
        return [read(rows) for read in source]
    return source if isinstance(source, int) else source(rows)


def _fence(state: State, step: Step, rows: Any, mask: Any) -> None:
    """Memory here is never out of order, and a fence alone orders no lanes."""


ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        "parameter": accesses.parameter,
        "load": accesses.load,
        "load constant": accesses.load,
        "store": accesses.store,
        "ordered load": accesses.load,
        "ordered store": accesses.store,
        "atomic": accesses.atomic,
        "fence": _fence,
        "shuffle": collectives.shuffle,
        "vote": collectives.vote,
        "ballot": collectives.ballot,
        "match": collectives.match,
        "active": collectives.active,
        "reduce": collectives.reduce,
        "elect": collectives.elect,
        "copy": copies.copy,
        "commit": copies.commit,
        "wait": copies.wait,
        "wait all": copies.wait_all,
        "load matrix": matrix.load_matrix,
        "store matrix": matrix.store_matrix,
        "move matrix": matrix.move_matrix,
        "multiply": matrix.multiply,
    }
)
# Actions of all lanes of a warp, and those whose last source is a mask of members.
_WHOLE = frozenset({"load matrix", "store matrix", "move matrix", "multiply"})
_MEMBERS = frozenset({"shuffle", "vote", "ballot", "match", "reduce", "elect", "warp barrier"})
_CONTROL = frozenset({"branch", "return", "barrier", "arrive", "warp barrier"})
_VISIBLE = frozenset(
    {"load", "store", "ordered load", "ordered store", "atomic", "copy", "wait", "wait all"}
)
# What is done in order: the accesses of lanes, and places at which they meet or are counted.
_EVENTS = _VISIBLE | _MEMBERS | _WHOLE | {"barrier", "arrive", "active"}
_ALL = np.uint64(0xFFFFFFFF)
_BITS = np.left_shift(np.uint64(1), np.arange(32, dtype=np.uint64))
_NEVER = 1 << 30


class Lockstep:
    """Runs the resident blocks to their end."""

    def __init__(self, state: State, entry: Entry, steps: list[Step], random: bool) -> None:
        self.state = state
        self.steps = steps
        self.random = random
        self.barriers = Barriers(state)
        warps = state.blocks * state.warps
        self.counter = np.zeros((warps, 32), np.int32)
        self.live = np.ones((warps, 32), np.bool_)
        self.blocked = np.zeros((warps, 32), np.bool_)
        # Lanes that wait for the other members of an instruction.
        self.parked = np.zeros((warps, 32), np.bool_)
        self.executed = 0
        self.computes = [self._compute(step) for step in steps]
        targets = set(entry.labels.values())
        self.stop = [
            index in targets
            or step.form.opcode.action in _CONTROL | _MEMBERS | _WHOLE
            or (random and step.form.opcode.action in _EVENTS)
            for index, step in enumerate(steps)
        ] + [True]
        actions = [step.form.opcode.action for step in steps]
        self.event = np.array([action in _EVENTS for action in actions] + [False])
        # Where some lanes of a warp may go without the others, and warps whose lanes have parted.
        self.divisible = [action in _VISIBLE for action in actions]
        self.apart = np.zeros(warps, np.bool_)

    def run(self) -> None:
        """To the end of every lane; raises `MachineFault` when one misbehaves or none can go on."""
        # Integers wrap, and so do constants, of which numpy would warn.
        with np.errstate(over="ignore"):
            self._run()

    def _run(self) -> None:
        while True:
            ready = self.live & ~self.blocked & ~self.parked
            if not ready.any():
                if self.live.any():
                    self._stuck()
                return
            if not self.random:
                self._go(*self._lowest(ready))
                continue
            between = ready & ~self.event[self.counter]
            if between.any():
                self._go(*self._lowest(between))
            else:
                copies.drift(self.state)
                self._go(*self._random(ready))

    def _lowest(self, ready: Any) -> tuple[int, Any, Any]:
        counters = np.where(ready, self.counter, _NEVER)
        lowest = int(counters.min())
        there = counters == lowest
        chosen = there.any(axis=1)
        if chosen.all():
            return lowest, slice(None), there
        rows: Any = np.flatnonzero(chosen)
        return lowest, rows, there[rows]

    def _random(self, ready: Any) -> tuple[int, Any, Any]:
        """A place, and who goes on from there: one warp, some of those that stand there, or all."""
        generator = self.state.generator
        candidates = np.flatnonzero(ready.any(axis=1))
        warp = int(candidates[int(generator.integers(len(candidates)))])
        places = self.counter[warp][ready[warp]]
        counter = int(places[int(generator.integers(len(places)))])
        there = ready & (self.counter == counter)
        how = int(generator.integers(4))
        chosen = there.any(axis=1)
        if how == 0:
            chosen[:] = False
        elif how == 1:
            chosen &= generator.random(len(chosen)) < 0.5
        chosen[warp] = True
        rows: Any = np.flatnonzero(chosen)
        if len(rows) == 1:
            rows, mask = slice(warp, warp + 1), there[warp : warp + 1]
        else:
            generator.shuffle(rows)
            mask = there[rows]
        if self.divisible[counter] and self.apart[rows].any():
            mask = self._some(rows, mask)
        return counter, rows, mask

    def _some(self, rows: Any, mask: Any) -> Any:
        """Of warps whose lanes have parted, all lanes or some of them, one at least."""
        generator = self.state.generator
        alone = self.apart[rows] & (generator.random(len(mask)) < 0.5)
        keep = (generator.random(mask.shape) < 0.5) | ~alone[:, None]
        empty = ~(mask & keep).any(axis=1)
        return mask & (keep | empty[:, None])

    def _go(self, counter: int, rows: Any, mask: Any) -> None:
        """Run from `counter` to the next place where lanes may part, meet or be interrupted."""
        state, steps = self.state, self.steps
        whole = bool(mask.all())
        first = True
        while first or not self.stop[counter]:
            step = steps[counter] if counter < len(steps) else None
            if step is None:
                raise self._ran_out(rows, mask)
            action = step.form.opcode.action
            taking = None if whole else mask
            if step.guard is not None:
                true = np.asarray(step.guard(rows)) != 0
                taking = np.broadcast_to(true, mask.shape) & mask
                taking = None if taking.all() else taking
            self.executed += len(mask)
            if action in _CONTROL:
                self._control(step, counter, rows, mask, mask if taking is None else taking)
                return
            if action in _MEMBERS or action in _WHOLE:
                met = self._meet(step, counter, rows, mask, taking)
                if met is None:
                    return
                rows, mask, taking = met
                whole = bool(mask.all())
            compute = self.computes[counter]
            if compute is None:
                ACTIONS[action](state, step, rows, taking)
            else:
                compute(rows, taking)
            counter += 1
            first = False
        self._set(rows, mask, counter)

    def _compute(self, step: Step) -> Compute | None:
        """What an instruction without an action does, made ready; `None` for one with an action."""
        semantics, form, state = step.form.opcode.semantics, step.form, self.state
        if semantics is None:
            return None
        domain, open_result = state.domain, approximate(form.mnemonic)
        sources, targets = step.sources, step.targets
        plain = not any(isinstance(source, list | int) for source in sources)

        def compute(rows: Any, taking: Any) -> None:
            if plain:
                values = [read(rows) for read in sources]
            else:
                values = [_value(source, rows) for source in sources]
            if open_result:
                state.approximate.add(form.mnemonic)
            result = semantics(domain, form, *values)
            if isinstance(result, list):
                for target, value in zip(targets, result, strict=True):
                    state.write(target, rows, taking, value)
            else:
                state.write(targets[0], rows, taking, result)

        return compute

    def _set(self, rows: Any, mask: Any, counter: int) -> None:
        self.counter[rows] = np.where(mask, counter, self.counter[rows])

    def _meet(self, step: Step, counter: int, rows: Any, mask: Any, taking: Any) -> Any:
        """Park lanes until all members stand here; returns the rows that can go, if any."""
        if taking is None and mask.all() and self._all_named(step, rows):
            self._set(rows, mask, counter)
            self.apart[rows] = False
            return rows, mask, None
        numbers = self.state.indices(rows)
        here = mask | (self.parked[rows] & (self.counter[rows] == counter))
        if step.form.opcode.action in _WHOLE:
            members = self.live[rows]
            wanted = members
        else:
            bits = np.broadcast_to(np.asarray(step.sources[-1](rows)), mask.shape)
            named = (bits[:, :, None] & _BITS[None, None, :]) != 0
            self._check_members(step, numbers, mask, named)
            # Every lane that is here must see all its members here.
            wanted = (named & here[:, :, None]).any(axis=1)
        complete = (~wanted | here).all(axis=1)
        self.counter[rows] = np.where(mask, counter, self.counter[rows])
        self.parked[numbers] = np.where(
            complete[:, None], self.parked[numbers] & ~here, here | self.parked[numbers]
        )
        if not complete.any():
            return None
        if complete.all():
            group, together = rows, here
        else:
            group, together = numbers[complete], here[complete]
        if step.guard is not None:
            true = np.broadcast_to(np.asarray(step.guard(group)) != 0, together.shape)
            taking = together & true
        else:
            taking = together
        return group, together, None if taking.all() else taking

    def _all_named(self, step: Step, rows: Any) -> bool:
        if step.form.opcode.action in _WHOLE:
            return True
        return bool((np.asarray(step.sources[-1](rows)) == _ALL).all())

    def _check_members(self, step: Step, numbers: Any, mask: Any, named: Any) -> None:
        own = named[:, np.arange(32), np.arange(32)]
        if (mask & ~own).any():
            row, lane = (int(index[0]) for index in np.nonzero(mask & ~own))
            raise self.state.fault(
                step, "members", "the member mask does not name the lane", numbers[row], lane
            )
        gone = named & mask[:, :, None] & ~self.live[numbers][:, None, :]
        if gone.any():
            row, lane, other = (int(index[0]) for index in np.nonzero(gone))
            message = f"the member mask names lane {other}, which has exited"
            raise self.state.fault(step, "members", message, numbers[row], lane)

    def _control(self, step: Step, counter: int, rows: Any, mask: Any, taking: Any) -> None:
        match step.form.opcode.action:
            case "branch":
                target = np.where(taking, step.label, counter + 1)
                if self.random and step.guard is not None:
                    self.apart[rows] |= taking.any(axis=1) & (mask & ~taking).any(axis=1)
                self.counter[rows] = np.where(mask, target, self.counter[rows])
            case "return":
                self.live[rows] &= ~taking
                self._set(rows, mask & ~taking, counter + 1)
                self._free()
            case "warp barrier":
                met = self._meet(step, counter, rows, mask, taking)
                if met is not None:
                    group, together, _ = met
                    self._set(group, together, counter + 1)
                    self._order(step, group, together)
            case action:
                self._set(rows, mask, counter + 1)
                self._barrier(step, rows, taking, action == "barrier")

    def _order(self, step: Step, rows: Any, together: Any) -> None:
        if self.state.shadow is None:
            return
        members = np.broadcast_to(np.asarray(step.sources[-1](rows)), together.shape)
        warps = self.state.indices(rows)
        for warp, lanes, named in zip(warps, together, members, strict=True):
            # Some lanes alone do not order the others, nor do two halves that meet in one place.
            others = _BITS[self.live[warp]] & ~np.bitwise_and.reduce(named[lanes])
            if not others.any():
                self.state.shadow.order_lanes(int(warp))

    def _barrier(self, step: Step, rows: Any, taking: Any, wait: bool) -> None:
        shape = taking.shape
        number, *count = (np.broadcast_to(np.asarray(r(rows)), shape) for r in step.sources)
        for index, warp in enumerate(self.state.indices(rows)):
            lanes = taking[index]
            if lanes.any():
                first = int(np.argmax(lanes))
                threads = int(count[0][index, first]) if count else 0
                self.barriers.arrive(
                    step, int(warp), lanes, int(number[index, first]), threads, wait
                )
                if wait:
                    self.blocked[warp] |= lanes
                self._free((int(warp) // self.state.warps, int(number[index, first])))

    def _free(self, only: tuple[int, int] | None = None) -> None:
        for warp, lanes in self.barriers.complete(self.live, only):
            self.blocked[warp] &= ~lanes

    def _ran_out(self, rows: Any, mask: Any) -> MachineFault:
        row, lane = (int(index[0]) for index in np.nonzero(mask))
        warp = self.state.indices(rows)[row]
        return self.state.fault(self.steps[-1], "control", "runs beyond the last line", warp, lane)

    def _stuck(self) -> None:
        """Report a lane that waits for ever."""
        stuck = self.barriers.stuck()
        if stuck:
            step, warp, lane = stuck
            message = "deadlock: waits at a barrier that not all threads reach"
            raise self.state.fault(step, "deadlock", message, warp, lane)
        warp, lane = (int(index[0]) for index in np.nonzero(self.parked))
        step = self.steps[int(self.counter[warp, lane])]
        message = "deadlock: waits for lanes that never come"
        raise self.state.fault(step, "deadlock", message, warp, lane)
