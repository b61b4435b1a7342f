"""The attestation without a device: what it would say of right tables, and of wrong ones."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy
import pytest

from tylo.codegen import attest as attestation
from tylo.codegen import oracle
from tylo.codegen.attest import Observed, TableAttestation, attestation_source, judge
from tylo.codegen.attest.probes import memory_matrices, one_hot_floats, one_hot_words
from tylo.codegen.launch import DeviceInfo
from tylo.codegen.nvrtc import compile, require_full_speed
from tylo.layouts.atoms import Atom
from tylo.layouts.atoms.mma_m16n8k16 import ATOMS
from tylo.layouts.ownership import Ownership

TABLES = json.loads(
    (Path(__file__).parents[1] / "data" / "atoms_m16n8k16.json").read_text(encoding="utf-8")
)["atoms"]
VENDOR = {letter: numpy.array(TABLES[0]["operands"][letter]["table"]) for letter in "ABC"}


def placed(table: Any, held: Any, extents: tuple[int, int]) -> Any:
    """A matrix from what each lane holds of it."""
    matrix = numpy.zeros(extents)
    matrix[table[..., 0], table[..., 1]] = held
    return matrix


def model(dtype: str) -> Observed:
    """What hardware with the vendor's tables returns, by matrix products in numpy."""
    a, b, c = (VENDOR[letter] for letter in "ABC")
    rows, columns = c[..., 0], c[..., 1]
    lefts = [placed(a, probe, (16, 16)) for probe in numpy.eye(256).reshape(-1, 32, 8)]
    rights = [placed(b, probe, (16, 8)) for probe in numpy.eye(128).reshape(-1, 32, 4)]
    products = numpy.einsum("amk,bkn->abmn", lefts, rights)[..., rows, columns]
    left, right = memory_matrices(dtype)
    wide = oracle.widened(left[1:], dtype) @ oracle.widened(right[1:], dtype)
    results = numpy.concatenate([wide[:, rows, columns], wide[:, rows, columns + 8]], -1)
    return Observed(
        products=products.astype(numpy.float32),
        added=one_hot_floats(4),
        left=left[0, a[..., 0], a[..., 1]],
        right=numpy.concatenate(
            [right[0, b[..., 0], b[..., 1]], right[0, b[..., 0], b[..., 1] + 8]], -1
        ),
        results=results.astype(numpy.float32),
    )


@pytest.fixture(scope="module", params=ATOMS, ids=lambda each: each.short_name)
def case(request: pytest.FixtureRequest) -> tuple[Atom, Observed]:
    return request.param, model(request.param.operand("A").dtype)


def failed(table: TableAttestation) -> set[str]:
    return {check.check for check in table.checks if check.failures}


def test_right_tables_pass(case: tuple[Atom, Observed]) -> None:
    table = judge(*case)
    assert table.passed
    assert table.probes == 256 * 128 + 128
    assert table.hits == 16 * 16 * 8
    assert sum(check.comparisons for check in table.checks) == 256 * 128 * 128 + 128**2 + 5 * 256


def with_operand(atom: Atom, letter: str, **changes: Any) -> Atom:
    """The atom with another ownership of one operand."""
    tables: dict[str, dict[str, Any]] = {
        "A": {
            "axes": {"m": 16, "k": 16},
            "values": {"value": [(2, "k", 1), (2, "m", 8), (2, "k", 8)]},
            "threads": {"lane": [(4, "k", 2), (8, "m", 1)]},
            "bits": 16,
        },
        "B": {
            "axes": {"k": 16, "n": 8},
            "values": {"value": [(2, "k", 1), (2, "k", 8)]},
            "threads": {"lane": [(4, "k", 2), (8, "n", 1)]},
            "bits": 16,
        },
        "C": {
            "axes": {"m": 16, "n": 8},
            "values": {"value": [(2, "n", 1), (2, "m", 8)]},
            "threads": {"lane": [(4, "n", 2), (8, "m", 1)]},
            "bits": 32,
        },
    }
    ownership = Ownership.of(**{**tables[letter], **changes})
    operands = tuple(
        dataclasses.replace(each, ownership=ownership) if each.letter == letter else each
        for each in atom.operands
    )
    return dataclasses.replace(atom, operands=operands)


