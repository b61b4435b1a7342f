"""What a kernel is told, and that its work covers every row of every head once."""

from __future__ import annotations

import ctypes
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tylo.codegen.attention.problem import Arguments, Problem
from tylo.codegen.attention.shares import SHARE_PLACES
from tylo.codegen.attention.tensor_maps import strides_in_bytes
from tylo.codegen.cuda_files import cuda_file
from tylo.layouts.errors import LaunchError
from tylo.proofs.specifications.attention_arguments import MAP_BYTES

PROBLEM = Problem(
    batch=2, heads=6, key_heads=3, queries=1000, keys=700, depth=64, dtype="bf16",
    q=(384000, 64000, 64), k=(134400, 44800, 64), v=(134400, 44800, 64), out=(384000, 64000, 64),
    scale=0.125,
)  # fmt: skip


def test_the_structure_is_that_of_the_kernel() -> None:
    text = cuda_file("attention", "work.cuh")
    body = text[text.index("struct Arguments {") : text.index("};")]
    (places,) = re.findall(r"^    unsigned short last\[share_places\];\n", body, re.MULTILINE)
    body = body.replace(places, "")
    fields = [
        (kind.strip(" *").split()[-1] + ("*" if "*" in kind else ""), name)
        for kind, names in re.findall(r"^    ([\w ]+\*?) ([\w, ]+);$", body, re.MULTILINE)
        for name in names.split(", ")
    ]
    sizes = {
        "float*": 8,
        "char*": 8,
        "unsigned*": 8,
        "long": 8,
        "int": 4,
        "float": 4,
        "unsigned": 4,
    }
    assert [name for _, name in fields] == [name for name, *_ in Arguments._fields_[:-1]]
    offset = 0
    for kind, name in fields:
        field = getattr(Arguments, name)
        assert (field.offset, field.size) == (offset, sizes[kind]), name
        offset += sizes[kind]
    assert Arguments.last.offset == offset
    offset += 2 * SHARE_PLACES
    assert ctypes.sizeof(Arguments) == -(-offset // 8) * 8
    # Four tensor maps beside them; a launch takes 4096 bytes before CUDA 12.1.
    assert ctypes.sizeof(Arguments) + 4 * MAP_BYTES <= 4096


def turns(a: Arguments, blocks: int, block: int) -> Iterator[tuple[int, bool]]:
    """(item, whether early) of every round of a block, as the kernel's text has it."""
    step = 0
    while True:
        share = step - (a.whole_turns << a.paired)
        item, half = (step >> a.paired) * blocks + block, step & a.paired
        if share >= 0:
            half = a.last[block * a.shares + share]
            item = a.whole_turns * blocks + (half >> 1)
        if item >= a.places * a.all_heads:
            return
        yield item, bool(half & 1)
        step += 1


def work(a: Arguments, blocks: int, rows: int) -> list[list[tuple[int, int, int]]]:
    """(batch, head, first row) of every round of every block."""
    found = []
    for block in range(blocks):
        own = []
        for item, early in turns(a, blocks, block):
            in_run = a.run * a.places
            run, rest = divmod(item, in_run)
            heads = min(a.run, a.all_heads - run * a.run)
            place, head = divmod(rest, heads)
            flat = run * a.run + head
            tile = place if early else a.row_tiles - 1 - place
            if not (early and 2 * place + 1 == a.row_tiles):
                own.append((flat // a.heads, flat % a.heads, tile * rows))
        found.append(own)
    return found


@pytest.mark.parametrize("causal", [None, "top_left", "bottom_right"])
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(1000, 700), (1, 1), (385, 100000), (64, 9)])
def test_every_row_is_worked_on_once(
    causal: str | None, persistent: bool, queries: int, keys: int
) -> None:
    problem = replace(PROBLEM, queries=queries, keys=keys, causal=causal)
    for rows in (64, 128, 192):
        items = problem.items(rows, persistent=persistent)
        for blocks in {items, min(items, 5), min(items, 2)}:
            given = problem.arguments(rows, persistent=persistent, keys=64, blocks=blocks)
            wanted = [
                (batch, head, first)
                for batch in range(2)
                for head in range(6)
                for first in range(0, queries, rows)
            ]
            assert sorted(itertools.chain(*work(given, blocks, rows))) == wanted


@pytest.mark.parametrize(
    ("heads", "batch", "length", "rows", "keys", "blocks", "over"),
    [
        (32, 8, 2048, 192, 128, 132, 0.03),
        (16, 4, 4096, 128, 128, 132, 0.025),
        (16, 1, 16384, 192, 64, 132, 0.05),
    ],
)
def test_causal_work_is_shared_out_evenly(
    heads: int, batch: int, length: int, rows: int, keys: int, blocks: int, over: float
) -> None:
    problem = replace(
        PROBLEM, batch=batch, heads=heads, key_heads=heads, queries=length, keys=length,
        causal="top_left",
    )  # fmt: skip
    given = problem.arguments(rows, persistent=True, keys=keys, blocks=blocks)
    loads = [
        sum(2 - -min(first + rows, length) // keys for _, _, first in own)
        for own in work(given, blocks, rows)
    ]
    assert max(loads) <= (1 + over) * sum(loads) / blocks


def test_more_blocks_than_the_table_has_places_for_take_whole_turns() -> None:
    problem = replace(PROBLEM, batch=500, causal="top_left")
    given = problem.arguments(128, persistent=True, keys=128, blocks=1000)
    assert (given.shares, given.whole_turns) == (0, 12)


def test_diagonals() -> None:
    assert replace(PROBLEM, causal=None).diagonal == 700
    assert replace(PROBLEM, causal="top_left").diagonal == 0
    assert replace(PROBLEM, causal="bottom_right").diagonal == -300


@pytest.mark.parametrize("scale", [0.0, -0.125, 1e-30, 1e30])
def test_scales_out_of_the_ordinary_go_into_the_scores(scale: float) -> None:
    given = replace(PROBLEM, scale=scale).arguments(128, persistent=False, keys=128, blocks=1)
    assert given.unit == 1
    assert given.factor == pytest.approx(scale * math.log2(math.e), rel=1e-6)
    assert given.scale == pytest.approx(math.log(2))
    assert given.lag == 8
    ordinary = PROBLEM.arguments(128, persistent=False, keys=128, blocks=1)
    assert (ordinary.factor, ordinary.scale) == (1, 0.125)
    assert ordinary.lag * ordinary.unit == pytest.approx(8)


def test_problems_that_are_refused() -> None:
    for change, complaint in (
        ({"causal": "upper"}, "causal is 'upper'"),
        ({"scale": math.inf}, "the scale is inf"),
        ({"heads": 33, "key_heads": 2}, "33 query heads do not divide over 2"),
        ({"heads": 4, "key_heads": 0}, "4 query heads do not divide over 0"),
        ({"keys": 2**31}, "32-bit coordinates"),
    ):
        with pytest.raises(LaunchError, match=complaint):
            replace(PROBLEM, **change)  # type: ignore[arg-type]
    with pytest.raises(LaunchError, match="blocks of 64 rows"):
        replace(PROBLEM, batch=2**28).items(64, persistent=False)


def test_strides_that_the_copy_engine_cannot_take() -> None:
    shape = (2, 3, 5, 64)
    assert strides_in_bytes((1, 1, 1, 64), (7, 0, -3, 1), "q") == (16, 16, 16)
    for strides, complaint in (
        ((960, 320, 64, 2), "elements of a row of k are 2 apart"),
        ((960, 320, 68, 1), "rows of k are 136 bytes apart, no multiple of 16"),
        ((0, 320, 64, 1), "batches of k are 0 bytes apart"),
        ((960, -320, 64, 1), "heads of k are -640 bytes apart"),
        ((2**40, 320, 64, 1), "batches of k"),
    ):
        with pytest.raises(LaunchError, match=complaint):
            strides_in_bytes(shape, strides, "k")
