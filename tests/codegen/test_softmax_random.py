"""The online softmax under random tilings, masks and merge trees, within the documented bound."""

from __future__ import annotations

import math
from typing import Any

import numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from softmax_oracle import logarithm_bound, softmax_rows, sum_bound, weight_bound
from tylo.codegen.softmax_state import (
    SoftmaxState,
    log_sum_exp,
    softmax_merge,
    softmax_probabilities,
    softmax_update,
)
from tylo.layouts.atoms import atom
from tylo.layouts.fragment import gather, scatter
from tylo.layouts.row_tiles import lane_local, row_tile
from tylo.layouts.tiling import tile_operand

MMA = atom("mma.m16n8k16.bf16")
C = MMA.operand("C").ownership

TILES = [
    (lane_local(columns=4), 1),
    (C, 1),
    (C, 0),
    (tile_operand(MMA, "C", m=2, n=2), 1),
    (row_tile(vector=2, lanes=8), 1),
    (atom("wgmma.m64n16k16.bf16").operand("C").ownership, 1),
]
SCORES = st.one_of(
    st.floats(-30, 30, width=32),
    st.floats(-2e5, 2e5, width=32),
    st.just(-math.inf),
)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_random_tilings_masks_and_merge_trees(data: st.DataObject) -> None:
    ownership, axis = data.draw(st.sampled_from(TILES))
    shape: Any = ownership.shape
    scale = data.draw(st.sampled_from([1.0, 0.125, 0.0, 3.0]))
    base = data.draw(st.sampled_from(["e", 2]))
    count = data.draw(st.integers(1, 5))
    seed = data.draw(st.integers(0, 1 << 30))
    spread = data.draw(st.sampled_from([0.0, 1.0, 30.0, 1e4]))
    random = numpy.random.default_rng(seed)
    tiles = (random.normal(size=(count, *shape)) * spread).astype(numpy.float32)
    special = data.draw(st.lists(SCORES, min_size=1, max_size=6))
    places = random.integers(0, tiles.size, len(special))
    tiles.reshape(-1)[places] = special
    keep = random.random(tiles.shape) < data.draw(st.sampled_from([0.0, 0.3, 0.9, 1.0]))
    empty = SoftmaxState(ownership, axis, scale, base)

    # Every tile is a leaf of its own or continues a neighbour; then a random tree of merges.
    states: list[tuple[SoftmaxState, int]] = []
    for tile, mask in zip(tiles, keep, strict=True):
        continues = states and data.draw(st.booleans())
        state, steps = states.pop() if continues else (empty, 0)
        scores, kept = gather(tile, ownership), gather(mask, ownership)
        states.append((softmax_update(state, scores, kept).state, steps + 1))
    while len(states) > 1:
        place = data.draw(st.integers(0, len(states) - 2))
        (a, first), (b, second) = states[place : place + 2]
        one, other = softmax_merge(a, b).state, softmax_merge(b, a).state
        assert one.sum.data.tobytes() == other.sum.data.tobytes()
        states[place : place + 2] = [(one, max(first, second) + 1)]
    ((state, steps),) = states

    columns = numpy.concatenate(numpy.moveaxis(tiles, 1 + axis, 1), axis=0)
    kept = numpy.concatenate(numpy.moveaxis(keep, 1 + axis, 1), axis=0)
    rows, row_keep = columns.T, kept.T
    power = math.e if base == "e" else 2.0
    maxima, sums, _, logarithms = softmax_rows(rows, row_keep, scale, power)
    assert (scatter(state.maximum) == maxima).all()
    height = math.ceil(math.log2(tiles.shape[1 + axis])) + 1
    relative = sum_bound(rows.shape[1], steps, height)
    found = scatter(state.sum)
    assert (numpy.abs(found - sums) <= relative * sums + rows.shape[1] * 2.0**-126).all()
    assert ((found >= 1) | (maxima == -math.inf)).all()
    some = maxima > -math.inf
    error = numpy.abs(scatter(log_sum_exp(state))[some] - logarithms[some])
    natural = scale * math.log(power)
    assert (error <= logarithm_bound(maxima[some], sums[some], natural, relative)).all()
    assert (scatter(log_sum_exp(state))[~some] == -math.inf).all()

    tile, mask = gather(tiles[0], ownership), gather(keep[0], ownership)
    _, _, probabilities, _ = softmax_rows(rows, row_keep, scale, power)
    first_tile = probabilities.T[: tiles.shape[1 + axis]]
    wanted = numpy.moveaxis(first_tile, 0, axis)
    found = scatter(softmax_probabilities(tile, state, mask))
    with numpy.errstate(all="ignore"):
        tops = numpy.expand_dims(numpy.where(some, maxima, 0.0), axis)
        exponents = (tiles[0].astype(numpy.float64) - tops) * scale * math.log2(power)
        allowed = (
            weight_bound(numpy.where(wanted > 0, exponents, 0.0)) + relative + 2.0**-23
        ) * 1.01
    assert (numpy.abs(found - wanted) <= allowed * wanted + 2.0**-125).all()
