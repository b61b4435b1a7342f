"""Runs an attention kernel on a device from numpy arrays, with poison around everything."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy

from tylo.codegen.attention.launch import Ready
from tylo.codegen.attention.member import Member
from tylo.codegen.attention.problem import Problem
from tylo.codegen.launch.devices import DeviceState, current
from tylo.codegen.launch.driver import checked

TYPES = {"bf16": ml_dtypes.bfloat16, "f16": numpy.float16}
PAD = 4096  # bytes of poison before and after a tensor


def half(values: Any, dtype: str) -> Any:
    """float32 rounded to a 16-bit type and back."""
    with numpy.errstate(over="ignore"):
        return numpy.asarray(values, numpy.float32).astype(TYPES[dtype]).astype(numpy.float32)


@dataclass
class Bench:
    """A device, the memory taken on it, and the kernels made ready on it."""

    device: DeviceState
    held: list[int] = field(default_factory=list)

    def upload(self, array: Any, poison: int) -> int:
        """The address of a copy of `array`, `poison` bytes before and after it."""
        data = numpy.full(array.nbytes + 2 * PAD, poison, numpy.uint8)
        data[PAD : PAD + array.nbytes] = numpy.ascontiguousarray(array).view(numpy.uint8).ravel()
        address = int(checked(self.device.driver, "cuMemAlloc", data.nbytes))
        self.held.append(address)
        checked(self.device.driver, "cuMemcpyHtoD", address, data.ctypes.data, data.nbytes)
        return address + PAD

    def download(self, address: int, shape: tuple[int, ...], dtype: Any) -> Any:
        """What lies at an address; what lies around it must still be poison."""
        size = math.prod(shape) * numpy.dtype(dtype).itemsize
        data = numpy.empty(size + 2 * PAD, numpy.uint8)
        checked(self.device.driver, "cuMemcpyDtoH", data.ctypes.data, address - PAD, data.nbytes)
        assert (data[:PAD] == 0xFF).all(), "written before the output"
        assert (data[PAD + size :] == 0xFF).all(), "written after the output"
        return data[PAD : PAD + size].view(dtype).reshape(shape)

    def release(self) -> None:
        for address in self.held:
            checked(self.device.driver, "cuMemFree", address)
        self.held.clear()

    def attention(
        self,
        member: Member,
        q: Any,
        k: Any,
        v: Any,
        *,
        mask: Any = None,
        causal: str | None = None,
        scale: float | None = None,
        persistent: bool = False,
        rows_outside: bool = False,
    ) -> tuple[Any, Any]:
        """(out, lse) of float32 arrays (batch, heads, length, depth), rounded on the way in.

        With `rows_outside` tensors lie as (batch, length, heads, depth).
        """
        batch, heads, queries, depth = q.shape
        out_type = numpy.float32 if member.output == "f32" else TYPES[member.dtype]
        order = (0, 2, 1, 3) if rows_outside else (0, 1, 2, 3)

        def strides(shape: tuple[int, ...]) -> tuple[int, int, int]:
            stored = [shape[axis] for axis in order]
            steps = [math.prod(stored[place + 1 :]) for place in range(4)]
            found = [steps[order.index(axis)] for axis in range(4)]
            return found[0], found[1], found[2]

        with current(self.device):
            places = [
                self.upload(each.transpose(order).astype(TYPES[member.dtype]), 0xFF)
                for each in (q, k, v)
            ]
            out_shape = tuple(q.shape[axis] for axis in order)
            out = self.upload(numpy.full(out_shape, numpy.nan, out_type), 0xFF)
            lse = self.upload(numpy.full(q.shape[:-1], numpy.nan, numpy.float32), 0xFF)
            byte_strides = None
            mask_place = 0
            if mask is not None:
                kept = numpy.atleast_2d(mask)
                kept = kept.reshape((1,) * (4 - kept.ndim) + kept.shape)
                mask_place = self.upload(kept.astype(numpy.uint8), 0)
                steps = [math.prod(kept.shape[place + 1 :]) for place in range(4)]
                byte_strides = tuple(
                    step if extent > 1 else 0
                    for step, extent in zip(steps, kept.shape, strict=True)
                )
            problem = Problem(
                batch=batch,
                heads=heads,
                key_heads=k.shape[1],
                queries=queries,
                keys=k.shape[2],
                depth=depth,
                dtype=member.dtype,
                q=strides(q.shape),
                k=strides(k.shape),
                v=strides(v.shape),
                out=strides(q.shape),
                scale=1 / math.sqrt(depth) if scale is None else scale,
                causal=causal,
                mask=byte_strides,  # type: ignore[arg-type]
            )
            ready = Ready(member, problem, self.device, persistent=persistent)
            workspace = 0
            if ready.workspace_bytes:
                workspace = self.upload(numpy.full(ready.workspace_bytes, 0xFF, numpy.uint8), 0xFF)
            ready(
                q=places[0],
                k=places[1],
                v=places[2],
                out=out,
                lse=lse,
                mask=mask_place,
                workspace=workspace,
                stream=0,
            )
            checked(self.device.driver, "cuCtxSynchronize")
            found = self.download(out, out_shape, out_type).astype(numpy.float32)
            sums = self.download(lse, q.shape[:-1], numpy.float32)
            if workspace:
                self.download(workspace, (ready.workspace_bytes,), numpy.uint8)
            self.release()
        back = [order.index(axis) for axis in range(4)]
        return found.transpose(back), sums.copy()
