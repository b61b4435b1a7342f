"""Loops that the compiler unrolled: several steps a trip, ways out of the middle, what is left."""

from __future__ import annotations

from functools import partial

import pytest

from ptx_kernels import rows_effect
from ptx_loop_kernels import FOURS, SEQUENTIAL, sequential_effect
from ptx_texts import compiled
from tylo.layouts.errors import PtxError
from tylo.proofs.effects import Effect
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.obligations import obligations
from tylo.proofs.ptx.validate import validate
from tylo.proofs.ptx.workers import Workers


def proven(ptx: str, effect: Effect, label: str = "") -> bool:
    """Whether all obligations with a label hold; unknown is not proven, and gets no patience."""
    stated = [o for o in obligations(ptx, effect) if label in o.label]
    assert stated
    return all(
        o.settled == "holds" or solve([o.linear or o.script], milliseconds=400) == ["holds"]
        for o in reversed(stated)
    )


def test_several_steps_a_trip_hold_under_both_solvers() -> None:
    ptx = compiled(FOURS, "rows")
    assert ptx.count("st.global") == 4
    with Workers() as solve:
        validation = validate(ptx, rows_effect(), solve=solve)
    assert validation.holds, "\n".join(str(v) for v in validation.verdicts if v.verdict != "holds")
    stated = {verdict.obligation.label for verdict in validation.verdicts}
    assert {"store 0: all steps", "store 0: once", "store 0: where"} <= stated


def test_a_loop_and_what_is_left_of_it_hold() -> None:
    ptx = compiled(SEQUENTIAL, "rows")
    assert ptx.count("st.global") == 5
    validation = validate(ptx, sequential_effect(), solve=partial(solve, effort=5_000_000))
    assert validation.holds, "\n".join(str(v) for v in validation.verdicts if v.verdict != "holds")


@pytest.mark.parametrize(
    ("old", "new", "label"),
    [
        ("[%rd22+8], %r22", "[%rd22+8], %r21", "store 0: part 0"),
        ("[%rd22+8], %r22", "[%rd22+12], %r22", "store 0: once"),
        ("[%rd22+8], %r22", "[%rd22+16], %r22", "store 0: where"),
        ("st.global.u32 \t[%rd22+8], %r22;", "", "store 0: all steps"),
        ("add.s64 \t%rd29, %rd29, 4", "add.s64 \t%rd29, %rd29, 8", "store 0: all steps"),
        ("add.s64 \t%rd28, %rd28, 4", "add.s64 \t%rd28, %rd28, 0", "store 0: part 0"),
        ("and.b32  \t%r28, %r12, 3", "and.b32  \t%r28, %r12, 1", ""),
        ("setp.lt.u32 \t%p4, %r18, 3", "setp.lt.u32 \t%p4, %r18, 4", ""),
    ],
)
def test_wrong_ones_fail(old: str, new: str, label: str) -> None:
    ptx = compiled(SEQUENTIAL, "rows")
    assert ptx.count(old) == 1, ptx
    assert not proven(ptx.replace(old, new), sequential_effect(), label)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add.s32 \t%r38, %r38, 128", "add.s32 \t%r38, %r38, 160"),
        ("add.s32 \t%r38, %r38, 128", "add.s32 \t%r38, %r38, 96"),
        ("setp.ge.u32 \t%p5, %r5, %r8", "setp.gt.u32 \t%p5, %r5, %r8"),
        ("add.s32 \t%r5, %r38, 64", "add.s32 \t%r5, %r38, 96"),
    ],
)
def test_wrong_trips_and_ways_out_fail(old: str, new: str) -> None:
    ptx = compiled(FOURS, "rows")
    assert ptx.count(old) == 1, ptx
    assert not proven(ptx.replace(old, new), rows_effect())


def test_a_way_out_that_depends_on_memory_is_refused() -> None:
    ptx = compiled(FOURS, "rows")
    with pytest.raises(PtxError, match="depends on memory"):
        validate(ptx.replace("%p5, %r5, %r8", "%p5, %r20, %r8"), rows_effect())
