"""What depends on the number of the thread alone: its values in all threads of a block.

Where rows are of a width that a kernel knows, which byte of shared memory a thread writes is such a
value, whatever the sizes are. Then there is nothing to ask a solver: all threads are gone through.

>>> from tylo.proofs.effects import Effect
>>> from tylo.proofs.ptx.scene import build
>>> scene = build(Effect("k", 8, (), ()))
>>> domain = scene.domain
>>> twice = domain.shift_left(scene.thread, domain.constant(1, 3), 3)
>>> values(scene, twice), values(scene, domain.add(twice, domain.extract(scene.block, 0, 3), 3))
((0, 2, 4, 6, 0, 2, 4, 6), None)
"""

from __future__ import annotations

from collections.abc import Iterator

from tylo.proofs.ptx.nodes import Expression, ceiling, order
from tylo.proofs.ptx.scene import Scene


def values(scene: Scene, expression: Expression) -> tuple[int, ...] | None:
    """The value in each thread, or `None` where it depends on anything else."""
    known = scene.tables.values
    if expression.opaque:
        return None
    for node in order([expression], known.__contains__):
        if node not in known:
            known[node] = _values(scene, node)
    return known[expression]


def _values(scene: Scene, node: Expression) -> tuple[int, ...] | None:
    threads = range(scene.effect.threads)
    if node.operator == "variable":
        return tuple(threads) if node is scene.thread else None
    given = [(id(operand), scene.tables.values[operand]) for operand in node.operands]
    columns = [(key, column) for key, column in given if column is not None]
    if len(columns) < len(given):
        return None
    return tuple(node.rule({key: column[t] for key, column in columns}, {}) for t in threads)


def flags(scene: Scene, guard: Expression) -> tuple[tuple[bool, ...], Expression]:
    """The threads in which a condition may hold, and the rest of it: what depends on more.

    Where bounds on sizes rule out a thread, it is left out too.
    """
    domain, rest = scene.domain, scene.domain.constant(1, 1)
    found = [True] * scene.effect.threads
    for part in conjuncts(scene, guard):
        column = values(scene, part)
        if column is None:
            rest = domain.bit_and(rest, part, 1)
            column = _possible(scene, part)
        if column is not None:
            found = [may and bool(value) for may, value in zip(found, column, strict=True)]
    return tuple(found), rest


def parted(scene: Scene, condition: Expression) -> tuple[Expression, Expression]:
    """What the thread alone decides of a condition, and the rest of it."""
    alone = rest = scene.domain.constant(1, 1)
    for part in conjuncts(scene, condition):
        if values(scene, part) is not None:
            alone = scene.domain.bit_and(alone, part, 1)
        else:
            rest = scene.domain.bit_and(rest, part, 1)
    return alone, rest


def _possible(scene: Scene, part: Expression) -> tuple[int, ...] | None:
    """Where bounds leave a comparison open with what the thread alone decides, or `None`."""
    negated = part.operator == "bvxor" and part.operands[1].value == 1
    compared = part.operands[0] if negated else part
    if compared.operator != "bvult" or compared.opaque:
        return None
    left, right = compared.operands
    given, other = (right, left) if negated else (left, right)
    column = values(scene, given)
    if column is None:
        return None
    most = ceiling(other, scene.limits()[0])
    # Of left < right, that left is below the most of right; else that right is not above left's.
    return tuple(int(each <= most if negated else each < most) for each in column)


def where(scene: Scene, condition: Expression) -> Expression:
    """The thread's number as it is where a condition holds: with the bits that it then always has.

    >>> from tylo.proofs.effects import Effect
    >>> from tylo.proofs.ptx.scene import build
    >>> scene = build(Effect("k", 8, (), ()))
    >>> two = scene.domain.constant(2, 3)
    >>> found = where(scene, scene.domain.less(scene.thread, two, 3, False))
    >>> [part.value for part in found.operands], found.operands[0].operands[0] is scene.thread
    ([None, 0], True)
    """
    domain, thread = scene.domain, scene.thread
    may, _ = flags(scene, condition)
    threads = [number for number, there in enumerate(may) if there]
    if len(threads) == len(may) or not threads or thread.operator != "variable":
        return thread
    varies = 0
    for number in threads:
        varies |= number ^ threads[0]
    bits = range(thread.width)
    parts = [
        domain.extract(thread, bit, 1)
        if varies >> bit & 1
        else domain.constant(threads[0] >> bit & 1, 1)
        for bit in bits
    ]
    return domain.concatenate(parts, [1 for _ in bits])


def never(scene: Scene, guard: Expression, condition: Expression) -> bool:
    """Whether no thread for which the guard may hold has the condition, whatever the sizes."""
    column = values(scene, condition)
    if column is None:
        return False
    may, _ = flags(scene, guard)
    return not any(here and value for here, value in zip(may, column, strict=True))


def conjuncts(scene: Scene, condition: Expression) -> Iterator[Expression]:
    """What must all hold; of a complement of alternatives, the complement of each."""
    if condition.operator == "bvand":
        for operand in condition.operands:
            yield from conjuncts(scene, operand)
    elif condition.operator == "bvxor" and condition.operands[1].value == 1:
        (inner, _) = condition.operands
        sides = inner.operands if inner.operator == "bvor" else ()
        for side in sides:
            yield from conjuncts(scene, scene.negate(side))
        if not sides:
            yield condition
    else:
        yield condition
