"""PTX that does not do what a claim says, written so that a careless proof would believe it."""

from __future__ import annotations

from pathlib import Path

import pytest

from claim_texts import float_claim
from tylo.layouts.errors import ClaimError, PtxError
from tylo.proofs.ptx.claim_check import Examined, check_text
from tylo.proofs.ptx.claim_file import claim_from_text, read_text
from tylo.proofs.ptx.inprocess import solve

HEAD = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .b32 %r<200>; .reg .b64 %rd<20>; .reg .pred %p<99>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
"""
CLAIM = float_claim("elements = 64", "elements = 64", size=("n", 64, 64))
STRIDED = (
    CLAIM
    + """
written = { rows = 32, columns = 1, stride = 2 }
[[store]]
into = "y[thread, 0]"
from = "x[thread * 2]"
[store.writer]
block = 0
thread = "row"
"""
)
PAIRS = (
    CLAIM
    + """
[[store]]
values = 2
into = "y[thread * 2 + value]"
from = "x[thread * 2 + value]"
[store.writer]
block = 0
thread = "column / 2"
"""
)


def examined(body: str, claim: str) -> Examined:
    return check_text(f"{HEAD}{body}\n ret; }}", claim_from_text(claim, "claim.toml"), solve)


def strided_by(index: str, factor: int) -> Examined:
    """y[tid * 2] = x[tid * 2], if %rd6 and the factor are an element's index."""
    body = f"""{index}
    mul.lo.u64 %rd7, %rd6, {4 * factor};
    add.s64 %rd8, %rd1, %rd7;
    add.s64 %rd9, %rd2, %rd7;
    ld.global.u32 %r5, [%rd8];
    st.global.u32 [%rd9], %r5;"""
    return examined(body, STRIDED)


# %r3 is zero in a way that says of more than its own bits that they are zero.
ZEROS = {
    "times zero": "mul.lo.u32 %r3, %r2, 0;",
    "shifted twice": "shl.b32 %r3, %r2, 20; shl.b32 %r3, %r3, 20;",
    "times a power, shifted": "mul.lo.u32 %r3, %r2, 0x100000; shl.b32 %r3, %r3, 30;",
}


@pytest.mark.parametrize("zero", ZEROS)
def test_zero_bits_of_a_half_are_not_those_of_the_word(zero: str) -> None:
    either = f"""{ZEROS[zero]}
    mov.b64 %rd3, {{%r3, %r2}};
    mov.u32 %r4, 0;
    mov.b64 %rd4, {{%r4, %r2}};
    or.b64 %rd5, %rd3, %rd4;
    shr.u64 %rd6, %rd5, 32;"""
    found = strided_by(either, 1)
    assert found.verdict == "fails"
    assert {v.obligation.label for v in found.validation.failures} >= {"store 0: address"}
    assert strided_by(either, 2).verdict == "holds"


def exchanges(count: int, last: str = "") -> str:
    """Two loaded values, exchanged where a bit of the thread's number is set, so many times."""
    lines = [
        "mul.wide.u32 %rd3, %r2, 8;",
        "add.s64 %rd4, %rd1, %rd3;",
        "add.s64 %rd5, %rd2, %rd3;",
        "ld.global.u32 %r10, [%rd4];",
        "ld.global.u32 %r11, [%rd4+4];",
    ]
    for each in range(count):
        first, second = 10 + 2 * each, 11 + 2 * each
        lines += [
            f"and.b32 %r5, %r2, {1 << each % 5};",
            f"setp.ne.u32 %p{each}, %r5, 0;",
            f"selp.b32 %r{first + 2}, %r{second}, %r{first}, %p{each};",
            f"selp.b32 %r{second + 2}, %r{first}, %r{second}, %p{each};",
        ]
    first, second = 10 + 2 * count, 11 + 2 * count
    return "\n".join([*lines, f"st.global.u32 [%rd5], %r{first};", last]).replace(
        "SECOND", f"%r{second}"
    )


def test_selections_do_not_double_what_is_to_be_proven() -> None:
    # Each of five bits is looked at an even number of times: everything is back where it was.
    right = examined(exchanges(40, "st.global.u32 [%rd5+4], SECOND;"), PAIRS)
    assert right.verdict == "holds"
    assert len(right.validation.verdicts) < 60
    assert max(len(v.obligation.script) for v in right.validation.verdicts) < 20_000
    wrong = examined(exchanges(39, "st.global.u32 [%rd5+4], SECOND;"), PAIRS)
    assert {v.obligation.label for v in wrong.validation.failures} == {
        "store 0: part 0",
        "store 1: part 0",
    }
    assert {v.failure.thread for v in wrong.validation.failures if v.failure} == {16}


def test_a_register_is_loaded_once() -> None:
    body = (
        "mul.wide.u32 %rd3, %r2, 8; add.s64 %rd4, %rd1, %rd3; ld.global.v2.u32 {%r5, PAIR}, [%rd4];"
    )
    with pytest.raises(PtxError, match="a register twice among results"):
        examined(body.replace("PAIR", "%r5"), PAIRS)
    with pytest.raises(PtxError, match="a register twice among results"):
        examined("mov.b32 {%r5, %r5}, %r2;", PAIRS)
    assert examined(body.replace("PAIR", "_"), PAIRS).verdict == "fails"


@pytest.mark.parametrize("name", ["choice.36", "a b", "2n", "", "mod"])
def test_names_are_those_that_terms_can_mention(name: str) -> None:
    sized = PAIRS.replace('"n"]', f'"{name}"]').replace("[size.n]", f'[size."{name}"]')
    defined = f'{PAIRS}\n[let]\n"{name}" = 1'
    for text in (sized, defined):
        with pytest.raises(ClaimError, match="is no name; use letters"):
            claim_from_text(text, "claim.toml")


def test_a_file_that_is_not_there_is_said_once(tmp_path: Path) -> None:
    for path, what in ((tmp_path, "a folder"), (tmp_path / "nothing", "no file")):
        with pytest.raises(ClaimError) as refused:
            read_text(path, 100, "PTX")
        assert str(refused.value) == f"{path} is {what}; name a file that holds PTX"
