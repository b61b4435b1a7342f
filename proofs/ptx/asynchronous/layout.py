"""What holds of an attention kernel's plan alone, by enumeration: places, bytes, owners of rows.

>>> from tylo.proofs.specifications.attention_plan import Plan
>>> for label, fault in facts(Plan(depth=64, dtype="bf16", groups=2, keys=64, stages=4)):
...     print(label, fault or "holds")
tiles and barriers lie apart, inside shared memory holds
tiles start at multiples of the swizzle's repeat holds
each tile's boxes have the bytes that are expected holds
a turn is taken by one group and passed by another holds
each row of a group has one thread for its log-sum-exp holds
each byte of the output tile is placed once holds
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tylo.layouts.atoms import atom
from tylo.layouts.terms import evaluate, name
from tylo.proofs.pipelines.cuda_text import TURN_THREADS
from tylo.proofs.specifications.attention import MATRIX_ROWS, place_in_row
from tylo.proofs.specifications.attention_plan import (
    ALIGNMENT,
    BARRIER_BYTES,
    ELEMENT_BYTES,
    GROUP_ROWS,
    GROUP_THREADS,
    Plan,
)

_CHUNK = 16
# Rows of a group by warp and lane, and how much later a thread's second one is.
OWN_ROW = name("warp") * 16 + name("lane") // 4
LATER = 8
# Columns of an accumulator by lane; those of its values are so many more.
OWN_COLUMN = name("lane") % 4 * 2


def facts(plan: Plan) -> Iterator[tuple[str, str]]:
    """What must hold, and what is wrong with it: nothing, if it does."""
    yield "tiles and barriers lie apart, inside shared memory", _apart(plan)
    places = {each: plan.place(each) % ALIGNMENT for each in ("q", "k", "v", "out")}
    sizes = {each: plan.tile(each).bytes % ALIGNMENT for each in places}
    wrong = [each for each in places if places[each] or sizes[each]]
    yield "tiles start at multiples of the swizzle's repeat", ", ".join(wrong)
    wrong = [
        each
        for each in places
        if sum(box.bytes for _, _, box in plan.tile(each).boxes()) != plan.tile(each).bytes
    ]
    yield "each tile's boxes have the bytes that are expected", ", ".join(wrong)
    wrong = [] if TURN_THREADS == 2 * GROUP_THREADS else [str(TURN_THREADS)]
    yield "a turn is taken by one group and passed by another", ", ".join(wrong)
    yield "each row of a group has one thread for its log-sum-exp", _rows(plan)
    yield "each byte of the output tile is placed once", _output(plan)


def _apart(plan: Plan) -> str:
    ranges = [
        (plan.place(each) + number * plan.tile(each).bytes, plan.tile(each).bytes, each)
        for each in ("q", "k", "v", "out")
        for number in range(plan.copies(each))
    ]
    for barrier in plan.schedule.barriers:
        for slot in range(plan.schedule.ring(barrier.ring).slots):
            start = plan.barrier_place(barrier.name) + slot * BARRIER_BYTES
            ranges.append((start, BARRIER_BYTES, barrier.name))
    end = 0
    for start, size, label in sorted(ranges):
        if start < end:
            return f"{label} begins at byte {start}, before byte {end}"
        if start % BARRIER_BYTES:
            return f"{label} begins at byte {start}"
        end = start + size
    # The base is at most one byte less than its alignment behind the start.
    return "" if end + ALIGNMENT <= plan.shared_bytes else f"{end} bytes and {ALIGNMENT}"


def _rows(plan: Plan) -> str:
    """Rows as the accumulators of both products have them, each kept by one lane of four."""
    kept: Counter[int] = Counter()
    for columns in sorted({plan.keys, plan.depth}):
        held = atom(f"wgmma.m64n{columns}k16.{plan.dtype}").operand("C").ownership
        for warp in range(4):
            for lane in range(32):
                first = int(evaluate(OWN_ROW, {"warp": warp, "lane": lane}))
                rows = {int(held(lane=lane, warp=warp, value=v)[0]) for v in range(columns // 2)}
                column = int(evaluate(OWN_COLUMN, {"lane": lane}))
                for value in range(columns // 2):
                    row, key = held(lane=lane, warp=warp, value=value)
                    base, other = held(lane=0, warp=0, value=value)
                    if (int(row) - first, int(key) - column) != (int(base), int(other)):
                        return f"lane {lane} of warp {warp} holds other columns"
                if rows != {first, first + LATER}:
                    return f"lane {lane} of warp {warp} holds rows {sorted(rows)}"
                if columns == plan.depth and lane % 4 == 0:
                    kept.update(rows)
    return "" if kept == Counter(range(GROUP_ROWS)) else "rows without, or with several"


def _output(plan: Plan) -> str:
    tile = plan.tile("out")
    placed: Counter[int] = Counter()
    for step in range(plan.depth // 16):
        for warp in range(4):
            for lane in range(32):
                row, half = MATRIX_ROWS(lane=lane)
                chunk = 2 * step + half
                panel, inside = divmod(chunk, _CHUNK // ELEMENT_BYTES)
                inner = evaluate(place_in_row(row + 16 * warp, inside), {})
                placed[panel * tile.panel_bytes + int(inner)] += 1
    return "" if placed == Counter(range(0, tile.bytes, _CHUNK)) else "a chunk twice, or not at all"
