"""The command line: exit codes, JSON, and one line instead of a traceback for a user's mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tylo.cli import main
from tylo.layouts.terms import name
from tylo.proofs.claims import Claim, Conjunct

ATOM = "mma.m16n8k16.bf16"
CERTIFICATES = Path(__file__).parents[2] / "proofs" / "artifacts"


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert main([*arguments, "--json"]) == code
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def test_query_at(capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "query", ATOM, "--operand", "A", "--at", "9", "13")
    assert data["schema"] == "tylo.query/1"
    assert data["atom"] == "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
    assert data["axes"] == ["m", "k"]
    assert data["shape"] == [16, 16]
    assert data["owners"] == [
        {"thread": 6, "warp": 0, "lane": 6, "value": 7, "register": 3, "shift": 16}
    ]


def test_query_table(capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "query", ATOM, "--operand", "B")
    assert (data["threads"], data["values"]) == (32, 4)
    assert data["coordinates"][25][3] == [11, 6]
    assert data["registers"] == [[0, 0], [0, 16], [1, 0], [1, 16]]


def test_query_of_a_tile_names_replicas(capsys: pytest.CaptureFixture[str]) -> None:
    tile = ("--m", "2", "--k", "3", "--warps-m", "2", "--warps-n", "2")
    data = run_json(capsys, "query", ATOM, "--operand", "A", *tile, "--at", "0", "0")
    assert data["shape"] == [64, 48]
    assert [owner["warp"] for owner in data["owners"]] == [0, 2]


@pytest.mark.parametrize("arguments", [["--lane", "3"], ["--value", "2"], [], ["--at", "1", "1"]])
def test_query_prints_a_table(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(["query", ATOM, *arguments]) == 0
    assert "mma.sync.aligned.m16n8k16" in capsys.readouterr().out


def test_a_short_name_says_what_it_resolved_to(capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "query", "m16n8k16.f16", "--at", "0", "0")
    assert data["atom"] == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


MISTAKES = [
    (["query", "mma.m16n8k16", "--at", "0", "0"], "fits several atoms"),
    (["query", "mma.m8n8k4.f64"], "no atom"),
    (["query", "nvcuda::wmma"], "unspecified"),
    (["query", ATOM, "--operand", "Q"], "no operand 'Q'"),
    (["query", ATOM, "--lane", "32"], "lane 32 is out of range"),
    (["query", ATOM, "--lane", "-1"], "lane -1 is out of range"),
    (["query", ATOM, "--value", "4"], "value 4 is out of range"),
    (["query", ATOM, "--at", "16", "0"], "m 16 is out of range"),
    (["query", ATOM, "--k", "2"], "no k axis"),
    (["query", ATOM, "--lane", "33", "--warps-n", "2"], "lane 33 is out of range"),
    (["query", ATOM, "--warp", "1"], "warp 1 is out of range"),
    (["query", ATOM, "--at", "9", "5", "--value", "2"], "one question at a time"),
    (["query", ATOM, "--m", "10000"], "a table of 32 threads by 40000 values"),
    (["prove", "adjacent_atoms", "-o", "/proc/x"], "cannot write"),
    (["query", ATOM, "--m", "0"], "repeats along m is 0"),
    (["prove", "nosuch"], "no theorem 'nosuch'"),
    (["prove", "/nonexistent/claim.json"], "cannot read a claim"),
    (["generate", "nosuch", "-o", "x"], "no primitive 'nosuch'"),
    (["generate", "adjacent_atoms", "-o", "x"], "no primitive 'adjacent_atoms'"),
    (["generate", "pack_operand_a", "-o", "x", "--arch", "sm_75"], "needs sm_80"),
    (["generate", "pack_operand_a", "-o", "x", "--arch", "compute_90"], "virtual"),
    (["generate", "pack_operand_a", "-o", "x", "--pairs", "0"], "column pairs"),
    (["check", "/nonexistent"], "there is no"),
    (["check", "."], "holds no manifest.json"),
    (["check", __file__], "is not JSON; name a bundle's folder, or a certificate"),
    (["check", str(CERTIFICATES)], "or the certificates: "),
    (["generate", "softmax", "-o", "x", "--set", "form=three_pass"], "warps=1"),
    (["report", "/nonexistent", "-o", "x.html"], "there is no"),
    (["report", ".", "-o", "x.docx"], "FILE.html or FILE.md"),
    (["run", "/nonexistent"], "is not a folder"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_a_mistake_is_one_line(
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


def test_prove_writes_what_the_standalone_checker_accepts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    data = run_json(capsys, "prove", "adjacent_atoms", "-o", str(tmp_path))
    assert {entry.get("verdict") for entry in data["results"]} == {"proven", None}
    checker = Path(__file__).parents[2] / "proofs" / "checker.py"
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == ["adjacent_atoms.bf16.json", "adjacent_atoms.f16.json"]
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(checker), *map(str, files)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("ACCEPT") == 16


def test_the_committed_certificates_are_what_is_proven_today(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["prove", "-o", str(tmp_path)]) == 0
    capsys.readouterr()
    committed = Path(__file__).parents[2] / "proofs" / "artifacts"
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_bytes() for path in committed.iterdir()}


def test_a_false_claim_shows_its_least_counterexample(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lane = name("lane")
    claim = Claim(
        name="one_off",
        kind="equal",
        statement="False from lane 5 on.",
        parameters={},
        variables=[("lane", 32)],
        conjuncts=[Conjunct("lane", "=", lane + lane // 5, lane)],
    )
    path = tmp_path / "claim.json"
    path.write_text(json.dumps(claim.to_json()))
    data = run_json(capsys, "prove", str(path), code=1)
    (entry,) = data["results"]
    assert entry["verdict"] == "false"
    assert "lane = 5" in entry["counterexample"]


def test_what_no_digits_decide_is_asked_of_the_solvers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    value = name("value")
    odd = Claim(
        name="neighbours",
        kind="equal",
        statement="Of two neighbours one is odd.",
        parameters={},
        variables=[("value", 64)],
        conjuncts=[Conjunct("odd", "=", value % 2 + (value + 1) % 2, 1)],
    )
    path = tmp_path / "claim.json"
    path.write_text(json.dumps(odd.to_json()))
    data = run_json(capsys, "prove", str(path), "--solvers", code=3)
    assert data["results"][0]["verdict"] == "undecided"
    asked = {entry["solver"].split()[0]: entry["verdict"] for entry in data["results"][1:]}
    assert asked == {"z3": "holds", "cvc5": "holds"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("generate", "pack_operand_a", "-o", ""),
        ("prove", "-o", ""),
        ("check", " "),
        ("run", ""),
        ("report", "", "-o", "x.md"),
    ],
)
def test_an_empty_name_is_not_the_current_folder(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "the name is empty" in capsys.readouterr().err


def test_a_warning_is_one_line(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    command = [sys.executable, "-m", "tylo", "generate", "pack_operand_a", "--arch", "sm_90a"]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "bundle")],
        env={**os.environ, "TYLO_CACHE_DIR": str(blocked)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("tylo generate: warning: compiled kernels cannot be kept on disk")


def test_check_and_report_of_a_bundle(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bundle = tmp_path / "a bundle"
    data = run_json(capsys, "generate", "pack_operand_a", "--arch", "sm_90a", "-o", str(bundle))
    assert data["verdict"] == "holds"
    assert data["obligations"]["sm_90a"] >= 20
    data = run_json(capsys, "check", str(bundle), "--rebuild", "--strict")
    assert data["results"][0]["verdict"] == "holds"
    data = run_json(capsys, "check", str(bundle), "--strict", code=3)
    assert data["results"][0]["verdict"] == "undecided"
    for form in ("html", "md"):
        target = tmp_path / f"report.{form}"
        data = run_json(capsys, "report", str(bundle), "-o", str(target))
        assert "same_coordinates" in target.read_text(encoding="utf-8")
    kernel = bundle / "kernel.cu"
    kernel.write_bytes(kernel.read_bytes().replace(b"tile", b"tjle", 1))
    data = run_json(capsys, "check", str(bundle), code=1)
    assert "kernel.cu differs" in data["results"][0]["checks"][0]["detail"]
    assert main(["run", str(bundle)]) == 2
    assert "kernel.cu differs" in capsys.readouterr().err


def test_check_of_a_certificate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    committed = CERTIFICATES / "adjacent_atoms.bf16.json"
    data = run_json(capsys, "check", str(committed))
    assert data["results"][0]["verdict"] == "holds"
    forged = tmp_path / "forged.json"
    forged.write_bytes(committed.read_bytes().replace(b"same lane", b"next lane", 1))
    assert run_json(capsys, "check", str(forged), code=1)["results"][0]["verdict"] == "fails"


def test_help_names_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    assert "3 undecided" in " ".join(capsys.readouterr().out.split())


def test_query_imports_nothing_heavy() -> None:
    code = (
        "import sys; from tylo.cli import main; main(['query', 'mma.m16n8k16.f16', '--lane', '0']);"
        "heavy = {'numpy', 'sympy', 'z3', 'cvc5', 'cuda.bindings', 'tylo.layouts.drawing'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_goes_away_is_no_error() -> None:
    done = subprocess.run(
        f"'{sys.executable}' -m tylo query {ATOM} | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


def test_lanes_and_warps_of_a_tile(capsys: pytest.CaptureFixture[str]) -> None:
    tile = ("--warps-n", "2", "--lane", "5")
    assert run_json(capsys, "query", ATOM, *tile)["thread_numbers"] == [5, 37]
    assert run_json(capsys, "query", ATOM, *tile, "--warp", "1")["thread_numbers"] == [37]


def test_a_failed_check_fails_whoever_reads(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    for _ in range(3):
        piped = f"set -o pipefail; '{sys.executable}' -m tylo check bad.json | true"
        done = subprocess.run(
            ["bash", "-c", piped], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    command = f"'{sys.executable}' -m tylo query {ATOM} > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr
