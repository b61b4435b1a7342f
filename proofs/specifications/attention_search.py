"""How the steps of which a packed mask keeps something are found, from the last to the first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STEPS_OF_WORD = 4


def first_words(d: Any, tiles: Any, word: Callable[[Any], Any]) -> tuple[Any, Any]:
    """The word that holds the last step, if it is not the last one there, and the word before."""
    zero, place = d.constant(0, 32), d.shift_right(tiles, d.constant(2, 32), 32, False)
    rest = d.bit_and(tiles, d.constant(STEPS_OF_WORD - 1, 32), 32)
    whole = d.equal(rest, zero, 32)
    here = d.select(whole, zero, word(place), 32)
    few = d.less(tiles, d.constant(STEPS_OF_WORD, 32), 32, True)
    return here, d.select(few, zero, word(d.add(place, d.constant(-1, 32), 32)), 32)


def steps_of_word(d: Any, at: Any) -> Any:
    """How many steps before `at` lie in the word of the step before it."""
    before = d.add(at, d.constant(-1, 32), 32)
    sign = d.shift_right(before, d.constant(31, 32), 32, True)
    bias = d.shift_right(sign, d.constant(30, 32), 32, False)
    whole = d.bit_and(d.add(before, bias, 32), d.constant(-STEPS_OF_WORD, 32), 32)
    return d.add(d.subtract(before, whole, 32), d.constant(1, 32), 32)


def kept_of_word(d: Any, at: Any, word: Any) -> Any:
    """Their bytes, the last one highest; nothing else."""
    bits = d.shift_left(steps_of_word(d, at), d.constant(3, 32), 32)
    return d.shift_left(word, d.subtract(d.constant(32, 32), bits, 32), 32)


def found_step(d: Any, at: Any, word: Any) -> Any:
    """The last of them of which something is kept."""
    kept = kept_of_word(d, at, word)
    skipped = d.constant(4, 32)
    for number, bits in ((3, 0), (2, 8), (1, 16), (0, 24)):
        none = d.equal(d.shift_right(kept, d.constant(bits, 32), 32, False), d.constant(0, 32), 32)
        skipped = d.select(none, skipped, d.constant(number, 32), 32)
    return d.subtract(d.add(at, d.constant(-1, 32), 32), skipped, 32)
