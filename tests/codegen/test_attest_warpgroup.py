"""The attestation of wgmma without a device: right tables pass, wrong ones fail; it compiles."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy
import pytest

from tylo.codegen.attest.warpgroup import (
    ARCHITECTURE,
    ASKED,
    MEMORY,
    REGISTERS,
    WarpgroupObserved,
    judge_warpgroup,
    warpgroup_source,
)
from tylo.codegen.nvrtc import compile, require_full_speed
from tylo.layouts.atoms import Atom, atom
from tylo.layouts.ownership import Ownership


def model(columns: int) -> WarpgroupObserved:
    """What hardware with the manual's formulas returns, by matrix products in numpy."""
    thread, value = numpy.ix_(range(128), range(columns // 2))
    row = thread // 32 * 16 + thread % 32 // 4 + value // 2 % 2 * 8
    column = value // 4 * 8 + thread % 4 * 2 + value % 2
    right = numpy.tile(numpy.arange(1.0, 17.0)[:, None], (1, columns))
    registers = numpy.zeros((1024, 128, columns // 2), numpy.float32)
    for probe in range(1024):
        holder, half = divmod(probe, 8)
        left = numpy.zeros((64, 16))
        a_row = holder // 32 * 16 + holder % 32 // 4 + half // 2 % 2 * 8
        left[a_row, half // 4 * 8 + holder % 4 * 2 + half % 2] = 1
        registers[probe] = (left @ right)[row, column]
    return WarpgroupObserved(
        rows=(row + 1 + 0 * column).astype(numpy.float32),
        columns=(column + 1 + 0 * row).astype(numpy.float32),
        registers=registers,
        kept=numpy.arange(1, 1 + 64 * columns, dtype=numpy.float32).reshape(128, -1),
    )


OBSERVED = model(16)
ATOM = atom("wgmma.m64n16k16.bf16")


def failed(each: Atom, observed: WarpgroupObserved = OBSERVED) -> set[str]:
    table = judge_warpgroup(each, observed)
    assert table.passed == (not any(check.failures for check in table.checks))
    return {check.check for check in table.checks if check.failures}


def test_the_manuals_tables_pass() -> None:
    table = judge_warpgroup(ATOM, OBSERVED)
    assert table.passed
    assert (table.probes, table.hits) == (1027, 1024 * 16)
    assert sum(check.comparisons for check in table.checks) == 1024 * 1024 + 3 * 1024


def with_operand(letter: str, **changes: Any) -> Atom:
    tables: dict[str, dict[str, Any]] = {
        "A": {
            "axes": {"m": 64, "k": 16},
            "values": {"value": [(2, "k", 1), (2, "m", 8), (2, "k", 8)]},
            "threads": {"lane": [(4, "k", 2), (8, "m", 1)], "warp": [(4, "m", 16)]},
            "bits": 16,
        },
        "C": {
            "axes": {"m": 64, "n": 16},
            "values": {"value": [(2, "n", 1), (2, "m", 8), (2, "n", 8)]},
            "threads": {"lane": [(4, "n", 2), (8, "m", 1)], "warp": [(4, "m", 16)]},
            "bits": 32,
        },
    }
    own = Ownership.of(**{**tables[letter], **changes})
    return dataclasses.replace(
        ATOM,
        operands=tuple(
            dataclasses.replace(each, ownership=own) if each.letter == letter else each
            for each in ATOM.operands
        ),
    )


WRONG: dict[str, tuple[str, dict[str, Any], set[str]]] = {
    "A: words exchanged": (
        "A",
        {"values": {"value": [(2, "k", 1), (2, "k", 8), (2, "m", 8)]}},
        {"one-hot registers of A"},
    ),
    "A: halves exchanged with words": (
        "A",
        {"values": {"value": [(2, "k", 8), (2, "m", 8), (2, "k", 1)]}},
        {"one-hot registers of A"},
    ),
    "C: rows before slices exchanged": (
        "C",
        {"values": {"value": [(2, "n", 1), (2, "n", 8), (2, "m", 8)]}},
        {"rows of C", "columns of C", "one-hot registers of A"},
    ),
    "C: warps along columns": (
        "C",
        {
            "values": {"value": [(2, "n", 1), (2, "m", 8), (2, "m", 16)]},
            "threads": {
                "lane": [(4, "n", 2), (8, "m", 1)],
                "warp": [(2, "n", 8), (2, "m", 32)],
            },
        },
        {"rows of C", "columns of C", "one-hot registers of A"},
    ),
    "C: columns in another order": (
        "C",
        {
            "values": {"value": [(2, "n", 8), (2, "m", 8), (2, "n", 1)]},
        },
        {"columns of C"},
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_fails(name: str) -> None:
    letter, changes, checks = WRONG[name]
    assert failed(with_operand(letter, **changes)) == checks


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(WarpgroupObserved)])
def test_one_wrong_element_fails(field: str) -> None:
    damaged = getattr(OBSERVED, field).copy()
    damaged[(0,) * (damaged.ndim - 1) + (1,)] += 1
    table = judge_warpgroup(ATOM, dataclasses.replace(OBSERVED, **{field: damaged}))
    assert sum(check.failures for check in table.checks) == 1
    damaged[...] = numpy.nan
    assert failed(ATOM, dataclasses.replace(OBSERVED, **{field: damaged}))


@pytest.mark.parametrize("each", [ASKED[0], ASKED[3], ASKED[-1]], ids=lambda each: each.short_name)
def test_the_probes_compile_without_spills(each: Atom) -> None:
    compiled = compile(warpgroup_source(each), ARCHITECTURE, kernels=[REGISTERS, MEMORY])
    require_full_speed(compiled)
    assert compiled.ptx.count(each.name) == 2
