"""Boolean masks as bits: the kernel that packs them, and how scores look theirs up.

A mask of bytes would cost a load for each score. It is packed once, by a small kernel of its own,
to one bit per key in the order in which threads hold scores; a step then takes one word for each of
a thread's two rows. Beside the bits stands a byte for each block of rows and step of keys: steps
of which nothing is kept are taken by nobody, and steps kept as a whole need no look at the bits.

>>> from dataclasses import replace
>>> from tylo.codegen.attention.member import WORKED
>>> masked = replace(WORKED, mask=True)
>>> print(drop_masked(masked).splitlines()[5].strip())
if ((bits_0 & 0x1u) == 0u) scores[0] = -lane_infinity();
>>> PackMask(masked.groups, masked.keys).entry
'pack_mask'

Which bit is whose is stated, and proven for every size, in
`tylo.proofs.specifications.attention_masks`; for the member at hand it is looked up once more.
"""

from __future__ import annotations

from dataclasses import dataclass

from tylo.codegen.attention.indices import LANE, WARP, by_row, function, score_ownership, score_rows
from tylo.codegen.attention.member import Member
from tylo.codegen.cuda_files import cuda_file
from tylo.codegen.printing import expression
from tylo.layouts.errors import GenerationError
from tylo.layouts.owners import inverse
from tylo.layouts.terms import name
from tylo.proofs.specifications.attention_masks import (
    PACKING_WARPS,
    RECORD,
    RECORD_KEYS,
    RECORD_WORDS,
    score_bit,
)
from tylo.proofs.specifications.attention_plan import GROUP_ROWS, GROUP_THREADS

EIGHT = 8  # keys that one load of a packing lane has


@dataclass(frozen=True, slots=True)
class PackMask:
    """The packing kernel for members of so many groups and keys to a step."""

    groups: int
    keys: int

    @property
    def entry(self) -> str:
        """The kernel's name."""
        return "pack_mask"

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * PACKING_WARPS

    def source(self) -> str:
        """The whole translation unit."""
        group, turn, thread = name("group"), name("turn"), name("thread")
        parts = RECORD_KEYS // self.keys
        share = RECORD_KEYS // RECORD_WORDS // parts
        values = {
            "packing_threads": f"{self.threads}u",
            "packing_warps": f"{PACKING_WARPS}u",
            "groups": f"{self.groups}u",
            "block_rows": f"{GROUP_ROWS * self.groups}",
            "record_keys": f"{RECORD_KEYS}",
            "record_words": f"{RECORD_WORDS}u",
            "turns": f"{GROUP_ROWS // PACKING_WARPS}u",
            "parts": f"{parts}u",
            "part_shift": f"{share % 32}u",
            "part_bits": f"{(1 << share) - 1:#x}u",
        }
        text = cuda_file("attention", "pack_mask.cuh")
        for label, printed in (
            ("LANE_OF_THREAD", expression(thread % 32)),
            ("WARP_OF_THREAD", expression(thread // 32)),
            ("EIGHT_KEYS", expression(LANE // 2 * EIGHT)),
            ("PACKED_ROW", expression(GROUP_ROWS * group + PACKING_WARPS * turn + WARP)),
            ("            VOTES\n", "".join(f"            {line}\n" for line in votes())),
        ):
            if label not in text:
                raise GenerationError(f"the skeleton has no place for {label.strip()}")
            text = text.replace(label, printed)
        listed = "".join(f"constexpr auto {label} = {value};\n" for label, value in values.items())
        return f"{listed}\n{text}"


def votes() -> list[str]:
    """Each word of a record as the vote of the lanes that read its keys."""
    import numpy

    lane = numpy.arange(32)
    own = RECORD(lane=LANE, word=0)[0] % EIGHT
    lines = [f"const unsigned long long own = loaded[turn] >> (8u * ({expression(own)}));"]
    for word in range(RECORD_WORDS):
        place = int(RECORD(lane=0, word=word)[0])
        read = lane // 2 * EIGHT + RECORD(lane=lane, word=0)[0] % EIGHT + place
        if (read != RECORD(lane=lane, word=word)[0]).any():
            raise GenerationError(f"word {word} of a record is not eight keys of two lanes each")
        lines.append(
            f"words[{word}] = __ballot_sync(0xffffffffu, (own >> {8 * place} & 0xffull) != 0ull);"
        )
    return lines


def bit_of(member: Member, value: int) -> int:
    """The bit of a score in its row's word; `GenerationError` if threads disagree."""
    import numpy

    thread = numpy.arange(GROUP_THREADS)
    _, column = score_ownership(member).coordinates(thread, value)
    owner = inverse(RECORD, (column,))
    if (owner["word"] != thread % RECORD_WORDS).any() or (owner["lane"] != score_bit(value)).any():
        raise GenerationError(
            f"value {value} finds its key in bits {owner['lane'].tolist()}",
            hint="the specification states another accumulator",
            witness=value,
        )
    bit: int = score_bit(value)
    return bit


def drop_masked(member: Member) -> str:
    """Scores of keys whose bit is 0 become -inf."""
    rows = len(score_rows(member).groups)
    parts = RECORD_KEYS // member.keys
    lines = [] if parts == 1 else [f"const int first = tile % {parts} * {member.keys // 4};"]
    lines += [
        f"const unsigned bits_{row} = packed[{row}]{'' if parts == 1 else ' >> first'};"
        for row in range(rows)
    ]
    lines += [
        f"if ((bits_{row} & {1 << bit_of(member, value):#x}u) == 0u) "
        f"scores[{value}] = -lane_infinity();"
        for value, row in by_row(member, score_ownership(member))
    ]
    return function(
        "Scores of keys that the mask drops become -inf.",
        f"void drop_masked(int tile, const unsigned (&packed)[{rows}], "
        f"float (&scores)[{score_ownership(member).value_count}])",
        lines,
    )


def tile_lines(member: Member) -> list[str]:
    """Which steps a role takes: all before the end, or those of which the mask keeps something."""
    if not member.mask:
        return ["const auto before = [](int tile) { return tile - 1; };"]
    return [
        "KeptTiles kept = kept_tiles(given, work);",
        "const auto before = [&](int tile) { return kept.before(tile); };",
    ]


def row_lines(member: Member) -> list[str]:
    """Where each row's words lie, and how a step's are fetched; others read the last row's."""
    if not member.mask:
        return ["const auto fetch_mask = [] {};"]
    rows = len(score_rows(member).groups)
    parts = RECORD_KEYS // member.keys
    return [
        "const unsigned lane = who.lane;",
        "const unsigned* const first_bits = given.bits + work.batch * given.bits_batch",
        f"    + work.head * given.bits_head + ({expression(LANE % RECORD_WORDS)})",
        "    + min(row[0], given.queries - 1) * given.bits_row;",
        f"int behind[{rows}];",
        f"unsigned packed[{rows}];",
        "#pragma unroll",
        "for (int r = 0; r < row_values; ++r)",
        "    behind[r] = (min(row[r], given.queries - 1) - min(row[0], given.queries - 1))",
        "        * static_cast<int>(given.bits_row);",
        "const auto fetch_mask = [&] {",
        f"    const unsigned* const record = first_bits + tile / {parts} * given.bits_record;",
        "#pragma unroll",
        "    for (int r = 0; r < row_values; ++r) packed[r] = record[behind[r]];",
        "};",
    ]
