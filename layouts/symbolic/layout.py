"""`SymbolicLayout`: a layout whose extents and strides hold symbols.

`Layout` makes one when an entry is a sympy expression; every symbol stands for a positive integer.

>>> import sympy
>>> from tylo.layouts.algebra.coalesce import coalesce
>>> from tylo.layouts.layout import Layout
>>> n = sympy.Symbol("n")
>>> print(coalesce(Layout((192, n), (1, 192))))
192*n:1

What holds only for some values is recorded as a claim, and `subs` refuses the others:

>>> layout = Layout((8, n / 8), (1, 8))
>>> print(*layout.conditions)
n % 8 == 0
>>> print(layout.subs(n=64))
(8,8):(1,8)
>>> layout.subs(n=12)
Traceback (most recent call last):
tylo.layouts.errors.LayoutError: (8,n/8):(1,8) needs n % 8 == 0 (witness: {'n': 12}); substitute \
other values
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import IntTuple, flatten, has_none, show, slice_, unflatten
from tylo.layouts.layout import Layout, require_numbers, trusted
from tylo.layouts.symbolic.facts import Condition, at_most, divides, positive, substituted, tidy


class SymbolicLayout(Layout):
    """A layout with symbols, and the conditions under which it is right.

    Equal when shape, stride and conditions are; compare functions by substituting.
    """

    __slots__ = ("conditions",)
    conditions: tuple[Condition, ...]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
            return NotImplemented
        return (
            isinstance(other, SymbolicLayout)
            and bool(self.shape == other.shape and self.stride == other.stride)
            and set(self.conditions) == set(other.conditions)
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.stride))

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return (symbolic, (self.shape, self.stride, self.conditions))

    def subs(self, **values: int) -> Layout:
        """The layout for these values of the symbols, by name; refused where a condition fails."""
        for condition in self.conditions:
            if condition.holds(values) is False:
                raise LayoutError(
                    f"{self} needs {condition}", hint="substitute other values", witness=values
                )
        shape = [substituted(entry, values) for entry in flatten(self.shape)]
        stride = [substituted(entry, values) for entry in flatten(self.stride)]
        return symbolic(
            unflatten(tuple(shape), self.shape),
            unflatten(tuple(stride), self.shape),
            [c.subs(values) for c in self.conditions if c.holds(values) is None],
        )

    def __call__(self, *coordinate: Any) -> Any:
        """The offset of a coordinate, which may itself hold symbols; None slices, as ever.

        A coordinate with symbols is taken to be in the domain; numbers beyond a known extent are
        refused.
        """
        crd = coordinate[0] if len(coordinate) == 1 else coordinate
        if has_none(crd):
            return symbolic(slice_(crd, self.shape), slice_(crd, self.stride), self.conditions)
        return tidy(_dot(crd, self.shape, self.stride))

    def extended(self, index: Any) -> Any:
        """The offset of an index, running on in the last leaf."""
        return tidy(_digits(index, flatten(self.shape), flatten(self.stride)))

    def cosize(self) -> Any:
        """The length of the interval of all offsets, for strides that are not negative."""
        return tidy(super().cosize())

    def min_offset(self) -> Any:
        """Refused: which strides are negative may depend on the values."""
        require_numbers("min_offset", self)

    def size(self) -> Any:
        """The number of coordinates, as a polynomial."""
        return tidy(super().size())


_set_conditions = SymbolicLayout.__dict__["conditions"].__set__
_set_shape = Layout.__dict__["shape"].__set__
_set_stride = Layout.__dict__["stride"].__set__


def symbolic(shape: IntTuple, stride: IntTuple, conditions: Iterable[Condition] = ()) -> Layout:
    """The layout of these entries: a plain one when no symbol and no condition is left.

    Entries that are not integers for all values, or extents that may be below 1, add conditions.
    """
    extents = tuple(map(positive, flatten(shape)))
    strides = tuple(map(positive, flatten(stride)))
    needed = dict.fromkeys(conditions)
    for entry in (*extents, *strides):
        needed.update(dict.fromkeys(_integral(entry)))
    for number, extent in enumerate(extents):
        if isinstance(extent, int):
            if extent < 1:
                raise LayoutError(
                    f"shape {show(shape)} has an extent below 1",
                    hint="leave a mode without elements out",
                    witness=number,
                )
        elif not any(condition.right == extent for condition in needed):
            needed.update(dict.fromkeys(_at_least_one(extent)))
    shape, stride = unflatten(extents, shape), unflatten(strides, stride)
    if not needed and all(isinstance(entry, int) for entry in (*extents, *strides)):
        return trusted(shape, stride)
    layout = object.__new__(SymbolicLayout)
    _set_shape(layout, shape)
    _set_stride(layout, stride)
    _set_conditions(layout, tuple(needed))
    return layout


def _integral(entry: Any) -> tuple[Condition, ...]:
    import sympy

    if isinstance(entry, int):
        return ()
    numerator, denominator = sympy.fraction(sympy.together(entry))
    return divides(tidy(denominator), tidy(numerator))[1]


def _at_least_one(extent: Any) -> tuple[Condition, ...]:
    """An extent that is a positive numerator over a divisor is at least 1 when it is an integer."""
    import sympy

    numerator, denominator = sympy.fraction(sympy.together(extent))
    return () if not at_most(1, numerator) else at_most(denominator, numerator)


def conditions_of(*layouts: Layout) -> tuple[Condition, ...]:
    """All conditions of the layouts, each once."""
    found: dict[Condition, None] = {}
    for layout in layouts:
        if isinstance(layout, SymbolicLayout):
            found.update(dict.fromkeys(layout.conditions))
    return tuple(found)


def _dot(crd: Any, shape: IntTuple, stride: IntTuple) -> Any:
    if isinstance(crd, tuple):
        if not isinstance(shape, tuple) or len(crd) != len(shape):
            raise LayoutError(
                f"coordinate {show(crd)} does not fit the shape {show(shape)}", witness=crd
            )
        total: Any = 0
        for c, s, d in zip(crd, shape, stride, strict=True):
            total = total + _dot(c, s, d)
        return total
    if not isinstance(shape, tuple):
        if isinstance(crd, int) and (crd < 0 or (isinstance(shape, int) and crd >= shape)):
            raise LayoutError(f"coordinate {crd} is outside the mode {shape}", witness=crd)
        return crd * stride
    return _digits(crd, flatten(shape), flatten(stride))


def _digits(index: Any, extents: tuple[Any, ...], strides: tuple[Any, ...]) -> Any:
    import sympy

    rest = sympy.sympify(index)
    total: Any = 0
    for extent, stride in zip(extents[:-1], strides[:-1], strict=True):
        total = total + sympy.Mod(rest, extent) * stride
        rest = sympy.floor(rest / extent)
    return total + rest * strides[-1] if strides else total
