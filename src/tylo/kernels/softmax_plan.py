"""A geometry's kernel, loaded: everything of a softmax call that does not depend on addresses.

A plan is made once for each geometry and kept: shapes, strides, types, and how well addresses are
aligned. What is left for each call is to see that what is written shares no byte with what is read
(`require_apart`), and to launch.

The kernel is picked by `choose` of `tylo.codegen.softmax`, which is asked with a `SoftmaxRequest`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tylo.codegen.launch.choice import Choice
from tylo.codegen.launch.devices import DeviceState, device_state
from tylo.codegen.launch.launcher import launcher
from tylo.codegen.softmax.request import BYTES, Across, SoftmaxRequest
from tylo.codegen.tensors import Tensor
from tylo.codegen.tensors.overlap import ByteRows, shared_byte
from tylo.kernels.calls import ALIGNMENT
from tylo.kernels.softmax_geometry import SoftmaxGeometry, softmax_geometry
from tylo.layouts.errors import LaunchError

# The order in which addresses are passed to a launch.
POINTERS = ("x", "mask", "out", "lse")
_APART = (("out", "x"), ("out", "mask"), ("lse", "x"), ("lse", "mask"), ("lse", "out"))
_LEAST_CAPABILITY = (8, 0)
Launch = Callable[[list[int], int], None]


@dataclass(frozen=True)
class Plan:
    """One geometry's answer: `request`, `choice`, `device`, and `launch` once it is loaded.

    They are None when there is nothing to compute. `ranges` are the bytes of each tensor by name,
    as if it started at zero.
    """

    geometry: SoftmaxGeometry
    request: SoftmaxRequest | None = None
    choice: Choice | None = None
    device: DeviceState | None = None
    launch: Launch | None = None
    ranges: Mapping[str, ByteRows] = field(default_factory=dict)

    @cached_property
    def ends(self) -> tuple[tuple[int, int, int, int], ...]:
        """For each output and what it must not share bytes with: their places in POINTERS, and
        where they end.
        """
        return tuple(
            (
                POINTERS.index(one),
                POINTERS.index(other),
                self.ranges[one].end,
                self.ranges[other].end,
            )
            for one, other in _APART
            if one in self.ranges and other in self.ranges
        )


def plan_for(
    axis: int,
    wanted: tuple[bool, bool],
    x: Tensor,
    mask: Tensor | None,
    out: Tensor | None,
    lse: Tensor | None,
) -> Plan:
    """The plan, not yet loaded; `wanted` says whether probabilities and log-sum-exp are."""
    geometry = softmax_geometry(axis, x, mask, out, lse)
    if not geometry.rows or not geometry.columns:
        return Plan(geometry)
    device = device_state(x.device)
    if device.capability < _LEAST_CAPABILITY:
        raise LaunchError(
            f"CUDA device {x.device} has the compute capability "
            f"{device.capability[0]}.{device.capability[1]}, softmax needs 8.0",
            hint="run on an Ampere or newer device",
        )
    many = geometry.rows > 1
    pitch, out_pitch = many * geometry.row_stride, many * geometry.out_row_stride
    if geometry.across is not None:
        # Every column has to be aligned as well; bits add up as factors do.
        pitch |= geometry.across.column_stride
        out_pitch |= geometry.across.out_column_stride
    out_dtype = (x.dtype if out is None else out.dtype) if wanted[0] else None
    request = SoftmaxRequest(
        rows=geometry.rows,
        columns=geometry.columns,
        dtype=x.dtype,
        out_dtype=out_dtype,
        row_stride=geometry.row_stride,
        out_row_stride=geometry.out_row_stride,
        alignment=_alignment(x.address, pitch * BYTES[x.dtype]),
        out_alignment=_alignment(
            0 if out is None else out.address, out_pitch * BYTES[out_dtype or "f32"]
        ),
        mask=geometry.mask,
        lse=wanted[1],
        capability=device.capability,
        multiprocessors=device.multiprocessors,
        start_alignment=_alignment(x.address | (0 if out is None else out.address), 0),
        across=geometry.across,
    )
    return Plan(geometry, request, _choose(request), device, ranges=_ranges(request))


def loaded(plan: Plan) -> Plan:
    """The plan with its kernel compiled, loaded, and ready to launch."""
    if plan.choice is None or plan.request is None or plan.device is None:
        return plan
    constants = _constants(plan.request)
    return replace(plan, launch=launcher(plan.choice, plan.device, constants, pointers=POINTERS))


def require_apart(plan: Plan, addresses: Sequence[int]) -> None:
    """Refuse outputs that share a byte with the input, the mask or each other.

    The one exception is an output that is the input itself, element for element, where the chosen
    kernel allows it. `addresses` are in the order of POINTERS.
    """
    for one, other, end, other_end in plan.ends:
        first, second = addresses[one], addresses[other]
        if first < second + other_end and second < first + end:
            _require_apart(plan, POINTERS[one], first, POINTERS[other], second)


def _require_apart(plan: Plan, name: str, first: int, other: str, second: int) -> None:
    own = replace(plan.ranges[name], start=first)
    theirs = replace(plan.ranges[other], start=second)
    request = plan.request
    same = own == theirs and request is not None and request.in_place
    if same and plan.choice is not None and plan.choice.in_place and (name, other) == ("out", "x"):
        return
    byte = shared_byte(own, theirs)
    if byte is not None:
        raise LaunchError(
            f"{name} and {other} share memory, first at {byte:#x}",
            hint="pass an output of its own, or as out the very tensor x",
        )


def _choose(request: SoftmaxRequest) -> Choice:
    from tylo.codegen.softmax import choose

    return choose(request)


def _alignment(address: int, pitch: int) -> int:
    """The greatest power of two up to ALIGNMENT that divides the address of every row."""
    bits = address | pitch | ALIGNMENT
    return bits & -bits


def _ranges(request: SoftmaxRequest) -> dict[str, ByteRows]:
    rows, columns, mask = request.rows, request.columns, request.mask

    def of(dtype: str, stride: int, column_stride: int, span: int) -> ByteRows:
        size, width, apart, number = BYTES[dtype], columns, stride, rows
        if request.across is not None:
            inner = request.across.inner
            outer = rows // inner
            if outer == 1 or stride == columns * column_stride:
                width, apart, number = inner, column_stride, outer * columns
            else:
                # All that they span, gaps included.
                width, apart, number = span, 0, 1
        return ByteRows(0, width * size, number, apart * size)

    across = request.across or Across(1, 1, 1)
    found = {"x": of(request.dtype, request.row_stride, across.column_stride, request.span)}
    if request.out_dtype is not None:
        found["out"] = of(
            request.out_dtype, request.out_row_stride, across.out_column_stride, request.out_span
        )
    if request.lse:
        found["lse"] = ByteRows(0, rows * BYTES["f32"], 1, 0)
    if mask is not None:
        # All that it spans, gaps included: a mask has no business inside an output.
        found["mask"] = ByteRows(0, mask.bytes + (columns - 1) * mask.column_stride, 1, 0)
    return found


def _constants(request: SoftmaxRequest) -> dict[str, int | float]:
    values: dict[str, int | float] = {
        "rows": request.rows,
        "columns": request.columns,
        "row_stride": request.row_stride,
        "out_row_stride": request.out_row_stride,
    }
    if request.across is not None:
        values |= vars(request.across)
    if request.mask is not None:
        values["mask_column_stride"] = request.mask.column_stride
        for index, (extent, stride) in enumerate(reversed(request.mask.rows)):
            values |= {f"mask_extent_{index}": extent, f"mask_stride_{index}": stride}
    return values
