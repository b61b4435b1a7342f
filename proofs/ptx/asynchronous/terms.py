"""Values of a kernel with roles: bit-vector terms whose variables say who agrees about them.

A variable has a `Level`: which threads of a block hold the same value of it. A term has the highest
level of its variables, so that a branch on a term of level WARP takes whole warps one way.

>>> terms = Terms()
>>> lane, warp = terms.named("lane", 5, Level.LANE), terms.named("warp", 2, Level.WARP)
>>> thread = terms.concatenate([lane, warp, terms.constant(0, 25)], [5, 2, 25])
>>> terms.level(thread), terms.level(terms.shift_right(thread, terms.constant(5, 32), 32, False))
(<Level.LANE: 3>, <Level.WARP: 2>)

Two terms that are the same polynomial modulo 2^width have one normal form:

>>> tile = terms.named("tile", 32, Level.BLOCK)
>>> one, six = terms.constant(1, 32), terms.constant(6, 32)
>>> left = terms.shift_left(terms.add(tile, one, 32), six, 32)
>>> right = terms.add(terms.shift_left(tile, six, 32), terms.constant(64, 32), 32)
>>> left is right, terms.normal(left) is terms.normal(right)
(False, True)
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum

from tylo.proofs.ptx.bitvector import BitVectors, Expression, order

_MOST_MONOMIALS = 64
_POINTS = 8
# Operators that solvers are not asked about unless an operand is a constant.
_HARD = frozenset({"bvmul", "bvsdiv", "bvsrem", "bvudiv", "bvurem"})

_Monomial = tuple[Expression, ...]


class Level(IntEnum):
    """Which threads agree about a value: all of a block, of a group, of a warp, or none."""

    BLOCK = 0
    GROUP = 1
    WARP = 2
    LANE = 3


class Terms(BitVectors):
    """The domain; see the module."""

    def __init__(self) -> None:
        super().__init__()
        self._level: dict[int, Level] = {}
        self._of_variable: dict[str, Level] = {}
        self._width_of: dict[str, int] = {}
        self._normal: dict[int, Expression] = {}
        self._print: dict[int, tuple[int, ...]] = {}
        self._fresh = 0

    def by_pieces(self, value: Expression) -> bool:
        return value.operator == "concat"

    def named(self, name: str, width: int, level: Level) -> Expression:
        """A variable; the same name is always the same variable, of one level."""
        assert self._of_variable.setdefault(name, level) == level, name
        assert self._width_of.setdefault(name, width) == width, name
        return self.variable(name, width)

    def fresh(self, width: int, level: Level, kind: str = "any") -> Expression:
        """A value of which nothing is known but who agrees about it."""
        self._fresh += 1
        return self.named(f"{kind}.{self._fresh}", width, level)

    @property
    def made(self) -> int:
        """How many values of which nothing is known there are so far."""
        return self._fresh

    def newest(self, term: Expression) -> int:
        """The number of the last made of them in a term; zero if there is none."""
        names = [str(node.attribute) for node in order([term]) if node.operator == "variable"]
        return max(
            (int(name.partition(".")[2]) for name in names if name.startswith(("any.", "moving."))),
            default=0,
        )

    def level(self, term: Expression) -> Level:
        """The highest level of the term's variables."""
        known = self._level
        for node in _unseen(term, known):
            if node.operator == "variable":
                known[id(node)] = self._of_variable[str(node.attribute)]
            else:
                known[id(node)] = max(
                    (known[id(operand)] for operand in node.operands), default=Level.BLOCK
                )
        return known[id(term)]

    def function(self, name: str, operands: list[Expression], width: int) -> Expression:
        """A floating-point instruction: a value of which nothing is known."""
        level = max((self.level(each) for each in operands), default=Level.BLOCK)
        return self.fresh(width, level)

    def negate(self, bit: Expression) -> Expression:
        """The complement of one bit."""
        return self.bit_xor(bit, self.constant(1, 1), 1)

    def all_of(self, bits: Iterable[Expression]) -> Expression:
        """The conjunction of bits."""
        result = self.constant(1, 1)
        for bit in bits:
            result = self.bit_and(result, bit, 1)
        return result

    def fingerprint(self, term: Expression) -> tuple[int, ...]:
        """Values at a few points drawn by the variables' names: different ones, different terms."""
        known = self._print
        for node in _unseen(term, known):
            if node.operator == "variable":
                known[id(node)] = _drawn(str(node.attribute), node.width)
            else:
                known[id(node)] = tuple(
                    node.rule({id(each): known[id(each)][point] for each in node.operands}, {})
                    for point in range(_POINTS)
                )
        return known[id(term)]

    def stand_for(self, variable: Expression, term: Expression) -> None:
        """Let a variable that was not used yet have a term's fingerprint."""
        self._print[id(variable)] = self.fingerprint(term)

    # Normal forms.

    def normal(self, term: Expression) -> Expression:
        """The same value in a form that polynomials of equal value share."""
        known = self._normal
        for node in _unseen(term, known):
            operands = [known[id(operand)] for operand in node.operands]
            rebuilt = self._rebuilt(node, operands, {})
            known[id(node)] = self._known_form(rebuilt)
        return known[id(term)]

    def _known_form(self, node: Expression) -> Expression:
        """The normal form of a node whose operands have theirs."""
        if node.width == 1 or node.value is not None or node.operator == "variable":
            return node
        if node.operator not in ("bvadd", "bvsub", "bvmul", "bvshl", "concat", "bvxor"):
            return node
        found = self._polynomial(node)
        if found is None:
            return node
        # What is taken away comes last: solvers are slow at products with large constants.
        half = 1 << (node.width - 1)
        ordered = sorted(found, key=lambda m: (found[m] >= half, [each.serial for each in m]))
        total = self.constant(0, node.width)
        for monomial in ordered:
            away = bool(monomial) and found[monomial] >= half
            coefficient = 2 * half - found[monomial] if away else found[monomial]
            term = self.constant(coefficient, node.width)
            for factor in monomial:
                term = factor if term.value == 1 else self._product(term, factor)
            if total.value == 0 and not away:
                total = term
            else:
                total = self._binary("bvsub" if away else "bvadd", total, term, node.width)
        return total

    def _product(self, left: Expression, right: Expression) -> Expression:
        # A constant stands to the right, and is multiplied last.
        if left.value is not None:
            return self._binary("bvmul", right, left, left.width)
        if left.operator == "bvmul" and left.operands[1].value is not None:
            inner = self._binary("bvmul", left.operands[0], right, left.width)
            return self._binary("bvmul", inner, left.operands[1], left.width)
        return self._binary("bvmul", left, right, left.width)

    def _polynomial(self, node: Expression) -> dict[_Monomial, int] | None:
        """Coefficients of products of what is no sum or product itself."""
        size = 1 << node.width
        constant = node.operands[1].value if len(node.operands) == 2 else None
        match node.operator:
            case "constant":
                return {(): int(node.attribute)} if node.attribute else {}
            case "bvadd" | "bvsub" | "bvmul":
                left, right = map(self._polynomial, node.operands)
                if left is None or right is None:
                    return None
                if node.operator == "bvmul":
                    if len(left) * len(right) > _MOST_MONOMIALS:
                        return None
                    return _combined(
                        (
                            (tuple(sorted((*a, *b), key=lambda each: each.serial)), x * y)
                            for a, x in left.items()
                            for b, y in right.items()
                        ),
                        size,
                    )
                sign = -1 if node.operator == "bvsub" else 1
                return _combined([*left.items(), *((m, sign * c) for m, c in right.items())], size)
            case "bvshl" if constant is not None and constant < node.width:
                inner = self._polynomial(node.operands[0])
                return inner and _combined(((m, c << constant) for m, c in inner.items()), size)
            case "bvxor" if constant == size - 1:
                inner = self._polynomial(node.operands[0])
                if inner is None:
                    return None
                return _combined([((), size - 1), *((m, -c) for m, c in inner.items())], size)
            case "concat" if (
                node.operands[0].value == 0
                and len(node.operands) == 2
                and node.operands[1].operator == "extract"
                and node.operands[1].attribute == 0
                and node.operands[1].operands[0].width == node.width
            ):
                inner = self._polynomial(node.operands[1].operands[0])
                by = node.operands[0].width
                return inner and _combined(((m, c << by) for m, c in inner.items()), size)
        return {(node,): 1}

    def linear(self, terms: Iterable[Expression]) -> list[Expression]:
        """Terms with a variable for each product and quotient of what varies, in normal form.

        What follows the terms says that equal operands have equal results: all that is left of
        products and quotients.
        """
        roots = [self.normal(term) for term in terms]
        found: dict[int, Expression] = {}
        hard: list[tuple[str, list[Expression], Expression]] = []
        for node in order(roots):
            operands = [found[id(operand)] for operand in node.operands]
            if node.operator in _HARD and operands[1].value is None:
                result = self.named(f"hard.{node.serial}", node.width, self.level(node))
                hard.append((node.operator, operands, result))
                found[id(node)] = result
            else:
                found[id(node)] = self._rebuilt(node, operands, {})
        congruences = [
            self.bit_or(self.negate(self._agree(operator, ours, theirs)), self._same(a, b), 1)
            for (operator, ours, a), (other, theirs, b) in itertools.combinations(hard, 2)
            if operator == other and a.width == b.width
        ]
        return [found[id(root)] for root in roots] + congruences

    def _agree(self, operator: str, ours: list[Expression], theirs: list[Expression]) -> Expression:
        """Whether operands are the same, factors in either order."""
        straight = self.all_of(map(self._same, ours, theirs))
        if operator != "bvmul":
            return straight
        return self.bit_or(straight, self.all_of(map(self._same, ours, theirs[::-1])), 1)

    def _same(self, left: Expression, right: Expression) -> Expression:
        return self.equal(left, right, left.width)


def _unseen(root: Expression, known: Mapping[int, object]) -> Iterator[Expression]:
    """The nodes below a term that are not known, operands first."""
    stack = [(root, False)]
    waiting: set[int] = set()
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in known and id(node) not in waiting:
            waiting.add(id(node))
            stack.append((node, True))
            stack.extend((operand, False) for operand in node.operands)


def _drawn(name: str, width: int) -> tuple[int, ...]:
    """Numbers of many sizes, so that quotients differ too."""
    digest = hashlib.sha512(name.encode()).digest()
    found = []
    for start in range(0, 8 * _POINTS, 8):
        number = int.from_bytes(digest[start : start + 8], "big") & ((1 << width) - 1)
        found.append(number >> digest[start] % width if start else number)
    return tuple(found)


def _combined(items: Iterable[tuple[_Monomial, int]], size: int) -> dict[_Monomial, int]:
    found: dict[_Monomial, int] = {}
    for monomial, coefficient in items:
        found[monomial] = (found.get(monomial, 0) + coefficient) % size
    return {monomial: c for monomial, c in found.items() if c}
