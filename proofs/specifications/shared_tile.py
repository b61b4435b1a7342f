"""A tile that TMA writes is what the `wgmma` descriptor reads, for every size and place.

TMA is stated on its own here, as the programming guide draws it: in rows of w bytes, chunk c of
row r goes to chunk ``c xor (r div (128 / w)) mod (w / 16)``. The descriptor comes from
`tylo.layouts.shared`: strides, and an exclusive-or with bits of the absolute address. The claims
say that the two agree, for every number of panels P and of eight-row groups G, at every base that
is a multiple B of the swizzle's repeat, and from every start that a read may have.

An *atom* is eight rows of one panel, as many bytes as the swizzle repeats after. The agreement is
proven in two steps that keep products of sizes and exclusive-ors apart: the unswizzled addresses
are equal, and on every unswizzled address TMA's table is the descriptor's exclusive-or.

Claims count bytes, so that they hold for elements of every size: an element of e bytes in column c
is the bytes e*c to e*c + e - 1. A start inside a swizzle row is stated by what it reaches: the read
whose chunk h falls on chunk c of the row starts at chunk c - h.
"""

from __future__ import annotations

from collections.abc import Mapping

from tylo.layouts.errors import LayoutError
from tylo.layouts.shared.matrix_descriptor import (
    FIELD_BITS,
    MAJORS,
    SWIZZLE_BIT,
    descriptor_word,
    read_offset,
)
from tylo.layouts.shared.swizzle_mode import CHUNK, SwizzleMode
from tylo.layouts.terms import Integer, name
from tylo.proofs.bijection import bijection
from tylo.proofs.claims import Claim, Conjunct

_SIZES: Mapping[str, int] = {"B": 0, "G": 1, "P": 1}
_BASE, _GROUPS, _PANELS = name("B"), name("G"), name("P")


def theorem(mode: SwizzleMode, major: str) -> str:
    """What the claims say together, in one sentence."""
    swizzle = f"the {mode.span}-byte swizzle" if mode.span else "no swizzle"
    return (
        f"For every number of panels P and eight-row groups G, at every base that is a multiple of "
        f"{mode.repeat} bytes, under {swizzle}: the byte that TMA writes for an element is the one "
        f"that the {major}-major wgmma descriptor reads for it, from every start that keeps the "
        f"read in its swizzle row; each byte of the tile is written exactly once; eight rows of "
        f"one chunk lie in different banks; and the descriptor's bits give back its fields."
    )


