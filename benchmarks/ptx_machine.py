"""Warp-instructions per second of the PTX machine: `python benchmarks/ptx_machine.py`.

Straight arithmetic in a loop, all warps together and one warp at a time under a random schedule.
"""

from __future__ import annotations

import time

import numpy as np

from tylo.proofs.ptx.machine.launch import launch

_BODY = "\n".join(
    f"mad.lo.u32 %r{3 + i % 8}, %r{3 + (i + 1) % 8}, %r{3 + (i + 2) % 8}, %r1;\n"
    f"xor.b32 %r{3 + (i + 3) % 8}, %r{3 + i % 8}, %r2;"
    for i in range(200)
)
PTX = f""".version 8.8
.target sm_90a
.address_size 64
.visible .entry arithmetic(.param .u64 x)
{{
.reg .b32 %r<20>; .reg .pred %p<2>;
mov.u32 %r1, %tid.x;
mov.u32 %r2, 0;
mov.u32 %r15, 0;
LOOP:
{_BODY}
add.u32 %r15, %r15, 1;
setp.lt.u32 %p1, %r15, 20;
@%p1 bra LOOP;
ret;
}}
"""


def rate(blocks: int, seed: int | None) -> float:
    """Warp-instructions per second on one core."""
    start = time.perf_counter()
    report = launch(PTX, "arithmetic", blocks, 128, [np.zeros(4, np.uint32)], seed=seed)
    return report.instructions / (time.perf_counter() - start)


if __name__ == "__main__":
    print(f"all warps together: {rate(1024, None):,.0f} warp-instructions per second")
    print(f"random schedule:    {rate(4, 0):,.0f} warp-instructions per second")
