"""Adjacent accumulator atoms are the next A operand, in the same lanes.

Two 16x8 accumulator atoms of ``mma.m16n8k16`` side by side cover 16 columns, as one 16x16 A operand
does. This module states, for *every* number of M repeats M, column pairs K and M warps W, that the
element in half h of word w of the A operand is held by the same lane of the same warp in

    atom  2 * k + w // 2,   value  2 * (w % 2) + h

so that packing needs no communication. The closed forms on the left come from the instruction
tables by `tylo.layouts.tiling`; the numbers above are the claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tylo.layouts.atoms import Atom
from tylo.layouts.errors import GenerationError
from tylo.layouts.owners import inverse
from tylo.layouts.ownership import Ownership
from tylo.layouts.terms import Integer, name
from tylo.layouts.tiling import tile_operand
from tylo.proofs.bijection import bijection
from tylo.proofs.claims import Claim, Conjunct

_SIZES: Mapping[str, int] = {"M": 1, "K": 1, "W": 1}


def theorem(atom: Atom) -> str:
    """What the claims say together, in one sentence."""
    return (
        f"For every number of M repeats M, column pairs K and M warps W, and for every warp, lane, "
        f"M repeat m < M, pair k < K, word w < 4 and half h < 2 of {atom.short_name}: "
        f"half h of word w of A operand (m, k) is the element that the same lane of the same warp "
        f"holds in value 2 * (w mod 2) + h of accumulator atom (m, 2 * k + w div 2). "
        f"The exchange of values is one to one and onto, and no element changes lanes."
    )


def require_pairs(atom: Atom) -> None:
    """Refuse an atom whose accumulators are not 16x8, two of which make its A operand."""
    if atom.tile != (16, 8, 16):
        raise GenerationError(
            f"two accumulators of {atom.short_name} are not its A operand",
            hint="the adjacent-atom theorem is about mma.m16n8k16.bf16 and mma.m16n8k16.f16",
        )


def exchange(word: Any, half: Any, pair: Any) -> tuple[Any, Any]:
    """(N atom, value) of the accumulator element in a half of a word of A operand `pair`.

    >>> exchange(3, 1, 5)
    (11, 3)
    """
    return 2 * pair + word // 2, 2 * (word % 2) + half


def accumulator_register(word: Any, half: Any, repeat_m: Any, pair: Any, repeats_m: Any) -> Any:
    """The accumulator register that a half of a packed word rounds.

    >>> accumulator_register(3, 1, repeat_m=1, pair=0, repeats_m=2)
    15
    """
    atom_n, value = exchange(word, half, pair)
    return value + 4 * (repeat_m + repeats_m * atom_n)


def word_register(word: Any, repeat_m: Any, pair: Any, repeats_m: Any) -> Any:
    """The number of a packed word among the A operand's registers."""
    return word + 4 * (repeat_m + repeats_m * pair)


def accumulator_tile(atom: Atom, repeats_m: Integer, pairs: Integer, warps_m: Integer) -> Ownership:
    """The tiled accumulator: two N atoms for each pair of 8-column slices."""
    return tile_operand(atom, "C", m=repeats_m, n=2 * pairs, warps_m=warps_m)


def operand_tile(atom: Atom, repeats_m: Integer, pairs: Integer, warps_m: Integer) -> Ownership:
    """The tiled A operand that the accumulator becomes."""
    return tile_operand(atom, "A", m=repeats_m, k=pairs, warps_m=warps_m)


def claims(atom: Atom) -> tuple[Claim, ...]:
    """Every claim behind `theorem`, over symbolic M, K and W.

    Warps sit inside the repeats, so that M repeats on W warps are M * W row blocks, block = warp +
    W * m; what is claimed of lanes and values is claimed for every number of row blocks.
    """
    require_pairs(atom)
    repeats_m, pairs, warps_m = name("M"), name("K"), name("W")
    source = accumulator_tile(atom, repeats_m, pairs, 1)
    target = operand_tile(atom, repeats_m, pairs, 1)
    lane, m, k, word, half = name("lane"), name("m"), name("k"), name("w"), name("h")
    lanes: list[tuple[str, Integer]] = [("lane", 32)]
    what: list[tuple[str, Integer]] = [("w", 4), ("h", 2), ("m", repeats_m), ("k", pairs)]
    atom_n, value = exchange(word, half, k)

    owner = inverse(source, target(lane=lane, value=2 * word + half, repeat_m=m, repeat_k=k))
    no_lane_crossed = Claim(
        name="no_lane_crossed",
        kind="same_lane",
        statement="The accumulator's only owner of the A operand's element is the same lane, at "
        "the stated atom and value.",
        parameters=_SIZES,
        variables=lanes + what,
        conjuncts=[
            Conjunct(label, "=", owner[label], expected)
            for label, expected in (
                ("lane", lane),
                ("value", value),
                ("repeat_m", m),
                ("repeat_n", atom_n),
            )
        ],
    )
    exchange_bijective = bijection(
        name="exchange_bijective",
        kind="exchange",
        statement="Words and halves of all A operands correspond one to one with the values of all "
        "accumulator atoms.",
        parameters=_SIZES,
        source=what,
        target=[("m", repeats_m), ("n", 2 * pairs), ("v", 4)],
        forward={"m": m, "n": atom_n, "v": value},
        inverse={
            "w": 2 * (name("n") % 2) + name("v") // 2,
            "h": name("v") % 2,
            "m": m,
            "k": name("n") // 2,
        },
    )
    return (
        _same_coordinates(atom, what),
        no_lane_crossed,
        exchange_bijective,
        _owned_once(
            "accumulator",
            source,
            [*lanes, ("value", 4), ("repeat_m", repeats_m), ("repeat_n", 2 * pairs)],
        ),
        _owned_once(
            "operand",
            target,
            [*lanes, ("value", 8), ("repeat_m", repeats_m), ("repeat_k", pairs)],
        ),
        _warps_inside_repeats(atom, repeats_m, pairs, warps_m),
        _packed_words(target, lanes, what),
        _registers(target, repeats_m, pairs, what),
    )


