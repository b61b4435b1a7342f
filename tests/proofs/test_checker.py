"""The checker stands alone, accepts what is proven, and refuses every trick without a traceback."""

from __future__ import annotations

import ast
import copy
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tylo.proofs import checker
from tylo.proofs.certificate import Certificate
from tylo.proofs.claims import Claim
from tylo.proofs.prover import require_proof

SOURCE = Path(checker.__file__)
Json = dict[str, Any]

# Written out by hand: nothing of Tylo's takes part in making it.
ENTRY: Json = {
    "id": "",
    "claim": {
        "name": "quads",
        "kind": "in_bounds",
        "statement": "Quads lie inside the rows.",
        "parameters": {"M": 1},
        "variables": [["lane", 32], ["m", "M"], ["x", None]],
        "conjuncts": [
            ["row", "<", ["+", ["*", 8, "m"], ["div", "lane", 4]], ["*", 8, "M"]],
            ["x", "=", ["+", ["*", 4, ["div", "x", 4]], ["mod", "x", 4]], "x"],
        ],
    },
    "digits": {
        "lane": [["lane.0", 4], ["lane.1", 8]],
        "m": [["m.0", "M"]],
        "x": [["x.0", 4], ["x.1", None]],
    },
}


def text_of(data: Any) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def identified(entry: Json) -> Json:
    digest = hashlib.sha256(text_of(entry["claim"])[:-1]).hexdigest()
    return {**entry, "id": f"sha256:{digest}"}


def certificate(*entries: Json) -> Json:
    return {
        "schema": "tylo.certificate/1",
        "theorem": "Quads.",
        "specification": {"name": "quads", "parameters": {"rows": 8, "atoms": ["a", 1]}},
        "claims": [identified(entry) for entry in entries],
    }


def changed(change: Callable[[Json, Json], object]) -> Json:
    entry = copy.deepcopy(ENTRY)
    change(entry["claim"], entry["digits"])
    return entry


