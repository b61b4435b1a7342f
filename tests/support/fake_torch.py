"""A stand-in for the torch module: tensors that have attributes and no data, and their streams.

`installed(monkeypatch)` puts it in place of torch. It records waits and `record_stream`, and hands
out addresses of its own. What the real module does is for the tests that import it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ITEM = {"torch.float32": 4, "torch.bfloat16": 2, "torch.float16": 2, "torch.bool": 1}
NAMES = "float32 bfloat16 float16 float64 bool uint8 int8 int16 int32 int64 complex64 complex128"


@dataclass(frozen=True)
class Device:
    type: str = "cuda"
    index: int | None = 0


class Tensor:
    def __init__(self, shape: Any, dtype: str = "torch.float32", **changed: Any) -> None:
        self.shape, self.dtype = tuple(shape), dtype
        self.device = Device()
        self.layout, self.requires_grad = "strided", False
        self.negative = self.traced = False
        self.address = 0x40000000
        self.recorded: list[int] = []
        strides, step = [], 1
        for size in reversed(self.shape):
            strides.append(step)
            step *= max(size, 1)
        self.strides = tuple(reversed(strides))
        for name, value in changed.items():
            assert hasattr(self, name)
            setattr(self, name, value)

    def __repr__(self) -> str:  # names tests, so that it is the same in every process
        return f"{self.dtype}{list(self.shape)}:{list(self.strides)}@{self.address:#x}"

    def stride(self) -> tuple[int, ...]:
        return self.strides

    def data_ptr(self) -> int:
        if self.traced:
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        return self.address if math.prod(self.shape) else 0

    def is_neg(self) -> bool:
        return self.negative

    def is_conj(self) -> bool:
        return False

    def permute(self, order: tuple[int, ...]) -> Tensor:
        return Tensor(
            [self.shape[each] for each in order],
            self.dtype,
            strides=tuple(self.strides[each] for each in order),
            address=self.address,
        )

    @property
    def is_cuda(self) -> bool:
        return bool(self.device.type == "cuda")

    def record_stream(self, stream: Any) -> None:
        self.recorded.append(stream.cuda_stream)


class Stream:
    def __init__(self, cuda_stream: int, waits: list[tuple[int, int]]) -> None:
        self.cuda_stream, self._waits = cuda_stream, waits

    def wait_stream(self, other: Stream) -> None:
        self._waits.append((self.cuda_stream, other.cuda_stream))


def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    torch: Any = ModuleType("torch")
    torch.Tensor, torch.strided, torch.current = Tensor, "strided", 0
    torch.made, torch.waits = [], []
    for name in NAMES.split():
        setattr(torch, name, f"torch.{name}")
    torch._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda ordinal: torch.current)

    def empty(shape: Any, dtype: str, device: Any) -> Tensor:
        made = Tensor(shape, dtype, address=0x50000000 + 0x1000000 * len(torch.made))
        made.device = device
        torch.made.append(made)
        return made

    @contextlib.contextmanager
    def on(ordinal: int) -> Iterator[None]:
        yield

    torch.empty = empty
    torch.cuda = SimpleNamespace(
        device=on,
        ExternalStream=lambda handle, ordinal: Stream(handle, torch.waits),
        current_stream=lambda ordinal: Stream(torch.current, torch.waits),
        default_stream=lambda ordinal: Stream(0, torch.waits),
    )
    monkeypatch.setitem(__import__("sys").modules, "torch", torch)
    return torch
