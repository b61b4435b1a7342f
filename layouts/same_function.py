"""When two ownerships are the same function, however their inputs are named and split.

Runs of digits that step evenly are merged: a digit of size r and step s followed by one of step
r * s is one digit. After that the digits are unique. The first step is the function at 1, the first
size is the least index where the function leaves that line, and the rest follows in the same way;
so merged digits are equal exactly when the functions are.

>>> from tylo.layouts.atoms import atom
>>> C, A = (atom("mma.m16n8k16.f16").operand(letter).ownership for letter in "CA")
>>> same_function(C, C), same_function(C, A)
(True, False)
>>> first_difference(A, A)
''
"""

from __future__ import annotations

from tylo.layouts.errors import OwnershipError
from tylo.layouts.ownership import Input, Mode, Ownership


def same_function(left: Ownership, right: Ownership) -> bool:
    """Whether every value of every thread is the same coordinate, in the same register bits.

    Sizes and steps are numbers; raises `OwnershipError` where they are symbolic.
    """
    return (
        left.shape == right.shape
        and left.bits == right.bits
        and _merged(left.values) == _merged(right.values)
        and _merged(left.threads) == _merged(right.threads)
    )


def first_difference(left: Ownership, right: Ownership) -> str:
    """In words, the first thing in which `left` is not `right`; empty if nothing is."""
    if left.shape != right.shape:
        return f"it covers {left.shape}, not {right.shape}"
    if left.bits != right.bits:
        return f"its elements have {left.bits} bits, not {right.bits}"
    sizes = [(each.thread_count, each.value_count) for each in (left, right)]
    if sizes[0] != sizes[1]:
        (threads, values), (other_threads, other_values) = sizes
        return f"it is {threads} threads of {values} values, not {other_threads} of {other_values}"
    threads, values = sizes[0]
    if not (isinstance(threads, int) and isinstance(values, int)):
        raise OwnershipError("sizes are symbolic", hint="substitute the sizes first")
    for thread in range(threads):
        for value in range(values):
            here, there = left.coordinates(thread, value), right.coordinates(thread, value)
            if here != there:
                return f"thread {thread} value {value} holds {here}, not {there}"
    return ""


def _merged(inputs: tuple[Input, ...]) -> list[tuple[int, tuple[int, ...]]]:
    runs: list[tuple[int, tuple[int, ...]]] = []
    for each in inputs:
        for mode in each.modes:
            size, steps = _numbers(each, mode)
            if size == 1:
                continue
            if runs and steps == tuple(runs[-1][0] * step for step in runs[-1][1]):
                runs[-1] = (runs[-1][0] * size, runs[-1][1])
            else:
                runs.append((size, steps))
    return runs


def _numbers(source: Input, mode: Mode) -> tuple[int, tuple[int, ...]]:
    steps = tuple(step for step in mode.steps if isinstance(step, int))
    if not isinstance(mode.size, int) or len(steps) != len(mode.steps):
        raise OwnershipError(
            f"the digits of {source.name} are symbolic", hint="substitute the sizes first"
        )
    return mode.size, steps
