"""The two matrix products of attention, unrolled, with descriptors printed from tiles.

A descriptor is 64 bits; the low word holds where the operand starts, in 16-byte chunks, and the
kernel adds where its tile lies. What is printed for each K step is how far the step starts behind
the tile, from `tile_descriptor`:

>>> from tylo.codegen.attention.member import WORKED
>>> [step for step, _ in descriptor_steps(WORKED, "k")], descriptor_base(WORKED, "k")
([0, 2, 4, 6], (65536, 1073741888))
>>> [step for step, _ in descriptor_steps(WORKED, "v")], descriptor_base(WORKED, "v")[1]
([0, 128, 256, 384], 1073741888)
"""

from __future__ import annotations

from collections.abc import Iterator

from tylo.codegen.attention.indices import function
from tylo.codegen.attention.member import Member
from tylo.layouts.atoms import Atom
from tylo.layouts.errors import GenerationError
from tylo.layouts.shared import MatrixDescriptor, tile_descriptor
from tylo.proofs.specifications.attention_plan import GROUP_ROWS

# Operand tile: its major, and along which the instruction steps.
_READS = {"q": "K", "k": "K", "v": "MN"}
CHUNK = 16
WORD = 1 << 32


def functions(member: Member) -> Iterator[str]:
    """Instruction wrappers, then the unrolled products."""
    yield wrapper(member.scores, "multiply_scores_step", registers_a=False, transposed_b=False)
    yield wrapper(member.values, "multiply_values_step", registers_a=True, transposed_b=True)
    yield scores_product(member)
    yield values_product(member)


def descriptors(member: Member, name: str) -> Iterator[MatrixDescriptor]:
    """The descriptor of each step of 16 along K, for a tile at shared address 0."""
    tile = member.tile(name)
    extent = {"q": GROUP_ROWS, "k": member.keys, "v": member.depth}[name]
    along = member.keys if name == "v" else member.depth
    for k in range(0, along, 16):
        yield tile_descriptor(tile, _READS[name], extent=extent, k=k)


def descriptor_base(member: Member, name: str) -> tuple[int, int]:
    """Low and high word of the tile's first descriptor."""
    first = next(descriptors(member, name)).encoded()
    return first % WORD, first // WORD


def descriptor_steps(member: Member, name: str) -> Iterator[tuple[int, int]]:
    """What each step adds to the low word, and the high word, which no step changes."""
    low, high = descriptor_base(member, name)
    for each in descriptors(member, name):
        word = each.encoded()
        if word // WORD != high:
            raise GenerationError("a K step changes the high word of its descriptor")
        yield word % WORD - low, high


def wrapper(atom: Atom, name: str, *, registers_a: bool, transposed_b: bool) -> str:
    """One instruction as a device function; `accumulate` 0 overwrites what d held."""
    _, columns, _ = atom.tile
    count = columns // 2
    accumulators = ", ".join(f"%{i}" for i in range(count))
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(count))
    if registers_a:
        a = "{" + ", ".join(f"%{count + i}" for i in range(4)) + "}"
        b, predicate, tail = f"%{count + 4}", f"%{count + 5}", f"{int(transposed_b)}"
        inputs = '"r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"(accumulate)'
        parameters = "unsigned a0, unsigned a1, unsigned a2, unsigned a3, "
    else:
        a, b, predicate = f"%{count}", f"%{count + 1}", f"%{count + 2}"
        tail = f"0, {int(transposed_b)}"
        inputs = '"l"(a), "l"(b), "r"(accumulate)'
        parameters = "unsigned long long a, "
    return function(
        atom.name,
        f"void {name}(float (&d)[{count}], {parameters}unsigned long long b, int accumulate)",
        [
            'asm volatile("{\\n.reg .pred accumulates;\\n"',
            f'    "setp.ne.b32 accumulates, {predicate}, 0;\\n"',
            f'    "{atom.name} "',
            f'    "{{{accumulators}}}, {a}, {b}, accumulates, 1, 1, {tail};\\n}}\\n"',
            f"    : {outputs}",
            f"    : {inputs});",
        ],
    )


def scores_product(member: Member) -> str:
    """All K steps of Q K^T; the first one overwrites."""
    lines = []
    steps = zip(descriptor_steps(member, "q"), descriptor_steps(member, "k"), strict=True)
    for number, ((q, q_high), (k, k_high)) in enumerate(steps):
        lines.append(
            f"multiply_scores_step(scores, descriptor(q_word + {q}u, {q_high:#x}u), "
            f"descriptor(k_word + {k}u, {k_high:#x}u), {int(number > 0)});"
        )
    return function(
        "Scores of 64 rows and a step of keys.",
        f"void scores_product(float (&scores)[{member.keys // 2}], unsigned q_word, "
        "unsigned k_word)",
        lines,
    )


def values_product(member: Member) -> str:
    """All steps of 16 keys of P V, on top of the numerator."""
    lines = []
    for number, (step, high) in enumerate(descriptor_steps(member, "v")):
        words = ", ".join(f"weights[{4 * number + word}]" for word in range(4))
        lines.append(
            f"multiply_values_step(numerator, {words}, "
            f"descriptor(v_word + {step}u, {high:#x}u), 1);"
        )
    return function(
        "Adds a step of keys' weighted values to the numerator.",
        f"void values_product(float (&numerator)[{member.depth // 2}], "
        f"const unsigned (&weights)[{member.keys // 4}], unsigned v_word)",
        lines,
    )
