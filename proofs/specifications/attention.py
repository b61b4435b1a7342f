"""The index maps of attention on `wgmma`, for every number of keys, columns, tiles and heads.

What the kernels of `tylo.codegen.attention` rely on beside `shared_tile` (copies and descriptors),
`reduction` and `shared_state` (row statistics):

- weights become operand A in the same lane: the accumulator's value in half h of word w of the k-th
  operand is ``4 * (2 * k + w div 2) + 2 * (w mod 2) + h``;
- the group's threads hold each element of the output tile once, and the addresses handed to
  `stmatrix` are where TMA will read it;
- the steps of keys that a block takes are those that hold a key, and the steps it takes without a
  mask hold none that any of its rows drops;
- the blocks' work covers every block of rows of every head once;
- Boolean masks are packed to the bits that scores look up: `attention_masks`.
"""

from __future__ import annotations

from typing import Any

from tylo.layouts.atoms import mma_m16n8k16, wgmma
from tylo.layouts.owners import inverse
from tylo.layouts.ownership import Ownership
from tylo.layouts.shared.swizzle_mode import CHUNK, swizzle_mode
from tylo.layouts.terms import Integer, name
from tylo.proofs.bijection import bijection
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.specifications import attention_masks
from tylo.proofs.specifications.shared_tile import written

ROWS = 64  # of one group
MODE = swizzle_mode(128)
# The row that each lane gives the address of in a 16x16 tile of 16-bit elements, and the half of
# the tile's columns: PTX ISA 8.7, "ldmatrix" and "stmatrix", .x4, matrices in operand A's order.
MATRIX_ROWS = Ownership.of(
    axes={"m": 16, "chunk": 2},
    values={},
    threads={"lane": [(8, "m", 1), (2, "m", 8), (2, "chunk", 1)]},
    bits=16,
)
# The same for `ldmatrix` of sixteen keys: matrices 0 and 1 are both halves of depth of eight keys.
KEY_ROWS = Ownership.of(
    axes={"n": 16, "chunk": 2},
    values={},
    threads={"lane": [(8, "n", 1), (2, "chunk", 1), (2, "n", 8)]},
    bits=16,
)

THEOREM = (
    "For every number of keys, output columns, tiles, heads and runs of heads: weights are packed "
    "in the lanes that hold them; each element of a group's output is held once and placed where "
    "TMA reads it; a block's steps hold every key that one of its rows keeps, its unmasked steps "
    "none that one drops; every block of rows of every head is worked on once; and a mask's bytes "
    "become bits once, which scores find in the words of their rows."
)


