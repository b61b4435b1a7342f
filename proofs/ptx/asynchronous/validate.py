"""Validation of an attention kernel's PTX: that every thread keeps to the protocol of its plan.

`validate_attention` walks the PTX and states everything that it relied on: the operands of each
step, the way that each branch goes, the invariants of loops, that no result is unspecified; what
the plan has to be, and the numbers of the work. Solvers are asked about each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx import inprocess
from tylo.proofs.ptx.asynchronous import attention, attention_numbers, attention_search, layout
from tylo.proofs.ptx.asynchronous.departure import Departure
from tylo.proofs.ptx.asynchronous.progress import Statement
from tylo.proofs.ptx.asynchronous.scene import Scene
from tylo.proofs.ptx.asynchronous.walk import Walk
from tylo.proofs.ptx.failures import Failure, Solve
from tylo.proofs.ptx.parser import parse
from tylo.proofs.ptx.validate import Stated, Validation, Verdict
from tylo.proofs.specifications.attention_plan import Plan


@dataclass(frozen=True, slots=True)
class _Asked:
    """An obligation, and the script that decides it; or its verdict, where none is needed."""

    stated: Stated
    script: str
    verdict: str = ""
    found: str = ""


def validate_attention(ptx_text: str, plan: Plan, architecture: str, solve: Solve) -> Validation:
    """The verdict on every obligation; on the first step alone that is plainly not the protocol's,
    if there is one. `PtxError` for what the walk does not follow.

    The walk asks z3 as it goes: where that is not installed, one verdict says so.
    """
    if not inprocess.installed():
        return Validation(None, (Verdict(Stated("all roles", 0, "z3 walks them"), "missing"),))
    try:
        asked = [*_layout(plan), *_numbers(plan), *_walked(ptx_text, plan, architecture)]
    except Departure as departure:
        at = departure.instruction
        stated = Stated("each step in its turn", at.line, at.text)
        return Validation(None, (Verdict(stated, "fails", Failure(-1, -1, departure.reason)),))
    except RecursionError:
        raise PtxError("values that are nested too deeply") from None
    scripts = list(dict.fromkeys(each.script for each in asked if each.script))
    answers = dict(zip(scripts, solve(scripts), strict=True))
    return Validation(None, tuple(_verdict(each, answers) for each in asked))


def _verdict(asked: _Asked, answers: Mapping[str, str]) -> Verdict:
    verdict = asked.verdict or answers[asked.script]
    failure = Failure(-1, -1, asked.found or "another value") if verdict == "fails" else None
    return Verdict(asked.stated, verdict, failure)


def _layout(plan: Plan) -> Iterator[_Asked]:
    for label, fault in layout.facts(plan):
        stated = Stated(f"plan: {label}", 0, "the plan")
        yield _Asked(stated, "", "fails" if fault else "holds", fault)


def _numbers(plan: Plan) -> Iterator[_Asked]:
    searched = attention_search.obligations(plan.rows, plan.keys) if plan.mask else []
    for each in (*attention_numbers.obligations(plan.rows, plan.keys), *searched):
        yield _Asked(Stated(f"work: {each.label}", 0, "the work"), each.script)


def _walked(ptx_text: str, plan: Plan, architecture: str) -> Iterator[_Asked]:
    module = parse(ptx_text, partial_loads=True)
    scene = Scene(attention.launch(plan))
    scene.enter(module, architecture)
    # Addresses and coordinates go by slots, tiles, and keys of tiles.
    factors = (1, 2, 8, plan.keys)
    walk = Walk(module, scene, attention.protocol(plan, scene), factors)
    walk.carry_out()
    for group in _grouped(walk):
        yield _decided(walk, group)
    for script, at in walk.reasoning.stated.items():
        yield _Asked(Stated("way and invariants", at.line, at.text), script)


def _grouped(walk: Walk) -> Iterator[Statement]:
    """Statements as they were made, but those about scores that one way uses as one, if it holds:
    there are dozens at each place.
    """
    scores: dict[int, list[Statement]] = {}
    for statement in walk.progress.statements:
        if statement.label.startswith("score "):
            scores.setdefault(statement.here, []).append(statement)
        else:
            yield statement
    for here, group in scores.items():
        conditions = {id(each.condition): each.condition for each in group}
        whole = Statement(
            "scores are minus infinity just where they are dropped",
            group[0].instruction,
            here,
            walk.reasoning.terms.all_of(conditions.values()),
        )
        if walk.reasoning.follows(here, whole.condition):
            yield whole
        else:
            yield from group


def _decided(walk: Walk, statement: Statement) -> _Asked:
    """The script that decides a statement: the weakest that does, else the strongest."""
    at = statement.instruction
    stated = Stated(statement.label, at.line, at.text)
    text = ""
    for text in walk.reasoning.questions(statement.here, statement.condition):
        if text == "":
            return _Asked(stated, "", "holds")
        if walk.reasoning.answer(text) == "holds":
            break
    return _Asked(stated, text)
