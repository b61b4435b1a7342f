"""Running an attention bundle's machine code against the float64 reference, on a device.

Lengths are no multiples of the kernel's tiles, key heads serve two query heads each, and the three
causal masks are run one after the other. Outputs are poisoned, so that what is not written is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tylo.codegen.attention.launch import Ready
from tylo.codegen.attention.member import Member, member_of
from tylo.codegen.attention.problem import CAUSAL, Problem
from tylo.codegen.attention.references import attention
from tylo.codegen.launch.devices import DeviceState, current, device_state
from tylo.codegen.launch.driver import checked
from tylo.codegen.oracle import rounded, widened
from tylo.layouts.errors import GenerationError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SEED = 7
# Of the largest output, what one may be apart: rounding weights and outputs to 16 bits.
_APART = {"bf16": 2.0**-5, "f16": 2.0**-8}
_LOGARITHM_APART = 1e-4


def drawn(member: Member) -> tuple[Problem, list[NDArray[Any]]]:
    """A problem without a causal mask, and the bit patterns of its q, k and v."""
    import numpy

    rng = numpy.random.default_rng(_SEED)
    sizes = (2, 2, 2 * member.rows + 3), (2, 1, 3 * member.keys + 5)
    shapes = [(*sizes[0], member.depth), *[(*sizes[1], member.depth)] * 2]
    words = [
        rounded(rng.standard_normal(shape, numpy.float32), member.dtype).astype(numpy.uint16)
        for shape in shapes
    ]

    def strides(shape: tuple[int, ...]) -> tuple[int, int, int]:
        return math.prod(shape[1:]), math.prod(shape[2:]), shape[3]

    problem = Problem(
        batch=2, heads=2, key_heads=1, queries=sizes[0][2], keys=sizes[1][2], depth=member.depth,
        dtype=member.dtype, q=strides(shapes[0]), k=strides(shapes[1]), v=strides(shapes[1]),
        out=strides(shapes[0]), scale=1 / math.sqrt(member.depth),
    )  # fmt: skip
    return problem, words


def compared_outputs(module: Any, parameters: Mapping[str, int | str]) -> tuple[int, int, str]:
    """Checks made, how many failed, and the first of them in words.

    Raises LaunchError for a device of another capability than 9.0.
    """
    import numpy

    member = member_of(parameters)
    if member.mask:
        raise GenerationError(
            "a kernel with a mask takes what another kernel packs",
            hint="call tylo.kernels.attention with a mask",
        )
    problem, words = drawn(member)
    given = [widened(each, member.dtype).astype(numpy.float64) for each in words]
    checks = failures = 0
    first = ""
    for causal in CAUSAL:
        asked = replace(problem, causal=causal)
        out, lse = _launched(module, member, asked, words)
        wanted, logarithms = attention(*given, causal=causal)
        limit = _APART[member.dtype] * float(numpy.abs(wanted).max())
        with numpy.errstate(invalid="ignore"):
            right = numpy.abs(widened(out, member.dtype) - wanted) <= limit
            near = (lse == logarithms) | (numpy.abs(lse - logarithms) <= _LOGARITHM_APART)
        for what, each in (("output", right), ("log-sum-exp", near)):
            wrong = numpy.argwhere(~each)
            if len(wrong) and not first:
                place = tuple(int(index) for index in wrong[0])
                first = f"{what} at {place}, causal {causal}"
            checks, failures = checks + each.size, failures + len(wrong)
    return checks, failures, first


def _launched(
    module: Any, member: Member, problem: Problem, words: list[NDArray[Any]]
) -> tuple[Any, Any]:
    import numpy

    device = device_state(module.ordinal)
    function = module.function(member.entry)
    out = numpy.full(words[0].shape, 0xFFFF, numpy.uint16)
    lse = numpy.full(words[0].shape[:-1], numpy.nan, numpy.float32)
    driver = device.driver
    with current(device), _uploaded(device, [*words, out, lse]) as addresses:
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        size = member.shared_bytes
        checked(driver, "cuKernelSetAttribute", attribute, size, function, device.ordinal)
        ready = Ready(member, problem, device, persistent=True, function=function)
        q, k, v, out_address, lse_address = addresses
        ready(q, k, v, 0, out_address, lse_address, 0)
        checked(driver, "cuCtxSynchronize")
        for array, address in ((out, out_address), (lse, lse_address)):
            checked(driver, "cuMemcpyDtoH", array.ctypes.data, address, array.nbytes)
    return out, lse


@contextmanager
def _uploaded(device: DeviceState, arrays: list[NDArray[Any]]) -> Iterator[list[int]]:
    """The addresses of copies on the device, freed in the end."""
    driver = device.driver
    addresses: list[int] = []
    try:
        for array in arrays:
            addresses.append(int(checked(driver, "cuMemAlloc", array.nbytes)))
            checked(driver, "cuMemcpyHtoD", addresses[-1], array.ctypes.data, array.nbytes)
        yield addresses
    finally:
        for address in addresses:
            driver.cuMemFree(address)
