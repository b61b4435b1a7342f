"""Reading DLPack: a capsule that points at a C structure becomes a `Tensor`, without a copy.

A producer's `__dlpack__(stream=..., max_version=...)` returns a capsule named "dltensor" or, since
DLPack 1.0, "dltensor_versioned". Whoever takes it over renames it to "used_..." and from then on
owes the structure's deleter one call. Here that call is the end of the `Tensor`'s owner.

The producer is handed the stream on which its data will be read, and orders its own work before
it: 1 is the legacy default stream, 2 the per-thread one, any other number a handle.

What is read: address and byte offset, shape, strides (absent ones mean row-major without gaps),
element type including bfloat16 and Boolean, device, and of versioned capsules the flags "read only"
and "was copied". A copy is refused: the caller would never see what a kernel writes there.

Source: DLPack 1.1, `dlpack.h` and "Python Specification for DLPack"; Python array API standard,
`__dlpack__`.
"""

from __future__ import annotations

import ctypes
from typing import Any

from tylo.codegen.tensors.tensor import Tensor, addressable, compact_strides
from tylo.layouts.errors import LaunchError

CUDA, CUDA_MANAGED = 2, 13
_DEVICE_KINDS = {1: "host", 3: "pinned host", 10: "ROCm", 11: "pinned host", 14: "oneAPI"}
_READ_ONLY, _IS_COPIED = 1, 2
_MAJOR = 1
_LEGACY_STREAM = 1

# (code, bits) of a type with one lane.
_DTYPES = {
    **{(0, bits): f"i{bits}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"u{bits}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"f{bits}" for bits in (16, 32, 64)},
    (4, 16): "bf16",
    **{(5, bits): f"c{bits}" for bits in (64, 128)},
    (6, 8): "bool",
}


class DLTensor(ctypes.Structure):
    """`DLTensor`, with its nested device and type written out."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


# A deleter may run Python of its producer, so that it is called without the interpreter's lock.
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


class Managed:
    """The structure of a capsule that was taken over; its end calls the deleter, once."""

    __slots__ = ("_address", "_deleter")

    def __init__(self, address: int, deleter: int | None) -> None:
        self._address = address
        self._deleter = DELETER(deleter) if deleter else None

    def __del__(self) -> None:
        if self._deleter is not None:
            self._deleter(self._address)


def from_dlpack(value: Any, stream: int, *, name: str, device: int | None = None) -> Tensor:
    """View `value`, whose work is ordered before what `stream` runs next.

    `stream` is a CUDA stream handle, 0 for the legacy default stream. With `device` the value must
    lie on that device, which is asked before anything is exported. `name` is what errors call it.
    """
    kind, ordinal = _device(value, name)
    require_on_device(kind, ordinal, name=name, value=value, device=device)
    capsule = _exported(value, stream or _LEGACY_STREAM, name)
    owner, tensor, flags = _taken(capsule, name)
    if flags & _IS_COPIED:
        raise LaunchError(
            f"{name} was copied by {_described(value)} when it was exported",
            hint="pass memory that its library can export as it is",
        )
    require_on_device(tensor.device_type, tensor.device_id, name=name, value=value, device=device)
    dtype = _DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise LaunchError(
            f"{name} has elements of DLPack type (code {tensor.code}, bits {tensor.bits}, lanes "
            f"{tensor.lanes}), which no kernel here reads",
            hint="convert it to float32, bfloat16 or float16, a mask to Boolean",
        )
    rank = tensor.ndim
    if rank < 0 or (rank and not tensor.shape):
        raise LaunchError(
            f"{name} was exported with {rank} dimensions and "
            f"{'a' if tensor.shape else 'no'} list of sizes",
            hint="its library must export one size for each dimension",
        )
    shape = tuple(tensor.shape[:rank]) if rank else ()
    strides = tuple(tensor.strides[:rank]) if rank and tensor.strides else compact_strides(shape)
    seen = Tensor(
        address=(tensor.data or 0) + tensor.byte_offset,
        shape=shape,
        strides=strides,
        dtype=dtype,
        device=ordinal,
        read_only=bool(flags & _READ_ONLY),
        owner=owner,
    )
    return addressable(seen, name)


def require_on_device(
    kind: int, ordinal: int, *, name: str, value: object, device: int | None
) -> None:
    """Refuse memory that kernels do not reach: the host's, another maker's, another device's."""
    if kind not in (CUDA, CUDA_MANAGED):
        where = _DEVICE_KINDS.get(kind, f"DLPack device type {kind}")
        raise LaunchError(
            f"{name}, a {_described(value)}, lies in {where} memory",
            hint="move it to a CUDA device first; nothing is copied silently",
        )
    require_same_device(ordinal, device, name)


def require_same_device(ordinal: int, device: int | None, name: str) -> None:
    if device is not None and ordinal != device:
        raise LaunchError(
            f"{name} lies on CUDA device {ordinal}, the first tensor on device {device}",
            hint=f"move it to device {device}: a kernel runs on one device",
        )


def _device(value: Any, name: str) -> tuple[int, int]:
    try:
        kind, ordinal = (int(part) for part in value.__dlpack_device__())
    except Exception as error:
        raise LaunchError(
            f"{name}, a {_described(value)}, does not say on which device it lies "
            f"({type(error).__name__}: {error})",
            hint="its __dlpack_device__ must return a kind and a number",
        ) from error
    return kind, ordinal


def _exported(value: Any, stream: int, name: str) -> Any:
    try:
        try:
            return value.__dlpack__(stream=stream, max_version=(_MAJOR, 0))
        except TypeError:
            # A producer from before DLPack 1.0 has no `max_version`.
            return value.__dlpack__(stream=stream)
    except Exception as error:  # whatever a producer raises
        raise LaunchError(
            f"{name} was not exported by {_described(value)}: {type(error).__name__}: {error}",
            hint="pass a plain tensor, without gradients, that its library exports by DLPack",
        ) from error


def _taken(capsule: Any, name: str) -> tuple[Managed, DLTensor, int]:
    """Take over the structure of `capsule`: its owner, the tensor in it, and its flags."""
    for title, form in _FORMS.items():
        if _is_valid(capsule, title):
            address = _pointer(capsule, title)
            managed = form.from_address(address)
            owner = Managed(address, managed.deleter)
            _rename(capsule, _USED[title])
            break
    else:
        raise LaunchError(
            f"{name} was exported as {capsule!r}, which holds no DLPack tensor to take over",
            hint="each call of __dlpack__ must return a new capsule",
        )
    if isinstance(managed, DLManagedTensor):
        return owner, managed.tensor, 0
    if managed.major != _MAJOR:
        raise LaunchError(
            f"{name} was exported in DLPack {managed.major}.{managed.minor}, read here is "
            f"{_MAJOR}.x",
            hint="its library was asked for 1.0 and must return that or older",
        )
    return owner, managed.tensor, managed.flags


_FORMS: dict[bytes, type[DLManagedTensorVersioned] | type[DLManagedTensor]] = {
    b"dltensor_versioned": DLManagedTensorVersioned,
    b"dltensor": DLManagedTensor,
}
# A capsule keeps the pointer to its name, not the name: these live as long as the module.
_USED = {title: ctypes.create_string_buffer(b"used_" + title) for title in _FORMS}


def _described(value: object) -> str:
    kind = type(value)
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"


_api = ctypes.pythonapi
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(
    ("PyCapsule_SetName", _api)
)
