"""One kernel of every kind that the proof covers, right and in several wrong versions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptx_kernels import KINDS, SOFTMAX, columns, softmax_effect, sx
from ptx_texts import compiled
from tylo.layouts.errors import ClaimError, PtxError
from tylo.proofs.effects import Part, Source, computed, effect_from_json, effect_to_json, uncovered
from tylo.proofs.ptx.validate import Validation, validate
from tylo.proofs.ptx.workers import Workers


def labels(validation: Validation) -> set[str]:
    return {verdict.obligation.label for verdict in validation.failures}


@pytest.mark.parametrize("kind", KINDS)
def test_right_kernels_hold_under_both_solvers(kind: str) -> None:
    source, effect = KINDS[kind]
    assert effect_from_json(effect_to_json(effect)) == effect
    with Workers() as solve:
        validation = validate(compiled(source, kind), effect, solve=solve)
    assert validation.holds, "\n".join(str(v) for v in validation.verdicts if v.verdict != "holds")


@pytest.mark.parametrize("architecture", ["sm_80", "sm_120"])
@pytest.mark.parametrize("kind", ["rows", "lanes", "swizzled"])
def test_right_kernels_hold_on_other_architectures(kind: str, architecture: str) -> None:
    source, effect = KINDS[kind]
    assert validate(compiled(source, kind, architecture), effect).holds


@pytest.mark.parametrize(
    ("kind", "old", "new", "label", "thread"),
    [
        ("rows", "c = lane", "c = lane + 1", "store 0: address", 0),
        ("rows", "c += 32", "c += 64", "store 0: address", 0),
        ("rows", "x[row * sx + c]", "x[row * sx + (c ^ (lane == 5))]", "store 0: part 0", 5),
        ("lanes", "m < 4", "m < 2", "store 0: part 0", None),
        ("lanes", "v[i] : v[i | m], m", "v[i] : v[i | m], m ^ 16", "store 0: part 0", None),
        ("lanes", "lane & m;", "(lane & m) && lane != 6;", "store 0: part 0", 6),
        ("padded", "  __syncthreads();\n", "", "shared: no race", 1),
        ("padded", "tile[32 * 33]", "tile[32 * 33 - 9]", "shared bounds", 248),
        ("padded", "tile[c * 33", "tile[c * 33 % 1000", "shared: written", None),
        ("swizzled", "((r + i) ^ c)", "((r + i) ^ c ^ 1)", "store 0: part 0", None),
        ("swizzled", "(c ^ (r + i))", "(c | (r + i))", "shared: no race", None),
        ("softmax", "k < columns ?", "k <= columns ?", "load 0: bounds", None),
        ("softmax", "from[k]", "from[k + 1]", "load 0: bounds", None),
        ("softmax", "= x + row * sx", "= x + (row / 2) * sx", "store 0: origin", None),
        ("softmax", "if (row >= rows)", "if (row >= rows || lane > 9)", "converged", 0),
        ("softmax", "whole, d)", "whole, d, 16)", None, None),
    ],
)
def test_wrong_kernels_fail_and_name_the_thread(
    kind: str, old: str, new: str, label: str | None, thread: int | None
) -> None:
    source, effect = KINDS[kind]
    assert source.count(old) >= 1, old
    ptx = compiled(source.replace(old, new), kind)
    validation = validate(ptx, effect)
    if label is None:
        # The value is another one, made of the same elements: that is what is not covered.
        assert validation.holds
        return
    assert label in labels(validation), list(map(str, validation.failures))
    verdict = next(v for v in validation.failures if v.obligation.label == label)
    line = ptx.splitlines()[verdict.obligation.line - 1]
    assert verdict.obligation.text.split()[0] in line or ".entry" in verdict.obligation.text
    assert verdict.failure is not None
    assert thread is None or verdict.failure.thread == thread, str(verdict)


@pytest.mark.parametrize(
    ("kind", "old", "new", "message"),
    [
        ("rows", "c < columns;", "c <= columns;", "ends after another number of steps"),
        ("lanes", "__shfl_xor_sync(~0u", "__shfl_xor_sync(0xffffu", "a part of a warp"),
        ("lanes", "v[i | m], m)", "v[i | m], v[i])", "a lane that depends on memory"),
        ("padded", "__syncthreads", "if (r < 4) __syncthreads", "a barrier where threads part"),
        ("padded", "tile[c * 33", "tile[x[c] % 32 * 33", "an address that depends on memory"),
    ],
)
def test_what_is_not_covered_is_refused_with_its_line(
    kind: str, old: str, new: str, message: str
) -> None:
    source, effect = KINDS[kind]
    assert old in source
    with pytest.raises(PtxError, match=message) as refusal:
        validate(compiled(source.replace(old, new), kind), effect)
    assert "line " in str(refusal.value)


def test_what_flows_into_a_computed_value_is_what_the_effect_says() -> None:
    ptx, effect = compiled(SOFTMAX, "softmax"), softmax_effect()
    assert uncovered(effect) == (
        "values not covered: softmax weight, computed from x (stored to y)",
    )
    assert validate(ptx, effect).uncovered == uncovered(effect)
    (store,) = effect.stores

    def judged(*sources: Source) -> set[str]:
        part = computed(32, "softmax weight", *sources)
        return labels(validate(ptx, replace(effect, stores=(replace(store, parts=(part,)),))))

    assert judged(Source("x")) == set()
    assert judged() == {"store 0: origin"}
    (own,) = store.parts[0].sources
    assert own.first is not None
    assert judged(Source("x", own.first, own.first + columns * 4 - 4)) == {"store 0: origin"}
    assert judged(Source("x", own.first + sx * 0 + 4, own.end)) == {"store 0: origin"}
    with pytest.raises(ClaimError, match="a computed part"):
        computed(32, "")
    with pytest.raises(ClaimError, match="a move with a name or sources"):
        Part(32, "move", "x", 0, name="weight")
