"""Where the elements of one thread lie, as CUDA functions printed from ownerships and tiles.

A thread of a warpgroup holds `keys / 2` scores of two rows. Its place in the tile is a sum of what
its number contributes and what the value's number does, because ownerships are digits with steps:

>>> from tylo.codegen.attention.member import WORKED
>>> print(pack_weights(WORKED).splitlines()[2].strip())
words[0] = convert_x2(scores[0], scores[1]);
>>> print(row_maximum(WORKED).splitlines()[3].strip())
highest[0] = lane_maximum(highest[0], scores[1]);

Packing needs no lane but its own: `tylo.proofs.specifications.attention` states it for every size,
and for the member at hand it is looked up once more for every thread, word and half.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tylo.codegen.attention.member import Member
from tylo.codegen.printing import expression
from tylo.layouts.errors import GenerationError
from tylo.layouts.owners import inverse
from tylo.layouts.ownership import Ownership
from tylo.layouts.reduction import Reduction, reduction, same_reduced
from tylo.layouts.terms import Integer, name
from tylo.proofs.specifications.attention import weight_value
from tylo.proofs.specifications.attention_plan import GROUP_THREADS

LANE, WARP = name("lane"), name("warp")


def score_ownership(member: Member) -> Ownership:
    """Who holds which score of 64 rows and a step of keys."""
    return member.scores.operand("C").ownership


def score_rows(member: Member) -> Reduction:
    """Rows of scores reduce as rows of the numerator do, so that one state serves both."""
    found = reduction(score_ownership(member), 1)
    output = reduction(member.values.operand("C").ownership, 1)
    if not same_reduced(found, output):
        raise GenerationError("scores and numerator spread their rows over different threads")
    return found


def functions(member: Member) -> Iterator[str]:
    """Every printed function about lanes, in an order in which a compiler takes them."""
    yield thread_of(member)
    yield owned_rows(member)
    yield row_maximum(member)
    yield sum_lanes(member)
    yield scale_rows(member)
    yield subtract_wide(member)
    yield exponentials(member)
    yield drop_keys(member)
    yield pack_weights(member)


def function(comment: str, head: str, lines: Iterable[str]) -> str:
    """A device function of its head ``type name(parameters)`` and its lines."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"// {comment}\n__device__ __forceinline__ {head} {{\n{body}}}\n"


