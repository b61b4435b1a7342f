"""The arguments of a launch, and everything about them that can be refused beforehand.

An array argument is an address on the device, eight bytes whatever its elements are: the kernel
gives them their type. A scalar argument is copied as it is, so its width must be the parameter's;
a Python integer has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tylo.layouts.errors import LaunchError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_POINTER_BYTES = 8
# numpy's letters for bool, int, unsigned, float, complex, and types that ml_dtypes adds.
_ELEMENT_KINDS = "biufcV"
_SCALAR_KINDS = "biuf"


@dataclass(frozen=True, eq=False)
class Input:
    """A host array whose bytes the kernel reads; `alignment` is what its loads need, in bytes."""

    array: NDArray[Any]
    alignment: int = 16


@dataclass(frozen=True, eq=False)
class Output:
    """An array that the kernel writes, returned by the launch."""

    shape: tuple[int, ...] | int
    dtype: Any
    alignment: int = 16


@dataclass(frozen=True)
class Pointer:
    """Device memory that is already there and stays its owner's."""

    address: int
    alignment: int = 16


Argument: TypeAlias = "Input | Output | Pointer | numpy.generic"


def require_dimensions(what: str, dimensions: int | tuple[int, ...]) -> None:
    sizes = dimensions if isinstance(dimensions, tuple) else (dimensions,)
    if not 1 <= len(sizes) <= 3 or any(size < 1 for size in sizes):
        raise LaunchError(
            f"{what} {dimensions} is not one to three positive sizes",
            hint="launch nothing when there is nothing to do",
        )


def require_sizes(kernel: str, arguments: Sequence[Argument], sizes: Sequence[int]) -> None:
    if len(arguments) != len(sizes):
        raise LaunchError(
            f"{kernel!r} takes {len(sizes)} arguments, {len(arguments)} were given",
            hint="pass them in the order of the kernel's parameters",
        )
    for index, (argument, size) in enumerate(zip(arguments, sizes, strict=True)):
        given = _argument_bytes(index, argument)
        if given != size:
            raise LaunchError(
                f"argument {index} of {kernel!r} has {given} bytes, the parameter has {size}",
                hint="match the parameter's type: numpy.int32 for int, numpy.int64 for long long, "
                "numpy.float32 for float, Input, Output or Pointer for a pointer",
                witness=index,
            )


def _argument_bytes(index: int, argument: Argument) -> int:
    import numpy

    if isinstance(argument, Pointer):
        return _POINTER_BYTES
    if isinstance(argument, Input | Output):
        dtype = numpy.dtype(argument.array.dtype if isinstance(argument, Input) else argument.dtype)
        if dtype.kind not in _ELEMENT_KINDS or dtype.hasobject or not dtype.isnative:
            raise LaunchError(
                f"argument {index} has elements of type {dtype!r}, which a kernel cannot read",
                hint="use a numeric type in native byte order",
                witness=index,
            )
        return _POINTER_BYTES
    if isinstance(argument, numpy.generic) and argument.dtype.kind in _SCALAR_KINDS:
        return int(argument.dtype.itemsize)
    raise LaunchError(
        f"argument {index} is {argument!r} of type {type(argument).__name__}, whose width on the "
        "device is open",
        hint="wrap it: Input(array), Output(shape, dtype), Pointer(address), numpy.int32(n)",
        witness=index,
    )


def require_aligned(index: int, address: int, alignment: int) -> None:
    if address % alignment:
        raise LaunchError(
            f"argument {index} lies at {address:#x}, which is not a multiple of {alignment} bytes",
            hint="pass memory that is aligned for the kernel's widest load",
            witness=index,
        )
