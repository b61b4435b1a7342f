"""Scores once more, by the warp alone: for rows that have outgrown the reference they were given.

The scores of a tile are overwritten by weights. When these turn out too large, a warp computes its
sixteen rows again from shared memory, with `mma.sync` in place of `wgmma`, because the other warps
of its group go on. Eight columns of the `wgmma` accumulator are an accumulator of ``mma.m16n8k16``
in the same lanes, which is checked for every thread before anything is printed.

`ldmatrix` takes the address of one matrix row from each lane: for Q in the order of operand A's
words, for K so that two words each are operand B of eight keys.

>>> from tylo.codegen.attention.member import Member
>>> text = recompute(Member(64, "bf16", 2, 64, 4, reference="first"))
>>> text.count("load_words("), text.count("multiply_again(")
(5, 8)
"""

from __future__ import annotations

from collections.abc import Iterator

from tylo.codegen.attention.copies import place_in_tile
from tylo.codegen.attention.indices import LANE, WARP, function, score_ownership
from tylo.codegen.attention.member import Member
from tylo.codegen.cuda_files import cuda_file
from tylo.codegen.printing import expression
from tylo.layouts.atoms import Atom, atom
from tylo.layouts.errors import GenerationError
from tylo.layouts.terms import name
from tylo.proofs.specifications.attention import KEY_ROWS, MATRIX_ROWS
from tylo.proofs.specifications.attention_plan import GROUP_THREADS


def functions(member: Member) -> Iterator[str]:
    """What the slow path of the policy ``first`` needs; nothing for others."""
    if member.reference == "first":
        yield cuda_file("attention", "load_words.cuh")
        yield multiply_again(warp_product(member))
        yield recompute(member)


def warp_product(member: Member) -> Atom:
    """The warp's own product; refused where its accumulator is not a slice of the group's."""
    import numpy

    found = atom(f"mma.m16n8k16.{member.dtype}")
    own, group = found.operand("C").ownership, score_ownership(member)
    thread = numpy.arange(GROUP_THREADS)
    for value in range(member.keys // 2):
        row, column = own(lane=thread % 32, value=value % 4)
        held_row, held_column = group.coordinates(thread, value)
        right = (held_row == row + thread // 32 * 16) & (held_column == column + value // 4 * 8)
        if not right.all():
            raise GenerationError(
                f"value {value} of thread {int(numpy.argmin(right))} is no value of {found.name}",
                hint="this accumulator is not made of the warp's own",
                witness={"thread": int(numpy.argmin(right)), "value": value},
            )
    return found


def multiply_again(product: Atom) -> str:
    """One instruction on four accumulators that lie apart."""
    return function(
        product.name,
        "void multiply_again(float& c0, float& c1, float& c2, float& c3, const unsigned (&a)[4], "
        "unsigned b0, unsigned b1)",
        [
            f'asm volatile("{product.name} "',
            '    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"',
            '    : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)',
            '    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));',
        ],
    )


def recompute(member: Member) -> str:
    """All scores of the warp's sixteen rows and a step of keys."""
    lines = [
        "const unsigned lane = who.lane, warp = who.warp;",
        "unsigned a[4], b[4];",
        *(f"scores[{value}] = 0.0f;" for value in range(member.keys // 2)),
    ]
    row, row_chunk = MATRIX_ROWS(lane=LANE)
    key, key_chunk = KEY_ROWS(lane=LANE)
    first = 2 * name("k")
    place = place_in_tile(member.tile("q"), row + WARP * 16, first, row_chunk)
    # Rolled up: this runs rarely, and must not crowd what runs always.
    lines += ["#pragma unroll 1", f"for (unsigned k = 0u; k < {member.depth // 16}u; ++k) {{"]
    lines.append(f"    load_words(q_tile + {expression(place)}, a);")
    for pair in range(member.keys // 16):
        place = place_in_tile(member.tile("k"), key + 16 * pair, first, key_chunk)
        lines.append(f"    load_words(k_tile + {expression(place)}, b);")
        for half in range(2):
            at = 8 * pair + 4 * half
            values = ", ".join(f"scores[{at + value}]" for value in range(4))
            lines.append(f"    multiply_again({values}, a, b[{2 * half}], b[{2 * half + 1}]);")
    lines.append("}")
    return function(
        "A warp's scores once more, from shared memory.",
        f"void recompute_scores(const Thread& who, unsigned q_tile, unsigned k_tile, "
        f"float (&scores)[{member.keys // 2}])",
        lines,
    )
