"""Words that are votes of a warp: each bit is held to the byte that its lane reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

import user_loops
from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import name
from tylo.proofs.effects import (
    Buffer,
    Effect,
    Element,
    Less,
    Matrix,
    Parameter,
    Part,
    Store,
    effect_from_json,
    effect_to_json,
)
from tylo.proofs.ptx.validate import Validation, validate

# A row of a mask to a block, a word of bits to a warp.
BYTES = r"""
extern "C" __global__ void __launch_bounds__(64)
k(const unsigned char* mask, unsigned* bits, int keys, long long stride) {
  const int key = threadIdx.x;
  const unsigned char* row = mask + blockIdx.x * stride;
  const bool kept = key < keys && row[key] != 0;
  const unsigned word = __ballot_sync(0xffffffffu, kept);
  if (threadIdx.x % 32 == 0) bits[blockIdx.x * 2 + threadIdx.x / 32] = word;
}"""
# Two bytes at once, of which each of two lanes votes by one.
PAIRS = BYTES.replace("* stride", "* 2 * stride").replace(
    "row[key] != 0;",
    "(reinterpret_cast<const unsigned short*>(row)[threadIdx.x / 2] >> 8 * (key % 2) & 0xff) != 0;",
)


def effect(alignment: int = 1) -> Effect:
    thread, block, row, column = map(name, ("thread", "block", "row", "column"))
    rows, keys, pitch = map(name, ("rows", "keys", "pitch"))
    stride = pitch * alignment
    vote = Part(32, "vote", "mask", block * stride + thread, within=Less(thread, keys))
    store = Store(
        "bits",
        (block * 2 + thread // 32) * 4,
        (vote,),
        where=(Less(thread % 32, 1),),
        element=Element(block, thread // 32, block=row, thread=column * 32),
    )
    return Effect(
        "k",
        64,
        (
            Buffer("mask", "in", 8, None, alignment, elements=rows * stride),
            Buffer("bits", "out", 32, None, 4, elements=rows * 2, written=Matrix(rows, 2, 2)),
        ),
        (store,),
        maximum_blocks=2**20,
        parameters=(
            Parameter("rows", 32, 1, 2**20),
            Parameter("keys", 32, 0, 64),
            Parameter("pitch", 64, 1, 2**30),
        ),
        preconditions=(
            Less(rows, name("blocks") + 1),
            Less(name("blocks"), rows + 1),
            Less(keys, stride + 1),
        ),
        arguments=("mask", "bits", "keys", "pitch"),
    )


def checked(source: str, meant: Effect) -> Validation:
    return validate(user_loops.compiled(source, "sm_90a"), meant)


def test_each_bit_is_the_byte_of_its_lane() -> None:
    found = checked(BYTES, effect())
    assert [str(each) for each in found.verdicts if each.verdict != "holds"] == []
    assert {"store 0: part 0: vote", "store 0: part 0: address"} <= {
        each.obligation.label for each in found.verdicts
    }


def test_a_block_may_be_one_warp() -> None:
    source = BYTES.replace("(64)", "(32)").replace("* 2 + threadIdx.x / 32", "")
    meant = effect()
    (store,) = meant.stores
    mask, bits = meant.buffers
    row = name("row")
    alone = replace(
        store, offset=name("block") * 4, element=Element(name("block"), 0, block=row, thread=0)
    )
    written = replace(bits, elements=name("rows"), written=Matrix(name("rows"), 1, 1))
    one = replace(meant, threads=32, stores=(alone,), buffers=(mask, written))
    assert checked(source, one).holds
    assert checked(source.replace("!= 0", "== 0", 1), one).failures != ()


def test_each_bit_is_a_byte_of_two() -> None:
    verdicts = {
        (each.obligation.label, each.verdict)
        for each in checked(PAIRS, effect(2)).verdicts
        if ": part" in each.obligation.label
    }
    assert verdicts == {
        ("store 0: part 0: vote", "holds"),
        ("store 0: part 0: address", "holds"),
    }


WRONG = {
    "inverted": ("!= 0;", "== 0;", "vote"),
    "one bit of a byte alone": ("row[key] != 0", "(row[key] & 1) != 0", "vote"),
    "no bound": ("key < keys && ", "", "vote"),
    "a bound too small": ("key < keys &&", "key + 1 < keys &&", "vote"),
    "the byte beside": ("row[key]", "row[key ^ 1]", "address"),
    "another row": ("blockIdx.x * stride", "(blockIdx.x ^ 1) * stride", "address"),
    "another stride": ("blockIdx.x * stride", "blockIdx.x * (long long)keys", "address"),
    "bits moved": ("= word;", "= word >> 1;", "part 0"),
    "bits in another order": ("= word;", "= __brev(word);", "part 0"),
    "a constant": ("= word;", "= 0xffffffffu;", "part 0"),
    "words exchanged": ("+ threadIdx.x / 32]", "+ 1 - threadIdx.x / 32]", "address"),
    "stored by another lane": ("% 32 == 0", "% 32 == 1", "where|made"),
    "part of a warp": (
        "const unsigned word = ",
        "if (threadIdx.x == 3) return; const unsigned word = ",
        "converged",
    ),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_votes_are_refused(fault: str) -> None:
    old, new, label = WRONG[fault]
    assert old in BYTES
    found = checked(BYTES.replace(old, new), effect())
    assert not found.holds
    labels = {each.obligation.label for each in found.verdicts if each.verdict != "holds"}
    assert any(part in each for each in labels for part in label.split("|")), labels


def test_the_other_byte_of_two_is_refused() -> None:
    wrong = PAIRS.replace("8 * (key % 2)", "8 * (1 - key % 2)")
    assert wrong != PAIRS
    labels = {
        e.obligation.label for e in checked(wrong, effect(2)).verdicts if e.verdict == "fails"
    }
    assert "store 0: part 0: address" in labels


def test_what_a_vote_may_be() -> None:
    meant = effect()
    assert effect_from_json(effect_to_json(meant)) == meant
    (part,) = meant.stores[0].parts
    assert str(part) == "vote(mask[block * pitch + thread] where thread < keys)"
    with pytest.raises(ClaimError, match="a vote of 8 lanes"):
        replace(part, bits=8)
    with pytest.raises(ClaimError, match="where its bytes are there: None"):
        replace(part, within=None)
    with pytest.raises(ClaimError, match="votes have such a condition"):
        replace(part, conversion="move")
