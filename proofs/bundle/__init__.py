"""Bundles: a kernel with its proof, checkable by someone who trusts neither.

`read_bundle` reads a folder whole and compares every digest; `check_bundle` regenerates the claims
and the PTX obligations from the specification that the manifest names; `write_bundle` writes a
folder whole or not at all.
"""

from __future__ import annotations

from tylo.proofs.bundle.check import (
    DIGEST_ONLY,
    FAILS,
    HOLDS,
    UNDECIDED,
    Check,
    Checked,
    check_bundle,
)
from tylo.proofs.bundle.folder import Bundle, read_bundle, sealed, write_bundle
from tylo.proofs.bundle.manifest import (
    CERTIFICATE,
    EFFECT,
    KERNEL,
    MANIFEST,
    MANIFEST_DIGEST,
    REPORT,
    GeneratedTest,
    Manifest,
    digest,
)

__all__ = [
    "CERTIFICATE",
    "DIGEST_ONLY",
    "EFFECT",
    "FAILS",
    "HOLDS",
    "KERNEL",
    "MANIFEST",
    "MANIFEST_DIGEST",
    "REPORT",
    "UNDECIDED",
    "Bundle",
    "Check",
    "Checked",
    "GeneratedTest",
    "Manifest",
    "check_bundle",
    "digest",
    "read_bundle",
    "sealed",
    "write_bundle",
]
