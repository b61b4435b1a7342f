"""`Layout`: a function from coordinates to offsets, given by a shape and a stride.

`Layout((4,2), (1,8))` sends the coordinate `(i,j)` to `1*i + 8*j`. An integer is a coordinate
too: the index, with the leftmost mode fastest.

| index      | 0     | 1     | 2     | 3     | 4     | 5     | 6     | 7     |
|------------|-------|-------|-------|-------|-------|-------|-------|-------|
| coordinate | (0,0) | (1,0) | (2,0) | (3,0) | (0,1) | (1,1) | (2,1) | (3,1) |
| offset     | 0     | 1     | 2     | 3     | 8     | 9     | 10    | 11    |

>>> layout = Layout((4, 2), (1, 8))
>>> layout(1, 1), layout(5)
(9, 9)
>>> print(layout, layout[1], Layout((4, (2, 3))), Layout((32,)), Layout(32))
(4,2):(1,8) 2:8 (4,(2,3)):(1,(4,8)) (32):(1) 32:1

A layout is a value: frozen, hashable, equal when shape and stride are equal. `(32):(1)` and
`32:1` are the same function and different layouts, because `(5)` is a coordinate of the first
alone. Entries are normalised to plain integers on construction, extents are at least 1, and a
stride may be zero (broadcast) or negative (reversed).

A coordinate outside the domain raises `LayoutError`. `extended` is the explicit way past the
end: there the last leaf runs on, as CuTe has it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import (
    IntTuple,
    congruent,
    crd2idx,
    depth,
    flatten,
    has_none,
    index_to_offset,
    prefix_product,
    product,
    rank,
    show,
    slice_,
)

if TYPE_CHECKING:
    from tylo.layouts.expression import Expression


class Layout:
    """A shape and a congruent stride; see the module for the definition and examples.

    `shape` and `stride` are nested tuples of integers; lists and numpy integers are accepted and
    normalised. Without `stride` the layout is compact, leftmost mode fastest. Shape and stride
    must nest alike.
    """

    __slots__ = ("shape", "stride")
    shape: IntTuple
    stride: IntTuple

    def __new__(cls, shape: object, stride: object = None) -> Layout:
        extents = _normalised(shape, "extent", shape)
        if stride is None:
            strides = prefix_product(extents)
        else:
            strides = _normalised(stride, "stride", stride)
        if not congruent(extents, strides):
            raise LayoutError(
                f"shape {show(extents)} and stride {show(strides)} nest differently",
                hint="give one stride for each extent, nested alike",
            )
        for entry in flatten((extents, strides)):
            if type(entry) is not int:
                from tylo.layouts.symbolic.layout import symbolic

                return symbolic(extents, strides)
        for number, extent in enumerate(flatten(extents)):
            if extent < 1:
                raise LayoutError(
                    f"shape {show(extents)} has an extent below 1",
                    hint="leave a mode without elements out",
                    witness=number,
                )
        return trusted(extents, strides)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Layout is frozen: cannot set {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Layout is frozen: cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
            return NotImplemented
        return bool(self.shape == other.shape and self.stride == other.stride)

    def __hash__(self) -> int:
        return hash((self.shape, self.stride))

    def __reduce__(self) -> tuple[type, tuple[IntTuple, IntTuple]]:
        return (Layout, (self.shape, self.stride))

    def __str__(self) -> str:
        return f"{show(self.shape)}:{show(self.stride)}"

    def __repr__(self) -> str:
        return f"Layout({self.shape}, {self.stride})"

    def _repr_svg_(self) -> str | None:
        from tylo.layouts.drawing import notebook_svg

        return notebook_svg(self)

    def __call__(self, *coordinate: Any) -> Any:
        """The offset of a coordinate, or, where the coordinate holds None, the layout it leaves.

        Slicing drops the offset of the fixed entries, as CuTe does: `slice_and_offset` gives
        both.

        >>> layout = Layout((4, (2, 3)))
        >>> layout(3, (1, 2)), layout(3, 5), layout(23)
        (23, 23, 23)
        >>> print(layout(None, (1, None)))
        (4,3):(1,8)
        """
        crd = coordinate[0] if len(coordinate) == 1 else coordinate
        if type(crd) is int:
            return index_to_offset(crd, self.shape, self.stride)
        if has_none(crd):
            return trusted(slice_(crd, self.shape), slice_(crd, self.stride))
        return crd2idx(crd, self.shape, self.stride)

    def subs(self, **values: int) -> Layout:
        """The layout with symbols replaced by name; without symbols, itself."""
        return self

    def expr(self, *names: str) -> Expression:
        """The closed form of the function, over the index or over one name for each mode.

        >>> expression = Layout((4, 6), (8, 1)).expr()
        >>> print(expression.python(), "|", expression.c(), "|", expression.latex())
        i % 4 * 8 + i // 4 | i % 4 * 8 + i / 4 | 8 \\cdot (i \\bmod 4) + \\lfloor i / 4 \\rfloor
        >>> print(Layout((4, 8), (8, 1)).expr("row", "col"))
        row * 8 + col
        """
        from tylo.layouts.expression import index_expression

        return index_expression(self, names)

    def extended(self, index: int) -> Any:
        """The offset of an index that may lie past the end, where the last leaf runs on.

        >>> Layout((4, 2), (1, 8)).extended(9)
        17
        """
        if index < 0:
            raise LayoutError(f"index {index} of {self} is negative", witness=index)
        extents, strides = flatten(self.shape), flatten(self.stride)
        offset = 0
        for extent, stride in zip(extents[:-1], strides[:-1], strict=True):
            index, digit = divmod(index, extent)
            offset += digit * stride
        return offset + index * strides[-1] if strides else offset

    def __len__(self) -> int:
        return rank(self.shape)

    def __getitem__(self, mode: int | slice) -> Layout:
        """The mode of that number; of a layout of rank 1 without parentheses, itself at 0."""
        if isinstance(self.shape, tuple):
            try:
                return like(self, self.shape[mode], self.stride[mode])
            except IndexError:
                pass
        elif mode in (0, -1):
            return self
        raise LayoutError(f"{self} has no mode {mode}", witness=mode)

    def __iter__(self) -> Iterator[Layout]:
        if type(self) is Layout and isinstance(self.shape, tuple):
            return map(trusted, self.shape, self.stride)
        return (self[mode] for mode in range(len(self)))

    def size(self) -> Any:
        """The number of coordinates."""
        return product(self.shape)

    def cosize(self) -> Any:
        """The length of the shortest interval that holds every offset.

        Without negative strides that is the largest offset plus one, pycute's cosize. With them,
        the last offset plus one would be wrong: `(4,2):(-1,8)` covers -3..8, twelve offsets.

        >>> Layout((4, 2), (1, 8)).cosize(), Layout((4, 2), (-1, 8)).cosize()
        (12, 12)
        """
        return 1 + sum(
            (extent - 1) * abs(stride)
            for extent, stride in zip(flatten(self.shape), flatten(self.stride), strict=True)
        )

    def min_offset(self) -> Any:
        """The smallest offset: 0 unless a stride is negative."""
        return sum(
            (extent - 1) * min(stride, 0)
            for extent, stride in zip(flatten(self.shape), flatten(self.stride), strict=True)
        )

    def max_offset(self) -> Any:
        """The largest offset. Strides of extent 1 never count: they are never stepped.

        >>> Layout((1, 4, 8), (2**33, 8, 1)).max_offset()
        31
        """
        return self.min_offset() + self.cosize() - 1


def _normalised(value: object, what: str, whole: object) -> IntTuple:
    """Plain ints in plain tuples, whatever integer and sequence types came in."""
    if isinstance(value, (tuple, list)):
        return tuple(_normalised(entry, what, whole) for entry in value)
    if type(value) is int:
        return value
    if type(value).__module__.startswith("sympy."):
        return value
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        return operator.index(value)
    raise LayoutError(f"{what} {value!r} in {whole!r} is not an integer")


_new = object.__new__
_set_shape = Layout.__dict__["shape"].__set__
_set_stride = Layout.__dict__["stride"].__set__


def trusted(shape: IntTuple, stride: IntTuple) -> Layout:
    """A layout of entries that are known to be normalised and congruent: no checks."""
    layout = _new(Layout)
    _set_shape(layout, shape)
    _set_stride(layout, stride)
    return layout


def require_numbers(rule: str, *layouts: Layout) -> None:
    """Refuse symbols, for operations that have no symbolic form."""
    for layout in layouts:
        if type(layout) is not Layout:
            raise LayoutError(
                f"{rule}({layout}) needs numbers, not symbols",
                hint="substitute values first, with layout.subs(..)",
            )


def like(layout: Layout, shape: IntTuple, stride: IntTuple, *others: Layout) -> Layout:
    """A layout of entries taken from these, with their symbols' conditions where there are any."""
    if type(layout) is Layout and (not others or all(type(o) is Layout for o in others)):
        return trusted(shape, stride)
    from tylo.layouts.symbolic.layout import conditions_of, symbolic

    return symbolic(shape, stride, conditions_of(layout, *others))


