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


# Every thread loads four numbers, and the block adds all of them up in shared memory, in eight
# rounds with two barriers each.
SUMS = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry sums(.param .u64 x)
{
.reg .b32 %r<20>; .reg .b64 %rd<4>; .reg .pred %p<3>; .reg .f32 %f<9>;
.shared .align 16 .b8 s[512];
ld.param.u64 %rd1, [x];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 16;
add.u64 %rd2, %rd1, %rd2;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, s;
add.u32 %r3, %r3, %r2;
mov.u32 %r4, 0;
ROUND:
ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];
add.rn.f32 %f1, %f1, %f2;
add.rn.f32 %f3, %f3, %f4;
add.rn.f32 %f1, %f1, %f3;
fma.rn.f32 %f5, %f1, %f1, %f2;
fma.rn.f32 %f6, %f5, %f1, %f3;
max.f32 %f6, %f5, %f6;
shfl.sync.bfly.b32 %r5, %r4, 16, 31, -1;
shfl.sync.bfly.b32 %r6, %r5, 8, 31, -1;
add.u32 %r7, %r5, %r6;
st.shared.f32 [%r3], %f6;
bar.sync 0;
xor.b32 %r8, %r2, 256;
mov.u32 %r9, s;
add.u32 %r9, %r9, %r8;
ld.shared.f32 %f7, [%r9];
add.rn.f32 %f6, %f6, %f7;
bar.sync 0;
add.u32 %r4, %r4, 1;
setp.lt.u32 %p1, %r4, 8;
@%p1 bra ROUND;
ret;
}
"""


def rate(ptx: str, entry: str, blocks: int, seed: int | None) -> float:
    """Warp-instructions for each second that one core works."""
    x = np.ones(512, np.float32)
    launch(ptx, entry, 1, 128, [x], seed=seed)
    start = time.process_time()
    report = launch(ptx, entry, blocks, 128, [x], seed=seed)
    return report.instructions / (time.process_time() - start)


if __name__ == "__main__":
    for name, text in (("arithmetic", PTX), ("branches", BRANCHES), ("sums", SUMS)):
        print(f"{name}: {rate(text, name, 1024, None):,.0f} a second, all warps together")
        for blocks in (1, 4, 64):
            print(f"{name}: {rate(text, name, blocks, 0):,.0f}, random schedule, {blocks} blocks")
