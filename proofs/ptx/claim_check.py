"""PTX in a file against a claim in a file: both solvers on every obligation.

Nothing of the PTX is believed. The claim is made into an effect, reading the same values into wider
or narrower stores as the instructions are, and the effect is proven or refuted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tylo.layouts.errors import PtxError, Undecided
from tylo.proofs.ptx.claim_effect import Lowered, lower
from tylo.proofs.ptx.claim_file import PtxClaim, read_claim, read_text
from tylo.proofs.ptx.failures import Solve
from tylo.proofs.ptx.opcodes import OPCODES, find
from tylo.proofs.ptx.parser import parse
from tylo.proofs.ptx.program import Entry, Module
from tylo.proofs.ptx.scene import build
from tylo.proofs.ptx.smtlib import script
from tylo.proofs.ptx.validate import Validation, Verdict, validate
from tylo.proofs.ptx.workers import Workers

PATIENCE = 60.0  # seconds of a processor, for each solver, for all that is to be proven of a file
_LARGEST_PTX = 1 << 24
_VERSION = re.compile(r"^\s*\.version\b", re.MULTILINE)
_LABEL = re.compile(r"store (\d+):")


@dataclass(frozen=True, slots=True)
class Examined:
    """What came out: the verdicts, and where in the claim each store was stated."""

    claim: PtxClaim
    target: str
    lowered: Lowered
    validation: Validation

    @property
    def entry(self) -> str:
        """The name of the entry."""
        return self.claim.entry

    @property
    def verdict(self) -> str:
        """`fails` before `undecided` before `holds`."""
        found = {each.verdict for each in self.validation.verdicts}
        if found & {"fails", "disagreement"}:
            return "fails"
        return "holds" if found == {"holds"} else "undecided"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What whoever launches the kernel has to see to."""
        any_value = tuple(f"{each.name}: any {each.bits} bits" for each in self.claim.unused)
        unused = tuple(f"0 <= {each.name} <= {each.maximum}" for each in self.claim.unused)
        stated = [each for each in self.validation.assumptions if each not in unused]
        return (*map(self.claim.grid.words, stated), *any_value)

    def stated(self, verdict: Verdict) -> str:
        """Where in the claim's file the store that a verdict is about was stated."""
        found = _LABEL.match(verdict.obligation.label)
        return self.lowered.origins[int(found[1])] if found else ""


def examine_ptx(ptx: Path, against: Path, solve: Solve | None = None) -> Examined:
    """Every obligation of a claim's file on a PTX file, judged by z3 and cvc5 or by `solve`.

    Raises `ClaimError` for what is no claim, and `PtxError` for PTX that the proof does not cover.
    """
    claim = read_claim(against)
    text = read_text(ptx, _LARGEST_PTX, "PTX")
    if solve is not None:
        return check_text(text, claim, solve, str(ptx))
    with Workers(patience=PATIENCE) as workers:
        return check_text(text, claim, workers, str(ptx))


def check_text(text: str, claim: PtxClaim, solve: Solve, name: str = "PTX") -> Examined:
    """`examine_ptx` on a text and a claim that are read already."""
    try:
        module = _parsed(text)
        lowered = lower(claim, store_widths(module.entry(claim.entry)), solve)
        _require_a_launch(lowered, claim, solve)
        validation = validate(text, lowered.effect, solve=solve, architecture=claim.target)
    except PtxError as reason:
        raise PtxError(f"{name}: {reason.message}", hint=reason.hint) from None
    return Examined(claim, ", ".join(module.target), lowered, validation)


def _parsed(text: str) -> Module:
    """The module; of a text without a version the file is at fault, and not one of its lines."""
    try:
        return parse(text)
    except PtxError as reason:
        if _VERSION.search(text):
            raise
        raise PtxError(
            f"this is no PTX: {reason.message}",
            hint="PTX begins with .version; nvcc -ptx makes it of CUDA text, and so does NVRTC",
        ) from None


def _require_a_launch(lowered: Lowered, claim: PtxClaim, solve: Solve) -> None:
    """Refuse assumptions that no launch satisfies: of no launch, anything is true."""
    if not lowered.effect.preconditions:
        return
    scene = build(lowered.effect)
    assumed = scene.all_of(scene.holds(each) for each in lowered.effect.preconditions)
    (answer,) = solve([script([*scene.assumptions(assumed), assumed])])
    if answer == "holds":
        claim.table.fail("assume: no launch satisfies it", hint="drop one of the conditions")
    if answer != "fails":
        raise Undecided(f"whether any launch satisfies `assume` is {answer}")


def store_widths(entry: Entry) -> frozenset[int]:
    """How many bits the entry's stores write, as far as they are known instructions."""
    widths = set()
    for instruction in entry.body:
        if instruction.mnemonic.partition(".")[0] == "st":
            form = find(OPCODES, instruction)
            widths.add(form.width * form.count)
    return frozenset(widths)
