"""Where a Boolean mask's bytes go when they are packed to bits, and which bit each score reads.

A record is 128 keys of one row: four words of 32 bits. Word w holds the keys of the lanes that are
w modulo 4 in the accumulator of `wgmma`, and its bits are in the order of their values, so that a
thread finds all its keys of a row side by side in one word, whatever the step:

>>> RECORD(lane=5, word=3)          # bit 5 of word 3
(23,)
>>> [int(score_bit(value)) for value in (0, 1, 2, 3, 4, 5)]
[0, 1, 0, 1, 2, 3]

The packing warp reads key ``RECORD(lane, word)`` in each lane, and its vote of word w is the word.
"""

from __future__ import annotations

from typing import Any

from tylo.layouts.atoms import wgmma
from tylo.layouts.owners import inverse
from tylo.layouts.ownership import Ownership
from tylo.layouts.terms import name
from tylo.proofs.bijection import bijection
from tylo.proofs.claims import Claim, Conjunct

RECORD_KEYS, RECORD_WORDS, WORD_BITS = 128, 4, 32
PACKING_WARPS = 16
RECORD = Ownership.of(
    axes={"key": RECORD_KEYS},
    values={"word": [(RECORD_WORDS, "key", 2)]},
    threads={"lane": [(2, "key", 1), (16, "key", 8)]},
    bits=8,
)


def score_bit(value: Any) -> Any:
    """The bit that says whether a score is kept, in the word of its row, step 0 of the record."""
    return 2 * (value // 4) + value % 2


def claims() -> tuple[Claim, ...]:
    """Every claim about packed masks."""
    return (_mask_bits_once(), _mask_bits_of_scores(), _mask_rows_once())


def _mask_bits_once() -> Claim:
    lane, word, key = name("lane"), name("word"), name("key")
    return bijection(
        name="mask_bits_once",
        kind="bijective",
        statement="Every key of a record is one bit of one word.",
        parameters={},
        source=[("lane", WORD_BITS), ("word", RECORD_WORDS)],
        target=[("key", RECORD_KEYS)],
        forward={"key": RECORD(lane=lane, word=word)[0]},
        inverse=inverse(RECORD, (key,)),
    )


def _mask_bits_of_scores() -> Claim:
    """A record has P steps of 8 S keys; a thread's word is the one of its lane modulo 4."""
    lane, warp, value, tile = name("lane"), name("warp"), name("value"), name("tile")
    count, parts = name("S"), name("P")
    column = wgmma.accumulator(count)(lane=lane, warp=warp, value=value)[1]
    bit = 2 * count * (tile % parts) + score_bit(value)
    (within,) = RECORD(lane=bit, word=lane % RECORD_WORDS)
    return Claim(
        name="mask_bits_of_scores",
        kind="same_lane",
        statement="Where a record holds P steps of 8 S keys, the key of a score of step t is that "
        "of bit 2 S (t mod P) + 2 (value div 4) + value mod 2 of the word of its lane modulo 4, "
        "in record t div P.",
        parameters={"S": 1, "P": 1},
        variables=[("lane", 32), ("warp", 4), ("value", 4 * count), ("tile", None)],
        conjuncts=[
            Conjunct(
                "key", "=", 8 * count * tile + column, 8 * count * parts * (tile // parts) + within
            )
        ],
    )


def _mask_rows_once() -> Claim:
    group, turn, warp, row = name("group"), name("turn"), name("warp"), name("row")
    return bijection(
        name="mask_rows_once",
        kind="bijective",
        statement="The packing warps take every row of G groups of 64 once, a group at a time.",
        parameters={"G": 1},
        source=[("warp", PACKING_WARPS), ("turn", 4), ("group", name("G"))],
        target=[("row", 64 * name("G"))],
        forward={"row": 64 * group + PACKING_WARPS * turn + warp},
        inverse={
            "warp": row % PACKING_WARPS,
            "turn": row // PACKING_WARPS % 4,
            "group": row // 64,
        },
    )
