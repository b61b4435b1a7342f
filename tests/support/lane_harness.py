"""A lane program as a kernel that loads its inputs and stores its outputs, run on the machine."""

from __future__ import annotations

from typing import Any

import numpy

from tylo.codegen.lane_programs.cuda_reading import device_function, operator_functions
from tylo.codegen.nvrtc import compile
from tylo.proofs.lane_programs.program import LaneProgram
from tylo.proofs.ptx.machine.launch import Report, Unwritten, launch

C_TYPES = {"f32": "float", "bool": "unsigned char", "b32": "unsigned"}
LOCAL = {**C_TYPES, "bool": "bool"}
NUMPY = {"f32": numpy.float32, "bool": numpy.uint8, "b32": numpy.uint32}


def kernel_text(program: LaneProgram, function: str | None = None) -> str:
    """The kernel `lane_program`: arrays indexed [thread of the grid][register]."""
    known = {each.name for each in program.inputs}
    further = {name: (roots[0].type, len(roots)) for name, roots in program.outputs.items()}
    parameters, before, after = [], [], []
    for array in program.inputs:
        parameters.append(f"const {C_TYPES[array.type]}* in_{array.name}")
        before.append(
            f"{'bool' if array.type == 'bool' else C_TYPES[array.type]} "
            f"{array.name}[{array.count}];"
        )
        before.append(
            f"for (int i = 0; i < {array.count}; ++i) {array.name}[i] = "
            f"in_{array.name}[thread * {array.count} + i];"
        )
    for name, (kind, count) in further.items():
        parameters.append(f"{C_TYPES[kind]}* out_{name}")
        if name not in known:
            before.append(f"{LOCAL[kind]} {name}[{count}];")
        after.append(
            f"for (int i = 0; i < {count}; ++i) out_{name}[thread * {count} + i] = {name}[i];"
        )
    passed = [array.name for array in program.inputs]
    passed += [name for name in further if name not in known]
    unroll = "\n#pragma unroll\n    "
    lines = [f"{unroll}{line}" if line.startswith("for") else line for line in [*before]]
    stores = [f"{unroll}{line}" for line in after]
    return (
        operator_functions()
        + (function or device_function(program, "lane_program_function"))
        + f'extern "C" __global__ void lane_program({", ".join(parameters)}) {{\n'
        + "    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;\n    "
        + "\n    ".join(lines)
        + f"\n    lane_program_function({', '.join(passed)});\n    "
        + "\n    ".join(stores)
        + "\n}\n"
    )


def run_on_machine(
    program: LaneProgram,
    *,
    architecture: str = "sm_80",
    text: str = "",
    seed: int | None = None,
    **inputs: Any,
) -> tuple[dict[str, Any], Report]:
    """Outputs ``[batch, thread, register]`` of inputs of that shape, one block for each batch."""
    ptx = compile(text or kernel_text(program), architecture, kernels=["lane_program"]).ptx
    first = next(iter(inputs.values()))
    batch, threads = first.shape[:2]
    arguments: list[Any] = [
        numpy.ascontiguousarray(inputs[each.name].astype(NUMPY[each.type]))
        for each in program.inputs
    ]
    outputs = {
        name: numpy.zeros((batch, threads, len(roots)), NUMPY[roots[0].type])
        for name, roots in program.outputs.items()
    }
    arguments += [Unwritten(each) for each in outputs.values()]
    report = launch(ptx, "lane_program", batch, threads, arguments, seed=seed)
    return outputs, report
