"""An instruction that is plainly not what the protocol demands: PTX that is wrong, not unknown.

What a walk does not follow is a `PtxError`, and undecided. It is a departure only where a thread
comes, as solvers can say with values, and where it cannot be that step's turn.
"""

from __future__ import annotations

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.program import Instruction


class Departure(PtxError):
    """See the module; `reason` and `instruction` are what a verdict names."""

    def __init__(self, instruction: Instruction, reason: str, hint: str = "") -> None:
        super().__init__(str(instruction.error(reason)), hint=hint)
        self.instruction = instruction
        self.reason = f"{reason}; {hint}" if hint else reason
