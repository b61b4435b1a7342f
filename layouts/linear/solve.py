"""Composition, inverses and what they rest on: elimination over F2, on packed columns.

>>> from tylo.layouts.linear.value import LinearLayout
>>> swap = LinearLayout({"x": [(0, 1), (1, 0)]}, {"row": 2, "col": 2})
>>> invert(swap).bases
{'row': [(2,)], 'col': [(1,)]}

Each pivot is a combination of columns with a leading bit of its own. Combinations use pivot
columns only, and a pivot column is one that no earlier columns make; so a solution found by
reducing with the pivots is the least of all solutions, as an integer.
"""

from __future__ import annotations

from collections.abc import Sequence

from tylo.layouts.errors import LayoutError
from tylo.layouts.linear.value import LinearLayout, Sizes, apply, bit_offsets, packed, total_bits

Pivots = dict[int, tuple[int, int]]  # leading bit (as bit length): combination and its input bits


def eliminate(columns: Sequence[int]) -> tuple[Pivots, list[int]]:
    """The pivots of the columns, and a basis of the inputs that they send to 0."""
    pivots: Pivots = {}
    kernel: list[int] = []
    for bit, column in enumerate(columns):
        source = 1 << bit
        while column:
            pivot = pivots.get(column.bit_length())
            if pivot is None:
                pivots[column.bit_length()] = (column, source)
                break
            column ^= pivot[0]
            source ^= pivot[1]
        else:
            kernel.append(source)
    return pivots, kernel


def solve(pivots: Pivots, target: int) -> int | None:
    """The least input with that output, or None when the target is outside the image."""
    source = 0
    while target:
        pivot = pivots.get(target.bit_length())
        if pivot is None:
            return None
        target ^= pivot[0]
        source ^= pivot[1]
    return source


def is_injective(layout: LinearLayout) -> bool:
    """Whether only the input 0 has the output 0, which for a linear map is injectivity."""
    return not eliminate(layout.columns)[1]


def is_surjective(layout: LinearLayout) -> bool:
    """Whether every output coordinate is reached."""
    return len(eliminate(layout.columns)[0]) == total_bits(layout.out_dims)


def is_invertible(layout: LinearLayout) -> bool:
    """Whether the layout is a bijection."""
    pivots, kernel = eliminate(layout.columns)
    return not kernel and len(pivots) == total_bits(layout.out_dims)


def free_variables(layout: LinearLayout) -> dict[str, int]:
    """For each input dimension the mask of bits that add nothing to the image.

    A bit is free when its column is a combination of earlier columns: with free bits at 0 the
    layout is injective and reaches the same image.

    >>> from tylo.layouts.linear.value import LinearLayout
    >>> free_variables(LinearLayout({"x": [(1,), (1,), (2,)]}, {"out": 4}))
    {'x': 2}
    """
    mask = 0
    for source in eliminate(layout.columns)[1]:
        mask |= 1 << (source.bit_length() - 1)
    masks = {}
    for (name, size), shift in zip(layout.in_dims, bit_offsets(layout.in_dims), strict=True):
        masks[name] = mask >> shift & (size - 1)
    return masks


def compose(first: LinearLayout, then: LinearLayout) -> LinearLayout:
    """`x -> then(first(x))`: the outputs of `first` are the inputs of `then`, by name.

    >>> from tylo.layouts.linear.value import LinearLayout
    >>> double = LinearLayout({"x": [(2,), (1,)]}, {"x": 4})
    >>> compose(double, double).bases
    {'x': [(1,), (2,)]}
    """
    columns = first.columns
    if first.out_dims != then.in_dims:
        columns = repacked(columns, first.out_dims, then.in_dims, "compose")
    after = then.columns
    images = []
    for column in columns:
        # `apply`, written out: with few columns its call would cost more than its work.
        image = 0
        while column:
            top = column.bit_length() - 1
            image ^= after[top]
            column ^= 1 << top
        images.append(image)
    return packed(first.in_dims, then.out_dims, tuple(images))


