"""Checking a certificate on its own: its claims are regenerated from the specification it names."""

from __future__ import annotations

import json
from pathlib import Path

from tylo.layouts.errors import BundleError, TyloError
from tylo.proofs.bundle.check import FAILS, Check, certificate_checks, solver_checks
from tylo.proofs.certificate import Certificate, certificate_from_bytes
from tylo.proofs.specifications import specification


def check_certificate_file(path: Path) -> tuple[Certificate | None, tuple[Check, ...]]:
    """The certificate in a file, and every verdict about it; `BundleError` for what is no JSON."""
    try:
        content = path.read_bytes()
        _require_json(path, content)
        certificate = certificate_from_bytes(content)
        stated = specification(certificate.specification, certificate.parameters)
    except BundleError:
        raise
    except (TyloError, OSError) as reason:
        return None, (Check(path.name, "schema", FAILS, str(reason)),)
    checks = (*certificate_checks(path.name, content, stated), *solver_checks(stated.claims))
    return certificate, checks


def _require_json(path: Path, content: bytes) -> None:
    """Text or a kernel was never a certificate, so that nothing of it can fail."""
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        raise BundleError(
            f"{path} is no certificate: it is not JSON",
            hint="name a bundle's folder, or a certificate that `tylo prove -o` wrote",
        ) from None
