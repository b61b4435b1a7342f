"""Names for terms where ways meet: one way may have come with the name already."""

from __future__ import annotations

import pytest

from tylo.codegen.attention.member import Member
from tylo.proofs.ptx.asynchronous import attention
from tylo.proofs.ptx.asynchronous.decisions import ALWAYS
from tylo.proofs.ptx.asynchronous.operands import Operands
from tylo.proofs.ptx.asynchronous.progress import Progress
from tylo.proofs.ptx.asynchronous.reasoning import Reasoning
from tylo.proofs.ptx.asynchronous.scene import Scene
from tylo.proofs.ptx.asynchronous.terms import Level
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.parser import parse

EMPTY = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry attention()
{
ret;
}
"""


class Names:
    """``name`` is ``low`` if ``n``, signed, is not negative, else ``high``."""

    def __init__(self) -> None:
        plan = Member(64, "bf16", 1, 64, 2).plan
        self.scene = Scene(attention.launch(plan))
        terms = self.terms = self.scene.terms
        reasoning = Reasoning(terms, [])
        progress = Progress(attention.protocol(plan, self.scene), reasoning)
        self.operands = Operands(self.scene, parse(EMPTY).entry("attention"), progress)
        self.decisions = reasoning.decisions
        self.n, low, high = (terms.named(f"a.{x}", 32, Level.BLOCK) for x in "nlh")
        self.low, self.high = (terms.add(each, terms.constant(1, 32), 32) for each in (low, high))
        self.negative = terms.less(self.n, terms.constant(0, 32), 32, True)
        term = terms.select(self.negative, self.high, self.low, 32)
        self.name = terms.named("a.name", 32, Level.BLOCK)
        terms.stand_for(self.name, term)
        self.scene.define([(self.name, term)])

    def found(self, value: Expression, here: int = ALWAYS) -> Expression:
        # As if the points by which terms are told apart did not tell these.
        self.terms._print[id(value)] = self.terms.fingerprint(self.name)
        return self.operands.recognised(here, value)

    def met(self, condition: Expression, high: Expression, low: Expression) -> Expression:
        return self.terms.select(condition, high, low, 32)


def test_ways_that_meet_with_the_name() -> None:
    on = Names()
    assert on.found(on.met(on.negative, on.high, on.low)) is on.name
    for high, low in ((on.name, on.low), (on.high, on.name)):
        assert on.found(on.met(on.negative, high, low)) is on.name
    positive = on.decisions.of(on.terms.negate(on.negative))
    assert on.found(on.low, positive) is on.name
    assert on.found(on.high, positive) is on.high


@pytest.mark.parametrize("fault", ["other way", "value", "condition", "summand"])
def test_ways_that_meet_with_another_value(fault: str) -> None:
    on = Names()
    positive, one = on.terms.negate(on.negative), on.terms.constant(1, 32)
    value = {
        "other way": on.met(positive, on.high, on.name),
        "value": on.met(on.negative, on.n, on.name),
        "condition": on.met(on.terms.less(on.n, one, 32, True), on.high, on.name),
        "summand": on.met(on.negative, on.high, on.terms.add(on.name, one, 32)),
    }[fault]
    assert on.found(value) is value
