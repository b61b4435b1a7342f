"""Certificates: one spelling, atomic files, digests."""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tylo.layouts.errors import ClaimError, TyloError
from tylo.proofs import checker
from tylo.proofs.certificate import Certificate, certificate_from_bytes
from tylo.proofs.claims import Claim
from tylo.proofs.prover import require_proof


@pytest.fixture
def certificate(true_claims: dict[str, Claim]) -> Certificate:
    names = ("exchange", "swizzle")
    return Certificate(
        theorem="Pairs of atoms exchange.",
        specification="adjacent_atoms",
        parameters={"atom": "m16n8k16", "shape": (16, 8), "repeats": 2},
        proofs=[require_proof(true_claims[name]) for name in names],
    )


def test_bytes_round_trip(certificate: Certificate) -> None:
    content = certificate.to_bytes()
    assert certificate_from_bytes(content) == certificate
    assert certificate_from_bytes(content).to_bytes() == content
    assert content.endswith(b"}\n")
    assert content.isascii()
    assert [claim.name for claim in certificate.claims] == ["exchange", "swizzle"]


def test_the_file_is_what_the_checker_reads(certificate: Certificate, tmp_path: Path) -> None:
    path = tmp_path / "proof" / "exchange.json"
    certificate.write(path)
    assert path.read_bytes() == certificate.to_bytes()
    assert checker.check_file(path) == certificate.check()
    assert all(verdict.accepted for verdict in certificate.check())
    assert certificate.digest == "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_failed_write_leaves_the_old_file_alone(
    certificate: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "exchange.json"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(TyloError, match=r"cannot write .*disk full"):
        certificate.write(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_certificate_is_small(certificate: Certificate) -> None:
    assert len(certificate.to_bytes()) < 6000


def test_parameters_are_integers_and_text(true_claims: dict[str, Claim]) -> None:
    proofs = [require_proof(true_claims["registers"])]
    for value in (1.5, True, None, {"a": 1}):
        with pytest.raises(ClaimError, match="parameters"):
            Certificate("Registers.", "registers", {"value": value}, proofs)
    with pytest.raises(ClaimError, match="without a claim"):
        Certificate("Nothing.", "nothing", {}, [])


def respelled(certificate: Certificate, **change: Any) -> bytes:
    return json.dumps({**certificate.to_json(), **change}).encode()


def test_foreign_bytes_are_refused(certificate: Certificate) -> None:
    for content in (
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        certificate.to_bytes()[:-1],
        respelled(certificate),
        respelled(certificate, claims=[]),
        respelled(certificate, claims=[{}]),
        respelled(certificate, specification=1),
    ):
        with pytest.raises(ClaimError):
            certificate_from_bytes(content)
