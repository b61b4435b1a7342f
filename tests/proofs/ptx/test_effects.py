"""Effects refuse what they cannot mean, and survive a round trip through JSON."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest

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
    assumptions,
    effect_from_json,
    effect_to_json,
)

THREAD, BLOCK = name("thread"), name("block")
SOURCE, TARGET = Buffer("x", "in", 32, 64, 8), Buffer("y", "out", 32, 32, 4)
PART = Part(16, "cvt.rn.f16.f32", "x", (BLOCK * 64 + THREAD) * 4)
STORE = Store("y", (BLOCK * 32 + THREAD) * 4, (PART, PART))
EFFECT = Effect("k", 32, (SOURCE, TARGET), (STORE,))


def test_json_round_trip_is_canonical(kernels: Any) -> None:
    n = name("n")
    sized = Effect(
        "k",
        32,
        (Buffer("x", "in", 32, n * 64, 8), Buffer("y", "out", 32, n * 32, 4)),
        (Store("y", ((BLOCK * n + name("step")) * 32 + THREAD) * 4, (PART, PART), n),),
        parameters=(Parameter("n", 32, 0, 1000),),
    )
    for effect in (EFFECT, sized, kernels.Pack(2, 2, 4).effect()):
        text = json.dumps(effect_to_json(effect), sort_keys=True)
        again = effect_from_json(json.loads(text))
        assert again == effect
        assert json.dumps(effect_to_json(again), sort_keys=True) == text
    assert "parameters" not in effect_to_json(EFFECT)
    assert "repeat" not in effect_to_json(EFFECT)["stores"][0]


def in_a_grid(**changed: Any) -> Effect:
    """A copy of rows in blocks of 32 x 8 threads, in a grid of two axes."""
    rows, row = name("rows"), name("block_y") * 8 + THREAD // 32
    column = BLOCK * 32 + THREAD % 32
    place = row * 64 + column
    writer = Element(
        row,
        column,
        block=name("column") // 32,
        thread=name("row") % 8 * 32 + name("column") % 32,
        block_y=name("row") // 8,
    )
    given: dict[str, Any] = {
        "buffers": (
            Buffer("x", "in", 32, None, 4, elements=rows * 64),
            Buffer("y", "out", 32, None, 4, elements=rows * 64, written=Matrix(rows, 64, 64)),
        ),
        "stores": (
            Store(
                "y",
                place * 4,
                (Part(32, "move", "x", place * 4),),
                where=(Less(row, rows), Less(column, 64)),
                element=writer,
            ),
        ),
        "maximum_blocks": 9,
        "parameters": (Parameter("rows", 32, 1, 99), Parameter("blocks_y", 32, 1, 99)),
        "preconditions": (Less(rows, name("blocks_y") * 8 + 1), Less(1, name("blocks"))),
        "arguments": ("x", "y", "rows"),
        "block_shape": (32, 8),
        "further": ("y",),
    }
    return Effect("k", 256, **(given | changed))


def test_a_grid_of_axes_survives_a_round_trip() -> None:
    effect = in_a_grid()
    assert effect_from_json(json.loads(json.dumps(effect_to_json(effect)))) == effect
    assert effect.coordinates == ("thread", "block", "block_y", "round", "step")
    assert "further" not in effect_to_json(EFFECT)
    assert assumptions(effect)[0] == (
        "launch: 1 <= blocks <= 9 along x, blocks_y along y, 32 x 8 threads along x, y, "
        "all other extents 1"
    )


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"block_shape": (32, 4)}, "a block of 32 x 4 threads"),
        ({"block_shape": (2, 2, 2, 32)}, "256 threads in all"),
        ({"block_shape": (1, 2, 128)}, "a block of 1 x 2 x 128 threads"),
        ({"further": ("z",)}, "y, or y and z"),
        ({"further": ("y", "z")}, "and 'blocks_z'"),
        ({"further": ()}, "mentions block_y|and 'blocks_y'"),
        ({"arguments": ("x", "y", "rows", "blocks_y")}, "and 'blocks_y'"),
        ({"parameters": (Parameter("rows", 32, 1, 99),)}, "mentions blocks_y|and 'blocks_y'"),
        (
            {"parameters": (Parameter("rows", 32, 1, 99), Parameter("blocks_y", 32, 0, 99))},
            "a parameter from 1 to 65535",
        ),
        (
            {"parameters": (Parameter("rows", 32, 1, 99), Parameter("blocks_y", 32, 1, 65536))},
            "a parameter from 1 to 65535",
        ),
        ({"buffers": (SOURCE, TARGET), "stores": (STORE,)}, "elements for each block"),
    ],
)
def test_what_is_no_grid_is_refused(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(ClaimError) as refusal:
        in_a_grid(**changed)
    assert re.search(reason, f"{refusal.value.message}; {refusal.value.hint}")


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: Buffer("x", "inout", 32, 1, 4), "direction"),
        (lambda: Buffer("x", "in", 12, 1, 4), "12 bits"),
        (lambda: Buffer("x", "in", 32, 0, 4), "0 elements"),
        (lambda: Buffer("x", "in", 32, 1, 6), "alignment 6"),
        (lambda: Part(16, "cvt.rz.bf16.f32", "x", 0), "unknown conversion"),
        (lambda: Part(32, "cvt.rn.bf16.f32", "x", 0), "yields 16 bits"),
        (lambda: Part(24, "move", "x", 0), "24 bits"),
        (
            lambda: Effect(
                "k",
                32,
                (SOURCE, TARGET),
                (Store("y", 0, (Part(32, "move", "x", name("lane") * 4),)),),
            ),
            "mentions lane",
        ),
        (
            lambda: Effect("k", 32, (SOURCE, TARGET), (Store("y", name("warp"), (PART, PART)),)),
            "mentions warp",
        ),
        (
            lambda: Effect("k", 32, (SOURCE, Buffer("y", "out", 32, name("n"), 4)), (STORE,)),
            "n mentions n; this term may mention nothing",
        ),
        (
            lambda: Effect(
                "k", 32, (SOURCE, TARGET), (Store("y", 0, (PART, PART), name("thread")),)
            ),
            "mentions thread",
        ),
        (lambda: Parameter("n", 16, 0, 5), "16 bits"),
        (lambda: Parameter("n", 32, 5, 4), "between 5 and 4"),
        (lambda: Parameter("n", 32, 0, 2**32), "between 0 and 4294967296"),
        (lambda: Parameter("step", 32, 0, 5), "called 'step'"),
        (lambda: Store("y", 0, (PART, PART, PART)), "48 bits"),
        (lambda: Effect("k", 1025, (SOURCE, TARGET), (STORE,)), "1025 threads"),
        (lambda: Effect("k", 32, (SOURCE, TARGET), (STORE,), 2**31), "2147483648 blocks"),
        (lambda: Effect("k", 32, (SOURCE, SOURCE), ()), "share a name"),
        (lambda: Effect("k", 32, (SOURCE,), (STORE,)), "no buffer 'y'"),
        (lambda: Effect("k", 32, (SOURCE, TARGET), (Store("x", 0, (PART, PART)),)), "other way"),
    ],
)
def test_refusals_name_the_rule(build: Any, reason: str) -> None:
    with pytest.raises(ClaimError, match=reason):
        build()


def test_every_malformed_field_is_refused() -> None:
    good = effect_to_json(EFFECT)
    cases = 0

    def spoil(node: Any, path: tuple[Any, ...]) -> None:
        nonlocal cases
        keys = node.keys() if isinstance(node, dict) else range(len(node))
        for key in list(keys):
            child = node[key]
            if key == "offset":
                continue  # terms have their own reader, tested with the terms
            if isinstance(child, dict | list):
                spoil(child, (*path, key))
            for wrong in (None, True, 1.5, "nonsense", -1):
                bad = copy.deepcopy(good)
                place: Any = bad
                for step in path:
                    place = place[step]
                if wrong == "nonsense" and key in ("entry", "name"):
                    continue
                place[key] = wrong
                with pytest.raises(ClaimError):
                    effect_from_json(bad)
                cases += 1
            if isinstance(node, dict):
                bad = copy.deepcopy(good)
                place = bad
                for step in path:
                    place = place[step]
                del place[key]
                with pytest.raises(ClaimError):
                    effect_from_json(bad)

    spoil(good, ())
    assert cases > 80
