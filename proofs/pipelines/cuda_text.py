"""A schedule as CUDA lines, and CUDA lines as a schedule.

Each step is one line of its own form, so that the barrier code of a kernel can be read back from
its text and explored as it stands there, whoever wrote it:

>>> from tylo.proofs.pipelines.schedule import Await, Wait
>>> line(Wait("k_empty", "k", before=True))
'wait_before(k_empty, k);'
>>> step_of("wait_before(k_empty, k);") == Wait("k_empty", "k", before=True)
True

The setup says how many slots and arrivals each barrier has; sections stand between comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tylo.layouts.errors import ClaimError
from tylo.proofs.pipelines.schedule import (
    Advance,
    Arrive,
    Await,
    Barrier,
    Compute,
    Copy,
    Expect,
    Multiply,
    PassTurn,
    Program,
    Ring,
    Schedule,
    Step,
    TakeTurn,
    Wait,
)

TURN_THREADS = 256
SECTIONS = ("begin", "first", "further", "last", "end")
_NAME = r"(\w+)"

# What arrives after the weights have been computed names them, so that no compiler moves it ahead.
_AFTER: Mapping[str, str] = MappingProxyType({"k_empty": "after_weights"})


def line(step: Step, slots: Mapping[str, int] = MappingProxyType({})) -> str:
    """One step as a statement; `slots` are those of each ring."""
    match step:
        case Wait(barrier, ring, before):
            return f"wait{'_before' if before else ''}({barrier}, {ring});"
        case Expect(barrier, ring):
            return f"expect({barrier}, {ring}, {ring}_bytes);"
        case Copy(ring):
            return f"copy_{ring}({ring});"
        case Arrive(barrier, ring):
            return f"arrive({barrier}, {ring}, who.lane, {_AFTER.get(barrier, '0u')});"
        case Multiply(product, rings):
            return f"multiply_{product}({', '.join(rings)});"
        case Await(pending):
            return f"await_products<{pending}>();"
        case TakeTurn():
            return f"named_wait(own_turn, {TURN_THREADS}u);"
        case PassTurn(own):
            return f"named_arrive({'own' if own else 'next'}_turn, {TURN_THREADS}u);"
        case Advance(ring):
            return f"advance<{slots[ring]}u>({ring});"
        case Compute(what, rings):
            return f"compute_{what.replace(' ', '_')}({', '.join(rings)});"


_FORMS: tuple[tuple[str, object], ...] = (
    (rf"wait\({_NAME}, {_NAME}\);", lambda m: Wait(m[1], m[2])),
    (rf"wait_before\({_NAME}, {_NAME}\);", lambda m: Wait(m[1], m[2], True)),
    (rf"expect\({_NAME}, {_NAME}, {_NAME}_bytes\);", lambda m: Expect(m[1], m[2])),
    (rf"copy_{_NAME}\(\w+\);", lambda m: Copy(m[1])),
    (rf"arrive\({_NAME}, {_NAME}, who\.lane, \w+\);", lambda m: Arrive(m[1], m[2])),
    (r"multiply_(\w+)\(([\w, ]+)\);", lambda m: Multiply(m[1], tuple(m[2].split(", ")))),
    (r"await_products<(\d+)>\(\);", lambda m: Await(int(m[1]))),
    (r"named_wait\(own_turn, 256u\);", lambda m: TakeTurn()),
    (r"named_arrive\((own|next)_turn, 256u\);", lambda m: PassTurn(m[1] == "own")),
    (rf"advance<\d+u>\({_NAME}\);", lambda m: Advance(m[1])),
    (
        r"compute_(\w+)\(([\w, ]*)\);",
        lambda m: Compute(m[1].replace("_", " "), tuple(filter(None, m[2].split(", ")))),
    ),
)


def step_of(text: str) -> Step | None:
    """The step that a line is, or None for a line that is none."""
    for form, step in _FORMS:
        if match := re.fullmatch(form, text.strip()):
            return step(match)  # type: ignore[operator, no-any-return]
    return None


def setup_lines(schedule: Schedule) -> list[str]:
    """Barriers as they are made, before any role begins."""
    return [
        f"make_barriers({each.name}, {schedule.ring(each.ring).slots}u, {each.arrivals}u);"
        for each in schedule.barriers
    ]


def section_lines(schedule: Schedule, role: str, section: str) -> list[str]:
    """One section of a role between its comments. All groups share one text, told apart by number.

    Raises `ClaimError` where the groups' sections differ in more than what only one of them does.
    """
    slots = {ring.name: ring.slots for ring in schedule.rings}
    head = [f"// {role} {section}"]
    if role == "producer":
        steps = dict(schedule.program(role).sections())[section]
        return [*head, *(line(step, slots) for step in steps), "// -"]
    groups = [
        dict(schedule.program(f"group {n}").sections())[section] for n in range(schedule.groups)
    ]
    if all(steps == groups[0] for steps in groups):
        return [*head, *(line(step, slots) for step in groups[0]), "// -"]
    lines = []
    for number, steps in enumerate(groups):
        lines += [f"if (group == {number}u) {line(step, slots)}" for step in steps]
    return [*head, *lines, "// -"]


def read_schedule(cuda: str, groups: int) -> Schedule:
    """The schedule that a kernel's text has, for so many consumer groups.

    Raises `ClaimError` for a section that is missing, a line in one that is no step, and a ring
    whose slots are counted differently from how its barriers were made.
    """
    made = re.findall(r"make_barriers\((\w+), (\d+)u, (\d+)u\);", cuda)
    slots: dict[str, int] = {}
    for name, count, _ in made:
        if slots.setdefault(name[0], int(count)) != int(count):
            raise ClaimError(
                f"the barriers of ring {name[0]} are made for {slots[name[0]]} and {count} slots",
                hint="every barrier of a ring has the ring's slots",
            )
    for count, name in re.findall(r"advance<(\d+)u>\((\w+)\);", cuda):
        if slots.get(name) != int(count):
            raise ClaimError(
                f"ring {name} goes through {count} slots, its barriers are made for "
                f"{slots.get(name, 'none')}",
                hint="advance over as many slots as there are",
            )
    return Schedule(
        groups=groups,
        rings=tuple(Ring(name, count) for name, count in slots.items()),
        barriers=tuple(Barrier(name, name[0], int(count)) for name, _, count in made),
        programs=(
            Program("producer", *(tuple(_steps(cuda, "producer", s, None)) for s in SECTIONS)),
            *(
                Program(f"group {n}", *(tuple(_steps(cuda, "consumer", s, n)) for s in SECTIONS))
                for n in range(groups)
            ),
        ),
    )


def _steps(cuda: str, role: str, section: str, group: int | None) -> Iterator[Step]:
    found = re.findall(rf"// {role} {section}\n(.*?)// -\n", cuda, re.DOTALL)
    if len(found) != 1:
        if not found and section in ("begin", "end"):
            return
        raise ClaimError(
            f"section {section!r} of the {role} is there {len(found)} times",
            hint="each section stands once, between its comments",
        )
    for text in filter(None, map(str.strip, found[0].splitlines())):
        own = re.fullmatch(r"if \(group == (\d+)u\) (.*)", text)
        if own and int(own[1]) != group:
            continue
        step = step_of(own[2] if own else text)
        if step is None:
            raise ClaimError(
                f"{text!r} in section {section!r} of the {role} is no step",
                hint="barrier sections hold steps of the schedule alone",
            )
        yield step
