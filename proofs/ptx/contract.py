"""An effect's side of the proof: its offsets as bit-vectors, and what holds of the effect alone.

Terms are over the integers, bit-vectors are modulo 2^64. The two agree because the range of every
subterm is computed first: it must fit, and whatever is divided or xored must not be negative.

>>> from tylo.layouts.terms import name
>>> extent({"thread": 32, "block": 2**31 - 1}, name("block") * 512 + name("thread") * 4)
(0, 1099511626876)
>>> extent({"thread": 32}, (name("thread") - 1) // 4)
Traceback (most recent call last):
tylo.layouts.errors.ClaimError: thread - 1 may be -1; divide and xor what is never negative
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, evaluate, show
from tylo.proofs.effects import Effect
from tylo.proofs.ptx.bitvector import BitVectors, Expression

_LIMIT = 2**63


def extent(
    sizes: Mapping[str, int], term: Integer, least: Mapping[str, int] = MappingProxyType({})
) -> tuple[int, int]:
    """Bounds of a term whose names run from 0, or their least, up to, not including, their size."""
    if isinstance(term, int):
        return term, term
    if term.operator == "name":
        return least.get(term.operands[0], 0), sizes[term.operands[0]] - 1
    left, right = (extent(sizes, operand, least) for operand in term.operands)
    if term.operator in ("div", "mod", "xor"):
        for operand, (low, _) in zip(term.operands, (left, right), strict=True):
            if low < 0:
                raise ClaimError(
                    f"{show(operand)} may be {low}", hint="divide and xor what is never negative"
                )
    if term.operator in ("div", "mod") and right[0] == 0:
        raise ClaimError(f"{show(term)} may divide by zero", hint="divide by a positive constant")
    match term.operator:
        case "+":
            low, high = left[0] + right[0], left[1] + right[1]
        case "-":
            low, high = left[0] - right[1], left[1] - right[0]
        case "*":
            corners = [a * b for a in left for b in right]
            low, high = min(corners), max(corners)
        case "div":
            low, high = left[0] // right[1], left[1] // right[0]
        case "mod":
            low, high = 0, min(left[1], right[1] - 1)
        case _:
            low, high = 0, (1 << max(left[1].bit_length(), right[1].bit_length())) - 1
    if low < -_LIMIT or high >= _LIMIT:
        raise ClaimError(f"{show(term)} may leave 64 bits", hint="state fewer blocks")
    return low, high


def sizes(effect: Effect) -> dict[str, int]:
    """How many values, from zero on, each name in an effect's terms may have."""
    known = {parameter.name: parameter.maximum + 1 for parameter in effect.parameters}
    known["blocks"] = effect.maximum_blocks + 1
    steps = max(
        (extent(known, store.repeat, minima(effect))[1] for store in effect.stores), default=1
    )
    written = [buffer.written for buffer in effect.buffers if buffer.written is not None]
    rows = max((extent(known, matrix.rows)[1] for matrix in written), default=1)
    columns = max((extent(known, matrix.columns)[1] for matrix in written), default=1)
    known |= {"row": max(rows, 1), "column": max(columns, 1)}
    return known | {"thread": effect.threads, "block": effect.maximum_blocks, "step": max(steps, 1)}


def minima(effect: Effect) -> dict[str, int]:
    """The least value of each size that is passed."""
    return {parameter.name: parameter.minimum for parameter in effect.parameters}


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
