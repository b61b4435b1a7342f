"""Integer tuples: the shapes, strides and coordinates that layouts are made of.

An integer tuple is an integer or a tuple of integer tuples. Coordinates follow CuTe's order:
the leftmost entry runs fastest, and an integer stands for a whole tuple when it is the tuple's
index. The shape `(2,3)` has six coordinates, and each has an index:

| index      | 0     | 1     | 2     | 3     | 4     | 5     |
|------------|-------|-------|-------|-------|-------|-------|
| coordinate | (0,0) | (1,0) | (0,1) | (1,1) | (0,2) | (1,2) |

>>> idx2crd(3, (2, 3))
(1, 1)
>>> crd2idx((1, 1), (2, 3))
3
>>> crd2idx((1, 1), (2, 3), (10, 1))
11

Names and argument order are pycute's. One difference is deliberate: an index or coordinate that
is not in the shape raises `LayoutError` instead of wrapping round or running on.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from tylo.layouts.errors import LayoutError

# An integer or a tuple of integer tuples. Any, because an integer may also be a sympy expression,
# and because which of the two it is follows from a profile that the type system does not see.
IntTuple: TypeAlias = Any


def is_int(value: object) -> bool:
    """Whether `value` is an integer entry: bool and float are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_tuple(value: object) -> bool:
    """Whether `value` is a tuple, that is, a node and not a leaf."""
    return isinstance(value, tuple)


def has_none(value: object) -> bool:
    """Whether a coordinate or tiler has a None (an underscore) at any depth."""
    if isinstance(value, tuple):
        return any(has_none(entry) for entry in value)
    return value is None


def flatten(value: IntTuple) -> tuple[Any, ...]:
    """The leaves, left to right.

    >>> flatten((4, (2, (3,))))
    (4, 2, 3)
    """
    if not isinstance(value, tuple):
        return (value,)
    leaves: tuple[Any, ...] = ()
    for entry in value:
        leaves += flatten(entry) if isinstance(entry, tuple) else (entry,)
    return leaves


def unflatten(leaves: tuple[Any, ...], profile: IntTuple) -> IntTuple:
    """The leaves put back into the nesting of `profile`.

    >>> unflatten((1, 2, 3), (0, (0, 0)))
    (1, (2, 3))
    """
    if len(leaves) != len(flatten(profile)):
        raise LayoutError(f"{len(leaves)} leaves do not fill the profile {show(profile)}")
    remaining = iter(leaves)

    def fill(node: IntTuple) -> IntTuple:
        return tuple(map(fill, node)) if isinstance(node, tuple) else next(remaining)

    return fill(profile)


def signum(value: Any) -> int:
    """-1, 0 or 1."""
    return int(value > 0) - int(value < 0)


def product(value: IntTuple) -> Any:
    """The product of all leaves; of an empty tuple, 1."""
    if not isinstance(value, tuple):
        return value
    result = 1
    for entry in value:
        result = result * (product(entry) if isinstance(entry, tuple) else entry)
    return result


def rank(value: IntTuple) -> int:
    """The number of top-level entries; an integer has rank 1."""
    return len(value) if isinstance(value, tuple) else 1


def depth(value: IntTuple) -> int:
    """The levels of nesting: 0 for an integer, 1 for a flat tuple."""
    if not isinstance(value, tuple):
        return 0
    return 1 + max((depth(entry) for entry in value), default=0)


def inner_product(a: IntTuple, b: IntTuple) -> Any:
    """The sum of products of corresponding leaves of two congruent tuples.

    >>> inner_product((1, (2, 3)), (10, (20, 30)))
    140
    """
    if isinstance(a, tuple):
        return sum(inner_product(x, y) for x, y in _pairs(a, b, "inner_product"))
    if isinstance(b, tuple):
        raise LayoutError(f"inner_product of {show(a)} and {show(b)}: the profiles differ")
    return a * b


def tuple_max(value: IntTuple) -> Any:
    """The largest leaf."""
    return max(flatten(value))


def elem_scale(a: IntTuple, b: IntTuple) -> IntTuple:
    """Each leaf of `a` times the size of the part of `b` that faces it.

    >>> elem_scale((2, 3), (5, (2, 2)))
    (10, 12)
    """
    if isinstance(a, tuple):
        return tuple(elem_scale(x, y) for x, y in _pairs(a, b, "elem_scale"))
    return a * product(b)


