"""Layouts of coordinates: strides that are basis elements, so that the value is a coordinate.

`E<0>` steps by one along mode 0 of another layout, `E<1,0>` along mode 0 inside its mode 1. A
thread and value map over a matrix is one: four threads along the rows, and two values along the
columns, four apart, are `(4,2):(E<0>,4*E<1>)`.

>>> from tylo.layouts.coordinates import CoordinateLayout
>>> tv = CoordinateLayout.of((4, 2), ({(0,): 1}, {(1,): 4}))
>>> print(tv, tv(3, 1))
(4,2):(E<0>,4*E<1>) (3, 4)

Composed with a layout of the matrix it gives offsets; each mode is composed by itself, and nothing
carries from one into another. That is the point: the extent of the columns is never needed to step
along the rows.

>>> from tylo.layouts.algebra.composition import composition
>>> from tylo.layouts.layout import Layout
>>> print(composition(Layout((8, 16), (16, 1)), tv))
(4,2):(16,4)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import IntTuple, congruent, flatten, show, unflatten
from tylo.layouts.layout import Layout, like

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CoordinateLayout:
    """For each path of a coordinate, the layout of that entry; all over one shape."""

    entries: tuple[tuple[Path, Layout], ...]

    @staticmethod
    def of(shape: IntTuple, strides: Any) -> CoordinateLayout:
        """From a shape and, nested alike, one `{path: step}` for each extent."""
        steps = _leaves(strides)
        if not congruent(shape, _profile(strides)):
            raise LayoutError(f"shape {show(shape)} and its {len(steps)} strides nest differently")
        paths = sorted({path for step in steps for path in step})
        for path in paths:
            for other in paths:
                if path != other and other[: len(path)] == path:
                    raise LayoutError(
                        f"E<{_path(path)}> and E<{_path(other)}>: one lies inside the other",
                        witness=other,
                    )
        return CoordinateLayout(
            tuple(
                (path, Layout(shape, unflatten(tuple(s.get(path, 0) for s in steps), shape)))
                for path in paths
            )
        )

    @property
    def shape(self) -> IntTuple:
        """The shape of the domain."""
        return self.entries[0][1].shape

    def size(self) -> Any:
        """The number of coordinates of the domain."""
        return self.entries[0][1].size()

    def __call__(self, *coordinate: Any) -> Any:
        """The coordinate that a coordinate or index goes to."""
        return _nested({path: layout(*coordinate) for path, layout in self.entries})

    def __str__(self) -> str:
        columns = zip(*(flatten(layout.stride) for _, layout in self.entries), strict=True)
        paths = [path for path, _ in self.entries]
        leaves = tuple(
            "+".join(
                f"{'' if step == 1 else f'{step}*'}E<{_path(path)}>"
                for path, step in zip(paths, column, strict=True)
                if step != 0
            )
            or "0"
            for column in columns
        )
        return f"{show(self.shape)}:{show(unflatten(leaves, self.shape))}"


def make_identity_layout(shape: IntTuple) -> CoordinateLayout:
    """The layout that sends each coordinate of the shape to itself.

    >>> print(make_identity_layout((4, (2, 3))), make_identity_layout((4, (2, 3)))(13))
    (4,(2,3)):(E<0>,(E<1,0>,E<1,1>)) (1, (1, 1))
    """

    def basis(part: IntTuple, path: Path) -> Any:
        if isinstance(part, tuple):
            return tuple(basis(entry, (*path, place)) for place, entry in enumerate(part))
        return {path: 1}

    return CoordinateLayout.of(shape, basis(shape, () if isinstance(shape, tuple) else (0,)))


def compose_coordinates(a: Layout, b: CoordinateLayout, after: Any) -> Layout:
    """`A` at the coordinates of `B`: the sum of one composition for each entry.

    `after(mode, layout)` composes one mode. Raises `LayoutError` where two entries move along one
    extent of `B` and one of them must be split there.
    """
    parts = []
    for path, layout in b.entries:
        mode = a
        for place in path:
            mode = mode[place]
        parts.append(after(mode, layout))
    shapes, strides = [], []
    columns = [list(_aligned(b.shape, part.shape, part.stride)) for part in parts]
    for number, pieces in enumerate(zip(*columns, strict=True)):
        moving = [(shape, stride) for shape, stride in pieces if stride != 0]
        if len(moving) > 1 and any(isinstance(shape, tuple) for shape, _ in moving):
            raise LayoutError(
                f"composition({a}, {b}): two entries move along extent {number} of B, and a mode "
                "of A splits it",
                hint="split that extent of B first",
                witness=number,
            )
        shape, stride = moving[0] if moving else pieces[0]
        for _, other in moving[1:]:
            stride = stride + other
        shapes.append(shape)
        strides.append(stride)
    return like(
        parts[0], unflatten(tuple(shapes), b.shape), unflatten(tuple(strides), b.shape), *parts[1:]
    )


def _aligned(profile: IntTuple, shape: IntTuple, stride: IntTuple) -> Any:
    """What a refined layout has at each leaf of the profile."""
    if isinstance(profile, tuple):
        for part, s, d in zip(profile, shape, stride, strict=True):
            yield from _aligned(part, s, d)
    else:
        yield shape, stride


def _leaves(strides: Any) -> list[Mapping[Path, Any]]:
    if isinstance(strides, tuple):
        return [leaf for entry in strides for leaf in _leaves(entry)]
    return [strides]


def _profile(strides: Any) -> IntTuple:
    return tuple(map(_profile, strides)) if isinstance(strides, tuple) else 0


def _path(path: Path) -> str:
    return ",".join(map(str, path))


def _nested(values: Mapping[Path, Any]) -> Any:
    if () in values:
        return values[()]
    rank = 1 + max(path[0] for path in values)
    return tuple(
        _nested({path[1:]: v for path, v in values.items() if path[0] == place} or {(): 0})
        for place in range(rank)
    )