def joined(modes: Iterable[Layout]) -> Layout:
    """The layout with these modes."""
    modes = tuple(modes)
    shape, stride = tuple([m.shape for m in modes]), tuple([m.stride for m in modes])
    for mode in modes:
        if type(mode) is not Layout:
            from tylo.layouts.symbolic.layout import conditions_of, symbolic

            return symbolic(shape, stride, conditions_of(*modes))
    return trusted(shape, stride)


def compact(shape: Any) -> Layout:
    """The compact layout over a shape; `Layout(shape)`, quicker for a plain number."""
    return trusted(shape, 1) if type(shape) is int and shape > 0 else Layout(shape)


def is_layout(value: object) -> bool:
    """Whether `value` is a `Layout`."""
    return isinstance(value, Layout)


def as_layout(value: Any) -> Layout:
    """A layout as it is; an integer or shape as the compact layout over it."""
    return value if isinstance(value, Layout) else Layout(value)


def make_layout(*layouts: Any) -> Layout:
    """The layout whose modes are the given ones, as arguments or as one iterable.

    >>> print(make_layout(Layout(4), Layout(2, 8)), make_layout([Layout(4)]))
    (4,2):(1,8) (4):(1)
    """
    modes: Iterable[Layout] = layouts
    if len(layouts) == 1 and not isinstance(layouts[0], Layout):
        modes = tuple(layouts[0])
    return joined(modes)


def size(value: Any) -> Any:
    """The number of coordinates of a layout or shape."""
    return product(getattr(value, "shape", value))


def cosize(layout: Layout) -> Any:
    """`layout.cosize()`."""
    return layout.cosize()


def slice_and_offset(crd: IntTuple | None, layout: Layout) -> tuple[Layout, Any]:
    """The layout of the modes that face a None, and the offset of the fixed ones.

    >>> rest, offset = slice_and_offset((None, 1), Layout((4, 2), (1, 8)))
    >>> print(rest, offset)
    (4):(1) 8
    """
    return (
        like(layout, slice_(crd, layout.shape), slice_(crd, layout.stride)),
        crd2idx(crd, layout.shape, layout.stride),
    )


__all__ = [
    "Layout",
    "as_layout",
    "compact",
    "cosize",
    "depth",
    "is_layout",
    "joined",
    "like",
    "make_layout",
    "rank",
    "require_numbers",
    "size",
    "slice_and_offset",
    "trusted",
]
