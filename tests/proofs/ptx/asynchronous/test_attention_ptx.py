"""Attention's PTX is held to its protocol, and faults that are put into it are refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tylo.codegen.attention.choose import Request, choose
from tylo.codegen.attention.member import DEPTHS, WORKED, Member
from tylo.codegen.cache import compile_cached
from tylo.layouts.errors import PtxError
from tylo.proofs.ptx import inprocess
from tylo.proofs.ptx.asynchronous.validate import validate_attention
from tylo.proofs.ptx.validate import Validation
from tylo.proofs.ptx.workers import Workers

SMALL = Member(64, "bf16", 1, 64, 2)
BUNDLED = Member(64, "bf16", 2, 64, 1)  # what the tests of bundles make


def ptx(member: Member) -> str:
    return compile_cached(member.source(), "sm_90a", kernels=[member.entry]).ptx


@pytest.fixture(scope="module")
def text() -> str:
    return ptx(SMALL)


def validated(text: str, member: Member = SMALL) -> Validation:
    return validate_attention(text, member.plan, "sm_90a", inprocess.solve)


def unmasked(dtype: str) -> list[Member]:
    """Every member that is chosen where no Boolean mask is."""
    return list(
        dict.fromkeys(
            choose(Request(depth, dtype, length, length, causal, mask=False)).member
            for depth in DEPTHS
            for causal in (False, True)
            for length in range(1, 8193, 64)
        )
    )


def named(member: Member) -> str:
    sizes = f"{member.depth}-{member.groups}-{member.keys}-{member.stages}"
    return f"{member.dtype}-{sizes}-{member.reference}"


def lines(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip().startswith(start)]


def beside(line: str, operand: int, change: str, kind: str = "b32") -> str:
    """The instruction with one register replaced by a changed copy of it."""
    found = list(re.finditer(r"%\w+", line))[operand]
    operation = change.replace("#", found[0])
    moved = f"{line[: found.start()]}wrong{line[found.end() :]}"
    return f"{{\n.reg .{kind} wrong;\n{operation}\n{moved.strip()}\n}}"


# Which of the lines that begin so, which register of it, how it is changed, what is then wrong.
_LOADS, _STORES = "cp.async.bulk.tensor.4d.shared", "cp.async.bulk.tensor.4d.global"
OPERANDS = [
    ("mbarrier.init", 1, 1, "add.s32 wrong, #, 1;", "barrier q_empty[0]: arrivals"),
    ("mbarrier.init", 2, 0, "add.s32 wrong, #, 8;", "barrier k_full[0]: address"),
    ("mbarrier.arrive.expect_tx", 0, 1, "add.s32 wrong, #, 16;", "expect k_full[k]: bytes"),
    ("mbarrier.try_wait", 1, 1, "xor.b32 wrong, #, 1;", "wait q_empty[q] for the tile before"),
    ("mbarrier.try_wait", 2, 0, "add.s32 wrong, #, 8;", "wait k_empty[k] for the tile before"),
    (_LOADS, 0, 4, "add.s32 wrong, #, 1;", "copy k, columns from 0: coordinate 2"),
    (_LOADS, 1, 0, "add.s32 wrong, #, 1024;", "copy q of group 0, columns from 0: target"),
    (_LOADS, 3, 3, "add.s32 wrong, #, 64;", "copy v, columns from 0: coordinate 1"),
    ("mbarrier.arrive.shared", 0, 0, "add.s32 wrong, #, 8;", "arrive k_empty[k]: address"),
    ("stmatrix", 1, 0, "xor.b32 wrong, #, 16;", "place output, columns from 16: address"),
    ("bar.sync %", 0, 0, "add.s32 wrong, #, 1;", "output may be placed: number"),
    (_STORES, 0, 2, "add.s32 wrong, #, 1;", "store output, columns from 0: coordinate 1"),
]


def test_the_ptx_holds(text: str) -> None:
    found = validated(text)
    assert [str(verdict) for verdict in found.verdicts if verdict.verdict != "holds"] == []
    labels = {verdict.obligation.label for verdict in found.verdicts}
    for part in ("copy v, columns from 0: coordinate 3", "multiply values, K from 48: b"):
        assert any(part in label for label in labels)


def test_operands_that_are_wrong() -> None:
    """Each is told by name, and nothing else is said to be wrong; of the other element type."""
    member, wanted = replace(SMALL, dtype="f16"), []
    text = ptx(member)
    for start, number, operand, change, label in OPERANDS:
        rows = lines(text, start)
        line = rows[number]
        before, _, after = text.partition(f"{line}\n")
        for _ in range(rows[:number].count(line)):
            step, _, after = after.partition(f"{line}\n")
            before += f"{line}\n{step}"
        text = f"{before}{beside(line, operand, change)}\n{after}"
        wanted.append(label)
    # Descriptors of 64 bits, and an element of the log-sum-exp.
    product = next(line for line in text.splitlines() if line.startswith("wgmma.mma_async"))
    last = list(re.finditer(r"%rd\d+", product))[1]
    wrong = f"add.s64 wrong, {last[0]}, 4294967296;"
    changed = f"{product[: last.start()]}wrong{product[last.end() :]}"
    text = text.replace(product, f"{{\n.reg .b64 wrong;\n{wrong}\n{changed}\n}}", 1)
    text = re.sub(r"st\.global\.f32 \t\[(%rd\d+)\+32\]", r"st.global.f32 \t[\1+36]", text, count=1)
    wanted += ["multiply scores, K from 0: b", "log-sum-exp of row 8: address"]
    found = [verdict for verdict in validated(text, member).verdicts if verdict.verdict != "holds"]
    assert "holds" not in {verdict.verdict for verdict in found}
    labels = [verdict.obligation.label for verdict in found]
    assert [label for label in wanted if not any(label in each for each in labels)] == []
    assert [each for each in labels if not any(label in each for label in wanted)] == []


def replaced(pattern: str, new: str, which: int = 0) -> Callable[[str], str]:
    def change(text: str) -> str:
        found = list(re.finditer(pattern, text))[which]
        return text[: found.start()] + found.expand(new) + text[found.end() :]

    return change


# A change of the PTX, and what is said of the step that it makes plainly wrong.
REFUTED = {
    "an arrival left out": (
        replaced(r"\tmbarrier\.arrive\.shared::cta\.b64 [^\n]*\n", ""),
        r"next is consumer: arrive k_empty\[k\]",
    ),
    "a product that is not awaited": (
        replaced(r"\twgmma\.wait_group\.sync\.aligned 1;\n", ""),
        "belongs to a product that is not awaited",
    ),
    "a fence left out": (
        replaced(r"\tfence\.proxy\.async\.shared::cta;\n", ""),
        "next is consumer: publish output",
    ),
    "a store to shared memory": (
        replaced(r"\tst\.global\.f32 [^\n]*\n", r"\tst.shared.f32 [memory], 0f00000000;\n\g<0>"),
        "shared store is not what comes next",
    ),
}

# What is not plainly a wrong step: it is not known what such PTX does.
UNDECIDED = {
    "an arrival twice": (
        replaced(r"\tmbarrier\.arrive\.shared::cta\.b64 [^\n]*\n", r"\g<0>\g<0>"),
        "arrival is not what comes next",
    ),
    "a wait that does not wait": (
        replaced(r"(try_wait[^}]*}\s+// end inline asm\s+[^\n]*\n)\t@%p\d+ bra [^\n]*\n", r"\1", 1),
        "whether the barrier was passed is not asked",
    ),
    "a store twice": (
        replaced(r"\tst\.global\.f32 [^\n]*\n", r"\g<0>\g<0>"),
        "store is not what comes next",
    ),
    "a store without its guard": (
        replaced(r"\t@%p\d+ bra [^\n]*\n(?=(\n|\t[^@\n]*\n)*?\t// begin inline asm\n\tlg2)", ""),
        "store is not what comes next; next is consumer: log-sum-exp of row 0",
    ),
    "every lane copies": (
        replaced(r"selp\.u32 (%r\d+), 1, 0, chosen;", r"selp.u32 \1, 1, 1, chosen;"),
        "wait is not what comes next",
    ),
    "another block's work": (
        replaced(r"(mad\.lo\.s32 \t%r\d+, %r\d+), (%r\d+), (%r\d+);", r"\1, \3, \2;"),
        "is not what comes next|come to different steps|comes back elsewhere",
    ),
    "another half of an item": (
        replaced(r"(ld\.shared\.u16 \t(%r\d+), [^\n]*\n\tshr\.u32 \t%r\d+, \2), 1;", r"\1, 2;"),
        "is not what comes next|comes back elsewhere|before its protocol ends",
    ),
    "shares after other turns": (
        replaced(r"(setp\.lt\.s32 \t%p\d+, %r\d+), 0;(?=(\n[^\n]*){1,4}\n\tmul\.wide)", r"\1, 1;"),
        "is not what comes next|comes back elsewhere|before its protocol ends",
    ),
    "products that add to nothing": (
        replaced(r"setp\.ne\.b32 accumulates, (%r\d+), 0;", r"setp.eq.b32 accumulates, \1, 0;"),
        "read before it is written",
    ),
    "an instruction of no table": (
        replaced(r"\tfence\.proxy\.async\.shared::cta;", "\tfence.proxy.alias;"),
        "the opcode table does not cover this",
    ),
    "fewer threads": (replaced(r"\.maxntid 256", ".maxntid 128"), "the launch has 256"),
    "another target": (replaced(r"\.target sm_90a", ".target sm_90"), "sm_90a"),
}

# Those that come late in the walk, and take as long as all others.
LATE = ("a wait that does not wait", "shares after other turns")


@pytest.mark.parametrize("fault", REFUTED)
def test_steps_that_are_wrong(text: str, fault: str) -> None:
    change, message = REFUTED[fault]
    assert re.search(message, refuted(changed(text, change)))


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=pytest.mark.nightly) if fault in LATE else fault
        for fault in UNDECIDED
    ],
)
def test_steps_that_are_not_known(text: str, fault: str) -> None:
    change, message = UNDECIDED[fault]
    with pytest.raises(PtxError, match=message):
        validated(changed(text, change))


def changed(text: str, change: Callable[[str], str]) -> str:
    found = change(text)
    assert found != text
    return found


def refuted(text: str, member: Member = SMALL) -> str:
    """What is plainly wrong, and that it is said to be."""
    (verdict,) = validated(text, member).verdicts
    assert verdict.verdict == "fails"
    assert verdict.failure is not None
    assert verdict.obligation.line > 0
    return verdict.failure.message


def test_another_plan_s_ptx(text: str) -> None:
    message = refuted(text, Member(64, "bf16", 1, 64, 1))
    assert "barrier init is not what comes next" in message


@pytest.mark.nightly
@pytest.mark.parametrize(
    "member", [WORKED, BUNDLED, *unmasked("bf16"), *unmasked("f16")], ids=named
)
def test_the_worked_kernel_and_those_that_are_chosen_by_both_solvers(member: Member) -> None:
    with Workers() as solve:
        found = validate_attention(ptx(member), member.plan, "sm_90a", solve)
    assert [str(verdict) for verdict in found.verdicts if verdict.verdict != "holds"] == []