def shape_div(a: IntTuple, b: IntTuple) -> IntTuple:
    """The shape left of `a` after its first `b` elements became one, left to right.

    Each step must divide one way or the other.

    >>> shape_div((6, 4), 12)
    (1, 2)
    >>> shape_div((6, 4), 3)
    (2, 4)
    """
    if isinstance(a, tuple):
        if isinstance(b, tuple):
            return tuple(shape_div(x, y) for x, y in _pairs(a, b, "shape_div"))
        quotients = []
        for entry in a:
            quotients.append(shape_div(entry, b))
            b = shape_div(b, product(entry))
        return tuple(quotients)
    b = product(b)
    if a % b != 0 and b % a != 0:
        raise LayoutError(f"shape_div({a}, {b}): neither divides the other", witness=(a, b))
    return -(-a // b)


def prefix_product(a: IntTuple, init: IntTuple = 1) -> IntTuple:
    """The compact strides of a shape, leftmost fastest.

    >>> prefix_product((4, (2, 3)))
    (1, (4, 8))
    >>> prefix_product((4, 3), 2)
    (2, 8)
    """
    if isinstance(a, tuple):
        if isinstance(init, tuple):
            return tuple(prefix_product(x, i) for x, i in _pairs(a, init, "prefix_product"))
        strides = []
        for entry in a:
            strides.append(prefix_product(entry, init))
            init = init * product(entry)
        return tuple(strides)
    if isinstance(init, tuple):
        raise LayoutError(f"prefix_product of {show(a)} from {show(init)}: the profiles differ")
    return init


def crd2idx(crd: IntTuple | None, shape: IntTuple, stride: IntTuple | None = None) -> Any:
    """The index of a coordinate: its inner product with the strides (default: compact).

    A coordinate may be any mix of integers and tuples that the shape can split; None counts as 0.

    >>> crd2idx(5, (2, 3), (3, 1))
    5
    >>> crd2idx((1, 7), (2, 3))
    Traceback (most recent call last):
    tylo.layouts.errors.LayoutError: coordinate 7 is outside 0..2 of the mode 3 (witness: (1, 7))
    """
    return _dot(crd, shape, prefix_product(shape) if stride is None else stride, crd)


def _dot(crd: IntTuple | None, shape: IntTuple, stride: IntTuple, whole: object) -> Any:
    if isinstance(crd, tuple):
        if not isinstance(shape, tuple) or len(crd) != len(shape):
            raise LayoutError(
                f"coordinate {show(crd)} does not fit the shape {show(shape)}", witness=whole
            )
        total = 0
        for c, s, d in zip(crd, shape, stride, strict=True):
            total += _dot(c, s, d, whole)
        return total
    if crd is None:
        return 0
    if not isinstance(shape, tuple):
        if not 0 <= crd < shape:
            raise LayoutError(
                f"coordinate {crd} is outside 0..{shape - 1} of the mode {shape}", witness=whole
            )
        return crd * stride
    return index_to_offset(crd, shape, stride, whole)


def index_to_offset(index: int, shape: IntTuple, stride: IntTuple, whole: Any = None) -> Any:
    """The offset of an index: its digits in the extents, times the strides.

    >>> index_to_offset(5, (4, (2, 3)), (10, (1, 2)))
    11
    """
    total = 0
    rest = index
    if isinstance(shape, tuple):
        for extent, step in zip(flatten(shape), flatten(stride), strict=True):
            if rest < extent:
                total += rest * step
                rest = 0 if rest >= 0 else rest
                break
            total += rest % extent * step
            rest //= extent
    elif rest < shape:
        total, rest = rest * stride, 0 if rest >= 0 else rest
    if rest:
        raise LayoutError(
            f"index {index} is outside 0..{product(shape) - 1} of the shape {show(shape)}",
            witness=index if whole is None else whole,
        )
    return total


def idx2crd(idx: IntTuple, shape: IntTuple, stride: IntTuple | None = None) -> IntTuple:
    """The coordinate of an index; the inverse of `crd2idx` for compact strides.

    With strides given, each digit is `idx // stride % extent`, which inverts `crd2idx` exactly
    when the strides are compact in some order.

    >>> idx2crd(17, (4, (2, 3)))
    (1, (0, 2))
    >>> idx2crd(5, (2, 3), (3, 1))
    (1, 2)
    """
    if isinstance(idx, tuple):
        if not isinstance(shape, tuple) or len(idx) != len(shape):
            raise LayoutError(
                f"coordinate {show(idx)} does not fit the shape {show(shape)}", witness=idx
            )
        # A part of its own starts over: its index counts from 0 in its own shape.
        strides = (None,) * len(idx) if stride is None else stride
        return tuple(map(idx2crd, idx, shape, strides))
    size = product(shape)
    if not 0 <= idx < size:
        raise LayoutError(
            f"index {idx} is outside 0..{size - 1} of the shape {show(shape)}", witness=idx
        )
    return _digits(idx, shape, prefix_product(shape) if stride is None else stride)


def _digits(idx: Any, shape: IntTuple, stride: IntTuple) -> IntTuple:
    if isinstance(shape, tuple):
        return tuple(_digits(idx, s, d) for s, d in _pairs(shape, stride, "idx2crd"))
    return idx // stride % shape


def crd2crd(crd: IntTuple, dst_shape: IntTuple, src_shape: IntTuple | None = None) -> IntTuple:
    """The same element named in another shape.

    Without `src_shape`, the coordinate is read where the profiles allow it; with it, through the
    index.

    >>> crd2crd((1, 5), (2, (3, 2)))
    (1, (2, 1))
    >>> crd2crd((1, 2), 6, (2, 3))
    5
    """
    if isinstance(crd, tuple):
        if src_shape is not None:
            return crd2crd(crd2idx(crd, src_shape), dst_shape)
        if isinstance(dst_shape, tuple):
            return tuple(crd2crd(c, s) for c, s in _pairs(crd, dst_shape, "crd2crd"))
        raise LayoutError(f"coordinate {show(crd)} has no index without its source shape")
    return idx2crd(crd, dst_shape)


def slice_(crd: IntTuple | None, target: IntTuple) -> IntTuple:
    """The entries of `target` that face a None in `crd`.

    >>> slice_((None, 2), (4, (2, 3)))
    (4,)
    >>> slice_((1, (None, 0)), (4, (2, 3)))
    (2,)
    """
    if isinstance(crd, tuple):
        kept: tuple[Any, ...] = ()
        for c, t in _pairs(crd, target, "slice"):
            kept += slice_(c, t)
        return kept
    return (target,) if crd is None else ()


def dice_(crd: IntTuple | None, target: IntTuple) -> IntTuple:
    """The entries of `target` that do not face a None in `crd`: what `slice_` leaves out.

    >>> dice_((None, 2), (4, (2, 3)))
    ((2, 3),)
    """
    if isinstance(crd, tuple):
        kept: tuple[Any, ...] = ()
        for c, t in _pairs(crd, target, "dice"):
            kept += dice_(c, t)
        return kept
    return () if crd is None else (target,)


def congruent(a: object, b: object) -> bool:
    """Whether two tuples (or layouts' shapes) nest alike.

    >>> congruent((4, (2, 3)), (1, (1, 1))), congruent(4, (4,))
    (True, False)
    """
    a, b = getattr(a, "shape", a), getattr(b, "shape", b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(congruent, a, b))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def weakly_congruent(a: object, b: object) -> bool:
    """Whether the profile of `b` refines that of `a`.

    >>> weakly_congruent((4, 6), (1, (2, 3))), weakly_congruent((1, (2, 3)), (4, 6))
    (True, False)
    """
    a, b = getattr(a, "shape", a), getattr(b, "shape", b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(weakly_congruent, a, b))
    return True


def compatible(a: object, b: object) -> bool:
    """Whether every coordinate of `a` is a coordinate of `b` and their sizes agree.

    The index 5 is a coordinate of `(24)`, but the one-tuple `(5)` is not one of `24`.

    >>> compatible(24, (24,)), compatible((24,), 24), compatible(24, (4, 6))
    (True, False, True)
    """
    a, b = getattr(a, "shape", a), getattr(b, "shape", b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(compatible, a, b))
    return bool(a == product(b))


def show(value: object) -> str:
    """CuTe's spelling: no blanks, and a one-tuple without Python's comma.

    >>> show((4, (2, 3))), show((32,)), show(32), show((None, 3))
    ('(4,(2,3))', '(32)', '32', '(_,3)')
    """
    if isinstance(value, tuple):
        return f"({','.join(map(show, value))})"
    return "_" if value is None else str(value).replace(" ", "")


def _pairs(a: tuple[Any, ...], b: IntTuple, rule: str) -> zip[tuple[Any, Any]]:
    if not isinstance(b, tuple) or len(a) != len(b):
        raise LayoutError(f"{rule} of {show(a)} and {show(b)}: the profiles differ")
    return zip(a, b, strict=True)
