"""Fragments: what every thread holds of a tile, as one numpy array.

`Fragment.data[..., thread, value]` is the element that `thread` holds as its `value`; the
ownership says which coordinate that is. Gathering deals a matrix out to the threads, scattering
puts it back:

>>> import numpy
>>> from tylo.layouts.atoms import atom
>>> C = atom("mma.m16n8k16.bf16").operand("C").ownership
>>> matrix = numpy.arange(16 * 8, dtype=numpy.float32).reshape(16, 8)
>>> fragment = gather(matrix, C)
>>> fragment.data.shape
(32, 4)
>>> float(fragment.data[5, 2]), float(matrix[9, 2])
(74.0, 74.0)
>>> bool((scatter(fragment) == matrix).all())
True

Fragments compare by identity: two arrays are not one truth value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tylo.layouts.errors import OwnershipError
from tylo.layouts.ownership import Ownership

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """`data[..., thread, value]` with the ownership that says where each element lives."""

    data: NDArray[Any]
    ownership: Ownership

    def __post_init__(self) -> None:
        expected = _concrete_sizes(self.ownership)
        _require_array(self.data)
        if self.data.shape[-2:] != expected:
            raise OwnershipError(
                f"data of shape {self.data.shape} does not end in (threads, values) = {expected}",
                hint="index data as [..., thread, value]",
            )

    def map(self, function: Callable[..., Any], *others: Fragment) -> Fragment:
        """`function` applied element by element, over fragments of the same ownership.

        >>> import numpy
        >>> from tylo.layouts.atoms import atom
        >>> C = atom("mma.m16n8k16.bf16").operand("C").ownership
        >>> ones = gather(numpy.ones((16, 8), numpy.float32), C)
        >>> float(ones.map(numpy.add, ones).data.sum())
        256.0
        """
        for other in others:
            if other.ownership != self.ownership:
                raise OwnershipError(
                    "fragments of different ownerships in one elementwise operation",
                    hint="convert one of them first",
                )
        return Fragment(function(self.data, *(other.data for other in others)), self.ownership)


def indices(ownership: Ownership) -> tuple[NDArray[numpy.int64], ...]:
    """For each axis the coordinate of every [thread, value], as arrays."""
    import numpy

    threads, values = _concrete_sizes(ownership)
    shape = (threads, values)
    thread = numpy.arange(threads, dtype=numpy.int64)[:, None]
    value = numpy.arange(values, dtype=numpy.int64)[None, :]
    return tuple(
        numpy.broadcast_to(numpy.asarray(part, dtype=numpy.int64), shape)
        for part in ownership.coordinates(thread, value)
    )


def gather(matrix: NDArray[Any], ownership: Ownership) -> Fragment:
    """Deal `matrix[..., row, col]` out to the threads that own its elements.

    Raises `OwnershipError` where the trailing extents are not the ownership's.
    """
    _require_array(matrix)
    axes = len(ownership.shape)
    if matrix.shape[-axes:] != ownership.shape:
        raise OwnershipError(
            f"a matrix of shape {matrix.shape} for a tile of {ownership.shape}",
            hint=f"the last {axes} extents are {', '.join(ownership.axis_names)}",
        )
    return Fragment(matrix[_trailing(indices(ownership))], ownership)


def scatter(fragment: Fragment) -> NDArray[Any]:
    """The matrix whose elements the fragment holds.

    Raises `OwnershipError` with the coordinate where replicas disagree, or where nobody owns one.
    """
    import numpy

    ownership, data = fragment.ownership, fragment.data
    where = indices(ownership)
    shape = tuple(int(extent) for extent in ownership.shape if isinstance(extent, int))
    owned = numpy.zeros(shape, dtype=bool)
    owned[where] = True
    if not owned.all():
        missing = tuple(numpy.argwhere(~owned)[0].tolist())
        raise OwnershipError(
            "an element of the tile has no owner",
            hint="scatter needs an ownership that covers its tile",
            witness=missing,
        )
    matrix = numpy.zeros(data.shape[:-2] + shape, dtype=data.dtype)
    matrix[_trailing(where)] = data
    held = matrix[_trailing(where)]
    differs = (held != data) & ~((held != held) & (data != data))
    if differs.any():
        thread, value = numpy.argwhere(differs)[0][-2:].tolist()
        raise OwnershipError(
            f"replicas of one element differ: thread {thread} value {value} disagrees",
            hint="make the replicas equal before scattering",
            witness=tuple(int(part[thread, value]) for part in where),
        )
    return matrix


def _require_array(data: Any) -> None:
    import numpy

    if not isinstance(data, numpy.ndarray):
        raise OwnershipError(
            f"a {type(data).__name__} is no array", hint="make it one with numpy.asarray"
        )


def _trailing(where: tuple[NDArray[numpy.int64], ...]) -> tuple[Any, ...]:
    """An index of the last axes, whatever batch axes come before."""
    return (Ellipsis, *where)


def _concrete_sizes(ownership: Ownership) -> tuple[int, int]:
    threads, values = ownership.thread_count, ownership.value_count
    if not (isinstance(threads, int) and isinstance(values, int)):
        raise OwnershipError(
            f"sizes {', '.join(ownership.symbols)} are symbolic",
            hint="a fragment holds data: choose numbers for the repeats",
        )
    return threads, values
