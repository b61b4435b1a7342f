"""What a chooser answers: which kernel runs, in what geometry, with which arguments, and why.

A family of kernels (softmax, attention) has one function that turns a request, the shape of the
data and of the device, into a `Choice`. A choice holds no address, so that one serves every call
with the same request; it is hashable, so that what was compiled and loaded for it is found again.

`KernelText` is what is generated. It is a frozen value, equal exactly when the printed text is: the
text itself is asked for once, when the kernel is compiled.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Fill:
...     dtype: str
...     entry: str = "fill"
...     def source(self) -> str:
...         return f'extern "C" __global__ void fill({self.dtype}* out) {{ out[0] = 1; }}'
>>> choice = Choice(
...     kernel=Fill("float"),
...     architecture="sm_90a",
...     grid=(1, 1, 1),
...     block=(32, 1, 1),
...     parameters=(Parameter("out", "pointer"),),
...     reason="one block writes one element",
... )
>>> choice.kernel.source()
'extern "C" __global__ void fill(float* out) { out[0] = 1; }'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tylo.layouts.errors import LaunchError

# The kinds of parameters, as `struct` writes them.
PARAMETER_CODES = {"pointer": "Q", "i32": "i", "u32": "I", "i64": "q", "u64": "Q", "f32": "f"}


class KernelText(Protocol):
    """A frozen, hashable description from which one kernel is printed."""

    @property
    def entry(self) -> str:
        """The kernel's name, declared `extern "C"`."""

    def source(self) -> str:
        """Header-free CUDA text that defines `entry`."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of the kernel: the name under which its value is passed, and its kind.

    Kinds: `pointer`, `i32`, `u32`, `i64`, `u64`, `f32`.
    """

    name: str
    kind: str

    def __post_init__(self) -> None:
        if self.kind not in PARAMETER_CODES:
            raise LaunchError(
                f"parameter {self.name!r} has the kind {self.kind!r}",
                hint="it is one of " + ", ".join(PARAMETER_CODES),
            )


@dataclass(frozen=True)
class Choice:
    """A kernel, its launch geometry, its parameters in the kernel's own order, and the reason.

    `grid` is in blocks and `block` in threads along x, y, z; `shared` is dynamic shared memory in
    bytes; `cluster` is blocks per cluster, (1, 1, 1) for none. `architecture` is what the kernel is
    compiled for. `in_place` says that the output may be the input itself: every element is written
    by a thread after all of its readers. `reason` is a sentence for people.
    """

    kernel: KernelText
    architecture: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    parameters: tuple[Parameter, ...]
    reason: str
    shared: int = 0
    cluster: tuple[int, int, int] = (1, 1, 1)
    in_place: bool = True
