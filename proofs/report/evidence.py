"""What is known about each claim and kernel, and by whom: verdicts are only read here, not made.

A verdict counts for a claim only where it is about that claim's id: the independent checker speaks
of the claims in the certificate, the solvers of those that the specification regenerates, and equal
names do not make equal claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from tylo.layouts.errors import TyloError
from tylo.proofs.bundle import CERTIFICATE, FAILS, HOLDS, UNDECIDED, Bundle, Check, Checked
from tylo.proofs.certificate import Certificate, Proof, certificate_from_bytes
from tylo.proofs.claims import Claim
from tylo.proofs.ptx.validate import Validation
from tylo.proofs.report.document import Status
from tylo.proofs.specifications import Specification

CHECKER = "checker"
CHECKERS: Mapping[str, str] = MappingProxyType(
    {CHECKER: "independent digit checker", "z3": "z3", "cvc5": "cvc5", "coq": "Coq"}
)
_ALWAYS_SHOWN = (CHECKER, "z3", "cvc5")
_ABOUT_A_CLAIM = "claim "


@dataclass(frozen=True)
class Evidence:
    """Claims and kernels with everything that was checked about them.

    `required` are the checkers without whose word no claim counts as proven here, and
    `architectures` those whose PTX must have obligations that hold.
    """

    specification: Specification | None
    certificate: Certificate | None
    checks: tuple[Check, ...]
    required: tuple[str, ...]
    architectures: tuple[str, ...] = ()
    validations: tuple[tuple[str, Validation], ...] = ()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What is claimed: by the specification, else by the certificate alone."""
        if self.specification:
            return self.specification.claims
        return self.certificate.claims if self.certificate else ()

    @property
    def columns(self) -> Mapping[str, str]:
        """The checkers to show, with a label each: those always named, then who else spoke.

        A check may name its checker with a version, as in ``z3 4.15``.
        """
        labels = {checker: CHECKERS[checker] for checker in _ALWAYS_SHOWN}
        for check in self.checks:
            if check.subject.startswith(_ABOUT_A_CLAIM):
                checker, _, version = check.checker.partition(" ")
                labels[checker] = f"{CHECKERS.get(checker, checker)} {version}".strip()
        return labels

    def proof(self, claim: Claim) -> Proof | None:
        """The certificate's proof of exactly this claim."""
        return self._proofs.get(claim.id)

    @cached_property
    def _proofs(self) -> Mapping[str, Proof]:
        proofs = self.certificate.proofs if self.certificate else ()
        return {proof.claim.id: proof for proof in proofs}

    @cached_property
    def _stated(self) -> frozenset[str]:
        stated = self.specification.claims if self.specification else ()
        return frozenset(claim.id for claim in stated)

    def status(self, claim: Claim, checker: str) -> Status:
        """What a checker said about a claim, and that it said nothing where it did not."""
        subject = f"{_ABOUT_A_CLAIM}{claim.name}"
        said = [
            check
            for check in self.checks
            if check.subject == subject and check.checker.partition(" ")[0] == checker
        ]
        if not said:
            return Status(UNDECIDED, "not asked")
        if not self._about(claim, checker):
            return Status(UNDECIDED, "missing: it judged another claim of this name")
        verdict = _worst(check.verdict for check in said)
        reason = next(check.detail for check in said if check.verdict == verdict)
        if verdict == HOLDS or reason in ("", verdict):
            return Status(verdict)
        return Status(verdict, f"{verdict}: {reason}")

    def _about(self, claim: Claim, checker: str) -> bool:
        return claim.id in (self._proofs if checker == CHECKER else self._stated)

    @cached_property
    def proven(self) -> tuple[Claim, ...]:
        """The claims that every required checker accepts."""
        return tuple(
            claim
            for claim in self.claims
            if all(self.status(claim, checker).verdict == HOLDS for checker in self.required)
        )

    @property
    def validated(self) -> tuple[str, ...]:
        """The architectures whose PTX has obligations, all of which hold."""
        held = {label for label, each in self.validations if each.verdicts and each.holds}
        return tuple(label for label in self.architectures if label in held)

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.verdict == FAILS)

    @property
    def verdict(self) -> str:
        """`fails` before `undecided` before `holds`; what is absent is undecided."""
        broken = any(each.failures for _, each in self.validations)
        if self.failures or broken:
            return FAILS
        complete = (
            bool(self.claims)
            and self.proven == self.claims
            and self.validated == self.architectures
            and all(check.verdict != UNDECIDED for check in self.checks)
        )
        return HOLDS if complete else UNDECIDED

    @property
    def other_checks(self) -> tuple[Check, ...]:
        """What was checked besides the claims."""
        return tuple(c for c in self.checks if not c.subject.startswith(_ABOUT_A_CLAIM))


def bundle_evidence(bundle: Bundle, checked: Checked) -> Evidence:
    """The evidence about a bundle: every claim by all who are always asked, every architecture."""
    try:
        certificate = certificate_from_bytes(bundle.files.get(CERTIFICATE, b""))
    except TyloError:
        certificate = None
    return Evidence(
        checked.specification,
        certificate,
        checked.checks,
        _ALWAYS_SHOWN,
        bundle.manifest.architectures or ("no architecture",),
        checked.validations,
    )


def _worst(verdicts: Iterable[str]) -> str:
    found = set(verdicts)
    return FAILS if FAILS in found else UNDECIDED if UNDECIDED in found else HOLDS