WRONG = {
    "A: words 1 and 2 exchanged": (
        "A",
        {"values": {"value": [(2, "k", 1), (2, "k", 8), (2, "m", 8)]}},
    ),
    "A: lanes along rows first": ("A", {"threads": {"lane": [(8, "m", 1), (4, "k", 2)]}}),
    "B: words exchanged with halves": ("B", {"values": {"value": [(2, "k", 8), (2, "k", 1)]}}),
    "B: lanes along columns first": ("B", {"threads": {"lane": [(8, "n", 1), (4, "k", 2)]}}),
    "C: rows before columns": ("C", {"values": {"value": [(2, "m", 8), (2, "n", 1)]}}),
    "C: lanes along rows first": ("C", {"threads": {"lane": [(8, "m", 1), (4, "n", 2)]}}),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_fails(case: tuple[Atom, Observed], name: str) -> None:
    atom, observed = case
    letter, changes = WRONG[name]
    table = judge(with_operand(atom, letter, **changes), observed)
    assert not table.passed
    assert "one-hot products" in failed(table)


def test_only_memory_tells_a_renaming_of_k(case: tuple[Atom, Observed]) -> None:
    atom, observed = case
    renamed = with_operand(
        atom,
        "A",
        values={"value": [(2, "k", 1), (2, "m", 8), (2, "k", 2)]},
        threads={"lane": [(4, "k", 4), (8, "m", 1)]},
    )
    renamed = with_operand(
        renamed,
        "B",
        values={"value": [(2, "k", 1), (2, "k", 2)]},
        threads={"lane": [(4, "k", 4), (8, "n", 1)]},
    )
    assert failed(judge(renamed, observed)) == {
        "A from row-major memory",
        "B from row-major memory",
    }


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Observed)])
def test_one_wrong_element_fails(case: tuple[Atom, Observed], field: str) -> None:
    atom, observed = case
    damaged = getattr(observed, field).copy()
    damaged[(0,) * (damaged.ndim - 1) + (1,)] += 1
    table = judge(atom, dataclasses.replace(observed, **{field: damaged}))
    assert sum(check.failures for check in table.checks) == 1
    (mismatch,) = (each for check in table.checks for each in check.mismatches)
    assert mismatch.predicted != mismatch.found


def test_an_unwritten_result_fails(case: tuple[Atom, Observed]) -> None:
    atom, observed = case
    poisoned = dataclasses.replace(observed, products=numpy.full_like(observed.products, numpy.nan))
    assert failed(judge(atom, poisoned)) == {"one-hot products"}


def test_one_hot_registers_hold_one_element_each() -> None:
    for dtype, one in (("bf16", 0x3F80), ("f16", 0x3C00)):
        words = one_hot_words(8, dtype)
        assert words.shape == (256, 32, 4)
        halves = numpy.stack([words & 0xFFFF, words >> 16], -1).reshape(256, 256)
        assert numpy.array_equal(halves, numpy.eye(256) * one)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a", "sm_100a", "sm_120"])
def test_the_probes_compile_without_spills(architecture: str) -> None:
    for atom in ATOMS:
        compiled = compile(
            attestation_source(atom),
            architecture,
            kernels=[attestation.PRODUCTS, attestation.MEMORY],
        )
        require_full_speed(compiled)
        assert atom.name in compiled.ptx


def test_the_report_names_device_day_and_failures(case: tuple[Atom, Observed]) -> None:
    atom, observed = case
    wrong = judge(with_operand(atom, "A", **WRONG["A: words 1 and 2 exchanged"][1]), observed)
    device = DeviceInfo("Model 9000", (9, 0), "580.1", "13.0")
    report = attestation.Attestation((wrong,), device, "NVRTC 13.0", "2026-01-02")
    assert not report.passed
    assert not attestation.Attestation((), device, "NVRTC 13.0", "2026-01-02").passed
    summary = report.summary()
    assert "Model 9000, driver 580.1, 2026-01-02" in summary
    assert "one-hot products: " in summary
    plain = json.loads(json.dumps(report.to_json()))
    assert plain["schema"] == "tylo.attestation/1"
    assert plain["passed"] is False
    assert plain["tables"][0]["hits"] == 2048
