"""What can go wrong while a kernel runs, and where it did."""

from __future__ import annotations

from dataclasses import dataclass

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.program import Instruction


@dataclass(frozen=True, slots=True)
class Place:
    """An instruction and the thread at which it went wrong."""

    line: int
    text: str
    block: int
    warp: int
    lane: int

    def __str__(self) -> str:
        return (
            f"line {self.line}: `{self.text}`: block {self.block}, warp {self.warp}, "
            f"lane {self.lane}"
        )


class MachineFault(PtxError):
    """A kernel misbehaved: `kind` says how, `place` where, `address` at which byte, if any."""

    def __init__(self, kind: str, message: str, place: Place, address: int | None = None) -> None:
        self.kind = kind
        self.place = place
        self.address = address
        at = "" if address is None else f", address 0x{address:x}"
        super().__init__(f"{place}{at}: {message}")


def place(instruction: Instruction, warp: int, lane: int, warps_per_block: int) -> Place:
    """The place of a lane of a warp counted over all blocks."""
    block, warp = divmod(warp, warps_per_block)
    return Place(instruction.line, instruction.text, block, warp, lane)