def _same_coordinates(atom: Atom, what: list[tuple[str, Integer]]) -> Claim:
    """Both tiles put the exchanged values at one coordinate, on any number of warps."""
    repeats_m, pairs, warps_m = name("M"), name("K"), name("W")
    lane, warp, m, k, word, half = (name(each) for each in ("lane", "warp", "m", "k", "w", "h"))
    atom_n, value = exchange(word, half, k)
    held = operand_tile(atom, repeats_m, pairs, warps_m)(
        lane=lane, warp=warp, value=2 * word + half, repeat_m=m, repeat_k=k
    )
    found = accumulator_tile(atom, repeats_m, pairs, warps_m)(
        lane=lane, warp=warp, value=value, repeat_m=m, repeat_n=atom_n
    )
    return Claim(
        name="same_coordinates",
        kind="same_lane",
        statement="Half h of word w of A operand (m, k) and value 2 * (w mod 2) + h of accumulator "
        "atom (m, 2 * k + w div 2) are the same element, in the same lane and warp.",
        parameters=_SIZES,
        variables=[("lane", 32), ("warp", warps_m), *what],
        conjuncts=[
            Conjunct(axis, "=", left, right)
            for axis, left, right in zip(("row", "column"), held, found, strict=True)
        ],
    )


def _owned_once(label: str, tile: Ownership, inputs: list[tuple[str, Integer]]) -> Claim:
    """Every element of the tile has exactly one owner, by the explicit inverse."""
    coordinate = {"row": name("row"), "column": name("column")}
    rows, columns = tile.shape
    owner = inverse(tile, tuple(coordinate.values()))
    return bijection(
        name=f"{label}_owned_once",
        kind="bijective",
        statement=f"Every element of the {label} tile is held exactly once: by one lane, in one "
        "value.",
        parameters=_SIZES,
        source=inputs,
        target=[("row", rows), ("column", columns)],
        forward=dict(
            zip(coordinate, tile(**{each: name(each) for each, _ in inputs}), strict=True)
        ),
        inverse={each: owner[each] for each, _ in inputs},
    )


def _warps_inside_repeats(
    atom: Atom, repeats_m: Integer, pairs: Integer, warps_m: Integer
) -> Claim:
    """Warps and repeats divide the row blocks among them, in both tiles alike."""
    warp, m, block = name("warp"), name("m"), name("block")
    tiles = [make(atom, repeats_m, pairs, warps_m) for make in (accumulator_tile, operand_tile)]
    rows = [tile(warp=warp, repeat_m=m)[0] for tile in tiles]
    split = bijection(
        name="warps_inside_repeats",
        kind="bijective",
        statement="M repeats on W warps are M * W row blocks of 16 rows, each held by one warp in "
        "one repeat, the same for accumulator and operand.",
        parameters=_SIZES,
        source=[("warp", warps_m), ("m", repeats_m)],
        target=[("block", repeats_m * warps_m)],
        forward={"block": warp + warps_m * m},
        inverse={"warp": block % warps_m, "m": block // warps_m},
    )
    return replace(
        split,
        conjuncts=[
            Conjunct("first accumulator row", "=", rows[0], 16 * (warp + warps_m * m)),
            Conjunct("first operand row", "=", rows[1], 16 * (warp + warps_m * m)),
            *split.conjuncts,
        ],
    )


def _packed_words(
    tile: Ownership, lanes: list[tuple[str, Integer]], what: list[tuple[str, Integer]]
) -> Claim:
    """The two halves of a word are neighbours in a row, the lower one in an even column."""
    lane, m, k, word = name("lane"), name("m"), name("k"), name("w")
    low, high = (tile(lane=lane, value=2 * word + half, repeat_m=m, repeat_k=k) for half in (0, 1))
    return Claim(
        name="packed_words",
        kind="packed_word",
        statement="The halves of a word are horizontal neighbours, the low half in an even column.",
        parameters=_SIZES,
        variables=lanes + [each for each in what if each[0] != "h"],
        conjuncts=[
            Conjunct("same row", "=", low[0], high[0]),
            Conjunct("next column", "=", low[1] + 1, high[1]),
            Conjunct("even column", "=", low[1] % 2, 0),
        ],
    )


def _registers(
    tile: Ownership, repeats_m: Integer, pairs: Integer, what: list[tuple[str, Integer]]
) -> Claim:
    """Register numbers of the packed words and their sources, at a pitch of M repeats."""
    m, k, word, half = name("m"), name("k"), name("w"), name("h")
    number = word_register(word, m, k, repeats_m)
    source = accumulator_register(word, half, m, k, repeats_m)
    flat = 2 * word + half + 8 * (m + repeats_m * k)
    register, shift = tile.register(flat)
    return Claim(
        name="registers",
        kind="packed_word",
        statement="Word w of operand (m, k) is register w + 4 * (m + M * k), half h its bits from "
        "16 * h, rounded from accumulator register v + 4 * (m + M * n); both stay in range.",
        parameters=_SIZES,
        variables=what,
        conjuncts=[
            Conjunct("word register", "=", register, number),
            Conjunct("bit position", "=", shift, 16 * half),
            Conjunct("word in range", "<", number, 4 * (repeats_m * pairs)),
            Conjunct("source in range", "<", source, 8 * (repeats_m * pairs)),
        ],
    )
