"""`tylo layout`, and `tylo query --draw`: what is printed, drawn, written and refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tylo.cli import main
from tylo.layouts import Layout
from tylo.layouts.drawing import draw

COMPOSITION = "composition((6,2):(8,2), (4,3):(3,1))"
ATOM = "mma.m16n8k16.bf16"


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert main([*arguments, "--json"]) == code
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def test_a_layout_is_printed_with_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", COMPOSITION]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "((2,2),3):((24,2),8)",
        "size 12, cosize 43",
        "    0   1   2",
        "0   0   8  16",
        "1  24  32  40",
        "2   2  10  18",
        "3  26  34  42",
    ]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_json(capsys, "layout", COMPOSITION) == {
        "schema": "tylo.layout/1",
        "expression": COMPOSITION,
        "kind": "layout",
        "value": "((2,2),3):((24,2),8)",
        "size": 12,
        "cosize": 43,
        "conditions": [],
        "symbols": [],
        "table": {"cells": [[0, 8, 16], [24, 32, 40], [2, 10, 18], [26, 34, 42]], "notes": []},
    }


@pytest.mark.parametrize(
    ("expression", "kind", "value", "size"),
    [
        ("composition(Sw<2,0,3>, (8,8):(8,1))", "composed layout", "Sw<2,0,3> o 0 o", 64),
        ("Sw<2,0,3>@8", "swizzle", "Sw<2,0,3>@8", 32),
        ("(4,2):(E<0>,4*E<1>)", "coordinate layout", "(4,2):(E<0>,4*E<1>)", 8),
        ("to_linear((4,2):(2,1))", "linear layout", "F2[index=[(2),(4),(1)]->offset:8]", 8),
        ("size((4,(2,3)))", "integer", "24", None),
        ("idx2crd(5, (2,3))", "tuple", "(1,2)", None),
        ("is_injective((4,2))", "truth", "true", None),
    ],
)
def test_each_kind_of_value(
    capsys: pytest.CaptureFixture[str], expression: str, kind: str, value: str, size: int | None
) -> None:
    data = run_json(capsys, "layout", expression)
    assert data["kind"] == kind
    assert data["value"].startswith(value)
    assert data.get("size") == size
    assert ("table" in data) is (size is not None)
    if size is not None:
        assert sum(map(len, data["table"]["cells"])) == size


def test_coordinates_are_lists_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    cells = run_json(capsys, "layout", "(2,2):(E<0>,4*E<1>)")["table"]["cells"]
    assert cells == [[[0, 0], [0, 4]], [[1, 0], [1, 4]]]


def test_false_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", "is_injective((2,2):(1,1))"]) == 1
    assert capsys.readouterr().out == "false\n"


def test_a_large_table_is_cropped_visibly(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", "(1000000,3):(3,1)"]) == 0
    assert capsys.readouterr().out.endswith("\n[cropped: rows 0-63 of 1000000]\n")
    data = run_json(capsys, "layout", "(1000000,3):(3,1)")
    assert data["size"] == 3000000
    assert len(data["table"]["cells"]) == 64
    assert data["table"]["notes"] == ["cropped: rows 0-63 of 1000000"]


def test_symbols_come_with_their_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", "composition((8,n):(n,1), (4,2))"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "(4,2):(n,1)",
        "size 8, cosize 3*n+2",
        "for all positive integers n with 2 <= n",
    ]
    data = run_json(capsys, "layout", "composition((8,n):(n,1), (4,2))")
    assert (data["symbols"], data["conditions"]) == (["n"], ["2 <= n"])
    assert "table" not in data
    assert main(["layout", "coalesce((192,n):(1,192))"]) == 0
    assert capsys.readouterr().out.endswith("\nfor all positive integers n\n")


def test_a_condition_is_shown_when_its_symbol_is_gone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    expression = "composition((n,8):(8,1), 4:2)"
    condition = "[only where 8 <= n]"
    assert main(["layout", expression]) == 0
    assert condition in capsys.readouterr().out
    assert main(["layout", expression, "-o", str(tmp_path / "a.svg")]) == 0
    assert condition in capsys.readouterr().out
    assert "8 <= n" in run_json(capsys, "layout", expression)["conditions"]


@pytest.mark.parametrize("form", ["text", "svg", "tikz"])
def test_a_drawing_goes_to_stdout_alone(capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert main(["layout", "(4,8):(8,1)", "--draw", form]) == 0
    assert capsys.readouterr().out == draw(Layout((4, 8), (8, 1)), form) + "\n"
    data = run_json(capsys, "layout", "(4,8):(8,1)", "--draw", form)
    assert data["drawing"] == {"form": form, "text": draw(Layout((4, 8), (8, 1)), form) + "\n"}


@pytest.mark.parametrize(("suffix", "form"), [(".txt", "text"), (".svg", "svg"), (".tex", "tikz")])
def test_a_file_name_says_what_to_draw(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str, form: str
) -> None:
    target = tmp_path / f"drawing{suffix}"
    assert main(["layout", "8:1", "--bits", "16", "-o", str(target)]) == 0
    assert capsys.readouterr().out == f"8:1\nsize 8, cosize 8\nwrote {target}\n"
    assert target.read_text() == draw(Layout(8), form, bits=16) + "\n"
    other = tmp_path / "other"
    data = run_json(capsys, "layout", "8:1", "--draw", form, "-o", str(other))
    assert data["drawing"] == {"form": form, "file": str(other)}
    assert other.read_text() == draw(Layout(8), form) + "\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"drawing{suffix}", "other"]


def test_query_draws(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "c.svg"
    assert main(["query", ATOM, "--draw", "svg", "-o", str(target)]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith(f"operand C (f32)\nwrote {target}\n")
    root = ElementTree.parse(target).getroot()
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 128
    assert "(9,5): T6V3" in titles
    assert main(["query", ATOM, "--operand", "A", "--draw", "tikz"]) == 0
    assert "{T6V7};" in capsys.readouterr().out
    data = run_json(capsys, "query", ATOM, "--draw", "text")
    assert data["schema"] == "tylo.query/1"
    assert "T31V3" in data["drawing"]["text"]
    assert "drawing" not in run_json(capsys, "query", ATOM)


# An expression, the column under which the caret stands, and part of the message.
MISTAKES = [
    ("(4,2):(1;8)", 8, "expected ',' or ')' but found ';'"),
    ("composition(4:1, 2:1", 20, "but found the end"),
    ("coalesce((4,2)) x", 16, "expected the end but found 'x'"),
    ("  coalesc(4:1)", 2, "no function is named 'coalesc'"),
    ("size(4:1, (2,3):(1))", 10, "nest differently"),
    ("(4,2):(1,x y)", 11, "expected ',' or ')'"),
    ("Sw<2,0>", 0, "3 parameters, not 2"),
    ("4:1\t;", 4, "expected the end"),
    ("", 0, "found the end"),
    ("complement()", 0, "does not take these 0 arguments"),
    # A refusal points at the operation that refused, not at the one around it.
    ("logical_product(complement((2,3):(2,2), 24), 4)", 16, "not injective"),
    ("size(composition((4,3):(1,10), 6))", 5, "4 does not divide 6"),
    ("complement(8:1, Sw<3,4,3>)", 0, "this has no value"),
    ("crd2idx(4, (), 16)", 0, "this has no value"),
    ("(" * 5000, None, "nested too deeply"),
    ("9" * 5000, None, "this has no value"),
]


@pytest.mark.parametrize(("expression", "column", "message"), MISTAKES, ids=lambda x: str(x)[:24])
def test_a_caret_stands_under_the_mistake(
    capsys: pytest.CaptureFixture[str], expression: str, column: int | None, message: str
) -> None:
    assert main(["layout", expression]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    said, shown, caret = printed.err.splitlines()
    assert said.startswith("tylo layout: ")
    assert message in said
    assert shown == "  " + expression.replace("\t", " ")
    assert caret.strip() == "^"
    if column is not None:
        assert caret.index("^") == 2 + column


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["layout", "4", "--draw", "svg"], "4 is no layout"),
        (["layout", "E<0>"], "only part of a layout"),
        (["layout", "n"], "only part of a layout"),
        (["layout", "(4,n):(n,1)", "--draw", "svg"], "substitute the sizes"),
        (["layout", "4:1", "-o", "x.pdf"], "does not say what to draw"),
        (["layout", "4:1", "--bits", "0"], "elements of 0 bits"),
        (["layout", "4:1", "-o", "."], "does not say what to draw"),
        (["layout", "4:1", "--draw", "svg", "-o", "."], "cannot write ."),
        (["query", ATOM, "--draw", "svg", "--lane", "0"], "shows the whole operand"),
        (["query", ATOM, "-o", "x.svg", "--at", "0", "0"], "shows the whole operand"),
    ],
)
def test_other_mistakes_are_one_line_and_write_nothing(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert message in printed.err
    assert "; " in printed.err, "a message ends with a way out"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("extra", [[], ["--draw", "svg"], ["--json"]])
def test_numbers_need_nothing_heavy(extra: list[str]) -> None:
    code = (
        f"import sys; from tylo.cli import main; main({['layout', COMPOSITION, *extra]!r});"
        "print(sorted({'numpy', 'sympy', 'z3', 'cvc5', 'cuda.bindings'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
