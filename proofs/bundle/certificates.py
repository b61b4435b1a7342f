"""Checking a certificate on its own: its claims are regenerated from the specification it names."""

from __future__ import annotations

from pathlib import Path

from tylo.layouts.errors import TyloError
from tylo.proofs.bundle.check import FAILS, Check, certificate_checks, solver_checks
from tylo.proofs.certificate import Certificate, certificate_from_bytes
from tylo.proofs.specifications import specification


def check_certificate_file(path: Path) -> tuple[Certificate | None, tuple[Check, ...]]:
    """The certificate in a file, and every verdict about it."""
    try:
        content = path.read_bytes()
        certificate = certificate_from_bytes(content)
        stated = specification(certificate.specification, certificate.parameters)
    except (TyloError, OSError) as reason:
        return None, (Check(path.name, "schema", FAILS, str(reason)),)
    checks = (*certificate_checks(path.name, content, stated), *solver_checks(stated.claims))
    return certificate, checks
