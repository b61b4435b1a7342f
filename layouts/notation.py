"""CuTe's notation: read back what `str` prints, and evaluate expressions over it.

```
expression = name "(" expression {"," expression} ")"     composition((6,2):(8,2), (4,3):(3,1))
           | tuple [":" tuple]                             (4,(2,3)):(1,(4,8)), or a shape
           | swizzle ["o" integer "o" expression]          Sw<3,4,3>@8 o 0 o (8,8):(8,1)
           | "F2[" bases "->" sizes "]"                    F2[lane=[(1),(2)]->row:4]
tuple      = integer | "_" | basis | "(" [expression {"," expression} [","]] ")"
basis      = term {"+" term},  term = [integer "*"] "E<" integer {"," integer} ">"
swizzle    = "Sw<" integer "," integer "," integer ">" ["@" integer]
```

`(32)` is a one-tuple and `32` an integer; Python's spelling `(32,)` of a one-tuple is read too.
`_` leaves a mode whole, in tilers and coordinates.

>>> parse("(4,(2,3)):(1,(4,8))")
Layout((4, (2, 3)), (1, (4, 8)))
>>> parse("(32)"), parse("32")
(Layout((32,), (1,)), Layout(32, 1))
>>> print(evaluate("composition((6,2):(8,2), (4,3):(3,1))"))
((2,2),3):((24,2),8)
>>> print(evaluate("zipped_divide((8,8):(8,1), (4,_))"))
((4,1),(2,8)):((8,0),(32,1))
>>> print(evaluate("composition(Sw<2,0,3>, (8,8):(8,1))"), evaluate("(4,2):(E<0>,4*E<1>)"))
Sw<2,0,3> o 0 o (8,8):(8,1) (4,2):(E<0>,4*E<1>)

Anything else is refused with its zero-based column.

>>> parse("(4,2):(1;8)")
Traceback (most recent call last):
tylo.layouts.errors.NotationError: expected ',' or ')' but found ';' in '(4,2):(1;8)' (witness: 8)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from tylo.layouts import linear
from tylo.layouts.algebra import (
    coalesce,
    common,
    complement,
    composition,
    divide,
    filters,
    injective,
    inverse,
    modes,
    products,
    recast,
)
from tylo.layouts.coordinates import CoordinateLayout, make_identity_layout
from tylo.layouts.errors import LayoutError, NotationError
from tylo.layouts.int_tuple import IntTuple, compatible, congruent, crd2crd, crd2idx, idx2crd
from tylo.layouts.int_tuple import weakly_congruent as weakly
from tylo.layouts.layout import Layout, cosize, make_layout, size
from tylo.layouts.linear.value import LinearLayout
from tylo.layouts.swizzle import ComposedLayout, Swizzle

T = TypeVar("T")

_INTEGER = re.compile(r"-?[0-9]+")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

# By name. The first argument of these is a layout; a plain shape there is the compact layout.
_OF_LAYOUTS: dict[str, Callable[..., Any]] = {
    "coalesce": coalesce.coalesce,
    "filter": filters.filter,
    "nullspace": filters.nullspace,
    "composition": composition.composition,
    "complement": complement.complement,
    "right_inverse": inverse.right_inverse,
    "left_inverse": inverse.left_inverse,
    "logical_divide": divide.logical_divide,
    "zipped_divide": divide.zipped_divide,
    "tiled_divide": divide.tiled_divide,
    "flat_divide": divide.flat_divide,
    "logical_product": products.logical_product,
    "zipped_product": products.zipped_product,
    "tiled_product": products.tiled_product,
    "flat_product": products.flat_product,
    "blocked_product": products.blocked_product,
    "raked_product": products.raked_product,
    "max_common_layout": common.max_common_layout,
    "max_common_vector": common.max_common_vector,
    "group": modes.group,
    "flatten": modes.flatten,
    "append": modes.append,
    "prepend": modes.prepend,
    "replace": modes.replace,
    "with_shape": modes.with_shape,
    "upcast": recast.upcast,
    "downcast": recast.downcast,
    "recast": recast.recast,
    "is_injective": injective.is_injective,
    "size": size,
    "cosize": cosize,
    "make_layout": make_layout,
    "to_linear": linear.from_layout,
}
_OF_TUPLES: dict[str, Callable[..., Any]] = {
    "crd2idx": crd2idx,
    "idx2crd": idx2crd,
    "crd2crd": crd2crd,
    "slice": modes.slice,
    "dice": modes.dice,
    "compatible": compatible,
    "congruent": congruent,
    "weakly_congruent": weakly,
    "make_identity_layout": make_identity_layout,
    "compose": linear.compose,
    "invert": linear.invert,
    "pseudo_invert": linear.pseudo_invert,
    "product": linear.product,
    "divide_left": linear.divide_left,
    "divide_right": linear.divide_right,
    "to_layout": linear.to_layout,
    "to_swizzle": linear.to_swizzle,
}


class Reader:
    """Text and a position in it; each method reads one thing and moves on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.column = 0

    def skip_blanks(self) -> None:
        while self.column < len(self.text) and self.text[self.column].isspace():
            self.column += 1

    def fail(self, expected: str) -> NoReturn:
        self.skip_blanks()
        found = repr(self.text[self.column]) if self.column < len(self.text) else "the end"
        raise NotationError(
            f"expected {expected} but found {found} in {self.text!r}", witness=self.column
        )

    def accept(self, symbol: str) -> bool:
        self.skip_blanks()
        if not self.text.startswith(symbol, self.column):
            return False
        self.column += len(symbol)
        return True

    def expect(self, symbol: str) -> None:
        if not self.accept(symbol):
            self.fail(repr(symbol))

    def integer(self, expected: str = "an integer") -> int:
        self.skip_blanks()
        match = _INTEGER.match(self.text, self.column)
        if match is None:
            self.fail(expected)
        self.column = match.end()
        return int(match.group())

    def name(self) -> str | None:
        """A word, left where it is when there is none."""
        self.skip_blanks()
        match = _NAME.match(self.text, self.column)
        if match is None:
            return None
        self.column = match.end()
        return match.group()

    def listed(self, entry: Callable[[], Any], close: str) -> list[Any]:
        """Entries between commas up to the closing symbol; a last comma may stand alone."""
        entries: list[Any] = []
        while not self.accept(close):
            entries.append(entry())
            if self.accept(close):
                break
            if not self.accept(","):
                self.fail(f"',' or {close!r}")
        return entries

    def end(self) -> None:
        self.skip_blanks()
        if self.column != len(self.text):
            self.fail("the end")

    def int_tuple(self) -> IntTuple:
        if self.accept("("):
            return tuple(self.listed(self.int_tuple, ")"))
        return self.integer("an integer or '('")

    def layout(self) -> Layout:
        self.skip_blanks()
        start = self.column
        shape = self.int_tuple()
        stride = self.int_tuple() if self.accept(":") else None
        return self.at(start, lambda: Layout(shape, stride))

    def at(self, column: int, build: Callable[[], T]) -> T:
        """What `build` makes; a refusal points at the column where the operands began."""
        try:
            return build()
        except LayoutError as error:
            raise NotationError(error.message, hint=error.hint, witness=column) from error

    def expression(self) -> Any:
        """Any value of the notation."""
        self.skip_blanks()
        start = self.column
        if self.accept("Sw<"):
            return self.swizzle(start)
        if self.accept("F2["):
            return self.linear(start)
        value = self.part()
        if not self.accept(":"):
            return value
        stride = self.part()
        if _has_basis(stride):
            return self.at(start, lambda: CoordinateLayout.of(value, _bases(stride)))
        return self.at(start, lambda: Layout(value, stride))

    def part(self) -> Any:
        """An integer, an underscore, a basis element, a tuple of expressions, or a call."""
        if self.accept("("):
            return tuple(self.listed(self.expression, ")"))
        if self.accept("_"):
            return None
        self.skip_blanks()
        start = self.column
        if self.accept("E<"):
            return self.basis({tuple(self.listed(self.integer, ">")): 1})
        word = self.name()
        if word is not None:
            return self.call(word, start)
        value = self.integer("a layout, a number or a function")
        if self.accept("*"):
            self.expect("E<")
            return self.basis({tuple(self.listed(self.integer, ">")): value})
        return value

    def basis(self, first: dict[tuple[int, ...], int]) -> dict[tuple[int, ...], int]:
        while self.accept("+"):
            step = 1
            if not self.accept("E<"):
                step = self.integer()
                self.expect("*")
                self.expect("E<")
            path = tuple(self.listed(self.integer, ">"))
            first[path] = first.get(path, 0) + step
        return first

    def swizzle(self, start: int) -> Any:
        parameters = self.listed(self.integer, ">")
        if len(parameters) != 3:
            raise NotationError(
                f"a swizzle has 3 parameters, not {len(parameters)}, in {self.text!r}",
                witness=start,
            )
        unit = self.integer() if self.accept("@") else None
        bits, base, shift = parameters
        swizzle = self.at(start, lambda: Swizzle(bits, base, shift, unit))
        if not self.accept("o"):
            return swizzle
        offset = self.integer()
        self.expect("o")
        inner = self.expression()
        return self.at(start, lambda: ComposedLayout(swizzle, offset, _layout(inner)))

    def linear(self, start: int) -> LinearLayout:
        bases: dict[str, Any] = {}
        while not self.accept("->"):
            dimension = self.name() or self.fail("a dimension or '->'")
            self.expect("=")
            self.expect("[")
            images = self.listed(self.int_tuple, "]")
            bases[dimension] = [image if isinstance(image, tuple) else (image,) for image in images]
            self.accept(",")
        sizes: dict[str, int] = {}
        for dimension, extent in self.listed(self.sized, "]"):
            sizes[dimension] = extent
        return self.at(start, lambda: LinearLayout(bases, sizes))

    def sized(self) -> tuple[str, int]:
        dimension = self.name() or self.fail("a dimension")
        self.expect(":")
        return dimension, self.integer()

    def call(self, word: str, start: int) -> Any:
        function = _OF_LAYOUTS.get(word) or _OF_TUPLES.get(word)
        if function is None:
            raise NotationError(
                f"no function is named {word!r} in {self.text!r}",
                hint=f"known: {', '.join(sorted([*_OF_LAYOUTS, *_OF_TUPLES]))}",
                witness=start,
            )
        self.expect("(")
        arguments = self.listed(self.expression, ")")
        if word in _OF_LAYOUTS and arguments:
            arguments[0] = _layout(arguments[0])
        try:
            return function(*arguments)
        except (TypeError, AttributeError) as error:
            raise NotationError(
                f"{word} does not take these {len(arguments)} arguments in {self.text!r}",
                witness=start,
            ) from error