def thread_of(member: Member) -> str:
    """The group, the warp in it and the lane of a thread number."""
    thread = name("thread")
    parts = (thread // GROUP_THREADS, thread % GROUP_THREADS // 32, thread % 32)
    listed = ", ".join(expression(part) for part in parts)
    return "struct Thread {\n    unsigned group, warp, lane;\n};\n\n" + function(
        "Threads are numbered lane + 32 * warp inside a group of four warps.",
        "Thread thread_of(unsigned thread)",
        [f"return {{{listed}}};"],
    )


def by_row(member: Member, ownership: Ownership) -> Iterator[tuple[int, int]]:
    """(value, the row value it belongs to), in value order."""
    row_of = {
        value: row for row, group in enumerate(reduction(ownership, 1).groups) for value in group
    }
    yield from sorted(row_of.items())


def lane_column(member: Member) -> Integer:
    """What a thread's number adds to the column of each of its scores."""
    column: Integer = score_ownership(member)(lane=LANE, warp=WARP, value=0)[1]
    return column


def value_column(member: Member, value: int) -> int:
    """What a value's number adds to its column."""
    column: int = score_ownership(member)(lane=0, warp=0, value=value)[1]
    return column


def owned_rows(member: Member) -> str:
    """The rows of a thread, counted from its group's first, and which thread stands for a row."""
    rows = score_rows(member)
    lines = ["const unsigned lane = who.lane, warp = who.warp;"]
    for number in range(len(rows.groups)):
        (row,) = rows.result(lane=LANE, warp=WARP, value=number)
        lines.append(f"row[{number}] = static_cast<int>({expression(row)});")
    owner = function(
        "Of the lanes that hold parts of a row, the one with its first column.",
        "bool owns_row(const Thread& who)",
        ["const unsigned lane = who.lane;", f"return ({expression(lane_column(member))}) == 0u;"],
    )
    return (
        function(
            "The rows that a thread holds parts of.",
            f"void owned_rows(const Thread& who, int (&row)[{len(rows.groups)}])",
            lines,
        )
        + "\n"
        + owner
    )


def row_maximum(member: Member) -> str:
    """The largest score of each row: of a thread's values, then of the lanes that share a row."""
    rows = score_rows(member)
    lines = []
    for row, group in enumerate(rows.groups):
        lines.append(f"highest[{row}] = scores[{group[0]}];")
        lines += [f"highest[{row}] = lane_maximum(highest[{row}], scores[{v}]);" for v in group[1:]]
    lines += [
        f"highest[{row}] = lane_maximum(highest[{row}], "
        f"__shfl_xor_sync(0xffffffffu, highest[{row}], {mask}));"
        for mask in rows.lane_masks
        for row in range(len(rows.groups))
    ]
    return function(
        "The largest score of each row.",
        f"void row_maximum(const float (&scores)[{score_ownership(member).value_count}], "
        f"float (&highest)[{len(rows.groups)}])",
        lines,
    )


def sum_lanes(member: Member) -> str:
    """Row sums of single threads become those of rows; and one number that needs them all."""
    rows = score_rows(member)
    count = len(rows.groups)
    lines = [
        f"sum[{row}] += __shfl_xor_sync(0xffffffffu, sum[{row}], {mask});"
        for mask in rows.lane_masks
        for row in range(count)
    ]
    total = " + ".join(f"sum[{row}]" for row in range(count))
    return (
        function(
            "Adds what the lanes of a row have summed.",
            f"void sum_lanes(float (&sum)[{count}])",
            lines,
        )
        + "\n"
        + function(
            "A number that is computed after every weight.",
            f"float total_of(const float (&sum)[{count}])",
            [f"return {total};"],
        )
    )


def scale_rows(member: Member) -> str:
    """Each row of the numerator times its factor."""
    output = member.values.operand("C").ownership
    return function(
        "Multiplies each row of the numerator by its factor.",
        f"void scale_rows(const float (&factor)[{len(score_rows(member).groups)}], "
        f"float (&numerator)[{output.value_count}])",
        [f"numerator[{value}] *= factor[{row}];" for value, row in by_row(member, output)],
    )


def subtract_wide(member: Member) -> str:
    """The exact form of the exponent, for the rows whose `units` are 1."""
    rows = len(score_rows(member).groups)
    scores = score_ownership(member)
    lines = [f"const float scale_{r} = units[{r}] == 1.0f ? unit : 1.0f;" for r in range(rows)]
    lines += [
        f"scores[{value}] = (scores[{value}] - origin[{row}]) * scale_{row};"
        for value, row in by_row(member, scores)
    ]
    return function(
        "Rows with unit 1 are taken from their origin and scaled; others stay as they are.",
        f"void subtract_wide(const float (&origin)[{rows}], const float (&units)[{rows}], "
        f"float unit, float (&scores)[{scores.value_count}])",
        lines,
    )


def exponentials(member: Member) -> str:
    """Scores become weights in place; each row's are added to its sum in pairs."""
    rows = score_rows(member)
    lines = [
        f"scores[{value}] = lane_ex2(__fmaf_rn(scores[{value}], units[{row}], -reference[{row}]));"
        for value, row in by_row(member, score_ownership(member))
    ]
    for row, group in enumerate(rows.groups):
        lines += [
            f"sum[{row}] += scores[{low}] + scores[{high}];"
            for low, high in zip(group[::2], group[1::2], strict=True)
        ]
    count = len(rows.groups)
    return function(
        "2^(unit * score - reference) for every score, and their sums.",
        f"void exponentials(const float (&units)[{count}], const float (&reference)[{count}], "
        f"float (&scores)[{score_ownership(member).value_count}], float (&sum)[{count}])",
        lines,
    )


def drop_keys(member: Member) -> str:
    """Scores of keys from each row's end on become -inf."""
    rows = len(score_rows(member).groups)
    lines = _ends(member)
    lines += [
        f"if (!({value_column(member, value)} < end_{row})) scores[{value}] = -lane_infinity();"
        for value, row in by_row(member, score_ownership(member))
    ]
    return function(
        "Scores of keys from a row's end on become -inf.",
        f"void drop_keys(const Thread& who, int first_key, const int (&end)[{rows}], "
        f"float (&scores)[{score_ownership(member).value_count}])",
        lines,
    )


def _ends(member: Member) -> list[str]:
    """A thread's first column, and its rows' ends counted from there."""
    return [
        "const unsigned lane = who.lane;",
        f"const int column = first_key + static_cast<int>({expression(lane_column(member))});",
        *(
            f"const int end_{row} = end[{row}] - column;"
            for row in range(len(score_rows(member).groups))
        ),
    ]


def packed_pair(accumulator: Ownership, operand: Ownership, word: int, k: int) -> list[int]:
    """The accumulator values that word `word` of operand A at column 16 k packs, low half first.

    Raises `GenerationError` if another thread holds one of them.
    """
    import numpy

    thread = numpy.arange(GROUP_THREADS)
    found = []
    for half in range(2):
        row, column = operand.coordinates(thread, 2 * word + half)
        owner = inverse(accumulator, (row, column + k * operand.shape[1]))
        holder = owner["lane"] + 32 * owner["warp"]
        if (holder != thread).any():
            lost = int(numpy.argmax(holder != thread))
            raise GenerationError(
                f"half {half} of word {word} of thread {lost} is held by thread {holder[lost]}",
                hint="this accumulator does not convert in its lanes",
                witness={"thread": lost, "word": word, "half": half},
            )
        value = weight_value(word, half, k)
        if (owner["value"] != value).any():
            raise GenerationError(
                f"half {half} of word {word} is value {owner['value'].tolist()}, not {value}",
                hint="the specification states another accumulator",
                witness={"word": word, "half": half},
            )
        found.append(value)
    return found


def pack_weights(member: Member) -> str:
    """Weights as words of operand A: rounded in pairs, in the same lanes."""
    accumulator, operand = score_ownership(member), member.values.operand("A").ownership
    lines = []
    for k in range(member.keys // 16):
        for word in range(4):
            low, high = packed_pair(accumulator, operand, word, k)
            lines.append(f"words[{4 * k + word}] = convert_x2(scores[{low}], scores[{high}]);")
    return function(
        "Accumulated values become operand A of the next product, in the same lanes.",
        f"void pack_weights(const float (&scores)[{accumulator.value_count}], "
        f"unsigned (&words)[{member.keys // 4}])",
        lines,
    )
