"""The exchange of a lane program between warps, through the caller's buffer and barrier.

A program whose reduction has an `ExchangePlan` holds `part` nodes: what the warp with another part
of the row has. On arrays they are looked up; in CUDA each group of them is one round: the replica
that writes stores its rows, all threads meet at the barrier, and each reads the parts of its rows.
A second barrier follows the reads, so that the buffer may be written again.

>>> from tylo.layouts.exchange import ExchangePlan
>>> from tylo.layouts.reduction import reduction
>>> from tylo.layouts.row_tiles import row_tile
>>> plan = ExchangePlan(buffer="partials", extent=2, barrier=1)
>>> exchange = PrintedExchange(reduction(row_tile(vector=1, warps=2), 1, exchange=plan))
>>> exchange.parameters
('float (&partials)[2]', 'unsigned thread')
>>> for line in exchange.write(["partial"]):
...     print(line)
if ((thread & 31u) == 0u) {
    partials[thread >> 5] = partial;
}
asm volatile("bar.sync 1, 64;" ::: "memory");
>>> exchange.read(0, 1)
'partials[1u]'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tylo.codegen.printing import expression
from tylo.layouts.errors import GenerationError
from tylo.layouts.exchange import ExchangePlan, replica
from tylo.layouts.reduction import Reduction
from tylo.layouts.terms import name
from tylo.proofs.lane_programs.rows import part_holders

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Values = NDArray[Any]

_THREAD = name("thread")
_WARP = 32  # PTX ISA 8.7, section 9.7.13.1, bar: a count of threads is a multiple of it


def looked_up(reduction: Reduction | None) -> Callable[..., Values]:
    """The `part` operator on arrays ``[..., thread]``."""

    def part(*operands: Any) -> Values:
        import numpy

        *values, row, number = operands
        if reduction is None:
            raise GenerationError(
                "the program exchanges parts between warps", hint="pass its reduction to run"
            )
        holders = numpy.array(part_holders(reduction))
        return numpy.asarray(values[row])[..., holders[:, row, number]]

    return part


@dataclass(frozen=True, slots=True)
class PrintedExchange:
    """The CUDA text of one reduction's exchange; slots are printed from its terms."""

    reduction: Reduction

    @property
    def plan(self) -> ExchangePlan:
        """The caller's plan; raises `GenerationError` where there is none."""
        if self.reduction.warp_exchange is None:
            raise GenerationError(
                "the reduction has no exchange plan", hint="reduction(..., exchange=ExchangePlan())"
            )
        return self.reduction.warp_exchange

    @property
    def parameters(self) -> tuple[str, str]:
        """What the device function takes besides its arrays."""
        return f"float (&{self.plan.buffer})[{self.plan.extent}]", "unsigned thread"

    @property
    def barrier(self) -> str:
        """Where all threads of the tile meet."""
        threads: Any = self.reduction.source.thread_count
        if threads % _WARP:
            raise GenerationError(
                f"a barrier of {threads} threads, no multiple of {_WARP}: it waits for whole warps",
                hint="give the tile whole warps",
            )
        return f'asm volatile("bar.sync {self.plan.barrier}, {threads};" ::: "memory");'

    def write(self, values: Sequence[str]) -> list[str]:
        """The statements that hand a lane's rows over."""
        held = self.reduction.partial
        copy = expression(replica(held, **held.split(held.threads, _THREAD)))
        slots = [self.reduction.write_slot(_THREAD, row) for row in range(len(values))]
        stores = [
            f"    {self.plan.buffer}[{expression(slot)}] = {value};"
            for slot, value in zip(slots, values, strict=True)
        ]
        return [f"if (({copy}) == 0u) {{", *stores, "}", self.barrier]

    def read(self, row: int, number: int) -> str:
        """The expression that reads a part."""
        slot = self.reduction.read_slots(_THREAD, row)[number]
        return f"{self.plan.buffer}[{expression(slot)}]"
