"""Parameters of the softmax kernels: their order, their types, and the entry that takes them.

>>> print(entry("tylo_softmax", parameters(out=True, lse=False, mask_modes=None)))
extern "C" __global__ void __launch_bounds__(threads, resident)
tylo_softmax(
    const Element* x,
    Result* out,
    unsigned long long rows,
    unsigned columns,
    unsigned long long row_stride,
    unsigned long long out_row_stride) {
    const Arguments given = {x, out, rows, columns, row_stride, out_row_stride};
    softmax_kernel(given);
}
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tylo.codegen.launch.choice import Parameter

ENTRY = "tylo_softmax"

_POINTERS: Mapping[str, str] = MappingProxyType(
    {
        "x": "const Element*",
        "out": "Result*",
        "lse": "float*",
        "mask": "const unsigned char*",
    }
)
_INTEGERS: Mapping[str, str] = MappingProxyType({"u32": "unsigned", "u64": "unsigned long long"})


def parameters(
    *,
    out: bool,
    lse: bool,
    mask_modes: int | None,
    strides: bool = True,
    wide: bool = False,
    across: bool = False,
) -> tuple[Parameter, ...]:
    """The parameters of a kernel with those results, in order; without `strides` rows touch.

    `across` is for rows that run across memory: `inner` of them lie side by side.
    """
    found = [("x", "pointer")]
    found += [("out", "pointer")] if out else []
    found += [("lse", "pointer")] if lse else []
    found += [("mask", "pointer")] if mask_modes is not None else []
    found += [("rows", "u64"), ("columns", "u64" if wide else "u32")]
    found += [("inner", "u64")] if across else []
    found += [("row_stride", "u64")] if strides else []
    found += [("column_stride", "u64")] if across else []
    found += [("out_row_stride", "u64")] if out and strides else []
    found += [("out_column_stride", "u64")] if out and across else []
    if mask_modes is not None:
        found += [("mask_column_stride", "u64")]
        for mode in range(mask_modes):
            found += [(f"mask_extent_{mode}", "u64"), (f"mask_stride_{mode}", "u64")]
    return tuple(Parameter(*each) for each in found)


def arguments(given: Sequence[Parameter]) -> str:
    """The struct that passes them on."""
    members = "".join(f"    {_c_type(each)} {each.name};\n" for each in given)
    return f"struct Arguments {{\n{members}}};\n"


def entry(title: str, given: Sequence[Parameter], cluster: int = 1) -> str:
    """The kernel itself, which calls the skeleton."""
    listed = ",\n    ".join(f"{_c_type(each)} {each.name}" for each in given)
    names = ", ".join(each.name for each in given)
    dimensions = f"__cluster_dims__({cluster}, 1, 1) " if cluster > 1 else ""
    return (
        f'extern "C" __global__ void {dimensions}__launch_bounds__(threads, resident)\n{title}(\n'
        f"    {listed}) {{\n"
        f"    const Arguments given = {{{names}}};\n    softmax_kernel(given);\n}}\n"
    )


def _c_type(parameter: Parameter) -> str:
    return _POINTERS.get(parameter.name) or _INTEGERS[parameter.kind]
