"""Bundles of attention kernels: what is checked of them, their PTX above all, and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest

from tylo.codegen.attention import run as running
from tylo.codegen.attention.member import WORKED, member_of
from tylo.codegen.attention.references import attention
from tylo.codegen.bundle import Generated, generate
from tylo.codegen.oracle import rounded, widened
from tylo.codegen.rebuild import remade_checks
from tylo.codegen.run import run_on_machine
from tylo.layouts.errors import GenerationError
from tylo.proofs.bundle import FAILS, HOLDS, KERNEL, REPORT, read_bundle
from tylo.proofs.bundle.check import barrier_checks, not_covered, ptx_checks
from tylo.proofs.ptx.workers import Workers
from tylo.proofs.specifications import specification

SMALL = {"depth": 64, "groups": 2, "stages": 1}


_settled = Workers._settled


def one_is_enough(workers: Workers, script: str, said: list[str]) -> list[str]:
    """What one solver says in a second, where the other needs longer.

    A minute of a processor less: by night both are waited for (`test_attention_ptx`).
    """
    quick = [verdict for verdict in said if verdict != "unknown"]
    return quick or _settled(workers, script, said)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Generated]:
    folder = tmp_path_factory.mktemp("attention") / "bundle"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workers, "_settled", one_is_enough)
        return folder, generate("attention", SMALL, folder)


def test_everything_holds(made: tuple[Path, Generated]) -> None:
    _, generated = made
    checked = generated.checked
    assert checked.verdict == HOLDS
    ((architecture, validation),) = checked.validations
    assert (architecture, validation.holds) == ("sm_90a", True)
    (ptx,) = [check for check in checked.checks if check.subject == "ptx/sm_90a.ptx"]
    assert (ptx.checker, ptx.verdict) == ("PTX", HOLDS)
    assert ptx.detail == f"{len(validation.verdicts)} obligations"
    explored = next(check for check in checked.checks if check.checker == "exploration")
    assert (explored.verdict, explored.subject) == (HOLDS, "barriers")
    assert "any number of tiles" in explored.detail
    assert generated.bundle.manifest.architectures == ("sm_90a",)
    assert any("queries + keys" in each for each in generated.bundle.manifest.assumptions)
    assert not_covered(checked)[0].startswith("not covered: the order of memory behind barriers")
    report = generated.bundle.text(REPORT)
    for part in ("Memory Consistency Model", "ex2.approx", "log-sum-exp of row 8: address"):
        assert part in report


def test_a_fault_in_a_bundle_s_ptx(made: tuple[Path, Generated]) -> None:
    bundle, path = made[1].bundle, "ptx/sm_90a.ptx"
    text = bundle.text(path).replace("wgmma.wait_group.sync.aligned 1;", "", 1)
    changed = replace(bundle, files={**bundle.files, path: text.encode()})
    found, validation = ptx_checks(changed, specification("attention", SMALL), "sm_90a", never)
    assert [check.verdict for check in found] == [FAILS]
    assert validation is not None
    (verdict,) = validation.verdicts
    assert "belongs to a product that is not awaited" in str(verdict)


def never(scripts: Sequence[str]) -> Sequence[str]:
    raise AssertionError("no solver is needed to refuse this")


def test_it_is_read_checked_and_made_again(made: tuple[Path, Generated]) -> None:
    folder, generated = made
    bundle = read_bundle(folder)
    assert bundle.text(KERNEL) == member_of(bundle.manifest.parameters).source()
    again = list(remade_checks(bundle, generated.checked, rebuild=True))
    assert {check.verdict for check in again} == {HOLDS}
    assert {check.subject for check in again} >= {KERNEL, "cubin/sm_90a.cubin", REPORT}
    with pytest.raises(GenerationError, match="no wgmma and no tensor copies"):
        run_on_machine(bundle, seeds=1)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("wait(v_full, v);", "wait_before(v_full, v);", "is read for tile"),
        ("arrive(v_empty, v, who.lane, 0u);", "", "another schedule"),
        ("named_arrive(next_turn, 256u);", "", "deadlock"),
        ("// consumer further", "// nothing", "is there 0 times"),
    ],
)
def test_faults_in_a_bundle_s_barriers(
    made: tuple[Path, Generated], old: str, new: str, complaint: str
) -> None:
    bundle = made[1].bundle
    head, _, tail = bundle.text(KERNEL).rpartition(old)
    changed = replace(bundle, files={**bundle.files, KERNEL: (head + new + tail).encode()})
    kernel = specification("attention", SMALL).roles
    assert kernel is not None
    found = [check for check in barrier_checks(changed, kernel) if check.verdict == FAILS]
    assert any(complaint in check.detail for check in found)


def test_parameters() -> None:
    worked = specification("attention", {"depth": 64})
    assert member_of(worked.parameters) == WORKED
    assert specification("attention", {}).kernel is None
    wide = specification("attention", {"depth": 128, "groups": 3, "stages": 3}).roles
    assert wide is not None
    assert wide.bounds == ({"trips": (7,)}, "one item of 7 tiles")
    for given, complaint in (
        ({"depth": 64, "mask": True}, "mask is True"),
        ({"depth": 64, "output": "f32"}, "attention has no parameter 'output'"),
        ({"groups": 2}, "attention without a depth"),
        ({"depth": "64"}, "depth is '64'"),
    ):
        with pytest.raises(GenerationError, match=complaint):
            specification("attention", given)
    with pytest.raises(GenerationError, match="--set depth=64"):
        generate("attention", {}, "nowhere")
    with pytest.raises(GenerationError, match="has not the instructions"):
        generate("attention", SMALL, "nowhere", architectures=["sm_80"])


def test_outputs_are_compared_with_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = specification("attention", SMALL).parameters

    def launched(module: Any, member: Any, problem: Any, words: Any) -> tuple[Any, Any]:
        given = [widened(each, member.dtype).astype(numpy.float64) for each in words]
        out, lse = attention(*given, causal=problem.causal)
        return rounded(out.astype(numpy.float32), "bf16"), lse.astype(numpy.float32)

    monkeypatch.setattr(running, "_launched", launched)
    checks, failures, _ = running.compared_outputs(None, parameters)
    assert (checks, failures) == (3 * 2 * 2 * 259 * 65, 0)

    def unwritten(*arguments: Any) -> tuple[Any, Any]:
        out, lse = launched(*arguments)
        out[1, 1, 258, 63] = 0xFFFF
        return out, lse

    monkeypatch.setattr(running, "_launched", unwritten)
    assert running.compared_outputs(None, parameters)[1:] == (
        3, "output at (1, 1, 258, 63), causal None",
    )  # fmt: skip
