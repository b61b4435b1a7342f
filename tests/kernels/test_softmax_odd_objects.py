"""Objects that break their protocols, arguments of odd types: refused by name, nothing launched.

Whatever another library's method raises or returns, a caller sees one kind of error.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tylo
from fake_cuda import Chooser, Exporter, FakeDriver
from fake_torch import Tensor
from tylo.layouts.errors import LaunchError

softmax, log_sum_exp = tylo.kernels.softmax, tylo.kernels.log_sum_exp
softmax_choice = tylo.kernels.softmax_choice
FAR = 0x90000000
RANK, SIZES = 32 + 16, 32 + 24  # places in a versioned structure, from `dlpack.h`


def far(*arguments: Any, **named: Any) -> Exporter:
    return Exporter(*arguments, address=named.pop("address", FAR), **named)


class Answers:
    """Answers both methods of DLPack with what it was given, or raises it."""

    def __init__(self, device: Any = (2, 0), capsule: Any = None) -> None:
        self.device, self.capsule = device, capsule

    def __dlpack_device__(self) -> Any:
        return _given(self.device)

    def __dlpack__(self, **_: Any) -> Any:
        return _given(self.capsule)


def _given(value: Any) -> Any:
    if isinstance(value, Exception):
        raise value
    return value


class Mute:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name} today")


class Interface:
    """`__cuda_array_interface__` of 4 x 8 float32, changed as asked."""

    def __init__(self, **changed: Any) -> None:
        self.__cuda_array_interface__ = {
            **{"shape": (4, 8), "typestr": "<f4", "data": (0x70000000, False), "version": 3},
            **changed,
        }


class Stream:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __cuda_stream__(self) -> Any:
        return _given(self.answer)


class Patched(Exporter):
    """Exports with one field of the structure overwritten."""

    def __init__(self, place: int, value: int, kind: Any) -> None:
        super().__init__()
        self._patch = (place, value, kind)

    def __dlpack__(self, *, stream: int, **named: Any) -> Any:
        capsule = super().__dlpack__(stream=stream, **named)
        place, value, kind = self._patch
        kind.from_buffer(self._kept[-2], place).value = value
        return capsule


ERRORS = [KeyError("k"), AttributeError("a"), AssertionError(), OSError("o"), IndexError("i")]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        *((Answers(capsule=error), "x was not exported by") for error in ERRORS),
        *((Answers(device=error), "does not say on which device") for error in ERRORS),
        *(
            (Answers(device=odd), "does not say on which device")
            for odd in (None, 2, (2,), (2, 0, 0), ("a", 0))
        ),
        (Mute(), "does not answer for __dlpack_device__ .*no __dlpack_device__ today"),
        (Exporter(address=0), "at 0x0: bytes from 0x0 to 0x80 are none of a device"),
        (Exporter(address=2**64 - 16), "are none of a device"),
        (Exporter((4, 8), (2**61, 1)), "are none of a device"),
        (Exporter((4, -8)), r"x has the shape \(4, -8\)"),
        (Patched(RANK, -1, ctypes.c_int32), "exported with -1 dimensions"),
        (Patched(SIZES, 0, ctypes.c_uint64), "exported with 2 dimensions and no list of sizes"),
        *(
            (Interface(**changed), "__cuda_array_interface__ of x is incomplete")
            for changed in (
                {"data": (None, False)},
                {"data": ("0x7", False)},
                {"data": (7.5, False)},
                {"shape": (4, 8.5)},
                {"strides": 5},
                {"strides": (32, "a")},
                {"strides": (None, 4)},
                {"strides": (32.0, 4)},
                {"stream": "a"},
                {"stream": 1.5},
            )
        ),
        (Interface(data=(0, False)), "are none of a device"),
        (Interface(data=(-16, False)), "are none of a device"),
        (Interface(data=(2**70, False)), "are none of a device"),
        (Interface(shape=(4, -8)), r"x has the shape \(4, -8\)"),
        (Interface(stream=-1), "names stream -1"),
        (Interface(typestr="<f\u0664"), "elements of type '<f\u0664'"),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_tensors(x: Any, message: str, chooser: Chooser, driver: FakeDriver) -> None:
    with pytest.raises(LaunchError, match=message) as caught:
        softmax(x, out=far())
    assert caught.value.hint
    assert driver.launches == []


def test_an_output_without_memory(chooser: Chooser, driver: FakeDriver) -> None:
    with pytest.raises(LaunchError, match=r"out has the shape .* at 0x0"):
        softmax(Exporter(), out=Exporter(address=0))
    with pytest.raises(LaunchError, match=r"lse has the shape .* at 0x0"):
        log_sum_exp(Exporter((4, 0)), out=Exporter((4,), address=0))
    assert driver.launches == []
    assert not [call for call in driver.calls if call[0] == "fill"]


@pytest.mark.parametrize("axis", [[1], {}, "1", None, True, 1.0, float("nan"), b"1"])
@pytest.mark.parametrize("make", [Exporter, lambda: Tensor((4, 8))], ids=["dlpack", "torch"])
def test_axes(
    axis: Any, make: Callable[[], Any], torch: Any, chooser: Chooser, driver: FakeDriver
) -> None:
    out = {"out": far()} if make is Exporter else {}
    softmax(make(), axis=1, **out)
    launched = len(driver.launches)
    # A plan for axis 1 is known, and 1.0 and True equal 1.
    for call in (softmax, softmax_choice):
        with pytest.raises(LaunchError, match=r"axis .* is none"):
            call(make(), axis=axis, **out)
    assert len(driver.launches) == launched
    softmax(make(), axis=numpy.int64(1), **out)
    assert len(driver.launches) == launched + 1


@pytest.mark.parametrize("answer", [None, 3, (0,), (0, "a"), (0, None), ValueError("gone")])
def test_streams(answer: Any, chooser: Chooser, driver: FakeDriver) -> None:
    with pytest.raises(LaunchError, match="the stream, a Stream, does not give its handle"):
        softmax(Exporter(), out=far(), stream=Stream(answer))
    assert driver.launches == []


@pytest.mark.parametrize("wanted", [numpy.array([1, 2]), "no", 2, None, []])
def test_wishes(wanted: Any, chooser: Chooser, driver: FakeDriver) -> None:
    for call in (softmax, softmax_choice):
        with pytest.raises(LaunchError, match="return_lse is a"):
            call(Exporter(), out=far(), return_lse=wanted)
    assert driver.launches == []


@pytest.mark.parametrize("out", [(), (far(),), (far(),) * 3, (far(), far((4,)))])
def test_a_choice_takes_the_outputs_that_softmax_takes(out: Any, chooser: Chooser) -> None:
    for call in (softmax, softmax_choice):
        with pytest.raises(LaunchError, match="out is a tuple of"):
            call(Exporter(), out=out)


def test_a_choice_is_not_given_for_outputs_that_overlap(chooser: Chooser) -> None:
    with pytest.raises(LaunchError, match="out and x share memory, first at 0x70000004"):
        softmax_choice(Exporter(), out=Exporter(address=0x70000004))
    # An output that is not there yet lies nowhere, however large it will be.
    large = Exporter((2**28, 8))
    assert softmax_choice(
        large, out=(None, Exporter((2**28,), address=2**40)), return_lse=True
    ).reason


def test_a_capsule_serves_once(chooser: Chooser, driver: FakeDriver) -> None:
    source = Exporter()
    again = Answers(capsule=source.__dlpack__(stream=1, max_version=(1, 0)))
    softmax(again, out=far())
    assert source.deleted == 1
    with pytest.raises(LaunchError, match="holds no DLPack tensor to take over"):
        softmax(again, out=far())
    assert (source.deleted, len(driver.launches)) == (1, 1)


def test_rows_of_nothing_lie_as_rows_of_something(driver: FakeDriver) -> None:
    """A tensor without columns has its rows in row-major order, as one with columns has."""
    log_sum_exp(Exporter((4, 0, 3)), axis=1, out=far((4, 3)))
    assert driver.calls[-1] == ("fill", FAR, 0xFF800000, 12, 0)
