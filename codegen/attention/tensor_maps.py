"""Tensor maps: how the copy engine sees q, k, v and out.

A map has the tensor's four dimensions, innermost first: depth, length, heads, batch. The box is one
panel of a shared tile, as `copies.box` has it. Strides may be anything that is a multiple of 16
bytes, so that views of packed tensors and permuted layouts need no copy.

>>> strides_in_bytes((2, 3, 5, 64), (960, 64, 192, 1), "q")
(384, 128, 1920)

A dimension of extent 1 may carry any stride; it is never taken, and 16 bytes stand for it. What the
engine cannot take is refused before it sees it:

>>> strides_in_bytes((1, 3, 5, 64), (960, 320, 68, 1), "q")
Traceback (most recent call last):
tylo.layouts.errors.LaunchError: rows of q are 136 bytes apart, no multiple of 16 (witness: 136); \
pad the rows, or pass q.contiguous()

Source: CUDA Driver API, "Tensor Map Object Management", `cuTensorMapEncodeTiled`.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from tylo.layouts.errors import LaunchError
from tylo.layouts.shared import TmaBox
from tylo.layouts.shared.swizzle_mode import swizzle_mode

STRIDE_UNIT, STRIDE_LIMIT = 16, 1 << 40
ELEMENT_BYTES = 2
# CUtensorMapDataType, CUtensorMapL2promotion.
_DTYPES = {"f16": 6, "bf16": 9}
_PROMOTE_256 = 3
_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


def strides_in_bytes(
    shape: tuple[int, int, int, int], strides: tuple[int, int, int, int], name: str
) -> tuple[int, int, int]:
    """Byte strides of length, heads and batch, for a (batch, heads, length, depth) tensor.

    Raises `LaunchError` for what the copy engine cannot take.
    """
    if strides[3] != 1 and shape[3] > 1:
        raise LaunchError(
            f"elements of a row of {name} are {strides[3]} apart",
            hint=f"make its last dimension the one of stride 1, or pass {name}.contiguous()",
            witness=strides[3],
        )
    found = []
    for axis, what in ((2, "rows"), (1, "heads"), (0, "batches")):
        stride = strides[axis] * ELEMENT_BYTES if shape[axis] > 1 else STRIDE_UNIT
        if stride <= 0 or stride >= STRIDE_LIMIT:
            raise LaunchError(
                f"{what} of {name} are {stride} bytes apart",
                hint=f"pass {name}.contiguous(): strides are positive and below 2^40 bytes",
                witness=stride,
            )
        if stride % STRIDE_UNIT:
            raise LaunchError(
                f"{what} of {name} are {stride} bytes apart, no multiple of {STRIDE_UNIT}",
                hint=f"pad the rows, or pass {name}.contiguous()",
                witness=stride,
            )
        found.append(stride)
    return found[0], found[1], found[2]


@cache
def _encode() -> Any:
    try:
        return ctypes.CDLL(_LIBRARY).cuTensorMapEncodeTiled
    except (OSError, AttributeError) as error:
        raise LaunchError(
            f"the driver has no tensor maps ({error})", hint="update the NVIDIA driver"
        ) from error


class MapWriter:
    """Encodes the map of one tensor geometry for any address, into memory of the caller's."""

    def __init__(
        self,
        shape: tuple[int, int, int, int],
        strides: tuple[int, int, int],
        dtype: str,
        box: TmaBox,
        name: str,
    ) -> None:
        batch, heads, length, depth = shape
        self._name = name
        self._dtype = ctypes.c_int(_DTYPES[dtype])
        self._sizes = (ctypes.c_uint64 * 4)(depth, length, heads, batch)
        self._strides = (ctypes.c_uint64 * 3)(*strides)
        self._box = (ctypes.c_uint32 * 4)(*box.box, 1, 1)
        self._steps = (ctypes.c_uint32 * 4)(1, 1, 1, 1)
        self._swizzle = ctypes.c_int(swizzle_mode(box.swizzle).tensor_map_code)

    def write(self, target: int, address: int) -> None:
        """Write 128 bytes at `target`, a multiple of 64; `LaunchError` if the driver refuses."""
        status = _encode()(
            ctypes.c_void_p(target),
            self._dtype,
            ctypes.c_uint32(4),
            ctypes.c_void_p(address),
            self._sizes,
            self._strides,
            self._box,
            self._steps,
            ctypes.c_int(0),
            self._swizzle,
            ctypes.c_int(_PROMOTE_256),
            ctypes.c_int(0),
        )
        if status:
            raise LaunchError(
                f"the driver refuses a tensor map of {self._name} at {address:#x}: sizes "
                f"{list(self._sizes)}, strides {list(self._strides)} bytes (error {status})",
                hint=f"pass {self._name}.contiguous()",
            )
