"""A stream of any library is one handle."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest

from tylo.codegen.tensors.streams import stream_handle
from tylo.layouts.errors import LaunchError


class Protocol:
    """cuda.core's protocol as a method; older ones had it as a property."""

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 0x55D0


@pytest.mark.parametrize(
    "stream",
    [
        0x55D0,
        Protocol(),
        SimpleNamespace(__cuda_stream__=(0, 0x55D0)),
        SimpleNamespace(cuda_stream=0x55D0),
        SimpleNamespace(ptr=0x55D0),
        SimpleNamespace(handle=0x55D0),
        SimpleNamespace(handle=ctypes.c_void_p(0x55D0)),
    ],
)
def test_every_kind_of_stream(stream: Any) -> None:
    assert stream_handle(stream) == 0x55D0


@pytest.mark.parametrize("stream", [0, 1, SimpleNamespace(handle=ctypes.c_void_p(0))])
def test_the_legacy_default_stream_is_zero(stream: Any) -> None:
    assert stream_handle(stream) == 0


@pytest.mark.parametrize("stream", [-1, 2**64, True, None, "main", 1.0, object()])
def test_anything_else_is_refused(stream: Any) -> None:
    with pytest.raises(LaunchError, match="is no CUDA stream"):
        stream_handle(stream)


def test_a_real_stream_class_has_what_is_read() -> None:
    from tylo.codegen.launch.driver import cuda_core

    stream = cuda_core().Stream
    assert hasattr(stream, "__cuda_stream__") or hasattr(stream, "handle")
