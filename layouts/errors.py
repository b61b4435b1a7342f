"""The errors a user can meet, one type per station of the pipeline.

Each message names the value, the rule it breaks and a way out. `witness` holds the smallest
coordinate, lane or index that shows the rule broken, where there is one.

>>> raise LayoutError("(2,3):(2,2) is not injective", hint="filter it first", witness=(0, 1))
Traceback (most recent call last):
tylo.layouts.errors.LayoutError: (2,3):(2,2) is not injective (witness: (0, 1)); filter it first
"""

from __future__ import annotations


class TyloError(ValueError):
    """Any refusal by Tylo: what was wrong, a witness where one exists, and a way out."""

    def __init__(self, message: str, *, hint: str = "", witness: object = None) -> None:
        self.message = message
        self.hint = hint
        self.witness = witness
        shown = message if witness is None else f"{message} (witness: {witness})"
        super().__init__(f"{shown}; {hint}" if hint else shown)


class LayoutError(TyloError):
    """A layout operation has no answer that satisfies its defining equation."""


class NotationError(TyloError):
    """Text that is not in the notation; `witness` is the zero-based column."""


class OwnershipError(TyloError):
    """A lane, value or coordinate outside an ownership, or two ownerships that disagree."""


class PendingError(TyloError):
    """A result that an instruction is still writing, used before its wait."""


class AtomError(TyloError):
    """An instruction atom that no table describes, or a name that fits several."""


class ClaimError(TyloError):
    """A claim or certificate that is malformed, false or not accepted."""


class Undecided(TyloError):
    """A question no checker answered: `unknown`, a time-out, or a checker that is missing."""


class PtxError(TyloError):
    """PTX that the parser or the opcode table does not cover; names line and column."""


class GenerationError(TyloError):
    """A primitive asked for in a form that is not, or cannot be, generated."""


class CompileError(TyloError):
    """NVRTC is missing or refused the source."""


class LaunchError(TyloError):
    """No device, the wrong device, or arguments that a kernel must not be launched with."""


class BundleError(TyloError):
    """A bundle whose files, digests, claims or kernels are not what its manifest says."""
