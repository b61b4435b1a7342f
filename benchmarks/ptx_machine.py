"""Warp-instructions per second of the PTX machine: `python benchmarks/ptx_machine.py`.

Straight arithmetic in a loop, and a loop whose lanes part at every step: all warps together, and
one warp at a time under a random schedule.
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


# Every lane halves or triples its number until it is 1.
BRANCHES = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry branches(.param .u64 x)
{
.reg .b32 %r<9>; .reg .pred %p<3>;
mov.u32 %r1, %tid.x;
add.u32 %r1, %r1, 1;
LOOP:
setp.eq.u32 %p1, %r1, 1;
@%p1 bra END;
and.b32 %r2, %r1, 1;
setp.eq.u32 %p2, %r2, 0;
@%p2 bra EVEN;
mad.lo.u32 %r1, %r1, 3, 1;
bra LOOP;
EVEN:
shr.u32 %r1, %r1, 1;
bra LOOP;
END:
ret;
}
"""


def rate(ptx: str, entry: str, blocks: int, seed: int | None) -> float:
    """Warp-instructions per second on one core."""
    start = time.perf_counter()
    report = launch(ptx, entry, blocks, 128, [np.zeros(4, np.uint32)], seed=seed)
    return report.instructions / (time.perf_counter() - start)


if __name__ == "__main__":
    for name, text in (("arithmetic", PTX), ("branches", BRANCHES)):
        together, alone = rate(text, name, 1024, None), rate(text, name, 4, 0)
        print(f"{name}: {together:,.0f} warp-instructions per second, all warps together")
        print(f"{name}: {alone:,.0f} under a random schedule")
