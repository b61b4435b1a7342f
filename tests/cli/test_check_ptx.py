"""`tylo check --ptx`: right and wrong kernels of several compilers, and bad files in one line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tylo.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
KERNELS = ("swap_halves", "pack_pairs", "fragment_order", "masked_copy", "transpose")


def check(ptx: Path | str, claim: Path | str, *options: str) -> int:
    return main(["check", "--ptx", str(ptx), "--against", str(claim), *options])


def checked(capsys: pytest.CaptureFixture[str], ptx: Path, claim: Path, code: int) -> Any:
    assert check(ptx, claim, "--json") == code
    printed = capsys.readouterr()
    assert printed.err == ""
    (result,) = json.loads(printed.out)["results"]
    return result


def example(name: str) -> Path:
    return EXAMPLES / f"{name}.ptx"


def claim_of(name: str) -> Path:
    return EXAMPLES / f"{name}.toml"


def edited(folder: Path, source: Path, old: str, new: str) -> Path:
    text = source.read_text()
    assert text.count(old) == 1, old
    target = folder / source.name
    target.write_text(text.replace(old, new))
    return target


@pytest.mark.parametrize("kernel", KERNELS)
def test_right_kernels_hold(capsys: pytest.CaptureFixture[str], kernel: str) -> None:
    result = checked(capsys, example(kernel), claim_of(kernel), 0)
    assert result["verdict"] == "holds"
    assert {each["verdict"] for each in result["obligations"]} == {"holds"}
    stores = [each for each in result["obligations"] if each["text"].find("st.global") >= 0]
    assert {"address", "bounds", "alignment", "part 0"} <= {
        re.sub(r" \d+ of \d+$", "", each["label"]).rpartition(": ")[2] for each in stores
    }


# The failing instruction, the least thread, and what it does there.
WRONG = {
    "swap_halves": ("st.global.v2.u32", 0, "found y+120, wanted y+128"),
    "pack_pairs": ("st.global.v2.b32", 0, "found floats+12, wanted floats+8"),
    "fragment_order": ("st.global.v4.b32", 0, "found x+256, wanted x+4"),
    "masked_copy": ("@%p2 st.global.b32", 0, "performed only where block * 256 + thread * 2 + 1"),
    "transpose": ("st.global.f32", 32, "thread (0, 1), block (0, 0): found y+"),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_wrong_kernels_fail_at_a_line_and_a_lane(
    capsys: pytest.CaptureFixture[str], kernel: str
) -> None:
    instruction, thread, message = WRONG[kernel]
    ptx = example(f"{kernel}_wrong")
    result = checked(capsys, ptx, claim_of(kernel), 1)
    failures = [each for each in result["obligations"] if each["verdict"] == "fails"]
    first = next(each for each in failures if each["text"].startswith(instruction))
    assert instruction in ptx.read_text().splitlines()[first["line"] - 1]
    assert (first["lane"], first["thread"], first["block"]) == (thread % 32, thread, 0)
    assert message in first["message"]
    assert first["stated"].startswith("store 0")


def test_one_wrong_lane_is_the_one_that_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lane = "mov.u32 %thread, %tid.x;"
    turned = (
        f"{lane} .reg .pred %odd; .reg .b32 %other; xor.b32 %other, %thread, 1;"
        " setp.eq.u32 %odd, %thread, 49; @%odd mov.u32 %thread, %other;"
    )
    ptx = edited(tmp_path, example("pack_pairs"), lane, turned)
    result = checked(capsys, ptx, claim_of("pack_pairs"), 1)
    failure = next(each for each in result["obligations"] if each["verdict"] == "fails")
    assert (failure["thread"], failure["lane"]) == (49, 17)


def test_what_triton_was_told_is_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(example("masked_vectors"), claim_of("masked_vectors")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "assumed" in line and "%" in line] == [
        "  assumed: n % 16 == 0"
    ]


def test_labels_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    result = checked(capsys, example("masked_vectors"), claim_of("masked_vectors"), 0)
    labels = [(each["label"], each["line"]) for each in result["obligations"]]
    assert len(set(labels)) == len(labels)
    # That a store is made is not called by the name of where it goes.
    assert any(label.endswith(": made") for label, _ in labels)


def test_text_names_line_lane_and_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(example("swap_halves_wrong"), claim_of("swap_halves")) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("fails: ")
    assert lines[0].endswith("8 of 9 obligations hold")
    assert lines[1] == (
        "  fails: store 0: address (line 43: `st.global.v2.u32 [%rd9], {%r5, %r6}`): "
        "thread 0, block 0: found y+120, wanted y+128 (claim: store 0, values 0 to 1)"
    )
    assert "  assumed: no two buffers overlap" in lines


def test_scratch_that_is_used_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = "mov.u32 \t%r5, %tid.x;"
    store = f"{old} ld.param.b64 %rd1, [fragment_order_param_2]; st.global.b32 [%rd1], %r5;"
    ptx = edited(tmp_path, example("fragment_order"), old, store)
    assert check(ptx, claim_of("fragment_order")) == 1
    assert "wanted no further store" in capsys.readouterr().out


def test_a_grid_too_large_for_the_arithmetic_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = edited(tmp_path, claim_of("fragment_order"), "blocks = 16777216", "blocks = 16777217")
    assert check(example("fragment_order"), claim) == 1
    # 128 * 2^24 is the least signed number.
    assert "block 16777216: found y-8589934592" in capsys.readouterr().out


# What is wrong with the PTX: an edit of a right kernel, and a part of the one line on stderr.
REFUSED = {
    "another target": (".target sm_90", ".target sm_80", "the module is for sm_80"),
    "two targets": (".target sm_90", ".target sm_90, debug", "sm_90, debug"),
    "a second entry": (
        ".visible .entry",
        ".entry other() { ret; }\n.visible .entry",
        "a second entry 'other'",
    ),
    "another entry": (
        ".entry pack_pairs",
        ".entry pack",
        "no entry 'pack_pairs'; the module has pack",
    ),
    "an unknown opcode": ("ret;", "frobnicate.u32 %thread;\n\tret;", "line 28, column"),
    "an opcode that is not covered": ("ret;", "nanosleep.u32 5;\n\tret;", "line 28, column"),
    "no PTX": (".version 8.0", "int main() {}", "this is no PTX: line 3"),
    "CUDA text": (".version 8.0", "#include <cuda.h>", "nvcc -ptx makes it of CUDA text"),
    "a float for a pointer": (
        ".param .u64 floats",
        ".param .f64 floats",
        "is a pointer of 64 bits",
    ),
    "other threads": (".reqntid 64", ".reqntid 128", "limited to 128 threads"),
    "another parameter": (", .param .u64 floats", "", "has 1 parameters"),
    "a size for a pointer": (".param .u64 floats", ".param .u32 floats", "is .u32"),
    "a promise": (".param .u64 floats", ".param .u64 .ptr .align 32 floats", "aligned to 32"),
    "a byte that is not ASCII": ("// Rounds", "// \xe9", "unexpected character"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_ptx_that_is_not_covered_is_one_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, message = REFUSED[case]
    claim = edited(
        tmp_path, claim_of("pack_pairs"), "threads = 64", 'threads = 64\ntarget = "sm_90"'
    )
    ptx = edited(tmp_path, example("pack_pairs"), old, new)
    assert check(ptx, claim) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert message in printed.err
    assert str(ptx) in printed.err


def test_bad_files_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ptx, claim = example("pack_pairs"), claim_of("pack_pairs")
    empty, latin = tmp_path / "empty", tmp_path / "latin"
    empty.write_bytes(b" \n")
    latin.write_bytes(b"entry = '\xe9'")
    long = tmp_path / "long"
    long.write_bytes(b"#" * ((1 << 20) + 1))
    mistakes: list[tuple[Any, Any, str]] = [
        (tmp_path, claim, "is a folder"),
        (ptx, tmp_path, "is a folder"),
        ("/nonexistent", claim, "is no file"),
        (ptx, "/nonexistent", "is no file"),
        ("/dev/zero", claim, "is no file"),
        (ptx, "/dev/zero", "is no file"),
        (empty, claim, "is empty"),
        (ptx, empty, "is empty"),
        (latin, claim, "is not UTF-8 at byte 9"),
        (ptx, latin, "is not UTF-8 at byte 9"),
        (ptx, long, "is longer than 1048576 bytes"),
        (claim, claim, "unexpected"),
        (ptx, ptx, "is no TOML"),
    ]
    for first, second, message in mistakes:
        assert check(first, second) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1, printed.err
        assert message in printed.err


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--ptx", "a.ptx"],
        ["--against", "a.toml"],
        ["bundle", "--ptx", "a.ptx", "--against", "a.toml"],
        ["--rebuild", "--ptx", "a.ptx", "--against", "a.toml"],
    ],
)
def test_options_that_belong_together(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *options]) == 2
    assert "--against CLAIM" in capsys.readouterr().err


def test_a_float_for_a_size_is_refused_and_told_where_floats_belong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size = ".param .u32 masked_copy_param_2"
    ptx = edited(tmp_path, example("masked_copy"), size, size.replace("u32", "f32"))
    assert check(ptx, claim_of("masked_copy")) == 2
    assert "under [unused]" in capsys.readouterr().err
