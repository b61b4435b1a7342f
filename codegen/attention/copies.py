"""What the producer copies and the epilogue stores, printed from shared tiles.

>>> from tylo.codegen.attention.member import WORKED
>>> print(copy_lines(WORKED, "k")[0])
load_box(k_tiles + ring.slot * k_tile_bytes + 0u, k_map, k_full + 8u * ring.slot, 0, k_row, \
work.key_head, work.batch, 0x14f0000000000000ull);
>>> print(box(WORKED, "k"))
box 64x64 of 2-byte elements, swizzle 128

The output goes through shared memory: four 8x8 matrices at a time, whose rows lanes 0-7, 8-15,
16-23 and 24-31 point to, as `stmatrix` has it. That they are the words packed for operand A is
what the four words of a thread's operand say: words 0 to 3 are the matrices at (0, 0), (8, 0),
(0, 8) and (8, 8).
"""

from __future__ import annotations

from tylo.codegen.attention.indices import LANE, WARP, function, packed_pair
from tylo.codegen.attention.member import Member
from tylo.codegen.printing import expression
from tylo.layouts.shared import SharedTile, TmaBox
from tylo.layouts.shared.swizzle_mode import CHUNK
from tylo.layouts.terms import Integer, name
from tylo.proofs.specifications.attention import MATRIX_ROWS, place_in_row
from tylo.proofs.specifications.attention_plan import GROUP_ROWS

# What the second-level cache is to do with a line: keys and values are read again by other blocks.
_POLICY = {"q": 0x12F0000000000000, "k": 0x14F0000000000000, "v": 0x14F0000000000000}


def box(member: Member, which: str) -> TmaBox:
    """The box that every copy of a tile has."""
    (only,) = {each for _, _, each in member.tile(which).boxes()}
    return only


def copy_lines(member: Member, which: str) -> list[str]:
    """The copies that fill one slot of ``k`` or ``v``, or all groups' rows of ``q``."""
    tile = member.tile(which)
    full, head = f"{which}_full + 8u * ring.slot", "head" if which == "q" else "key_head"
    lines = []
    for number in range(member.groups if which == "q" else 1):
        for offset, (column, row), _ in tile.boxes():
            if which == "q":
                place = f"q_tiles + {number * tile.bytes + offset}u"
                first = f"work.first_row + {number * GROUP_ROWS + row}"
            else:
                place = f"{which}_tiles + ring.slot * {which}_tile_bytes + {offset}u"
                first = f"{which}_row" + (f" + {row}" if row else "")
            lines.append(
                f"load_box({place}, {which}_map, {full}, {column}, {first}, work.{head}, "
                f"work.batch, {_POLICY[which]:#x}ull);"
            )
    return lines


def store_function(member: Member) -> str:
    """Rounds the output, and places it in the group's tile as a copy will read it."""
    accumulator, operand = (member.values.operand(letter).ownership for letter in "CA")
    row, chunk = MATRIX_ROWS(lane=LANE)
    lines = [
        "const unsigned lane = who.lane, warp = who.warp;",
        f"const unsigned row = {expression(row + WARP * 16)};",
    ]
    for k in range(member.depth // 16):
        words = []
        for word in range(4):
            low, high = packed_pair(accumulator, operand, word, k)
            words.append(f"convert_x2(numerator[{low}], numerator[{high}])")
        place = place_in_tile(member.tile("out"), name("row"), 2 * k, chunk)
        lines += [
            f"store_matrices(tile + {expression(place)},",
            *(f"    {word}," for word in words[:-1]),
            f"    {words[-1]});",
        ]
    return function(
        "Rounds the output into the group's tile.",
        f"void place_output(const Thread& who, unsigned tile, "
        f"const float (&numerator)[{accumulator.value_count}])",
        lines,
    )


def place_in_tile(tile: SharedTile, row: Integer, first: Integer, chunk: Integer) -> Integer:
    """The byte at which chunk number `first + chunk` of a row starts; the swizzle turns it by
    its row in the group of eight.
    """
    chunks = tile.mode.width // CHUNK
    panel, inside = first // chunks, first % chunks
    place: Integer = panel * tile.panel_bytes + place_in_row(row, inside + chunk)
    return place


def store_lines(member: Member) -> list[str]:
    """Through shared memory to `out`, once the last item's tile has been read; or as float32."""
    if member.output == "f32":
        return ["store_floats(given, work, who, row, numerator);"]
    boxes = [
        f"store_box(out_map, out_tile + {offset}u, {column}, first_row + {row}, work.head, "
        "work.batch);"
        for offset, (column, row), _ in member.tile("out").boxes()
    ]
    return [
        "const bool stores = who.warp == 0u && who.lane == 0u;",
        "if (stores) await_store_reads();",
        "named_wait(first_output + group, group_threads);",
        "place_output(who, out_tile, numerator);",
        "publish_shared();",
        "named_wait(first_output + group, group_threads);",
        "if (stores) {",
        *(f"    {line}" for line in boxes),
        "    commit_stores();",
        "}",
    ]


def end_lines(member: Member) -> list[str]:
    """The block's shared memory outlives the copies that read it."""
    if member.output == "f32":
        return []
    return ["if (who.warp == 0u && who.lane == 0u) await_store_reads();"]


def float_function(member: Member) -> str:
    """Stores the output as float32, two columns at a time, from the threads that hold it."""
    held = member.values.operand("C").ownership
    lines = [
        "const unsigned lane = who.lane;",
        "float* const head =",
        "    given.out + work.batch * given.out_batch + work.head * given.out_head;",
        f"const unsigned column = {expression(held(lane=LANE, warp=WARP, value=0)[1])};",
    ]
    rows: dict[int, list[tuple[int, int]]] = {}
    for value in range(held.value_count):  # type: ignore[arg-type]
        row, column = held(lane=0, warp=0, value=value)
        rows.setdefault(row, []).append((value, column))
    for number, (_, values) in enumerate(sorted(rows.items())):
        lines += [
            f"if (row[{number}] < given.queries) {{",
            f"    float* const at = head + row[{number}] * given.out_row + column;",
            *(f"    at[{column}] = numerator[{value}];" for value, column in values),
            "}",
        ]
    return function(
        "Stores the output before its last rounding.",
        f"void store_floats(const Arguments& given, const Work& work, const Thread& who, "
        f"const int (&row)[{len(rows)}], const float (&numerator)[{held.value_count}])",
        lines,
    )
