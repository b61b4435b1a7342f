"""Variables of a module: their initial values, their types, and what may be done with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tylo.codegen.nvrtc import compile
from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.machine.faults import MachineFault
from tylo.proofs.ptx.machine.launch import Unwritten, launch

HEAD = ".version 8.8\n.target sm_90a\n.address_size 64\n"


def run(variables: str, body: str, words: int = 4) -> Any:
    y = np.zeros(words, np.uint32)
    text = f"""{HEAD}{variables}
.visible .entry k(.param .u64 y) {{
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<3>;
ld.param.u64 %rd1, [y];
{body}
ret;
}}"""
    launch(text, "k", 1, 1, [Unwritten(y)])
    return y


def store(*registers: str) -> str:
    return "\n".join(f"st.global.u32 [%rd1+{4 * i}], {r};" for i, r in enumerate(registers))


@pytest.mark.parametrize(
    ("variable", "load", "words"),
    [
        (".global .u32 v = 7;", "u32 %r1, [v];", [7]),
        (".global .s16 v = -2;", "s16 %r1, [v];", [0xFFFFFFFE]),
        (".global .align 4 .b8 v[4] = {1, 2, 0xff, 128};", "u32 %r1, [v];", [0x80FF0201]),
        (".global .align 4 .b8 v[4] = {-1};", "u32 %r1, [v];", [0xFF]),
        (".global .u16 v[2] = {1, 65535};", "u16 %r1, [v+2];", [65535]),
        (".global .f32 v[2] = {0f3F800000, 0fC0000000};", "u32 %r1, [v+4];", [0xC0000000]),
        (".global .u64 v = 0xffffffff00000001;", "u32 %r1, [v+4];", [0xFFFFFFFF]),
        (".global .u32 v;", "u32 %r1, [v];", [0]),
        (".global .u32 v[3] = {5};", "u32 %r1, [v+8];", [0]),
    ],
)
def test_initial_values(variable: str, load: str, words: list[int]) -> None:
    assert run(variable, f"ld.global.{load}\n{store('%r1')}", 1).tolist() == words
    constant = variable.replace(".global", ".const")
    assert run(constant, f"ld.const.{load}\n{store('%r1')}", 1).tolist() == words


def test_addresses_global_and_generic() -> None:
    body = f"""mov.u64 %rd2, b;
    cvta.global.u64 %rd3, %rd2;
    ld.u32 %r1, [%rd3];
    ld.global.v2.u32 {{%r2, %r3}}, [%rd2];
    ld.global.u32 %r4, [a];
    {store("%r1", "%r2", "%r3", "%r4")}"""
    variables = ".global .u32 a = 1;\n.global .align 8 .u32 b[2] = {2, 3};"
    assert run(variables, body).tolist() == [2, 2, 3, 1]


def test_a_launch_starts_afresh() -> None:
    body = f"""ld.global.u32 %r1, [count];
    add.u32 %r2, %r1, 1;
    st.global.u32 [count], %r2;
    ld.global.u32 %r3, [count];
    {store("%r1", "%r3")}"""
    for _ in range(2):
        assert run(".global .u32 count = 4;", body, 2).tolist() == [4, 5]


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("ld.global.u32 %r1, [v+8];", "bounds", "outside of"),
        ("ld.const.u32 %r1, [c+8];", "bounds", "outside of"),
        ("ld.global.u32 %r1, [v+2];", "alignment", "no multiple of 4"),
        ("mov.u64 %rd2, c; ld.global.u32 %r1, [%rd2];", "bounds", "outside of"),
        ("mov.u64 %rd2, v; ld.const.u32 %r1, [%rd2];", "bounds", "outside of"),
    ],
)
def test_faults(body: str, kind: str, message: str) -> None:
    with pytest.raises(MachineFault, match=message) as caught:
        run(".global .u32 v[2] = {1, 2};\n.const .u32 c[2] = {1, 2};", body)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        (".global .u32 v[2] = {1, 2, 3};", "more elements"),
        (".global .u8 v = 256;", "256 is no element of .u8"),
        (".global .s16 v = -32769;", "-32769 is no element"),
        (".global .f32 v = 1;", "1 is no element of .f32"),
        (".global .f64 v = 0f3F800000;", "0f3F800000 is no element of .f64"),
        (".global .u64 v = w;", "unexpected 'w'"),
        (".global .u32 v[2] = {{1}, {2}};", "unexpected '{'"),
        (".shared .u32 v = 1;", "unexpected '='"),
        (".extern .global .u32 v;", "a variable of another module"),
        (".global .pred v = 1;", "a .pred variable"),
    ],
)
def test_what_is_refused(variable: str, message: str) -> None:
    with pytest.raises(PtxError, match=message):
        run(variable, "")


def test_variables_of_an_entry() -> None:
    body = f".const .u32 v = 3;\nld.const.u32 %r1, [v];\n{store('%r1')}"
    assert run("", body, 1).tolist() == [3]


def test_tables_as_the_compiler_writes_them() -> None:
    source = r"""
__device__ const unsigned words[3] = {1, 2, 0xffffffff};
__constant__ float singles[3] = {1.0f, 2.0f};
__device__ int zero;
__device__ const double doubles[3] = {1.5, 2};
__device__ const signed char bytes[3] = {-1, 2, -128};
__device__ const long long longs[3] = {-1, 5};
__device__ int rows[3][2] = {{1, 2}, {3, 4}};
extern "C" __global__ void k(long long* y) {
  int i = threadIdx.x;
  y[i] = words[i] + (int)singles[i] + zero + (int)doubles[i] + bytes[i] + longs[i] + rows[i][1];
}"""
    for architecture in ("sm_80", "sm_90a"):
        ptx = compile(source, architecture, kernels=["k"]).ptx
        y = np.zeros(3, np.int64)
        launch(ptx, "k", 1, 3, [Unwritten(y)], seed=1)
        assert y.tolist() == [
            1 + 1 + 0 + 1 - 1 - 1 + 2,
            2 + 2 + 0 + 2 + 2 + 5 + 4,
            0xFFFFFFFF + 0 + 0 + 0 - 128 + 0 + 0,
        ]
