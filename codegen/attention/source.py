"""The CUDA text of one member: constants, instruction wrappers, printed functions, skeleton.

>>> from tylo.codegen.attention.member import WORKED
>>> text = source(WORKED)
>>> "#include" in text, "multiply_scores(q, k);" in text
(False, True)

What waits and arrives is printed from `Member.schedule`, and can be read back from the text:

>>> from tylo.proofs.pipelines.cuda_text import read_schedule
>>> read_schedule(text, WORKED.groups) == WORKED.schedule
True
"""

from __future__ import annotations

from collections.abc import Iterable

from tylo.codegen.attention import copies, indices, mask_bits, products, recompute
from tylo.codegen.attention.member import Member
from tylo.codegen.cuda_files import cuda_file
from tylo.layouts.errors import GenerationError
from tylo.proofs.pipelines.cuda_text import section_lines, setup_lines
from tylo.proofs.specifications.attention_arguments import MOST_SHARES, SHARE_PLACES
from tylo.proofs.specifications.attention_plan import (
    ALIGNMENT,
    BARRIER_BYTES,
    FIRST_TURN,
    GROUP_ROWS,
    GROUP_THREADS,
)

_WRAPPERS = ("barriers", "copies", "products", "work")


def source(member: Member) -> str:
    """The whole translation unit: no header, no include."""
    schedule = member.schedule
    sections = {
        f"{role}_{section}".upper(): section_lines(schedule, role, section)
        for role, names in (
            ("producer", ("first", "further", "last")),
            ("consumer", ("begin", "first", "further", "last")),
        )
        for section in names
    }
    skeleton = _filled(
        cuda_file("attention", "kernel.cuh"),
        {
            "PLACES": _places(member),
            "BARRIERS": setup_lines(schedule),
            **{f"COPY_{which.upper()}": copies.copy_lines(member, which) for which in "qkv"},
            **sections,
            "TILES_COPIED": mask_bits.tile_lines(member),
            "TILES_MULTIPLIED": mask_bits.tile_lines(member),
            "MASK_ROWS": mask_bits.row_lines(member),
            "DROP_KEYS": _drop_keys(member),
            "WEIGH": _weigh(member),
            "STORE_END": copies.end_lines(member),
            "STORE": copies.store_lines(member),
        },
    )
    store = (
        copies.float_function(member) if member.output == "f32" else copies.store_function(member)
    )
    parts = [
        _heading(member),
        _constants(member),
        *(cuda_file("attention", f"{each}.cuh") for each in _WRAPPERS),
        cuda_file("lane_operators.cuh"),
        cuda_file(f"convert_{member.dtype}x2.cuh"),
        *([cuda_file("attention", "mask_tiles.cuh")] if member.mask else []),
        *indices.functions(member),
        *([mask_bits.drop_masked(member)] if member.mask else []),
        cuda_file("attention", "weights.cuh"),
        *products.functions(member),
        *recompute.functions(member),
        store,
        skeleton,
    ]
    return "\n".join(parts)


def _heading(member: Member) -> str:
    return (
        f"// Attention forward for compute capability 9.0: depth {member.depth}, {member.dtype}, "
        f"{member.groups} groups of {GROUP_ROWS} rows, steps of {member.keys} keys, "
        f"{member.stages} stages.\n"
    )


def _constants(member: Member) -> str:
    """Sizes as enumerators: a constant of the whole file would become a global in the PTX."""
    producer, consumer = member.registers
    rows = indices.score_rows(member)
    values = {
        "threads": member.threads,
        "residents": member.residents,
        "groups": member.groups,
        "group_rows": GROUP_ROWS,
        "group_threads": GROUP_THREADS,
        "rows": member.rows,
        "step": member.keys,
        "alignment": ALIGNMENT,
        "producer_registers": producer,
        "consumer_registers": consumer,
        "score_values": member.keys // 2,
        "output_values": member.depth // 2,
        "weight_words": member.keys // 4,
        "row_values": len(rows.groups),
        "share_places": SHARE_PLACES,
        "most_shares": MOST_SHARES,
        "first_turn": FIRST_TURN,
        "first_output": FIRST_TURN + member.groups,
    }
    for which in ("q", "k", "v"):
        tile = member.tile(which)
        low, _ = products.descriptor_base(member, which)
        values |= {
            f"{which}_tile_bytes": tile.bytes,
            f"{which}_tile_words": tile.bytes // products.CHUNK,
            f"{which}_bytes": tile.bytes * (member.groups if which == "q" else 1),
            f"{which}_descriptor": low,
        }
    values["out_tile_bytes"] = member.tile("out").bytes
    unsigned = "".join(f"    {label} = {value}u,\n" for label, value in values.items())
    signed = ("rows", "step")
    for label in signed:
        unsigned = unsigned.replace(f"    {label} = {values[label]}u,\n", "")
    integers = "".join(f"    {label} = {values[label]},\n" for label in signed)
    return f"enum : unsigned {{\n{unsigned}}};\nenum : int {{\n{integers}}};\n"


def _places(member: Member) -> list[str]:
    lines = [
        f"const unsigned {which}_tiles = base + {member.place(which)}u;"
        for which in ("q", "k", "v", "out")
    ]
    return lines + [
        f"const unsigned {each.name} = base + {member.barrier_place(each.name)}u;"
        for each in member.schedule.barriers
    ]


def _drop_keys(member: Member) -> list[str]:
    masked = (
        ["if (!kept.whole(tile, group)) drop_masked(tile, packed, scores);"] if member.mask else []
    )
    return [*masked, "if (tile >= whole) drop_keys(who, tile * step, end, scores);"]


def _weigh(member: Member) -> list[str]:
    """One step from scores to weights, by the member's policy of the maximum."""
    if member.reference == "lagging":
        return ["weigh(given.unit, given.lag, scores, state);"]
    return [
        "bool looks = outgrown || state.unsettled || tile >= whole;",
        "if (!looks && !weigh_under(given.unit, scores, state)) {",
        "    recompute_scores(",
        "        who, q_tile + of_q.slot * q_bytes, k_tiles + of_k.slot * k_tile_bytes, scores);",
        "    prepare();",
        "    outgrown = looks = true;",
        "}",
        "if (looks) weigh(given.unit, given.lag, scores, state);",
    ]


def _filled(skeleton: str, parts: dict[str, list[str]]) -> str:
    """The skeleton with each placeholder's line replaced, indented as it was."""
    lines = []
    left = dict(parts)
    for line in skeleton.splitlines():
        word = line.strip().split("{")[-1].strip(" };")
        if word in left:
            lines += _placed(line, word, left.pop(word))
        else:
            lines.append(line)
    if left:
        raise GenerationError(f"the skeleton has no place for {', '.join(left)}")
    return "\n".join(lines) + "\n"


def _placed(line: str, word: str, part: Iterable[str]) -> list[str]:
    margin = line[: len(line) - len(line.lstrip())]
    before, after = line.split(word)
    if not before.strip():
        return [f"{margin}{each}" for each in part]
    inner = [f"{margin}    {each}" for each in part]
    return [before.rstrip(), *inner, margin + after.strip()]


assert BARRIER_BYTES == 8  # what the wrappers in `cuda/attention/barriers.cuh` step by
