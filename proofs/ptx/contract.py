"""An effect's side of the proof: its offsets as bit-vectors, and what holds of the effect alone.

Terms are over the integers, bit-vectors are modulo 2^64. The two agree because the range of every
subterm is computed first: it must fit, and whatever is divided or xored must not be negative.

>>> from tylo.layouts.terms import name
>>> known = {"thread": (0, 31), "block": (0, 2**31 - 2), "n": (8, 100)}
>>> extent(known, name("block") * 512 + name("thread") * 4)
(0, 1099511626876)
>>> extent(known, (name("thread") + 64) // name("n"))
(0, 11)
>>> extent(known, (name("thread") - 1) // 4)
Traceback (most recent call last):
tylo.layouts.errors.ClaimError: thread - 1 may be -1; divide and xor what is never negative
"""

from __future__ import annotations

from collections.abc import Mapping

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, evaluate, names, show
from tylo.proofs.effects import Effect, Less
from tylo.proofs.effects.axes import block_of, blocks_of
from tylo.proofs.ptx.bitvector import BitVectors, Expression
from tylo.proofs.ptx.ranges import Ranges, interval, launch_ranges

_LIMIT = 2**63


def extent(known: Ranges, term: Integer) -> tuple[int, int]:
    """The least and the largest value of a term, from those of its names."""
    if isinstance(term, int):
        return term, term
    if term.operator == "name":
        return known[term.operands[0]]
    left, right = (extent(known, operand) for operand in term.operands)
    if term.operator in ("div", "mod", "xor"):
        for operand, (low, _) in zip(term.operands, (left, right), strict=True):
            if low < 0:
                raise ClaimError(
                    f"{show(operand)} may be {low}", hint="divide and xor what is never negative"
                )
    if term.operator in ("div", "mod") and right[0] == 0:
        raise ClaimError(
            f"{show(term)} may divide by zero",
            hint="divide by a constant, or by a size that is at least 1",
        )
    low, high = interval(term.operator, left, right)
    if low < -_LIMIT or high >= _LIMIT:
        several = ", ".join(f"{each} <= {known[each][1]}" for each in names(term))
        raise ClaimError(
            f"{show(term)} may leave 64 bits",
            hint=f"bound its names more tightly, or state fewer blocks: now {several}",
        )
    return low, high


def ranges(effect: Effect, *more: Less) -> dict[str, tuple[int, int]]:
    """The least and the largest value of each name in an effect's terms, under more conditions."""
    known = launch_ranges(effect, *more)
    steps = max((extent(known, store.repeat)[1] for store in effect.stores), default=1)
    rounds = max((extent(known, store.rounds)[1] for store in effect.stores), default=1)
    written = [buffer.written for buffer in effect.buffers if buffer.written is not None]
    rows = max((extent(known, matrix.rows)[1] for matrix in written), default=1)
    columns = max((extent(known, matrix.columns)[1] for matrix in written), default=1)
    counts = {"thread": effect.threads, "block": known["blocks"][1]}
    counts |= {block_of(axis): known[blocks_of(axis)][1] for axis in effect.further}
    counts |= {"round": rounds, "step": steps, "row": rows, "column": columns}
    return known | {each: (0, max(count, 1) - 1) for each, count in counts.items()}


def sample(effect: Effect, least: int = 3) -> dict[str, int]:
    """A value of each parameter: `least`, or what its bounds allow that is nearest."""
    return {
        parameter.name: min(max(parameter.minimum, least), parameter.maximum)
        for parameter in effect.parameters
    }


def step_share(effect: Effect, buffer: str) -> tuple[int, Integer]:
    """The bytes that one block writes of a buffer in one step, and how many steps there are.

    The share is read off at a sample of the parameters; that it is the same for all of them is an
    obligation.
    """
    repeats = {store.repeat for store in effect.stores if store.buffer == buffer}
    if len(repeats) > 1:
        raise ClaimError(
            f"the stores to {buffer!r} repeat differently: {sorted(map(show, repeats))}",
            hint="stores that share a buffer share their repeat",
        )
    repeat: Integer = repeats.pop() if repeats else 1
    values = sample(effect)
    total = int(evaluate(effect.buffer(buffer).bytes_per_block, values))
    return total // max(int(evaluate(repeat, values)), 1), repeat


def expression(
    domain: BitVectors, variables: Mapping[str, Expression], term: Integer
) -> Expression:
    """The term in 64 bits; check its `extent` first."""
    if isinstance(term, int):
        return domain.constant(term, 64)
    if term.operator == "name":
        variable = variables[term.operands[0]]
        return domain.extend(variable, variable.width, 64, False)
    left, right = (expression(domain, variables, operand) for operand in term.operands)
    match term.operator:
        case "div":
            return domain.divide(left, right, 64, False)
        case "mod":
            return domain.remainder(left, right, 64, False)
    operation = {
        "+": domain.add,
        "-": domain.subtract,
        "*": domain.multiply,
        "xor": domain.bit_xor,
    }[term.operator]
    return operation(left, right, 64)


def written_once(effect: Effect, buffer: str) -> str:
    """Why one block does not write its share of a buffer exactly once; empty when it does.

    Block zero's stores of step zero are enumerated, all of them: every thread, every store. They
    must start at multiples of their width, meet without gap or overlap, and fill the step's share
    exactly. That other blocks and steps do the same in theirs is a separate, symbolic obligation.

    >>> from tylo.layouts.terms import name
    >>> from tylo.proofs.effects import Buffer, Part, Store
    >>> part = Part(32, "move", "x", name("thread") * 4)
    >>> buffers = (Buffer("x", "in", 32, 32, 4), Buffer("y", "out", 32, 32, 4))
    >>> def copy(offset):
    ...     return Effect("copy", 32, buffers, (Store("y", offset, (part,)),))
    >>> written_once(copy((name("thread") ^ 5) * 4), "y")
    ''
    >>> written_once(copy(name("thread") // 2 * 4), "y")
    'thread 1, store 0 writes y+0, which thread 0, store 0 writes too'
    """
    share, _ = step_share(effect, buffer)
    first = sample(effect) | {"block": 0, "step": 0}
    writes = sorted(
        (
            int(evaluate(store.offset, first | {"thread": thread})),
            thread,
            index,
            store.bits // 8,
        )
        for index, store in enumerate(effect.stores)
        if store.buffer == buffer
        for thread in range(effect.threads)
    )
    position, writer = 0, ""
    for offset, thread, index, size in writes:
        who = f"thread {thread}, store {index}"
        if offset % size:
            return f"{who} writes {size} bytes at {buffer}+{offset}"
        if offset < 0:
            return f"{who} writes {buffer}{offset}"
        if offset < position:
            return f"{who} writes {buffer}+{offset}, which {writer} writes too"
        if offset > position:
            return f"nobody writes {buffer}+{position}"
        position, writer = offset + size, who
    if position < share:
        return f"nobody writes {buffer}+{position}"
    if position > share:
        return f"{writer} writes beyond the {share} bytes of its share"
    return ""
