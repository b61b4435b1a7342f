"""Guarded and strided stores: every element of rows x columns is written once, and nothing else.

A `Matrix` says which elements of an output are written, and each store's `Element` says where the
store begins in it, as (row, column), and which block, thread and step may write a given element: an
inverse. An element is *reached* by a store at the inverse's point if that point is part of the
launch, the store is performed there, and begins at or before the element, by less than its width.
Nothing is enumerated; these conditions hold for every size:

element
    The store's offset is that of (row, column).
inside
    All its elements are in rows below rows, and columns below columns.
no other thread
    The inverse at each of its elements is the thread, block, round and step that performs it: two
    of them that write one element are the same.
no other store
    At none of its elements is the element reached by another store.
nothing left out
    Every element is reached by some store.
side by side
    Where rows are cut into runs, all elements of a store lie in one of them.
rows apart
    Columns are at most the stride, or there is only one row: two elements are never one place. Of
    rows that are cut into runs, either all that is a row apart fits between two runs, or all runs
    of a row fit between two rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tylo.layouts.terms import Integer, show
from tylo.layouts.terms import evaluate as evaluate_term
from tylo.layouts.terms import name as named
from tylo.proofs.effects import Buffer, Element, Less, Matrix, Store
from tylo.proofs.effects.axes import block_of, blocks_of
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.scene import Scene


@dataclass(frozen=True, slots=True)
class Statement:
    """A condition on the contract alone, by its violation; the two sides are for a report."""

    label: str
    violation: Expression
    found: Expression | str
    wanted: Expression | str


def written_as_said(scene: Scene, buffer: Buffer) -> Iterator[Statement]:
    """All conditions for one output that says which of its elements are written."""
    matrix = buffer.written
    assert matrix is not None
    stores = [
        (index, store)
        for index, store in enumerate(scene.effect.stores)
        if store.buffer == buffer.name
    ]
    yield Statement(
        f"{buffer.name}: rows apart",
        scene.negate(_apart(scene, matrix)),
        *_words(matrix),
    )
    for index, store in stores:
        yield from _placed(scene, buffer, matrix, index, store)
        others = [other for number, other in stores if number != index]
        yield from _alone(scene, buffer, index, store, others)
    row, column = named("row"), named("column")
    missed = [_less(scene, row, matrix.rows), _less(scene, column, matrix.columns)]
    missed += [
        scene.negate(_reached(scene, buffer, store, {"row": row, "column": column}))
        for _, store in stores
    ]
    yield Statement(
        f"{buffer.name}: nothing left out",
        scene.all_of(missed),
        "an element that no store reaches",
        f"all of {show(matrix.rows)} x {show(matrix.columns)} elements written",
    )


def _placed(
    scene: Scene, buffer: Buffer, matrix: Matrix, index: int, store: Store
) -> Iterator[Statement]:
    """The store goes where its element says, inside the matrix."""
    element = _element(store)
    performed = scene.performed(store)
    size = buffer.element_bits // 8
    place = matrix.place(element.row, element.column) * size
    found, wanted = (scene.address(buffer.name, term) for term in (store.offset, place))
    yield Statement(
        f"store {index}: element",
        scene.all_of([performed, scene.differ(found, wanted)]),
        found,
        wanted,
    )
    width = _width(store, buffer)
    inside = scene.all_of(
        [
            _less(scene, -1, element.row),
            _less(scene, element.row, matrix.rows),
            _less(scene, -1, element.column),
            _less(scene, element.column + (width - 1), matrix.columns),
        ]
    )
    yield Statement(
        f"store {index}: inside",
        scene.all_of([performed, scene.negate(inside)]),
        f"an element outside {show(matrix.rows)} x {show(matrix.columns)}",
        "elements inside",
    )
    if matrix.run != 0 and width > 1:
        last = element.column % matrix.run + (width - 1)
        yield Statement(
            f"store {index}: side by side",
            scene.all_of([performed, scene.negate(_less(scene, last, matrix.run))]),
            f"{width} elements from the {show(element.column % matrix.run)}th of a run on",
            f"all in one run of {show(matrix.run)}",
        )


def _apart(scene: Scene, matrix: Matrix) -> Expression:
    """Whether two elements are never one place."""
    domain = scene.domain

    def fits(count: Integer, width: Integer, stride: Integer) -> Expression:
        """Whether so many parts of a width lie apart, at a stride."""
        alone, wide = _less(scene, 1, count), _less(scene, stride, width)
        return scene.negate(domain.bit_and(alone, wide, 1))

    if matrix.run == 0:
        return fits(matrix.rows, matrix.columns, matrix.stride)
    runs = (matrix.columns - 1) // matrix.run + 1
    rows_wide = (matrix.rows - 1) * matrix.stride + matrix.run
    runs_wide = (runs - 1) * matrix.run_stride + matrix.run
    # Whole rows inside of a stride of runs, or all runs of a row inside of a stride of rows.
    rows_first = scene.all_of(
        [
            fits(matrix.rows, matrix.run, matrix.stride),
            fits(runs, rows_wide, matrix.run_stride),
        ]
    )
    runs_first = scene.all_of(
        [
            fits(runs, matrix.run, matrix.run_stride),
            fits(matrix.rows, runs_wide, matrix.stride),
        ]
    )
    return domain.bit_or(rows_first, runs_first, 1)


def _words(matrix: Matrix) -> tuple[str, str]:
    """What is not apart, and how it should be."""
    if matrix.run == 0:
        return f"{show(matrix.columns)} columns", f"at most the stride, {show(matrix.stride)}"
    strides = f"{show(matrix.stride)} and {show(matrix.run_stride)}"
    return f"rows, and runs of {show(matrix.run)}", f"apart at strides {strides}"


def _alone(
    scene: Scene, buffer: Buffer, index: int, store: Store, others: list[Store]
) -> Iterator[Statement]:
    """No two threads, and no two stores, write one element."""
    element = _element(store)
    performed = scene.performed(store)
    for position in range(_width(store, buffer)):
        at: dict[str, Integer] = {"row": element.row, "column": element.column + position}
        for coordinate in scene.effect.coordinates:
            inverse = evaluate_term(getattr(element, coordinate), _point(scene, at))
            found, wanted = scene.value(named(coordinate)), scene.value(inverse)
            if coordinate == "round" and store.rounds == 1 and element.round == 0:
                continue
            if {"step": store.repeat, "round": store.rounds}.get(coordinate) == 1:
                found = scene.domain.constant(0, 64)
            yield Statement(
                f"store {index}: no other thread ({coordinate}, element {position})",
                scene.all_of([performed, scene.differ(found, wanted)]),
                f"another {coordinate} than the inverse of its element gives",
                "the same",
            )
        for other in others:
            yield Statement(
                f"store {index}: no other store (element {position})",
                scene.all_of([performed, _reached(scene, buffer, other, at)]),
                "an element that another store writes too",
                "elements of its own",
            )


def _reached(scene: Scene, buffer: Buffer, store: Store, at: dict[str, Integer]) -> Expression:
    """Whether a store writes the element at (row, column)."""
    element = _element(store)
    point = _point(scene, at)
    coordinates = scene.effect.coordinates
    inverse = {c: evaluate_term(getattr(element, c), point) for c in coordinates}
    there = point | inverse
    limits: dict[str, Integer] = {
        "thread": scene.effect.threads,
        "block": named("blocks"),
        **{block_of(axis): named(blocks_of(axis)) for axis in scene.effect.further},
        "round": store.rounds,
        "step": store.repeat,
    }
    row, column = (evaluate_term(term, there) for term in (element.row, element.column))
    conditions = [
        condition
        for coordinate, limit in limits.items()
        for condition in (
            _less(scene, -1, inverse[coordinate]),
            _less(scene, inverse[coordinate], limit),
        )
    ]
    conditions += [
        _less(scene, evaluate_term(each.left, there), evaluate_term(each.right, there))
        for each in store.where
    ]
    conditions.append(scene.negate(scene.differ(scene.value(row), scene.value(at["row"]))))
    conditions.append(_less(scene, column, at["column"] + 1))
    conditions.append(_less(scene, at["column"], column + _width(store, buffer)))
    return scene.all_of(conditions)


def _point(scene: Scene, at: dict[str, Integer]) -> dict[str, Integer]:
    """Every name as itself but for row and column."""
    names = [*scene.effect.coordinates, "blocks", *scene.sizes]
    return {**{name: named(name) for name in names}, **at}


def _element(store: Store) -> Element:
    assert store.element is not None
    return store.element


def _width(store: Store, buffer: Buffer) -> int:
    """The elements of one store."""
    return store.bits // buffer.element_bits


def _less(scene: Scene, left: Integer, right: Integer) -> Expression:
    return scene.holds(Less(left, right))