def weight_value(word: Any, half: Any, k: Any) -> Any:
    """The accumulator value that a half of a word of the k-th operand A rounds.

    >>> weight_value(3, 1, 2)
    23
    """
    return 4 * (2 * k + word // 2) + 2 * (word % 2) + half


def place_in_row(row: Integer, chunk: Integer) -> Integer:
    """Where a chunk of a row of one panel lies, in bytes, under the 128-byte swizzle.

    >>> place_in_row(9, 3)
    1184
    """
    return row * MODE.width + (chunk ^ row % 8) * CHUNK


def claims() -> tuple[Claim, ...]:
    """Every claim behind `THEOREM`."""
    return (
        _weights_in_their_lanes(),
        _weights_once(),
        _output_held_once(),
        _matrices_are_operand_words(),
        _output_placed(),
        _scores_by_lane_and_value(),
        _scores_again(),
        _keys_again(),
        _steps_with_a_key(),
        _unmasked_steps(),
        _late_half(),
        _work_once(),
        *attention_masks.claims(),
    )


def _names(*labels: str) -> tuple[Integer, ...]:
    return tuple(name(label) for label in labels)


_THREADS = [("lane", 32), ("warp", 4)]


def _weights_in_their_lanes() -> Claim:
    lane, warp, word, half, k = _names("lane", "warp", "word", "half", "k")
    accumulator = wgmma.accumulator(2 * name("K"))
    source = accumulator(lane=lane, warp=warp, value=weight_value(word, half, k))
    row, column = wgmma.A(lane=lane, warp=warp, value=2 * word + half)
    return Claim(
        name="weights_in_their_lanes",
        kind="same_lane",
        statement="Half h of word w of the k-th operand A is the stated value of the same thread's "
        "accumulator.",
        parameters={"K": 1},
        variables=[*_THREADS, ("word", 4), ("half", 2), ("k", name("K"))],
        conjuncts=[
            Conjunct("row", "=", source[0], row),
            Conjunct("column", "=", source[1], 16 * k + column),
        ],
    )


def _weights_once() -> Claim:
    word, half, k, value = _names("word", "half", "k", "value")
    return bijection(
        name="weights_once",
        kind="bijective",
        statement="Every value of the accumulator is one half of one word.",
        parameters={"K": 1},
        source=[("word", 4), ("half", 2), ("k", name("K"))],
        target=[("value", 8 * name("K"))],
        forward={"value": weight_value(word, half, k)},
        inverse={
            "word": value // 4 % 2 * 2 + value // 2 % 2,
            "half": value % 2,
            "k": value // 8,
        },
    )


def _output_held_once() -> Claim:
    row, column = _names("row", "column")
    held = wgmma.accumulator(name("S"))
    found = inverse(held, (row, column))
    moved = held(**{label: name(label) for label in ("lane", "warp", "value")})
    return bijection(
        name="output_held_once",
        kind="bijective",
        statement="The threads of a group hold each element of the output tile exactly once.",
        parameters={"S": 1},
        source=[*_THREADS, ("value", 4 * name("S"))],
        target=[("row", ROWS), ("column", 8 * name("S"))],
        forward={"row": moved[0], "column": moved[1]},
        inverse=found,
    )


def _matrices_are_operand_words() -> Claim:
    """Word i of lane 4 r + c holds elements 2 c and 2 c + 1 of row r of matrix i."""
    line, pair, matrix, half, warp = _names("line", "pair", "matrix", "half", "warp")
    row, column = wgmma.A(lane=4 * line + pair, warp=warp, value=2 * matrix + half)
    pointed = MATRIX_ROWS(lane=8 * matrix + line)
    return Claim(
        name="matrices_are_operand_words",
        kind="same_lane",
        statement="The row that lane 8 i + r points to is the row, and the half of the columns, "
        "that word i of operand A holds in lanes 4 r to 4 r + 3.",
        parameters={},
        variables=[("line", 8), ("pair", 4), ("matrix", 4), ("half", 2), ("warp", 4)],
        conjuncts=[
            Conjunct("row", "=", 16 * warp + pointed[0], row),
            Conjunct("column", "=", 8 * pointed[1] + 2 * pair + half, column),
        ],
    )


def _output_placed() -> Claim:
    group, row, chunk = _names("group", "row", "chunk")
    return Claim(
        name="output_placed",
        kind="equal",
        statement="A chunk of a row is placed where TMA's table has it, in each group of eight "
        "rows.",
        parameters={},
        variables=[("group", None), ("row", 8), ("chunk", 8)],
        conjuncts=[
            Conjunct(
                "place",
                "=",
                place_in_row(8 * group + row, chunk),
                MODE.repeat * group + written(MODE, row, chunk),
            )
        ],
    )


def _scores_by_lane_and_value() -> Claim:
    """What is printed for masks: a thread's own place, plus one number for each value."""
    held = wgmma.accumulator(name("S"))
    lane, warp, value = _names("lane", "warp", "value")
    whole, own, of_value = (
        held(lane=lane, warp=warp, value=value),
        held(lane=lane, warp=warp, value=0),
        held(lane=0, warp=0, value=value),
    )
    return Claim(
        name="scores_by_lane_and_value",
        kind="equal",
        statement="Row and column of a score are those of the thread's first one, plus what its "
        "value's number adds.",
        parameters={"S": 1},
        variables=[*_THREADS, ("value", 4 * name("S"))],
        conjuncts=[
            Conjunct(label, "=", whole[axis], own[axis] + of_value[axis])
            for axis, label in enumerate(("row", "column"))
        ],
    )


def _scores_again() -> Claim:
    """A warp's own product gives the same elements in the same registers."""
    lane, warp, value, piece = _names("lane", "warp", "value", "piece")
    row, column = mma_m16n8k16.C(lane=lane, value=value)
    group = wgmma.accumulator(name("S"))(lane=lane, warp=warp, value=4 * piece + value)
    return Claim(
        name="scores_again",
        kind="same_lane",
        statement="Eight columns of the group's accumulator are one accumulator of mma.m16n8k16, "
        "in the same lanes.",
        parameters={"S": 1},
        variables=[*_THREADS, ("value", 4), ("piece", name("S"))],
        conjuncts=[
            Conjunct("row", "=", group[0], 16 * warp + row),
            Conjunct("column", "=", group[1], 8 * piece + column),
        ],
    )


def _keys_again() -> Claim:
    """Matrix 2 e + w of sixteen keys is word w of operand B of its e-th eight."""
    line, pair, eight, word, half = _names("line", "pair", "eight", "word", "half")
    k, n = mma_m16n8k16.B(lane=4 * line + pair, value=2 * word + half)
    pointed = KEY_ROWS(lane=8 * (2 * eight + word) + line)
    return Claim(
        name="keys_again",
        kind="same_lane",
        statement="The key that lane 8 (2 e + w) + r points to is the one, and its half of depth "
        "the half, that word w of operand B of the e-th eight keys holds in lanes 4 r to 4 r + 3.",
        parameters={},
        variables=[("line", 8), ("pair", 4), ("eight", 2), ("word", 2), ("half", 2)],
        conjuncts=[
            Conjunct("key", "=", pointed[0], 8 * eight + n),
            Conjunct("depth", "=", 8 * pointed[1] + 2 * pair + half, k),
        ],
    )


def _steps_with_a_key() -> Claim:
    tile, last = _names("tile", "last")
    step = name("N")
    end = step * tile + last + 1  # the last key that some row keeps, and one
    return Claim(
        name="steps_with_a_key",
        kind="covers",
        statement="A block whose rows keep keys before an end takes the steps up to the one with "
        "the last of them: (end + N - 1) div N steps of N keys, and no more.",
        parameters={"N": 1},
        variables=[("tile", None), ("last", step)],
        conjuncts=[Conjunct("steps", "=", (end + step - 1) // step, tile + 1)],
    )


def _unmasked_steps() -> Claim:
    tile, key, rest, row = _names("tile", "key", "rest", "row")
    whole, step = name("W"), name("N")
    end = step * whole + rest  # of the group's first row
    return Claim(
        name="unmasked_steps",
        kind="in_bounds",
        statement="Steps before (end of the group's first row) div N hold no key at or past the "
        "end of any of its rows.",
        parameters={"N": 1, "W": 1},
        variables=[("tile", whole), ("key", step), ("rest", step), ("row", ROWS)],
        conjuncts=[
            Conjunct("whole", "=", end // step, whole),
            Conjunct("key", "<", step * tile + key, end + row),
        ],
    )


def _late_half() -> Claim:
    place, tile = _names("place", "tile")
    half = name("P")
    return bijection(
        name="late_half",
        kind="bijective",
        statement="Of 2 P blocks of rows the late ones, P + tile, are the partners 2 P - 1 - place "
        "of the early ones.",
        parameters={"P": 1},
        source=[("place", half)],
        target=[("tile", half)],
        forward={"tile": 2 * half - 1 - place - half},
        inverse={"place": 2 * half - 1 - (half + tile)},
    )


def _work_once() -> Claim:
    run, place, head, item = _names("run", "place", "head", "item")
    heads, places = name("H"), name("P")
    in_run = heads * places
    rest = item % in_run
    return bijection(
        name="work_once",
        kind="bijective",
        statement="Items correspond one to one with runs of H heads, places, and heads of a run.",
        parameters={"H": 1, "P": 1, "R": 1},
        source=[("head", heads), ("place", places), ("run", name("R"))],
        target=[("item", in_run * name("R"))],
        forward={"item": run * in_run + place * heads + head},
        inverse={"head": rest % heads, "place": rest // heads, "run": item // in_run},
    )
