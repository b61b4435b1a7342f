"""Masked attention: which steps are taken, what is read of the mask, which scores are dropped."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tylo.codegen.attention.choose import Request, choose
from tylo.codegen.attention.member import DEPTHS, DTYPES, Member
from tylo.codegen.cache import compile_cached
from tylo.layouts.errors import PtxError
from tylo.proofs.ptx import inprocess
from tylo.proofs.ptx.asynchronous import attention_search
from tylo.proofs.ptx.asynchronous.decisions import ALWAYS, Decisions
from tylo.proofs.ptx.asynchronous.guarded import MINUS_INFINITY, Guarded, Tag
from tylo.proofs.ptx.asynchronous.reasoning import Reasoning
from tylo.proofs.ptx.asynchronous.state import Meeting, State
from tylo.proofs.ptx.asynchronous.terms import Level, Terms
from tylo.proofs.ptx.asynchronous.validate import validate_attention
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.workers import Workers

# A score meets others before it is masked, or is used.
NOT_MASKED = "read before it is written|minus infinity just where|mixed with another value"

MASKED = Member(64, "bf16", 1, 64, 2, mask=True)


def ptx(member: Member) -> str:
    return compile_cached(member.source(), "sm_90a", kernels=[member.entry]).ptx


@pytest.fixture(scope="module")
def text() -> str:
    return ptx(MASKED)


def refused(text: str, member: Member = MASKED) -> str:
    """Why PTX is not accepted: what is wrong, or what is not followed."""
    try:
        found = validate_attention(text, member.plan, "sm_90a", inprocess.solve)
    except PtxError as reason:
        return str(reason)
    return "; ".join(str(verdict) for verdict in found.verdicts if verdict.verdict != "holds")


# Of the group that multiplies: what is found, what is put in its place, what is then said.
FAULTS = {
    "another word of steps": (
        r"(shr\.u32 \t%r\d+, %r\d+, 2;\n\tadd\.s32 \t%r\d+, %r\d+), -2;",
        r"\1, -3;",
        "does not read",
    ),
    "a word too early": (
        r"setp\.lt\.s32 \t(%p\d+, %r\d+), 8;",
        r"setp.lt.s32 \t\1, 4;",
        "comes back elsewhere|different steps|does not read|which steps",
    ),
    "another stride of steps": (r"\+80\];", "+72];", "does not read|which steps"),
    "another stride of rows": (r"\+56\];", "+48];", "does not read|bits of row"),
    "the later row's words": (r"(add\.s32 \t%r\d+, %r\d+), 8;", r"\1, 9;", "does not read"),
    "another bit": (r"and\.b32  \t(%r\d+, %r\d+), 64;", r"and.b32  \t\1, 128;", NOT_MASKED),
    "a bit turned": (
        r"selp\.f32 \t(%f\d+), 0fFF800000, (%f\d+), (%p\d+);",
        r"selp.f32 \t\1, \2, 0fFF800000, \3;",
        NOT_MASKED,
    ),
    "another group's byte": (r"(and\.b32  \t%r\d+, %r\d+), 24;", r"\1, 16;", NOT_MASKED),
    "scores beyond the end": (
        r"(setp\.lt\.s32 \t%p\d+, %r\d+), 10;",
        r"\1, 9;",
        NOT_MASKED,
    ),
    "dropped scores that are finite": (
        r"0fFF800000, (%f\d+), (%p\d+);",
        r"0f00000000, \1, \2;",
        NOT_MASKED,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_refused(text: str, fault: str) -> None:
    pattern, new, message = FAULTS[fault]
    start = text.index("setmaxnreg.inc")
    changed = text[:start] + re.sub(pattern, new, text[start:], count=1)
    assert changed != text
    assert re.search(message, refused(changed))


def test_the_search_finds_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for rows, keys in ((64, 64), (128, 128)):
        stated = attention_search.obligations(rows, keys)
        answers = inprocess.solve([each.script for each in stated])
        assert dict.fromkeys(answers) == {"holds": None}
    # Words one too late, one step more to a word, a step before what is found.
    first, count, found = (
        getattr(attention_search, name) for name in ("first_words", "steps_of_word", "found_step")
    )
    wrong = {
        "first_words": lambda d, tiles, word: first(d, d.add(tiles, d.constant(1, 32), 32), word),
        "steps_of_word": lambda d, at: d.add(count(d, at), d.constant(1, 32), 32),
        "found_step": lambda d, at, word: d.subtract(found(d, at, word), d.constant(1, 32), 32),
    }
    for name, change in wrong.items():
        with monkeypatch.context() as patched:
            patched.setattr(attention_search, name, change)
            stated = attention_search.obligations(64, 64)
            assert "fails" in inprocess.solve([each.script for each in stated])


def test_guarded_values() -> None:
    terms = Terms()
    guarded = Guarded(terms)
    kept, other = (terms.named(label, 1, Level.LANE) for label in ("kept", "other"))
    one, infinite = terms.constant(1, 1), terms.constant(MINUS_INFINITY, 32)
    mine, hers = Tag("a", kept, one), Tag("b", other, one)
    score, next_score = guarded.new(mine), guarded.new(hers)
    right = terms.select(kept, score, infinite, 32)
    decided = Decisions(terms).of
    assert decided(guarded.required(right)) == ALWAYS
    for wrong in (
        score,
        terms.select(other, score, infinite, 32),
        terms.select(kept, infinite, score, 32),
    ):
        assert decided(guarded.required(wrong)) != ALWAYS
    # Scores of two keys, finite values, and values that depend on a score have no tag.
    for mixed in (
        terms.select(kept, score, next_score, 32),
        terms.select(kept, score, terms.constant(0, 32), 32),
        terms.select(terms.extract(score, 31, 1), score, infinite, 32),
        terms.bit_xor(score, terms.constant(1 << 31, 32), 32),
    ):
        assert guarded.within(mixed)
        assert guarded.tag(mixed) is None
    # Ways that meet: of one score it is one still, of two it is lost.
    met = guarded.joined(kept, score, guarded.new(mine))
    assert met is not None
    assert guarded.pure(met) is mine
    assert guarded.joined(kept, score, next_score) is None
    assert guarded.joined(kept, right, terms.fresh(32, Level.LANE)) is None


def test_scores_meet_weights_once_they_are_what_they_have_to_be() -> None:
    terms = Terms()
    reasoning, guarded = Reasoning(terms, []), Guarded(terms)
    meeting = Meeting(reasoning, {"%f1": "f32"}, guarded)
    kept, here = terms.named("kept", 1, Level.LANE), terms.named("way", 1, Level.WARP)
    score = guarded.new(Tag("a", kept, terms.constant(1, 1)))
    infinite, weight = terms.constant(MINUS_INFINITY, 32), terms.fresh(32, Level.LANE)
    decided = reasoning.decisions.of

    def met(held: Expression, where: Expression) -> Expression | None:
        first = State({"%f1": held}, decided(where), "", {})
        second = State({"%f1": weight}, decided(terms.negate(here)), "", {})
        return meeting.registers(first, second).get("%f1")

    dropped = terms.select(kept, score, infinite, 32)
    for held, where in ((dropped, here), (score, terms.bit_and(here, kept, 1))):
        found = met(held, where)
        assert found is not None
        assert not guarded.within(found)
    # What is a score yet stays one, and what was dropped wrongly is lost.
    found = met(score, here)
    assert found is not None
    assert guarded.pure(found) is not None
    assert met(terms.select(kept, infinite, score, 32), here) is None


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", DTYPES)
def test_masked_kernels_hold_by_both_solvers(dtype: str) -> None:
    chosen = dict.fromkeys(
        choose(Request(depth, dtype, length, length, causal=False, mask=True)).member
        for depth in DEPTHS
        for length in range(1, 8193, 64)
    )
    for member in (replace(MASKED, dtype=dtype), *chosen):
        with Workers() as solve:
            found = validate_attention(ptx(member), member.plan, "sm_90a", solve)
        wrong = [str(verdict) for verdict in found.verdicts if verdict.verdict != "holds"]
        assert (member, wrong) == (member, [])
