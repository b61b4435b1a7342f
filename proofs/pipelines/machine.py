"""The transition system of a schedule: its states, and the steps from each.

>>> from tylo.proofs.pipelines.schedule import attention_schedule
>>> machine = Machine(attention_schedule(1, 1), trips=(1,), one_item=False, per_group=1)
>>> [label for label, _ in machine.successors(machine.start())]
['producer: wait k_empty[k] for the tile before']

`explore` visits them all and says what may go wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tylo.proofs.pipelines.schedule import (
    WARPS_PER_GROUP,
    Advance,
    Arrive,
    Await,
    Compute,
    Copy,
    Expect,
    Multiply,
    PassTurn,
    Schedule,
    TakeTurn,
    Wait,
)

# The questions between sections, as steps: is there another item of work, and another tile of it?
ITEM, TILE, LEAVE = "another item?", "another tile?", "leave"


@dataclass(frozen=True)
class Wrong(Exception):
    """A step that must not happen."""

    message: str


class Machine:
    """The transition system of one schedule. A state is a tuple of

    - per agent: place in its program, answers read, one counter per ring, products under way,
      whether it is waiting for its turn, and whether it has it;
    - per barrier and slot: parity, arrivals to come, copies to come;
    - per ring and slot: tile held (-1: none), whether wholly, and who has still to read it;
    - per group: arrivals at its named barrier; whose turn is next; the answers given so far.
    """

    def __init__(
        self, schedule: Schedule, trips: Sequence[int] | None, one_item: bool, per_group: int
    ) -> None:
        self.schedule, self.per_group = schedule, per_group
        self.trips, self.one_item = trips, one_item
        self.rings = {ring.name: number for number, ring in enumerate(schedule.rings)}
        self.slots = [ring.slots for ring in schedule.rings]
        self.barriers = {each.name: number for number, each in enumerate(schedule.barriers)}
        self.weight = WARPS_PER_GROUP // per_group
        self.groups: list[int | None] = [None]
        self.programs = [_flat(schedule, "producer")]
        for group in range(schedule.groups):
            for _ in range(per_group):
                self.groups.append(group)
                self.programs.append(_flat(schedule, f"group {group}"))
        self.names = ["producer"] + [
            f"group {group}" + (f" part {number % per_group}" if per_group > 1 else "")
            for number, group in enumerate(self.groups[1:])
        ]
        # What does not depend on the state, worked out once for each place of each program.
        self.labels = [
            [f"{name}: {step}" for step, _ in program]
            for name, program in zip(self.names, self.programs, strict=True)
        ]
        self.questions = [
            {place for place, (step, _) in enumerate(program) if step in (ITEM, TILE)}
            for program in self.programs
        ]
        self.meets = [[self._meets(step) for step, _ in program] for program in self.programs]
        self.answers = _answers(trips)
        self.everyone = sum(1 << number for number in range(1, len(self.programs)))

    def start(self) -> Any:
        """Nobody has moved; every barrier is fresh, every slot empty."""
        agents = tuple((0, 0, (0,) * len(self.slots), (), False, False) for _ in self.programs)
        barriers = tuple(
            ((0, each.arrivals, 0),) * self.schedule.ring(each.ring).slots
            for each in self.schedule.barriers
        )
        held = tuple(((-1, True, 0),) * slots for slots in self.slots)
        groups = (0,) * self.schedule.groups
        return self._all_settled((agents, barriers, held, groups, 0, self.answers))

    def done(self, state: Any) -> bool:
        """Whether everyone has left."""
        return all(agent[0] < 0 for agent in state[0])

    def stuck(self, state: Any) -> str:
        """Who is waiting for what."""
        return ", ".join(
            f"{name} at {program[agent[0]][0]!s}"
            for name, program, agent in zip(self.names, self.programs, state[0], strict=True)
            if agent[0] >= 0
        )

    def successors(self, state: Any) -> Iterator[tuple[str, Any]]:
        """Steps that someone may take, with the state after each or what is wrong with it.

        Orders that make no difference are not told apart: a copy arrives just before a step that
        its arrival could matter to, one on the same barrier or the same slot.
        """
        for number, agent in enumerate(state[0]):
            if agent[0] in self.questions[number]:
                yield from self._question(state, number)
                return
        for ring, slots in enumerate(state[2]):
            for slot, (tile, whole, _) in enumerate(slots):
                if not whole and self._matters(state, ring, slot):
                    name = self.schedule.rings[ring].name
                    yield f"{name} tile {tile} arrives", self._landed(state, ring, slot)
        for number, agent in enumerate(state[0]):
            if agent[0] >= 0 and not agent[4]:
                step, _ = self.programs[number][agent[0]]
                if not isinstance(step, Wait) or self._open(state, number, step):
                    yield self.labels[number][agent[0]], self._try(state, number, step)

    def _matters(self, state: Any, ring: int, slot: int) -> bool:
        """Whether someone's next step meets the slot, or its full barrier."""
        for meets, (place, _, counters, _, waiting, _) in zip(self.meets, state[0], strict=True):
            if place < 0 or waiting:
                continue
            met = meets[place]
            if met is None or (ring in met and counters[ring] % self.slots[ring] == slot):
                return True
        return False

    def _meets(self, step: Any) -> tuple[int, ...] | None:
        """The rings whose slot, or whose full barrier, a step meets; None: every slot of all."""
        match step:
            case Multiply(_, names) | Compute(_, names):
                return tuple(self.rings[name] for name in names)
            case Copy(name):
                return (self.rings[name],)
            case Wait(barrier, _) | Expect(barrier, _) | Arrive(barrier, _):
                return tuple(n for name, n in self.rings.items() if barrier == f"{name}_full")
            case _:
                return None if step == LEAVE else ()

    def _try(self, state: Any, number: int, step: Any) -> Any:
        try:
            reached = self._step(state, number, step)
        except Wrong as wrong:
            return wrong
        settled = self._settled(reached, number)
        # Only who is behind, and the tiles that slots hold, decide what is relative to what.
        if settled is reached and not isinstance(step, Copy) and step != LEAVE:
            return reached
        return self._relative(settled)

    def _open(self, state: Any, number: int, step: Wait) -> bool:
        ring = self.rings[step.ring]
        tile = state[0][number][2][ring]
        slots = self.slots[ring]
        parity = tile // slots % 2 ^ step.before
        return bool(state[1][self.barriers[step.barrier]][tile % slots][0] != parity)

    def _question(self, state: Any, number: int) -> Iterator[tuple[str, Any]]:
        """The first to come to a question answers it either way."""
        step = self.programs[number][state[0][number][0]][0]
        over = self.trips is not None or (self.one_item and step == ITEM and any(state[0][0][2]))
        for answer in (0,) if over else (0, 1):
            told = (*state[:-1], (*state[-1], answer))
            label = f"{self.names[number]}: {step} {'yes' if answer else 'no'}"
            yield label, self._relative(self._all_settled(told))

    def _all_settled(self, state: Any) -> Any:
        for number in range(len(self.programs)):
            state = self._settled(state, number)
        return state

    def _settled(self, state: Any, number: int) -> Any:
        """After an agent's steps on its own state alone, which nobody else can tell."""
        agents, *shared, answers = state
        place, read, counters, *rest = agents[number]
        program = self.programs[number]
        while place >= 0:
            step, after = program[place]
            if isinstance(step, Advance):
                ring = self.rings[step.ring]
                counters = _with(counters, ring, counters[ring] + 1)
            elif isinstance(step, str):
                if step == LEAVE or read == len(answers):
                    break
                after, read = after[answers[read]], read + 1
            elif not isinstance(step, Compute) or step.rings:
                break
            place = after
        if (place, read) == agents[number][:2]:
            return state
        return (_with(agents, number, (place, read, counters, *rest)), *shared, answers)

    def _step(self, state: Any, number: int, step: Any) -> Any:
        agents, barriers, held, arrived, turn, answers = state
        place, read, counters, products, _, inside = agents[number]
        waiting = False
        after = self.programs[number][place][1]
        match step:
            case Wait():
                pass
            case Expect(barrier, ring):
                barriers = self._arrive(barriers, barrier, counters[self.rings[ring]], 1, 1)
            case Arrive(barrier, ring):
                tile = counters[self.rings[ring]]
                barriers = self._arrive(barriers, barrier, tile, self.weight, 0)
            case Copy(name):
                held = self._refilled(held, agents, self.rings[name], counters)
            case Multiply(_, rings):
                read_slots = tuple(self._readable(held, self.rings[r], counters) for r in rings)
                products = (*products, read_slots)
            case Compute(_, rings):
                for name in rings:
                    self._readable(held, self.rings[name], counters)
            case Await(pending):
                done = products[: max(0, len(products) - pending)]
                products = products[len(done) :]
                for ring, slot in (each for product in done for each in product):
                    tile, whole, readers = held[ring][slot]
                    kept = (tile, whole, readers & ~(1 << number))
                    held = _with(held, ring, _with(held[ring], slot, kept))
            case TakeTurn():
                waiting = True
            case PassTurn():
                inside = inside and step.own
            case _:  # leave
                if products:
                    raise Wrong("leaves with a product under way")
                if number == 0 or not any(not whole for ring in held for _, whole, _ in ring):
                    after = -1
                else:
                    raise Wrong("leaves with a copy under way")
        agents = _with(agents, number, (after, read, counters, products, waiting, inside))
        if isinstance(step, TakeTurn | PassTurn):
            group = self.groups[number]
            assert group is not None
            at = group if isinstance(step, TakeTurn) or step.own else (group + 1) % len(arrived)
            agents, arrived, turn = self._turned(agents, arrived, turn, at)
        return agents, barriers, held, arrived, turn, answers

    def _turned(self, agents: Any, arrived: Any, turn: int, at: int) -> Any:
        """One more arrival at a named barrier, which opens when two groups have arrived."""
        arrived = _with(arrived, at, arrived[at] + 1)
        if arrived[at] < 2 * self.per_group:
            return agents, arrived, turn
        own = [number for number, group in enumerate(self.groups) if group == at]
        if not all(agents[number][4] for number in own):
            raise Wrong(f"the turn of group {at} is passed twice before it is taken")
        others = [n for n, group in enumerate(self.groups) if group != at and agents[n][5]]
        if others or turn != at:
            raise Wrong(f"group {at} takes its turn before the group before it is through")
        for number in own:
            agents = _with(agents, number, (*agents[number][:4], False, True))
        return agents, _with(arrived, at, 0), (at + 1) % len(arrived)

    def _arrive(self, barriers: Any, name: str, tile: int, arrivals: int, copies: int) -> Any:
        barrier = self.barriers[name]
        ring = self.rings[self.schedule.barriers[barrier].ring]
        slot = tile % self.slots[ring]
        parity, missing, coming = barriers[barrier][slot]
        if arrivals > missing:
            raise Wrong(f"{name}[{slot}] gets more arrivals than its phase has")
        after = self._phase(barrier, parity, missing - arrivals, coming + copies)
        return _with(barriers, barrier, _with(barriers[barrier], slot, after))

    def _phase(self, barrier: int, parity: int, missing: int, coming: int) -> Any:
        if missing or coming:
            return parity, missing, coming
        return 1 - parity, self.schedule.barriers[barrier].arrivals, 0

    def _landed(self, state: Any, ring: int, slot: int) -> Any:
        agents, barriers, held, *rest = state
        tile, _, readers = held[ring][slot]
        barrier = self.barriers[f"{self.schedule.rings[ring].name}_full"]
        parity, missing, coming = barriers[barrier][slot]
        after = self._phase(barrier, parity, missing, coming - 1)
        return (
            agents,
            _with(barriers, barrier, _with(barriers[barrier], slot, after)),
            _with(held, ring, _with(held[ring], slot, (tile, True, readers))),
            *rest,
        )

    def _refilled(self, held: Any, agents: Any, ring: int, counters: Any) -> Any:
        slot = counters[ring] % self.slots[ring]
        tile, whole, readers = held[ring][slot]
        where = f"slot {slot} of {self.schedule.rings[ring].name}"
        if not whole:
            raise Wrong(f"{where} is refilled while it is being filled")
        if any((ring, slot) in product for agent in agents for product in agent[3]):
            raise Wrong(f"{where} is refilled while it is being read")
        if readers:
            raise Wrong(f"{where} is refilled before everyone has read tile {tile}")
        return _with(held, ring, _with(held[ring], slot, (counters[ring], False, self.everyone)))

    def _readable(self, held: Any, ring: int, counters: Any) -> tuple[int, int]:
        wanted = counters[ring]
        slot = wanted % self.slots[ring]
        tile, whole, _ = held[ring][slot]
        if not whole or tile != wanted:
            name = self.schedule.rings[ring].name
            holds = "nothing" if tile < 0 else f"{'' if whole else 'a part of '}tile {tile}"
            raise Wrong(f"slot {slot} of {name} is read for tile {wanted} and holds {holds}")
        return ring, slot

    def _relative(self, state: Any) -> Any:
        """Counters from the last multiple of twice the slots that everyone has passed."""
        if self.trips is not None:
            return state
        agents, barriers, held, arrived, turn, answers = state
        read = min([agent[1] for agent in agents if agent[0] >= 0], default=len(answers))
        bases = []
        for ring, slots in enumerate(self.slots):
            least = min([agent[2][ring] for agent in agents])
            if least >= 2 * slots:
                least = min([least, *(tile for tile, _, _ in held[ring] if tile >= 0)])
            bases.append(least // (2 * slots) * 2 * slots)
        if not read and not any(bases):
            return state
        agents = tuple(
            (place, seen - read, tuple(c - b for c, b in zip(counters, bases, strict=True)), *rest)
            for place, seen, counters, *rest in agents
        )
        held = tuple(
            tuple((tile - base if tile >= 0 else -1, whole, who) for tile, whole, who in ring)
            for ring, base in zip(held, bases, strict=True)
        )
        return agents, barriers, held, arrived, turn, answers[read:]


def _with(items: Any, place: int, item: Any) -> Any:
    return (*items[:place], item, *items[place + 1 :])


def _answers(trips: Sequence[int] | None) -> tuple[int, ...]:
    """Fixed items and tiles as answers: another item, then another tile as often as there is."""
    return tuple(answer for tiles in trips or () if tiles for answer in (1, *(1,) * (tiles - 1), 0))


def _flat(schedule: Schedule, role: str) -> list[tuple[Any, Any]]:
    """Steps with the place after them; questions with the places after no and yes."""
    sections = dict(schedule.program(role).sections())
    order: list[Any] = []
    begins: dict[str, int] = {}
    for section, steps in sections.items():
        begins[section] = len(order)
        order += {"first": [ITEM], "further": [TILE]}.get(section, [])
        order += steps
    order.append(LEAVE)
    after: list[Any] = [place + 1 for place in range(len(order))]
    item, tile = begins["first"], begins["further"]
    after[item] = (begins["end"], item + 1)
    after[tile] = (begins["last"], tile + 1)
    after[begins["last"] - 1] = tile
    after[begins["end"] - 1] = item
    return list(zip(order, after, strict=True))
