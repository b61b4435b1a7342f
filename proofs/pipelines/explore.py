"""All that can happen under a schedule: every state of a kernel's barriers, for any tile count.

The producer and the warps of every group take steps in any order; a copy that was started may
complete at any later moment. A state is where everyone is, what each slot holds, and the phase,
arrivals and bytes of every barrier. `explore` visits all of them, and refuses the first that is
wrong, with a shortest way to it:

- a slot is refilled while it is being filled, is being read, or before every consumer has read it;
- a product reads a slot that does not hold the tile it is for, wholly;
- a barrier gets more arrivals than its phase has, or a wait stays shut for ever (deadlock);
- groups start products out of turn, or two at once;
- someone leaves with a copy or a product under way.

**Any number of tiles.** Nobody fixes how many tiles an item of work has, or how many items there
are: whoever comes first to the question decides, and the others follow. Ring counters are kept
relative to a multiple of twice the slots, which changes neither slots nor parities. If then the
graph closes, its finitely many states stand for every run of every length: this is the induction.

>>> from tylo.proofs.pipelines.schedule import attention_schedule
>>> explore(attention_schedule(groups=1, stages=1))
Exploration(states=933, transitions=1519)

`trips` fixes items and their tiles instead, and then nothing is relative.

>>> explore(attention_schedule(groups=1, stages=1), trips=(3, 1)).states
221

What is not modelled: the order in which memory becomes visible (an mbarrier's completion releases,
a wait acquires: PTX ISA, "Memory Consistency Model"), and that a step is one instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import ClaimError, Undecided
from tylo.proofs.pipelines.machine import Machine, Wrong
from tylo.proofs.pipelines.schedule import Schedule

MOST_STATES = 2_000_000


@dataclass(frozen=True)
class Exploration:
    """How many states there are, and steps between them: none of them is wrong."""

    states: int
    transitions: int


def explore(
    schedule: Schedule,
    *,
    trips: Sequence[int] | None = None,
    one_item: bool = False,
    agents_per_group: int = 1,
    most_states: int = MOST_STATES,
) -> Exploration:
    """Visit every state; `ClaimError` with a shortest trace as witness for the first wrong one.

    `one_item` stops after one item, of any number of tiles. A group is one agent, or as many as
    `agents_per_group` (1, 2 or 4), its warps apart. Raises `Undecided` beyond `most_states`.
    """
    machine = Machine(schedule, trips, one_item, agents_per_group)
    start = machine.start()
    parents: dict[Any, tuple[Any, str] | None] = {start: None}
    frontier, transitions = [start], 0
    while frontier:
        following = []
        for state in frontier:
            moved = False
            for label, reached in machine.successors(state):
                moved = True
                transitions += 1
                if isinstance(reached, Wrong):
                    raise _refused(reached.message, parents, state, label)
                if reached not in parents:
                    parents[reached] = (state, label)
                    following.append(reached)
            if not moved and not machine.done(state):
                raise _refused(f"deadlock: {machine.stuck(state)}", parents, state, "")
            if len(parents) > most_states:
                raise Undecided(
                    f"more than {most_states} states", hint="raise most_states, or take fewer slots"
                )
        frontier = following
    return Exploration(len(parents), transitions)


def _refused(message: str, parents: Any, state: Any, label: str) -> ClaimError:
    trace = [label] if label else []
    while (back := parents[state]) is not None:
        state, before = back
        trace.append(before)
    return ClaimError(
        message, hint="follow the steps of the witness", witness="; ".join(reversed(trace))
    )
