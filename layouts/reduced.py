"""What is left of an ownership when one of its axes is reduced.

Each digit answers one question: does it move along the axis? A value digit that does is summed away
inside the thread, and so is gone; a thread digit that does now tells nothing apart, and so
replicates. All other digits stay where they are. The row sums of an accumulator:

>>> from tylo.layouts.atoms import atom
>>> from tylo.layouts.owners import owners
>>> C = atom("mma.m16n8k16.bf16").operand("C").ownership
>>> rows = reduced(C, 1)
>>> rows.axes, rows.value_count
((('m', 16),), 2)
>>> [(owner["lane"], owner["value"]) for owner in owners(rows, 9)]
[(4, 1), (5, 1), (6, 1), (7, 1)]

A value digit that moves nothing repeats an element inside the thread. One of the copies is taken
and the digit is gone, so that no element counts twice. A result holds registers of at least 32
bits, because statistics of narrow elements are kept in single precision.

Sizes may be symbolic, as long as it is plain which steps are zero.
"""

from __future__ import annotations

from tylo.layouts.errors import OwnershipError
from tylo.layouts.owners import inverse
from tylo.layouts.ownership import Input, Mode, Ownership
from tylo.layouts.terms import name


def moves(mode: Mode, axis: int) -> bool:
    """Whether the digit moves along that axis; one that takes a single value moves nothing."""
    return not _is(mode.size, 1) and not _is(mode.steps[axis], 0)


def replicates(mode: Mode) -> bool:
    """Whether the digit moves nothing, along any axis."""
    return not any(moves(mode, axis) for axis in range(len(mode.steps)))


def reduced(ownership: Ownership, axis: int) -> Ownership:
    """The ownership of what reducing `axis` leaves: the same threads, one axis less.

    Raises `OwnershipError` for an axis that is none, a digit that moves along that axis and
    another, and an ownership in which an element is missing or held unevenly.
    """
    require_reducible(ownership, axis)

    def rest(source: Input, *, dropped: bool) -> Input:
        return Input(
            source.name,
            tuple(
                Mode(mode.size, mode.steps[:axis] + mode.steps[axis + 1 :])
                for mode in source.modes
                if not dropped or not (moves(mode, axis) or replicates(mode))
            ),
        )

    values = tuple(rest(each, dropped=True) for each in ownership.values)
    return Ownership(
        axes=ownership.axes[:axis] + ownership.axes[axis + 1 :],
        values=tuple(each for each in values if each.modes),
        threads=tuple(rest(each, dropped=False) for each in ownership.threads),
        bits=max(32, ownership.bits),
    )


def require_reducible(ownership: Ownership, axis: int) -> None:
    """Refuse what no order of additions could reduce along `axis` element by element."""
    names = ownership.axis_names
    if isinstance(axis, bool) or not isinstance(axis, int) or not 0 <= axis < len(names):
        known = ", ".join(f"{number} ({label})" for number, label in enumerate(names))
        raise OwnershipError(f"no axis {axis!r} to reduce", hint=f"the axes are {known}")
    for each in ownership.inputs:
        for mode in each.modes:
            along = [label for other, label in enumerate(names) if moves(mode, other)]
            if len(along) > 1 and names[axis] in along:
                raise OwnershipError(
                    f"a digit of {each.name} of size {mode.size} moves along {' and '.join(along)} "
                    "at once, so that reducing one of them would mix elements of the other",
                    hint="convert to an ownership whose digits move along one axis each",
                )
    # Every element once, up to digits that move nothing: else some would count twice, or never.
    inverse(ownership, tuple(name(label) for label in names))


def _is(number: object, expected: int) -> bool:
    return isinstance(number, int) and number == expected
