"""What `tylo check` and `tylo report` share: a path to its verdicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tylo.cli.output import tell
from tylo.layouts.errors import BundleError, TyloError
from tylo.proofs.bundle import (
    DIGEST_ONLY,
    FAILS,
    UNDECIDED,
    Bundle,
    Check,
    Checked,
    check_bundle,
    read_bundle,
)
from tylo.proofs.bundle.certificates import check_certificate_file
from tylo.proofs.certificate import Certificate


@dataclass(frozen=True, slots=True)
class Examined:
    """A path, what was found there, and what was checked."""

    path: str
    found: Bundle | Certificate | None
    checked: Checked


def examine(path: str, *, rebuild: bool = False, strict: bool = False) -> Examined:
    """Check the bundle or certificate at `path`; `BundleError` if there is neither."""
    place = Path(path)
    if place.suffix == ".ptx" and place.is_file():
        raise BundleError(
            f"{path} is neither a bundle nor a certificate",
            hint="check PTX with --ptx FILE --against CLAIM",
        )
    if place.is_dir() and not (place / "manifest.json").is_file() and [*place.glob("*.json")]:
        raise BundleError(
            f"{path} holds no manifest.json",
            hint=f"name the folder of a bundle, or the certificates: {path.rstrip('/')}/*.json",
        )
    tell(f"checking {path}")
    if place.is_dir():
        examined = _bundle(path, rebuild)
    elif place.is_file():
        certificate, checks = check_certificate_file(place)
        examined = Examined(path, certificate, Checked(None, checks, ()))
    else:
        raise BundleError(f"there is no {path}", hint="name a bundle's folder or a certificate")
    if not strict:
        return examined
    checks = tuple(
        replace(each, verdict=UNDECIDED, detail=f"digest only; {each.detail}")
        if each.verdict == DIGEST_ONLY
        else each
        for each in examined.checked.checks
    )
    return replace(examined, checked=replace(examined.checked, checks=checks))


def _bundle(path: str, rebuild: bool) -> Examined:
    try:
        bundle = read_bundle(path)
    except BundleError as reason:
        if not (Path(path) / "manifest.json").is_file():
            raise
        failed = Check("files", "digest", FAILS, str(reason))
        return Examined(path, None, Checked(None, (failed,), ()))
    checked = check_bundle(bundle)
    from tylo.codegen.rebuild import remade_checks

    try:
        again = tuple(remade_checks(bundle, checked, rebuild=rebuild))
    except TyloError as reason:
        again = (Check("kernel.cu", "regenerated", FAILS, str(reason)),)
    made = {check.subject for check in again}
    kept = tuple(
        check
        for check in checked.checks
        if not (check.verdict == DIGEST_ONLY and check.subject in made)
    )
    return Examined(path, bundle, replace(checked, checks=kept + again))
