"""Checking a bundle without trusting who made it.

The manifest names a specification. From that name alone the claims and the effect are made again;
the bundle's certificate must be about exactly those claims, and the independent checker must accept
it; the claims are exported to SMT solvers; and every PTX file must have exactly that effect. What
cannot be regenerated here (a cubin) has its digest and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tylo.layouts.errors import TyloError, Undecided
from tylo.proofs.bundle.folder import Bundle
from tylo.proofs.bundle.manifest import CERTIFICATE, EFFECT, KERNEL, REPORT
from tylo.proofs.certificate import certificate_from_bytes
from tylo.proofs.claims import Claim
from tylo.proofs.effects import assumptions, effect_to_bytes, uncovered
from tylo.proofs.pipelines.cuda_text import read_schedule
from tylo.proofs.pipelines.explore import explore
from tylo.proofs.pipelines.kernel import RoleKernel
from tylo.proofs.ptx.failures import Solve
from tylo.proofs.ptx.validate import Validation, validate
from tylo.proofs.ptx.workers import Workers
from tylo.proofs.smt import obligations
from tylo.proofs.solver_process import SOLVERS
from tylo.proofs.solvers import solve_all
from tylo.proofs.specifications import Specification, specification

_ARCHITECTURE = re.compile(r"sm_(?P<number>[1-9][0-9]{1,2})[af]?")
HOLDS, FAILS, UNDECIDED, DIGEST_ONLY = "holds", "fails", "undecided", "digest only"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked: what, by whom, and what came out."""

    subject: str
    checker: str
    verdict: str
    detail: str = ""

    def __str__(self) -> str:
        reason = f": {self.detail}" if self.detail else ""
        return f"{self.verdict}: {self.subject} ({self.checker}){reason}"


@dataclass(frozen=True, slots=True)
class Checked:
    """Everything that was checked about a bundle, and the PTX obligations per architecture."""

    specification: Specification | None
    checks: tuple[Check, ...]
    validations: tuple[tuple[str, Validation], ...]

    @property
    def verdict(self) -> str:
        """`fails` before `undecided` before `holds`."""
        found = {check.verdict for check in self.checks}
        return FAILS if FAILS in found else UNDECIDED if UNDECIDED in found else HOLDS


def not_covered(checked: Checked) -> tuple[str, ...]:
    """What no obligation about the kernel says anything about, by name."""
    stated = checked.specification
    if stated is None:
        return ()
    if stated.roles is not None:
        return tuple(f"not covered: {each}" for each in stated.roles.uncovered)
    return uncovered(stated.effect) if stated.effect else ()


def stated_assumptions(stated: Specification) -> tuple[str, ...]:
    """What a kernel's launch takes for granted; nothing without a kernel."""
    if stated.roles is not None:
        return stated.roles.assumptions
    return assumptions(stated.effect) if stated.effect else ()


def check_bundle(bundle: Bundle) -> Checked:
    """Every verdict about a bundle whose digests already hold."""
    manifest = bundle.manifest
    try:
        stated = specification(manifest.specification, manifest.parameters)
    except TyloError as reason:
        return Checked(None, (Check("specification", "manifest", FAILS, str(reason)),), ())
    if stated.kernel is None:
        missing = Check("specification", "manifest", FAILS, f"{stated.name} has no kernel")
        return Checked(stated, (missing,), ())
    checks = [
        *_stated_as_specified(bundle, stated),
        *certificate_checks(CERTIFICATE, bundle.files.get(CERTIFICATE, b""), stated),
        *solver_checks(stated.claims),
    ]
    validations = []
    if stated.roles is not None:
        checks += barrier_checks(bundle, stated.roles)
    if stated.kernel is not None:
        with Workers() as solve:
            for architecture in manifest.architectures:
                verdicts, validation = ptx_checks(bundle, stated, architecture, solve)
                checks += verdicts
                if validation is not None:
                    validations.append((architecture, validation))
    made = {test.file for test in manifest.tests}
    for path in sorted(bundle.files):
        if path.startswith("cubin/") or path in (*made, KERNEL, REPORT):
            checks.append(Check(path, "digest", DIGEST_ONLY, "--rebuild makes it again"))
    checks.append(Check("tests, options, compiler, version", "manifest", DIGEST_ONLY, "--rebuild"))
    return Checked(stated, tuple(checks), tuple(validations))


def _stated_as_specified(bundle: Bundle, stated: Specification) -> Iterator[Check]:
    """What the manifest and the effect file say is what the specification says."""
    manifest = bundle.manifest
    same = dict(manifest.parameters) == dict(stated.parameters)
    yield _compared("parameters", "specification", same, "not in their normal form")
    same = manifest.assumptions == stated_assumptions(stated)
    yield _compared("assumptions", "specification", same, "the manifest states others")
    needed = {KERNEL, CERTIFICATE, *(test.file for test in manifest.tests)}
    if stated.effect is not None:
        needed.add(EFFECT)
        same = bundle.files.get(EFFECT) == effect_to_bytes(stated.effect)
        yield _compared(EFFECT, "specification", same, "not the effect of this specification")
    yield _architectures(manifest.architectures, stated.minimum_capability)
    for architecture in manifest.architectures:
        needed |= {f"ptx/{architecture}.ptx", f"cubin/{architecture}.cubin"}
    found = bundle.files.keys() - {REPORT}
    wrong = [f"{path} is missing" for path in sorted(needed - found)]
    wrong += [f"{path} belongs to no bundle of this kind" for path in sorted(found - needed)]
    if (stated.effect and not manifest.tests) or len({test.file for test in manifest.tests}) < len(
        manifest.tests
    ):
        wrong.append("every bundle has tests, each of its own file")
    yield _compared("files", "manifest", not wrong, "; ".join(wrong))


