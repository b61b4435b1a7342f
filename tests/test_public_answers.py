"""Every collected problem of softmax and attention has a test that answers it, by name.

The table says which; a case that is added without an answer fails here, and so does an answer that
was renamed or removed. A test on a device stands beside one that runs anywhere, where there is one.
"""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
AREAS = ("softmax", "attention")
CASES = [
    case["id"]
    for case in json.loads((TESTS / "data" / "cases.json").read_text(encoding="utf-8"))
    if case["area"] in AREAS
]
STATE, ROWS = "codegen/test_softmax_state.py", "codegen/softmax/test_public_cases.py"
REFUSALS, ON_DEVICE = "kernels/test_softmax_refusals.py", "gpu/test_kernels_softmax.py"
REFERENCES, CALLS = "codegen/attention/test_references.py", "kernels/test_attention.py"
PROBLEM, PADDING = "codegen/attention/test_problem.py", "test_s22_padding_between_batches"
ATTENTION, ENTRY = "gpu/test_attention.py", "gpu/test_attention_entry.py"

COLLECTED = (f"{STATE}::test_collected_rows", f"{ROWS}::test_rows_by_a_kernel")
CONST = (f"{REFERENCES}::test_public_cases_of_one_row", f"{ATTENTION}::test_public_cases")
WHOLE = (f"{REFERENCES}::test_public_cases", f"{ATTENTION}::test_public_cases")

ANSWERS = {
    **dict.fromkeys(("S01", "S02", "S03", "S04", "S05", "S06", "S07", "S15", "S19"), COLLECTED),
    "S08": (f"{ROWS}::test_s08_the_least_finite_score_is_a_score",),
    "S09": (f"{REFUSALS}::test_refused_before_launch", f"{ROWS}::test_s09_no_mask_is_cast"),
    "S10": (f"{ROWS}::test_s10_a_boolean_mask_is_not_an_additive_one",),
    "S11": (f"{STATE}::test_collected_merges",),
    "S12": (f"{STATE}::test_bases_do_not_mix", f"{STATE}::test_the_suffix_keeps_its_share"),
    "S13": (f"{STATE}::test_bases_do_not_mix",),
    "S14": (f"{STATE}::test_collected_merges",),
    "S16": (f"{STATE}::test_uniform_rows", f"{ON_DEVICE}::test_s16_s17_uniform_rows"),
    "S17": (f"{ROWS}::test_s17_rows_of_any_width", f"{ON_DEVICE}::test_s16_s17_uniform_rows"),
    "S18": ("kernels/test_softmax.py::test_s18_nothing_to_compute_launches_nothing",),
    "S20": (f"{ROWS}::test_s20_scores_are_float32",),
    "S21": (f"{STATE}::test_weights_rounded_to_bf16_stay_in_their_bound",),
    "S22": (f"{ROWS}::{PADDING}", f"{ON_DEVICE}::{PADDING}"),
    **dict.fromkeys(("A01", "A02", "A06", "A07", "A10"), WHOLE),
    "A03": (f"{CALLS}::test_nothing_is_launched_for_nothing", f"{ENTRY}::test_nothing_to_do"),
    "A04": (f"{REFERENCES}::test_causal_alignments", f"{ATTENTION}::test_public_cases"),
    **dict.fromkeys(("A05", "A21"), CONST),
    "A08": (f"{CALLS}::test_masks_broadcast_like_numpy_s",),
    "A09": (f"{CALLS}::test_the_stride_of_a_size_one_axis_of_a_mask_is_not_used",),
    "A11": (f"{CALLS}::test_head_counts",),
    "A12": (f"{CALLS}::test_many_heads_stay_on_the_long_axis_of_the_grid",),
    # 2.7e9 bytes: only a device holds them.
    "A13": (f"{ENTRY}::test_offsets_beyond_32_bits",),
    "A14": (f"{CALLS}::test_refusals", f"{ENTRY}::test_views_need_no_copy"),
    "A15": (f"{CALLS}::test_refusals",),
    # What lies around a tensor, and before a launch in it, is a matter of a device's memory.
    "A16": (f"{ATTENTION}::test_lengths_heads_and_causal_masks",),
    "A17": (f"{ATTENTION}::test_boolean_masks",),
    "A18": (f"{CALLS}::test_refusals", f"{PROBLEM}::test_problems_that_are_refused"),
    "A19": (f"{CALLS}::test_devices_without_wgmma",),
    # Bits of wgmma's sums are the hardware's.
    "A20": (f"{ATTENTION}::test_rows_do_not_depend_on_the_batch",),
}  # fmt: skip


@cache
def functions(path: str) -> set[str]:
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}


def test_every_case_has_an_answer_and_no_other() -> None:
    assert set(ANSWERS) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_answers_exist(name: str) -> None:
    assert ANSWERS[name]
    for answer in ANSWERS[name]:
        path, function = answer.split("::")
        assert function in functions(path), answer
