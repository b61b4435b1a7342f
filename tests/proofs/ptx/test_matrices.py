"""Matrix moves, products and copies that land later: right kernels hold, wrong ones are named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptx_matrix_kernels import MATRIX_KINDS
from ptx_texts import compiled
from tylo.layouts.errors import PtxError
from tylo.proofs.effects import Source, computed, effect_from_json, effect_to_json, uncovered
from tylo.proofs.ptx.validate import Validation, validate
from tylo.proofs.ptx.workers import Workers


def labels(validation: Validation) -> set[str]:
    return {verdict.obligation.label for verdict in validation.failures}


@pytest.mark.parametrize("kind", MATRIX_KINDS)
def test_right_kernels_hold(kind: str) -> None:
    source, effect = MATRIX_KINDS[kind]
    assert effect_from_json(effect_to_json(effect)) == effect
    validation = validate(compiled(source, kind), effect)
    assert validation.holds, "\n".join(str(v) for v in validation.verdicts if v.verdict != "holds")


@pytest.mark.parametrize("kind", ["moved", "copied", "fragment"])
def test_right_kernels_hold_under_both_solvers(kind: str) -> None:
    source, effect = MATRIX_KINDS[kind]
    with Workers() as solve:
        assert validate(compiled(source, kind), effect, solve=solve).holds


@pytest.mark.parametrize(
    ("kind", "old", "new", "label", "thread"),
    [
        ("fragment", "x4.shared", "x4.trans.shared", "store 0: part 0", None),
        ("fragment", "[row * 24", "[(row ^ 1) * 24", "store 0: part 0", None),
        ("fragment", "lane % 16, column", "lane / 2, column", "store 0: part 0", None),
        ("fragment", "lane / 16 * 8", "lane / 16 * 4", "shared alignment", 16),
        ("fragment", "16 * 24]", "16 * 24 - 16]", "shared bounds", None),
        ("fragment", "  __syncthreads();\n", "", "shared: no race", None),
        ("fragment", '"=r"(v[1]), "=r"(v[2])', '"=r"(v[2]), "=r"(v[1])', "store 1: part 0", 0),
        ("fragment", "tile[warp][row", "tile[0][row", "store 0: part 0", 32),
        ("transposed", "x4.trans", "x4", "store 0: part 0", None),
        ("transposed", "+ column]", "+ 8 - column]", "store 0: part 0", 0),
        ("stored", "x4.shared", "x4.trans.shared", "store 0: part 0", None),
        ("stored", "  __syncthreads();\n", "", "shared: no race", None),
        ("stored", "tile[warp][row * 24", "tile[warp][row % 8 * 24", "shared: no race", None),
        ("moved", "v;\n}", "v ^ 0;\n}", None, None),
        ("moved", "threadIdx.x] = v", "threadIdx.x ^ 1] = v", "store 0: address", 0),
        ("copied", "wait_group 0", "wait_group 1", "refused", None),
        ("copied", "wait_group 1;", "wait_group 2;", "refused", None),
        ("copied", "64 + (t ^ 1)]", "65 + (t ^ 1)]", "store 1: part 0", 0),
        ("copied", "tile[t ^ 1]", "tile[t ^ 2]", "store 0: part 0", 0),
        ("copied", "i * 64 + t) :", "i * 64 + (t | 1)) :", "store 0: part 0", None),
        ("copied", "tile[i * 64 + t]", "tile[i * 32 + t]", "shared: no race", None),
        ("copied", "* 128 + i * 64", "* 128 + i * 65", "load 1: bounds", 63),
        ("product", "b + blockIdx.x * 32 + t", "b + blockIdx.x * 31 + t", "store 0: origin", 0),
        ("product", "  __syncthreads();\n", "", "shared: no race", None),
        ("product", "% 4 * 2 + i % 2", "% 4 * 2 + i / 2", "store 1: made", 0),
    ],
)
def test_wrong_kernels_fail(
    kind: str, old: str, new: str, label: str | None, thread: int | None
) -> None:
    source, effect = MATRIX_KINDS[kind]
    assert old in source
    ptx = compiled(source.replace(old, new), kind)
    if label == "refused":
        with pytest.raises(PtxError, match="nobody wrote") as refusal:
            validate(ptx, effect)
        assert "line " in str(refusal.value)
        return
    validation = validate(ptx, effect)
    if label is None:
        assert validation.holds
        return
    assert label in labels(validation), list(map(str, validation.failures))
    verdict = next(v for v in validation.failures if v.obligation.label == label)
    assert verdict.failure is not None
    assert verdict.obligation.line > 0
    assert thread is None or verdict.failure.thread == thread, str(verdict)


def test_a_read_before_the_wait_is_no_matter_of_luck() -> None:
    # The barrier does not wait for copies, and the store before the copy does not stand in for it.
    source, effect = MATRIX_KINDS["copied"]
    early = source.replace("  for (int i", "  tile[t] = x[blockIdx.x * 128 + t];\n  for (int i", 1)
    early = early.replace("wait_group 1", "wait_group 2")
    found = labels(validate(compiled(early, "copied"), effect))
    assert "shared: no race" in found


@pytest.mark.parametrize(
    ("taken", "label"),
    [
        ("blockIdx.x < 5 ? 16 : 0", "store 0: part 0"),
        ("blockIdx.x < 1 << 20 ? 16 : 0", None),
        ("blockIdx.x < 5 ? 16 : 8", "copied bytes"),
    ],
)
def test_copies_of_fewer_bytes(taken: str, label: str | None) -> None:
    source, effect = MATRIX_KINDS["copied"]
    some = source.replace(", 16;", ", 16, %2;").replace(
        "i * 64 + t) :", f'i * 64 + t), "r"({taken}) :'
    )
    found = labels(validate(compiled(some, "copied"), effect))
    assert label in found if label else not found


def test_threads_that_leave_before_the_wait() -> None:
    source, effect = MATRIX_KINDS["copied"]
    leave = 'asm volatile("{ .reg .pred q; setp.gt.u32 q, %0, 9; @q exit; }" :: "r"(t));'
    first_wait = '  asm volatile("cp.async.wait_group 1'
    gone = source.replace(first_wait, f"  {leave}\n{first_wait}")
    assert {"waited for", "converged"} <= labels(validate(compiled(gone, "copied"), effect))


@pytest.mark.parametrize(
    ("kind", "old", "new", "message"),
    [
        (
            "copied",
            'asm volatile("cp.async.commit',
            'if (t < 9) asm volatile("cp.async.commit',
            "where threads part",
        ),
        ("moved", "asm volatile", "if (threadIdx.x < 9) asm volatile", None),
        ("copied", "int i = 0; i < 2", "int i = 0; i < gridDim.x", "where threads part"),
        ("fragment", "[row * 24", "[x[row].x % 16 * 24", "depends on memory"),
    ],
)
def test_what_is_not_covered_is_refused(kind: str, old: str, new: str, message: str | None) -> None:
    source, effect = MATRIX_KINDS[kind]
    assert old in source
    ptx = compiled(source.replace(old, new), kind)
    if message is None:
        # Part of a warp: the others do not come there.
        assert "converged" in labels(validate(ptx, effect))
        return
    with pytest.raises(PtxError, match=message) as refusal:
        validate(ptx, effect)
    assert "line " in str(refusal.value)


def test_what_flows_into_a_product() -> None:
    source, effect = MATRIX_KINDS["product"]
    ptx = compiled(source, "product")
    assert uncovered(effect) == ("values not covered: product, computed from a, b (stored to d)",)
    left, right = effect.stores[0].parts[0].sources
    assert right.end is not None
    for wrong in ((left,), (right,), (left, Source("b", right.first, right.end - 2))):
        stores = tuple(
            replace(store, parts=(computed(32, "product", *wrong),)) for store in effect.stores
        )
        assert "store 0: origin" in labels(validate(ptx, replace(effect, stores=stores)))