def run_checker(*paths: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", str(SOURCE), *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_checker_is_short() -> None:
    assert len(SOURCE.read_text().splitlines()) < 300


def test_the_checker_imports_the_standard_library_alone() -> None:
    imported = set()
    for node in ast.walk(ast.parse(SOURCE.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert imported <= set(sys.stdlib_module_names)
    assert not {"importlib", "subprocess", "ctypes"} & imported
    assert not {"eval", "exec", "__import__"} & {
        node.id for node in ast.walk(ast.parse(SOURCE.read_text())) if isinstance(node, ast.Name)
    }


def test_a_certificate_written_by_hand_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "quads.json"
    path.write_bytes(text_of(certificate(ENTRY)))
    done = run_checker(path)
    assert done.stdout == f"ACCEPT {identified(ENTRY)['id']} quads: proven\n"
    assert (done.returncode, done.stderr) == (0, "")


def test_every_true_claim_is_accepted_alone(tmp_path: Path, true_claims: dict[str, Claim]) -> None:
    proofs = [require_proof(claim) for claim in true_claims.values()]
    path = tmp_path / "all.json"
    Certificate("All of them.", "by_hand", {}, proofs).write(path)
    done = run_checker(path)
    assert done.returncode == 0, done.stdout
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["ACCEPT", proof.claim.id] for proof in proofs
    ]


def test_exit_codes_and_lines(tmp_path: Path) -> None:
    good, false, bad = tmp_path / "good", tmp_path / "false", tmp_path / "bad"
    good.write_bytes(text_of(certificate(ENTRY)))
    wrong = changed(lambda claim, _: claim["conjuncts"][0].__setitem__(3, ["*", 7, "M"]))
    false.write_bytes(text_of(certificate(ENTRY, wrong)))
    bad.write_bytes(b"{")
    done = run_checker(good, false)
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["ACCEPT", "ACCEPT", "REJECT"]
    assert "quads: < does not follow from the digits: row" in done.stdout
    done = run_checker(false, bad, tmp_path / "missing", tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 3
    assert "Traceback" not in done.stderr
    assert run_checker().returncode == 2


TRICKS: dict[str, Callable[[Json, Json], object]] = {
    "radices do not multiply to the bound": lambda _, d: d["lane"][1].__setitem__(1, 4),
    "a digit left out": lambda _, d: d["lane"].pop(),
    "no digits": lambda _, d: d.update(lane=[]),
    "radix 0": lambda _, d: d.update(lane=[["lane.0", 0], ["lane.1", 32]]),
    "negative radices": lambda _, d: d.update(lane=[["lane.0", -4], ["lane.1", -8]]),
    "a radix that may be 0": lambda c, d: (
        c["parameters"].update(M=0),
        d.update(m=[["m.0", "M"]]),
    ),
    "bounded variable without top": lambda _, d: d["lane"][1].__setitem__(1, None),
    "unbounded variable with top": lambda _, d: d["x"][1].__setitem__(1, 8),
    "open digit below": lambda _, d: d.update(lane=[["lane.0", None], ["lane.1", 32]]),
    "empty bound": lambda c, d: (
        c["variables"][0].__setitem__(1, 0),
        d.update(lane=[["lane.0", None]]),
    ),
    "negative bound": lambda c, d: (
        c["variables"][0].__setitem__(1, -1),
        d.update(lane=[["lane.0", -1]]),
    ),
    "digit of another variable": lambda _, d: d.update(m=[["lane.0", "M"]]),
    "digit named like a parameter": lambda _, d: d.update(m=[["M", "M"]]),
    "digit named like an exclusive or": lambda _, d: d.update(m=[["m.0^m.0", "M"]]),
    "radix over a variable": lambda c, d: (
        c["variables"].append(["y", ["mod", "lane", 4]]),
        d.update(y=[["y.0", ["mod", "lane", 4]]]),
    ),
    "variable declared twice": lambda c, _: c["variables"].append(["lane", 32]),
    "variable named like a parameter": lambda c, d: (
        c["variables"].append(["M", 1]),
        d.update(M=[["M.0", 1]]),
    ),
    "digits of nothing": lambda _, d: d.update(y=[["y.0", 2]]),
    "a variable without digits": lambda _, d: d.pop("m"),
    "nothing claimed": lambda c, _: c["conjuncts"].clear(),
    "undeclared name": lambda c, _: c["conjuncts"].append(["y", "=", "y", "y"]),
    "digit used as a name": lambda c, _: c["conjuncts"].append(["y", "=", "lane.0", "lane.0"]),
    "division by 0": lambda c, _: c["conjuncts"].append(["y", "=", ["div", 0, 0], 0]),
    "division by a negative number": lambda c, _: c["conjuncts"].append(
        ["y", "=", ["div", -4, -2], 2]
    ),
    "division by a variable": lambda c, _: c["conjuncts"].append(["y", "=", ["mod", "m", "m"], 0]),
    "division by a sum": lambda c, _: c["conjuncts"].append(
        ["y", "=", ["div", "m", ["+", "M", 1]], 0]
    ),
    "exclusive or of negatives": lambda c, _: c["conjuncts"].append(
        ["y", "=", ["xor", ["-", 0, "x"], 0], ["-", 0, "x"]]
    ),
    "exclusive or as a sum": lambda c, _: c["conjuncts"].append(
        ["y", "=", ["xor", "lane", "m"], ["+", "lane", "m"]]
    ),
    "too large": lambda c, _: c["conjuncts"].append(["y", "<=", 0, squared(["+", "x", "M"], 9)]),
}


def squared(term: Any, times: int) -> Any:
    for _ in range(times):
        term = ["*", term, term]
    return term


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS.keys())
def test_tricks_are_rejected(trick: Callable[[Json, Json], object]) -> None:
    [verdict] = checker.check_bytes(text_of(certificate(changed(trick))))
    assert not verdict.accepted
    assert verdict.reason


def test_a_parameter_may_be_zero_where_it_bounds_nothing() -> None:
    entry = changed(
        lambda c, _: (
            c["parameters"].update(P=0),
            c["conjuncts"].append(["p", "<=", "m", ["+", "m", "P"]]),
        )
    )
    assert checker.check_bytes(text_of(certificate(entry)))[0].accepted
    entry["claim"]["conjuncts"].append(["q", "<", "m", ["+", "m", "P"]])
    assert not checker.check_bytes(text_of(certificate(entry)))[0].accepted


def test_the_id_is_recomputed() -> None:
    data = certificate(ENTRY)
    data["claims"][0]["id"] = "sha256:" + 64 * "0"
    [verdict] = checker.check_bytes(text_of(data))
    assert not verdict.accepted
    assert verdict.id == identified(ENTRY)["id"]


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels + b"\n"


def with_text(old: str, new: str) -> bytes:
    text = text_of(certificate(ENTRY)).decode()
    assert old in text
    return text.replace(old, new).encode()


BAD_INPUT: dict[str, bytes] = {
    "empty": b"",
    "not JSON": b"certificate\n",
    "not ASCII": b'"\xff"\n',
    "UTF-16": text_of(certificate(ENTRY)).decode().encode("utf-16"),
    "a list": b"[]\n",
    "no newline": text_of(certificate(ENTRY))[:-1],
    "two newlines": text_of(certificate(ENTRY)) + b"\n",
    "spaces": with_text('"M":1', '"M": 1'),
    "unsorted keys": with_text('"name":"quads","parameters"', '"zame":"quads","parameters"'),
    "duplicate keys": with_text('"parameters":{"M":1}', '"parameters":{"M":1,"M":1}'),
    "wrong schema": with_text("certificate/1", "certificate/2"),
    "schema missing": text_of({k: v for k, v in certificate(ENTRY).items() if k != "schema"}),
    "unknown key": text_of({**certificate(ENTRY), "extra": 1}),
    "no claims": text_of(certificate()),
    "claims not a list": text_of({**certificate(), "claims": {}}),
    "a float": with_text('"lane",32]', '"lane",32.0]'),
    "infinity": with_text('"lane",32]', '"lane",Infinity]'),
    "a float in the specification": with_text('"rows":8', '"rows":8.5'),
    "a boolean in the specification": with_text('"rows":8', '"rows":true'),
    "null in the specification": with_text('"rows":8', '"rows":null'),
    "a huge integer": with_text('"rows":8', '"rows":' + 5000 * "1"),
    "a nesting bomb": nested(100_000),
    "an object bomb": b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n",
    "too large a file": b'"' + b" " * checker.LARGEST_FILE + b'"\n',
}


def in_claim(change: Callable[[Json, Json], object]) -> bytes:
    return text_of(certificate(changed(change)))


BAD_INPUT |= {
    f"claim: {name}": in_claim(change)
    for name, change in {
        "boolean bound": lambda c, _: c["variables"][0].__setitem__(1, True),
        "boolean minimum": lambda c, _: c["parameters"].update(M=True),
        "negative minimum": lambda c, _: c["parameters"].update(M=-1),
        "text minimum": lambda c, _: c["parameters"].update(M="1"),
        "null term": lambda c, _: c["conjuncts"][0].__setitem__(2, None),
        "unknown operator": lambda c, _: c["conjuncts"][0].__setitem__(2, ["pow", "m", 2]),
        "operator without operands": lambda c, _: c["conjuncts"][0].__setitem__(2, ["+"]),
        "operator of three": lambda c, _: c["conjuncts"][0].__setitem__(2, ["+", 1, 2, 3]),
        "object term": lambda c, _: c["conjuncts"][0].__setitem__(2, {"+": 1}),
        "unknown relation": lambda c, _: c["conjuncts"][0].__setitem__(1, ">"),
        "short conjunct": lambda c, _: c["conjuncts"][0].pop(),
        "unknown key": lambda c, _: c.update(extra=1),
        "missing key": lambda c, _: c.pop("kind"),
        "variables as an object": lambda c, _: c.update(variables={"lane": 32}),
        "a name with a dot": lambda c, d: (
            c["variables"].append(["y.0", 2]),
            d.update({"y.0": [["y.0.0", 2]]}),
        ),
        "digits as an object": lambda _, d: d.update(lane={"lane.0": 4}),
        "digits of three parts": lambda _, d: d["lane"][0].append(1),
        "boolean radix": lambda _, d: d["lane"][0].__setitem__(1, True),
        "null inside a radix": lambda _, d: d["lane"][0].__setitem__(1, ["*", 4, None]),
    }.items()
}


@pytest.mark.parametrize("content", BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_is_refused(content: bytes) -> None:
    with pytest.raises(checker.BadInput):
        checker.check_bytes(content)


def test_bad_input_never_shows_a_traceback(tmp_path: Path) -> None:
    paths = []
    for place, content in enumerate(BAD_INPUT.values()):
        paths.append(tmp_path / f"{place}.json")
        paths[-1].write_bytes(content)
    done = run_checker(*paths)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == len(paths)
    assert all(line.startswith("BAD INPUT") for line in done.stderr.splitlines())


def test_deep_terms_never_end_in_a_traceback() -> None:
    for levels in (200, 2_000, 20_000):
        text = text_of(certificate(ENTRY)).decode()
        deep = '["+",' * levels + '"m"' + ",0]" * levels
        content = text.replace('["*",8,"M"]', deep).encode()
        try:
            assert not checker.check_bytes(content)[0].accepted
        except checker.BadInput:
            assert levels > 200


def test_hostile_text_stays_on_its_line(tmp_path: Path) -> None:
    entry = changed(
        lambda c, _: c["conjuncts"][0].__setitem__(0, "x\nACCEPT sha256:0 \x1b[2J\u202e")
    )
    entry["claim"]["conjuncts"][0][3] = 0
    path = tmp_path / "hostile.json"
    path.write_bytes(text_of(certificate(entry)))
    done = run_checker(path)
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 1
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