def repacked(columns: Sequence[int], given: Sizes, wanted: Sizes, rule: str) -> tuple[int, ...]:
    """Columns over the dimensions `given`, packed as `wanted` has them, which may be larger."""
    sizes = dict(given)
    places = dict(zip([name for name, _ in given], bit_offsets(given), strict=True))
    for name, size in given:
        if size > dict(wanted).get(name, 1):
            raise LayoutError(
                f"{rule}: the output {name} of size {size} does not fit the input "
                f"{name} of size {dict(wanted).get(name, 'none')}",
                witness=name,
            )
    moves = [
        (places[name], sizes[name] - 1, shift)
        for (name, _), shift in zip(wanted, bit_offsets(wanted), strict=True)
        if name in places
    ]
    return tuple(
        [
            sum((column >> place & mask) << shift for place, mask, shift in moves)
            for column in columns
        ]
    )


def invert(layout: LinearLayout) -> LinearLayout:
    """The inverse of a bijection; `LayoutError` names an input of the kernel or a missed output."""
    pivots, kernel = eliminate(layout.columns)
    if kernel:
        raise LayoutError(
            f"{layout} has no inverse: two inputs share an output", witness=(0, min(kernel))
        )
    return _solved(layout, pivots)


def pseudo_invert(layout: LinearLayout) -> LinearLayout:
    """The right inverse of a surjective layout that picks the least input for each output bit.

    `layout(pseudo_invert(layout)(y)) == y` for every output `y`.

    >>> from tylo.layouts.linear.value import LinearLayout
    >>> pseudo_invert(LinearLayout({"x": [(1,), (1,), (2,)]}, {"out": 4})).bases
    {'out': [(1,), (4,)]}
    """
    return _solved(layout, eliminate(layout.columns)[0])


def _solved(layout: LinearLayout, pivots: Pivots) -> LinearLayout:
    columns: list[int] = []
    for bit in range(total_bits(layout.out_dims)):
        source = solve(pivots, 1 << bit)
        if source is None:
            raise LayoutError(
                f"{layout} has no inverse: it does not reach every output",
                witness=dict(
                    zip(
                        [name for name, _ in layout.out_dims],
                        layout.unpacked(1 << bit),
                        strict=True,
                    )
                ),
            )
        columns.append(source)
    return packed(layout.out_dims, layout.in_dims, tuple(columns))


def invert_and_compose(this: LinearLayout, outer: LinearLayout) -> LinearLayout:
    """The layout `C` from the inputs of `this` to those of `outer` with `outer(C(x)) == this(x)`.

    With several, the one of least outputs on the bases. This is how a value moves between two
    ownerships of one tensor: where `outer` holds what `this` holds at `x`.
    """
    columns = this.columns
    if this.out_dims != outer.out_dims:
        columns = repacked(columns, this.out_dims, outer.out_dims, "invert_and_compose")
    pivots, _ = eliminate(outer.columns)
    found: list[int] = []
    for bit, column in enumerate(columns):
        source = solve(pivots, column)
        if source is None:
            raise LayoutError(
                f"invert_and_compose: {outer} does not reach what {this} holds",
                witness=_input(this, bit),
            )
        found.append(source)
    return packed(this.in_dims, outer.in_dims, tuple(found))


def _input(layout: LinearLayout, bit: int) -> dict[str, int]:
    """The input whose packed form is that one bit."""
    places = bit_offsets(layout.in_dims)
    number = max(k for k, place in enumerate(places) if place <= bit)
    return {layout.in_dims[number][0]: 1 << (bit - places[number])}


def common_bases(a: LinearLayout, b: LinearLayout) -> tuple[tuple[int, ...], ...]:
    """A basis of the outputs that both layouts reach.

    From a kernel vector of all columns of both, the part of `a` is an output that `b` makes too.

    >>> from tylo.layouts.linear.value import LinearLayout
    >>> a = LinearLayout({"x": [(1,), (2,)]}, {"out": 8})
    >>> common_bases(a, LinearLayout({"x": [(3,), (4,)]}, {"out": 8}))
    ((3,),)
    """
    columns = b.columns
    if b.out_dims != a.out_dims:
        columns = repacked(columns, b.out_dims, a.out_dims, "common_bases")
    independent = [pivot for pivot, _ in eliminate(a.columns)[0].values()]
    _, kernel = eliminate([*independent, *columns])
    shared = [apply(independent, k & ((1 << len(independent)) - 1)) for k in kernel]
    basis = sorted(pivot for pivot, _ in eliminate(shared)[0].values())
    return tuple(a.unpacked(vector) for vector in basis)