def claims(mode: SwizzleMode, major: str) -> tuple[Claim, ...]:
    """Every claim behind `theorem`; raises `LayoutError` for a major that is neither K nor MN."""
    if major not in MAJORS:
        raise LayoutError(f"no major {major!r}", hint="use 'K' or 'MN'", witness=major)
    return (
        Claim(
            name="descriptor_reads_tile",
            kind="equal",
            statement=f"Before the swizzle, the {major}-major descriptor reads each byte from "
            "where the box holds it.",
            parameters=_SIZES,
            variables=[
                ("row", 8 * _GROUPS),
                ("chunk", mode.width // CHUNK),
                ("step", 2 if major == "K" else mode.width // CHUNK),
                ("byte", CHUNK),
                ("panel", _PANELS),
                ("further", _PANELS),
                ("group", _GROUPS),
            ],
            conjuncts={"K": _k_major, "MN": _mn_major}[major](mode),
        ),
        _absolute_bits(mode),
        _written_once(mode),
        _banks(mode),
        _fields(mode),
    )


def written(mode: SwizzleMode, row: Integer, chunk: Integer) -> Integer:
    """TMA's place of a chunk among the eight rows of its atom, in bytes.

    >>> from tylo.layouts.shared.swizzle_mode import swizzle_mode
    >>> written(swizzle_mode(64), 5, 3), 5 * 64 + 16 * (3 ^ 2)
    (336, 336)
    """
    return mode.width * row + CHUNK * _moved(mode, row, chunk)


def _moved(mode: SwizzleMode, row: Integer, chunk: Integer) -> Integer:
    return chunk ^ row // (8 >> mode.bits) % (1 << mode.bits)


def _unswizzled(
    mode: SwizzleMode, panel: Integer, row: Integer, chunk: Integer, byte: Integer
) -> Integer:
    """The address of a byte of a box without its swizzle, in a tile of G groups of rows."""
    base = mode.repeat * _BASE + mode.repeat * _GROUPS * panel
    return base + mode.width * row + CHUNK * chunk + byte


def _k_major(mode: SwizzleMode) -> list[Conjunct]:
    """Rows mn from any group of eight, from any chunk; a step is one of two 16-byte halves of K."""
    row, chunk, half, byte, panel, group = _names("row", "chunk", "step", "byte", "panel", "group")
    # Without a swizzle chunks are panels of their own: what steps is the panel.
    first, leading = (
        ((panel, chunk - half), CHUNK)
        if mode.span
        else ((panel - half, chunk), mode.repeat * _GROUPS)
    )
    start = _unswizzled(mode, first[0], 8 * group, first[1], 0)
    offset = read_offset(mode, "K", row, CHUNK * half + byte, leading, mode.repeat)
    held = _unswizzled(mode, panel, 8 * group + row, chunk, byte)
    return [Conjunct("address", "=", start + offset, held)]


def _mn_major(mode: SwizzleMode) -> list[Conjunct]:
    """Rows k from any group of eight; reads from a row's start go on in the next panel."""
    row, chunk, step, byte = _names("row", "chunk", "step", "byte")
    panel, further, group = _names("panel", "further", "group")
    leading, stride = mode.repeat * _GROUPS, mode.repeat
    if not mode.span:
        leading, stride = stride, leading

    def conjunct(label: str, start: Integer, panels: Integer, reached: Integer) -> Conjunct:
        first = _unswizzled(mode, panel, 8 * group, start, 0)
        along = mode.width * panels + CHUNK * reached + byte
        offset = read_offset(mode, "MN", row, along, leading, stride)
        held = _unswizzled(mode, panel + panels, 8 * group + row, chunk, byte)
        return Conjunct(label, "=", first + offset, held)

    from_row_start = conjunct("address from a row's start", 0, further, chunk)
    if not mode.span:
        return [from_row_start]
    return [from_row_start, conjunct("address from inside a row", chunk - step, 0, step)]


def _absolute_bits(mode: SwizzleMode) -> Claim:
    """TMA's table of chunks is the exclusive-or on absolute address bits, in three short steps."""
    row, chunk, byte, atom, rest, turn = _names("row", "chunk", "byte", "atom", "rest", "turn")
    chunks, turns = mode.width // CHUNK, 1 << mode.bits
    plain = mode.repeat * atom + mode.width * row + CHUNK * chunk + byte
    whole = chunks * rest + chunk
    return Claim(
        name="absolute_address_bits",
        kind="equal",
        statement="The address bits from 7 on that turn a chunk are what TMA's table turns it by "
        "in its row, and an exclusive-or with them moves whole chunks inside their row.",
        parameters={},
        variables=[
            *_atom_variables(mode),
            ("atom", None),
            ("rest", None),
            ("turn", turns),
        ],
        conjuncts=[
            Conjunct("turn", "=", mode.turn(plain), row // (8 >> mode.bits) % turns),
            Conjunct(
                "bytes stay in their chunk",
                "=",
                (mode.width * rest + CHUNK * chunk + byte) ^ (turn * CHUNK),
                CHUNK * (whole ^ turn) + byte,
            ),
            Conjunct("chunks stay in their row", "=", whole ^ turn, chunks * rest + (chunk ^ turn)),
        ],
    )


def _atom_variables(mode: SwizzleMode) -> list[tuple[str, Integer | None]]:
    return [("row", 8), ("chunk", mode.width // CHUNK), ("byte", CHUNK)]


def _written_once(mode: SwizzleMode) -> Claim:
    """Elements' bytes and the tile's bytes, as atoms and places in them, correspond one to one."""
    row, chunk, byte, group, panel = _names("row", "chunk", "byte", "group", "panel")
    place, atom = _names("place", "atom")
    chunks = mode.width // CHUNK
    found_row = place // mode.width
    return bijection(
        name="written_once",
        kind="bijective",
        statement=f"TMA writes each byte of the tile exactly once, into atom group + G * panel of "
        f"{mode.repeat} bytes.",
        parameters={"G": 1, "P": 1},
        source=[*_atom_variables(mode), ("group", _GROUPS), ("panel", _PANELS)],
        target=[("place", mode.repeat), ("atom", _GROUPS * _PANELS)],
        forward={
            "place": written(mode, row, chunk) + byte,
            "atom": group + _GROUPS * panel,
        },
        inverse={
            "row": found_row,
            "chunk": _moved(mode, found_row, place // CHUNK % chunks),
            "byte": place % CHUNK,
            "group": atom % _GROUPS,
            "panel": atom // _GROUPS,
        },
    )


def _banks(mode: SwizzleMode) -> Claim:
    """Eight consecutive rows of one chunk: the phase of an `ldmatrix`, a core matrix."""
    row, chunk, atom = _names("row", "chunk", "atom")
    chunks = mode.width // CHUNK
    banks = (mode.repeat * atom + written(mode, row, chunk)) // CHUNK % 8  # four of the 32
    found = banks // chunks + (8 // chunks) * (banks % chunks ^ chunk)
    return Claim(
        name="eight_rows_of_a_chunk",
        kind="conflict_free",
        statement="The four banks of a chunk tell which of eight rows it is of, so that no two of "
        "them share a bank.",
        parameters={},
        variables=[("row", 8), ("chunk", chunks), ("atom", None)],
        conjuncts=[Conjunct("row returns", "=", found, row)],
    )


def _fields(mode: SwizzleMode) -> Claim:
    """The bits give back the fields."""
    fields = dict(zip(("start", "leading", "stride"), (0, 16, 32), strict=True))
    word = descriptor_word(mode, *_names(*fields))
    return Claim(
        name="descriptor_fields",
        kind="packed_word",
        statement="Start, leading and stride, in 16-byte chunks, and the swizzle are read back "
        "from bits 0, 16, 32 and 62 on.",
        parameters={},
        variables=[(field, 1 << FIELD_BITS) for field in fields],
        conjuncts=[
            *(
                Conjunct(field, "=", word // (1 << bit) % (1 << FIELD_BITS), name(field))
                for field, bit in fields.items()
            ),
            Conjunct("swizzle", "=", word // (1 << SWIZZLE_BIT), mode.code),
        ],
    )


def _names(*labels: str) -> tuple[Integer, ...]:
    return tuple(name(label) for label in labels)