def _layout(value: Any) -> Any:
    """A shape as the compact layout over it; anything else as it is."""
    return Layout(value) if isinstance(value, (int, tuple)) else value


def _has_basis(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, tuple) and any(map(_has_basis, value)))


def _bases(value: Any) -> Any:
    """Strides with each plain 0 as the empty combination."""
    if isinstance(value, tuple):
        return tuple(map(_bases, value))
    if value == 0:
        return {}
    if not isinstance(value, dict):
        raise LayoutError(f"the stride {value} stands beside basis elements", hint="scale an E<>")
    return value


def parse(text: str) -> Layout:
    """The layout that `text` spells; see the module for the grammar.

    Raises `NotationError`, whose witness is the column, for text outside the grammar and for
    shapes and strides that make no layout.
    """
    reader = Reader(text)
    layout = reader.layout()
    reader.end()
    return layout


def parse_int_tuple(text: str) -> IntTuple:
    """The integer tuple that `text` spells.

    >>> parse_int_tuple("(4,(2,-3))")
    (4, (2, -3))
    """
    reader = Reader(text)
    value = reader.int_tuple()
    reader.end()
    return value


def evaluate(text: str) -> Any:
    """The value of an expression: a layout, swizzle, linear layout, number, or truth value.

    Functions have the names and argument order of the algebra. Where a layout is expected, a
    shape means the compact layout over it. Raises `NotationError` with the column for text outside
    the grammar, and `LayoutError` where an operation has no answer.

    >>> print(evaluate("logical_divide(16:1, 4:4)"), evaluate("size((4,(2,3)))"))
    (4,4):(4,1) 24
    >>> evaluate("composition(4:1, 2:1")
    Traceback (most recent call last):
    tylo.layouts.errors.NotationError: expected ',' or ')' but found the end in \
'composition(4:1, 2:1' (witness: 20)
    """
    reader = Reader(text)
    value = reader.expression()
    reader.end()
    return value
