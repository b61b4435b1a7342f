"""Numbers as sums of products, thread by thread: what an address is once the thread is known.

Of row * stride + column * 4, with a row and a column that the thread decides, each thread has a sum
of its own over the sizes alone. Threads of one row have the same, however their numbers differ:
where a term is not a sum, such as the quotient of a row by a size, it is written anew with the
thread's number put in, and equal ones are one *atom*. So rows are told apart, not threads.

Sums are modulo 2^64, their counts of least magnitude. Atoms are numbers that are never negative.

>>> from tylo.proofs.effects import Effect, Parameter
>>> from tylo.proofs.ptx.scene import build
>>> scene = build(Effect("k", 4, (), (), parameters=(Parameter("size", 64, 1, 9),)))
>>> domain, size = scene.domain, scene.sizes["size"]
>>> row = domain.shift_right(scene.thread, domain.constant(1, 2), 2, False)
>>> row = domain.extend(row, 2, 64, False)
>>> found = sums(scene, domain.multiply(domain.add(size, row, 64), size, 64))
>>> [len(each) for each in found], found[0] is found[1], found[0] == found[2]
([1, 1, 2, 2], True, False)
>>> quotient = sums(scene, domain.divide(row, size, 64, False))
>>> quotient[2] == quotient[3], quotient[0] == quotient[2]
(True, False)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tylo.proofs.ptx.by_thread import conjuncts, values
from tylo.proofs.ptx.forms import Form, atom, constant, interval, product, reduced, scaled, total
from tylo.proofs.ptx.nodes import Expression, ceiling, order
from tylo.proofs.ptx.scene import Scene

_BITS = 64
_SIZE = 1 << _BITS
_MOST_TERMS = 64
_Sums = tuple[Form, ...]
_A = TypeVar("_A")
_B = TypeVar("_B")


def sums(scene: Scene, root: Expression) -> _Sums | None:
    """The sum that a number is in each thread; `None` where that depends on anything private."""
    known = scene.tables.sums
    for node in order([root], known.__contains__):
        if node not in known:
            known[node] = None if node.opaque else _sums(scene, node)
    found: _Sums | None = known[root]
    return found


def most(scene: Scene, form: Form) -> int:
    """The largest value that bounds on sizes leave a sum."""
    limits, _ = scene.limits()
    ranges = {
        name: (0, ceiling(scene.tables.atoms[name], limits)) for each in form for name in each
    }
    return interval(form, ranges)[1]


def under(scene: Scene, root: Expression, condition: Expression) -> Expression:
    """A number, written anew for where a condition holds.

    Compilers work a row out more than once: what is the same in every thread is the same.
    """
    domain = scene.domain
    facts: dict[tuple[Expression, ...] | None, int] = {}
    for part in _facts(scene, condition):
        negated = part.operator == "bvxor" and part.operands[1].value == 1
        facts[uniform(scene, part.operands[0] if negated else part)] = int(not negated)
    facts.pop(None, None)
    known = {}
    for node in order([root]):
        bit = facts.get(uniform(scene, node)) if node.width == 1 and node.value is None else None
        if bit is not None:
            known[node] = domain.constant(bit, 1)
    return domain.replace(root, known)


def _facts(scene: Scene, condition: Expression) -> list[Expression]:
    """What must hold where a condition does: its parts, and what each of them cannot do without.

    That 0 < (a row is there ? columns : 0) says that the row is there.
    """
    waiting, found = list(conjuncts(scene, condition)), dict[Expression, None]()
    while waiting:
        part = waiting.pop()
        if part not in found:
            found[part] = None
            known = scene.tables.facts
            if part not in known:
                known[part] = tuple(_needed(scene, part))
            for each in known[part]:
                waiting += conjuncts(scene, each)
    return list(found)


def _needed(scene: Scene, part: Expression) -> Iterator[Expression]:
    """The conditions of selections without which a condition is never one."""
    domain, never = scene.domain, scene.domain.constant(0, 1)
    chosen = {node.operands[0]: None for node in order([part]) if node.operator == "ite"}
    for each in chosen:
        for bit, said in ((0, each), (1, scene.negate(each))):
            if domain.replace(part, {each: domain.constant(bit, 1)}) is never:
                yield said


def _sums(scene: Scene, node: Expression) -> _Sums | None:
    column = values(scene, node)
    if column is not None:
        return _shared(column, lambda value: reduced(constant(value), _SIZE))
    parts = [scene.tables.sums[operand] for operand in node.operands]
    known = [part for part in parts if part is not None]
    combine = _combined(node) if len(known) == len(parts) else None
    if combine is not None:
        found = _each(lambda *forms: reduced(combine(*forms), _SIZE), *known)
        return None if any(len(form) > _MOST_TERMS for form in found) else found
    if node.operator == "ite" and len(known) == len(parts):
        decided = values(scene, node.operands[0])
        if decided is not None:
            pairs = zip(decided, known[1], known[2], strict=True)
            return tuple(first if chosen else second for chosen, first, second in pairs)
    return _atoms(scene, node)


def _combined(node: Expression) -> Callable[..., Form] | None:
    """How a sum comes from those of the operands; `None` where it is none."""
    last = node.operands[-1].value if node.operands else None
    match node.operator:
        case "bvadd" if node.width == _BITS:
            return total
        case "bvsub" if node.width == _BITS:
            return lambda left, right: total(left, right, -1)
        case "bvmul" if node.width == _BITS:
            return product
        case "bvshl" if node.width == _BITS and last is not None:
            return lambda left, _: scaled(left, 1 << min(last, _BITS))
        case "concat":
            lows = list(itertools.accumulate((p.width for p in node.operands), initial=0))
            return lambda *forms: _joined(forms, lows)
    return None


def _joined(forms: Sequence[Form], lows: Sequence[int]) -> Form:
    """The number that pieces are, each from a bit on."""
    result: Form = {}
    for form, low in zip(forms, lows, strict=False):
        result = total(result, form, 1 << low)
    return result


def _atoms(scene: Scene, node: Expression) -> _Sums | None:
    """A number that is no sum, as an atom in each thread."""
    alike = uniform(scene, node)
    if alike is None:
        return None

    def named(expression: Expression) -> Form:
        if expression.value is not None:
            return reduced(constant(expression.value), _SIZE)
        name = f"n{expression.serial}"
        scene.tables.atoms[name] = expression
        return atom(name)

    return _shared(alike, named)


def uniform(scene: Scene, root: Expression) -> tuple[Expression, ...] | None:
    """A number as each thread has it, its own number put in: the same in all threads of a block.

    `None` where there is more in it that each thread has its own of.
    """
    known = scene.tables.uniform
    for node in order([root], known.__contains__):
        if node not in known:
            known[node] = _uniform(scene, node)
    found: tuple[Expression, ...] | None = known[root]
    return found


def _uniform(scene: Scene, node: Expression) -> tuple[Expression, ...] | None:
    domain, threads = scene.domain, scene.effect.threads
    column = values(scene, node)
    if column is not None:
        return _shared(column, lambda value: domain.constant(value, node.width))
    if node.opaque or str(node.attribute) in scene.made:
        return None
    if not node.operands:
        return (node,) * threads
    parts = [scene.tables.uniform[operand] for operand in node.operands]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None

    def rebuilt(*operands: Expression) -> Expression:
        return domain.replace(node, dict(zip(node.operands, operands, strict=True)))

    return _each(rebuilt, *known)


def _shared(column: Sequence[_A], make: Callable[[_A], _B]) -> tuple[_B, ...]:
    """What is made of each of a column, equal ones once."""
    made = {each: make(each) for each in dict.fromkeys(column)}
    return tuple(made[each] for each in column)


def _each(make: Callable[..., _B], *columns: Sequence[_A]) -> tuple[_B, ...]:
    """What is made of the operands of each thread, once of the same ones."""
    made: dict[tuple[int, ...], _B] = {}
    result = []
    for operands in zip(*columns, strict=True):
        key = tuple(map(id, operands))
        if key not in made:
            made[key] = make(*operands)
        result.append(made[key])
    return tuple(result)