def barrier_checks(bundle: Bundle, kernel: RoleKernel) -> Iterator[Check]:
    """The kernel's barriers as its text has them, explored."""
    bounds, words = kernel.bounds
    try:
        read = read_schedule(bundle.text(KERNEL), kernel.schedule.groups)
        same = read == kernel.schedule
        yield _compared("barriers", "schedule", same, "the text has another schedule")
        found = explore(read, **bounds)
        detail = f"{words}: {found.states} states"
        yield Check("barriers", "exploration", HOLDS, detail)
    except Undecided as reason:
        yield Check("barriers", "exploration", UNDECIDED, str(reason))
    except TyloError as reason:
        yield Check("barriers", "exploration", FAILS, str(reason))


def _architectures(names: tuple[str, ...], minimum: int) -> Check:
    """There is one at least, none twice, and each has the instructions that the kernel needs."""
    wrong = [] if names else ["a bundle is about at least one architecture"]
    if len(set(names)) < len(names):
        wrong.append("one is named twice")
    for each in names:
        written = _ARCHITECTURE.fullmatch(each)
        if written is None:
            wrong.append(f"{each!r} is no architecture")
        elif int(written["number"]) < minimum:
            wrong.append(f"{each} is older than sm_{minimum}")
    return _compared("architectures", "specification", not wrong, "; ".join(wrong))


def certificate_checks(path: str, content: bytes, stated: Specification) -> Iterator[Check]:
    """The certificate proves exactly the specification's claims, says the independent checker."""
    try:
        certificate = certificate_from_bytes(content)
        verdicts = certificate.check()
    except TyloError as reason:
        yield Check(path, "schema", FAILS, str(reason))
        return
    same = (
        certificate.specification == stated.name
        and dict(certificate.parameters) == dict(stated.parameters)
        and certificate.theorem == stated.theorem
    )
    yield _compared("theorem", "specification", same, "the certificate is about something else")
    expected = [claim.id for claim in stated.claims]
    same = [claim.id for claim in certificate.claims] == expected
    yield _compared(
        "claims", "specification", same, "the certificate proves other claims than these"
    )
    for verdict in verdicts:
        outcome = HOLDS if verdict.accepted else FAILS
        yield Check(f"claim {verdict.name}", "checker", outcome, verdict.reason)


def solver_checks(claims: tuple[Claim, ...]) -> Iterator[Check]:
    """Each solver on each claim, exported without the certificate's digits."""
    judged = solve_all([each for claim in claims for each in obligations(claim)])
    for position, solver in enumerate(SOLVERS):
        for claim in claims:
            answers = [each.answers[position] for each in judged if each.obligation.claim == claim]
            verdicts = {answer.verdict for answer in answers}
            worst = next((each for each in ("fails", "missing", "unknown") if each in verdicts), "")
            outcome = FAILS if worst == "fails" else UNDECIDED if worst else HOLDS
            detail = worst or f"{len(answers)} obligations"
            by = f"{solver} {answers[0].version}".strip()
            yield Check(f"claim {claim.name}", by, outcome, detail)


def ptx_checks(
    bundle: Bundle, stated: Specification, architecture: str, solve: Solve
) -> tuple[list[Check], Validation | None]:
    """The PTX for one architecture has exactly the effect, or keeps to its roles' protocol."""
    path = f"ptx/{architecture}.ptx"
    if path not in bundle.files:
        return [], None
    try:
        text = bundle.text(path)
        if stated.effect is not None:
            validation = validate(text, stated.effect, solve=solve, architecture=architecture)
        else:
            assert stated.roles is not None
            validation = stated.roles.validate(text, architecture, solve)
    except TyloError as reason:
        # A walk that does not follow a kernel with roles shows nothing about it either way.
        verdict = FAILS if stated.roles is None else UNDECIDED
        return [Check(path, "PTX", verdict, str(reason))], None
    outcome, counted = HOLDS, []
    contrary = [each for each in validation.verdicts if each.verdict == "disagreement"]
    if validation.failures or contrary:
        outcome, counted = FAILS, [*validation.failures, *contrary]
    elif validation.undecided:
        outcome, counted = UNDECIDED, list(validation.undecided)
    detail = f"{len(validation.verdicts)} obligations"
    if counted:
        detail = f"{len(counted)} of {detail}: {counted[0]}"
    return [Check(path, "PTX", outcome, detail)], validation


def _compared(subject: str, by: str, same: bool, otherwise: str) -> Check:
    return Check(subject, by, HOLDS) if same else Check(subject, by, FAILS, otherwise)
