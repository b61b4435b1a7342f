"""A lane program as a CUDA device function on register arrays.

>>> from tylo.proofs.lane_programs.expression import register
>>> from tylo.proofs.lane_programs.program import Array, LaneProgram
>>> double = LaneProgram(
...     "Twice the value.", (Array("x", "f32", 1),),
...     {"twice": (register("x", 0) + register("x", 0),)},
... )
>>> print(device_function(double, "doubled"))
// Twice the value.
__device__ __forceinline__ void doubled(
    const float (&x)[1],
    float (&twice)[1]) {
    const float twice_0 = __fadd_rn(x[0], x[0]);
    twice[0] = twice_0;
}
<BLANKLINE>

Every rounding is written out (``__fadd_rn`` and its kin are never contracted), so that the text
means the same under any compiler option. What several nodes use has a name; outputs are written
last, from names, so that an output may be an input's array. The text of
`operator_functions` is expected before it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType

from tylo.codegen.cuda_files import cuda_file
from tylo.codegen.lane_programs.exchanged import PrintedExchange
from tylo.layouts.errors import GenerationError
from tylo.layouts.reduction import Reduction
from tylo.proofs.lane_programs.expression import Expression, ordered
from tylo.proofs.lane_programs.program import LaneProgram

_TYPES = MappingProxyType({"f32": "float", "bool": "bool", "b32": "unsigned"})
_LONGEST = 60


def operator_functions() -> str:
    """The wrappers that printed lane programs call; once in a translation unit."""
    return cuda_file("lane_operators.cuh")


def device_function(program: LaneProgram, name: str, exchange: Reduction | None = None) -> str:
    """`program` as ``__device__ void name(arrays...)``: inputs in order, then further outputs.

    `exchange` is the reduction of a program that crosses warps. Its function also takes the plan's
    buffer and the number of the thread in the tile, and all threads of the tile call it.
    """
    if not name.isidentifier() or not name.isascii():
        raise GenerationError(f"{name!r} is no C identifier", hint="use letters, digits and _")
    parameters = []
    for array in program.inputs:
        constant = "" if array.name in program.outputs else "const "
        parameters.append(f"{constant}{_TYPES[array.type]} (&{array.name})[{array.count}]")
    known = {array.name for array in program.inputs}
    for output, roots in program.outputs.items():
        if output not in known:
            parameters.append(f"{_TYPES[roots[0].type]} (&{output})[{len(roots)}]")
    printed = PrintedExchange(exchange) if exchange and exchange.warp_exchange else None
    if printed is not None:
        parameters.extend(printed.parameters)
    body = "".join(f"    {line}\n" for line in _statements(program, printed))
    separated = ",\n    ".join(parameters)
    return (
        f"// {program.summary}\n"
        f"__device__ __forceinline__ void {name}(\n    {separated}) {{\n{body}}}\n"
    )


def _statements(program: LaneProgram, exchange: PrintedExchange | None) -> list[str]:
    nodes = ordered(program.roots)
    uses = Counter(id(each) for node in nodes for each in node.operands)
    names = _Names(program)
    text: dict[int, str] = {}
    lines: list[str] = []
    round_: tuple[int, ...] = ()
    for node in nodes:
        operands = [text[id(each)] for each in node.operands]
        if node.operator == "part":
            if exchange is None:
                raise GenerationError(
                    "the program exchanges parts between warps", hint="pass its reduction"
                )
            handed = tuple(id(each) for each in node.operands)
            if handed != round_:
                # What the round before left in the buffer has been read by then.
                lines += [*([exchange.barrier] if round_ else []), *exchange.write(operands)]
                round_ = handed
            text[id(node)] = names.of(node)
            lines.append(f"const float {text[id(node)]} = {exchange.read(*node.detail)};")
            continue
        spelled = _spelled(node, operands)
        simple = node.operator == "constant"
        used = uses[id(node)] > 1 and node.operator != "register"
        long = len(spelled) > _LONGEST and node.operator != "register"
        if not simple and (used or long or node.label or names.is_output(node)):
            name = names.of(node)
            lines.append(f"const {_TYPES[node.type]} {name} = {spelled};")
            spelled = name
        text[id(node)] = spelled
    if exchange is not None and round_:
        lines.append(exchange.barrier)
    lines += [
        f"{output}[{index}] = {text[id(root)]};"
        for output, roots in program.outputs.items()
        for index, root in enumerate(roots)
    ]
    return lines


class _Names:
    """Names of nodes: an output's, the node's own label, or t; numbered, none given twice."""

    def __init__(self, program: LaneProgram) -> None:
        self.taken = {each.name for each in program.inputs} | program.outputs.keys()
        inputs = {each.name for each in program.inputs}
        self.outputs: dict[int, str] = {}
        for output, roots in program.outputs.items():
            prefix = "new_" if output in inputs else ""
            for index, root in enumerate(roots):
                self.outputs.setdefault(id(root), f"{prefix}{output}_{index}")
        self.count: Counter[str] = Counter()

    def is_output(self, node: Expression) -> bool:
        return id(node) in self.outputs

    def of(self, node: Expression) -> str:
        wanted = self.outputs.get(id(node))
        while wanted is None or wanted in self.taken:
            label = node.label or "t"
            wanted = f"{label}_{self.count[label]}"
            self.count[label] += 1
        self.taken.add(wanted)
        return wanted


def _spelled(node: Expression, operands: list[str]) -> str:
    if node.operator == "register":
        array, index = node.detail
        return f"{array}[{index}]"
    if node.operator == "constant":
        return float_literal(node.detail[0])
    return PRINTED[node.operator](*operands, *node.detail)


def float_literal(value: float) -> str:
    """A float32 as C++17 text, to the bit.

    >>> float_literal(0.5), float_literal(float("-inf"))
    ('0x1p-1f', '-lane_infinity()')
    """
    if math.isnan(value):
        return "lane_nan()"
    if math.isinf(value):
        return "lane_infinity()" if value > 0 else "-lane_infinity()"
    if value == int(value) and abs(value) < 1 << 24 and math.copysign(1, value) > 0:
        return f"{int(value)}.0f"
    mantissa, _, exponent = value.hex().partition("p")
    mantissa = mantissa.rstrip("0").removesuffix(".") if "." in mantissa else mantissa
    return f"{mantissa}p{int(exponent)}f"


def _call(name: str) -> Callable[..., str]:
    return lambda *operands: f"{name}({', '.join(operands)})"


PRINTED: Mapping[str, Callable[..., str]] = MappingProxyType(
    {
        "add": _call("__fadd_rn"),
        "subtract": _call("__fsub_rn"),
        "multiply": _call("__fmul_rn"),
        "fma": _call("__fmaf_rn"),
        "divide": _call("__fdiv_rn"),
        "reciprocal": _call("__frcp_rn"),
        "maximum": _call("lane_maximum"),
        "minimum": _call("lane_minimum"),
        "ex2": _call("lane_ex2"),
        "lg2": _call("lane_lg2"),
        "less": lambda a, b: f"({a} < {b})",
        "equal": lambda a, b: f"({a} == {b})",
        "not": lambda a: f"!{a}",
        "and": lambda a, b: f"({a} && {b})",
        "or": lambda a, b: f"({a} || {b})",
        "select": lambda a, b, c: f"({a} ? {b} : {c})",
        "shuffle": lambda a, mask: f"__shfl_xor_sync(0xffffffffu, {a}, {mask})",
        "low_bf16": lambda a: f"__uint_as_float({a} << 16)",
        "high_bf16": lambda a: f"__uint_as_float({a} & 0xffff0000u)",
        "low_f16": _call("lane_low_f16"),
        "high_f16": _call("lane_high_f16"),
        "maximum_bf16": _call("lane_maximum_bf16"),
        "maximum_f16": _call("lane_maximum_f16"),
        "pack_bf16": _call("lane_pack_bf16"),
        "pack_f16": _call("lane_pack_f16"),
    }
)
