"""One warp runs a few instructions: a word or more in from every lane, a word or more out."""

from __future__ import annotations

from typing import Any

import numpy as np

from tylo.proofs.ptx.machine.launch import Unwritten, launch


def run(body: str, inputs: Any, outputs: int, seed: int | None = None, shared: int = 0) -> Any:
    """Run one warp; lane i holds ``inputs[i]`` in %i0, %i1, ... and leaves its results in %o."""
    x = np.ascontiguousarray(inputs, np.uint32)
    y = np.zeros((32, outputs), np.uint32)
    loads = "\n".join(f"ld.global.u32 %i{i}, [%rd1+{4 * i}];" for i in range(x.shape[1]))
    stores = "\n".join(f"st.global.u32 [%rd2+{4 * i}], %o{i};" for i in range(outputs))
    variable = f".shared .align 16 .b8 s[{shared}];" if shared else ""
    text = f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {{
.reg .b32 %i<12>; .reg .b32 %o<8>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<4>;
{variable}
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [y];
mov.u32 %r0, %tid.x;
mad.wide.u32 %rd1, %r0, {4 * x.shape[1]}, %rd1;
mad.wide.u32 %rd2, %r0, {4 * outputs}, %rd2;
{loads}
setp.ne.u32 %p0, %i0, 0;
{body}
{stores}
ret;
}}"""
    launch(text, "k", 1, 32, [x, Unwritten(y)], seed=seed)
    return y
