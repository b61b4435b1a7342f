"""The nodes of bit-vector expressions: their order, their values, and bounds on them.

>>> from tylo.proofs.ptx.bitvector import BitVectors
>>> d = BitVectors()
>>> thread = d.variable("thread", 5)
>>> twice = d.multiply(d.extend(thread, 5, 32, False), d.constant(2, 32), 32)
>>> evaluate([twice], {"thread": 3}), ceiling(twice, {"thread": 30})
([6], 60)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.folding import FOLD, as_signed

_FEW_USES = 64
_PLAIN = {"bvadd": "+", "bvsub": "-", "bvmul": "*", "bvand": "&", "bvor": "|", "bvxor": "^"}
_DIVISIONS = frozenset({"bvudiv", "bvurem", "bvsdiv", "bvsrem"})
Rule = Callable[[Mapping[int, int], Mapping[str, int]], int]


class Expression:
    """A node: `operator` (an SMT-LIB one where there is one), `operands`, and the result's width.

    `attribute` is the value of a constant, the name of a variable or function, or the low bit of
    an extraction. `opaque` says that the value depends on memory, `product` that a product of two
    values that vary is part of it, or a quotient; `serial` is the order of making.
    """

    __slots__ = (
        "_rule",
        "_variables",
        "attribute",
        "opaque",
        "operands",
        "operator",
        "product",
        "serial",
        "width",
    )

    def __init__(
        self,
        operator: str,
        attribute: int | str,
        operands: tuple[Expression, ...],
        width: int,
        serial: int,
    ) -> None:
        self.operator = operator
        self.attribute = attribute
        self.operands = operands
        self.width = width
        self.serial = serial
        self.product: bool = self.nonlinear or any(o.product for o in operands)
        self.opaque: bool = operator in ("load", "function") or any(o.opaque for o in operands)
        self._rule: Rule | None = None
        self._variables: frozenset[str] | None = None

    @property
    def nonlinear(self) -> bool:
        """Whether this is a product of two values that both vary, or a quotient."""
        if self.operator in _DIVISIONS:
            return self.operands[1].value is None
        return self.operator == "bvmul" and all(o.value is None for o in self.operands)

    @property
    def value(self) -> int | None:
        """The number that a constant is."""
        return self.attribute if isinstance(self.attribute, int) and not self.operands else None

    @property
    def rule(self) -> Rule:
        """How this node's number comes from those of its operands and from variables."""
        if self._rule is None:
            self._rule = _rule(self)
        return self._rule

    @property
    def variables(self) -> frozenset[str]:
        """The names of the variables below."""
        if self._variables is None:
            for node in order([self], lambda node: node._variables is not None):
                if node._variables is None:
                    node._variables = frozenset[str]().union(*(o.variables for o in node.operands))
                    if node.operator == "variable":
                        node._variables = frozenset({str(node.attribute)})
        assert self._variables is not None
        return self._variables


def pieces(expression: Expression) -> tuple[Expression, ...]:
    """The parts of a concatenation, least significant first; anything else is its own piece."""
    return expression.operands if expression.operator == "concat" else (expression,)


def coefficient(value: Expression) -> tuple[Expression, int]:
    """A value as another one times a constant."""
    if value.operator == "bvmul" and value.operands[1].value is not None:
        return value.operands[0], value.operands[1].value
    return value, 1


def factors(value: Expression) -> Iterator[tuple[Expression, Expression]]:
    """The two factors of a product, either first; nothing where it is none."""
    if value.operator == "bvmul":
        left, right = value.operands
        yield left, right
        yield right, left


def boundaries(value: Expression) -> set[int]:
    """Bit positions where pieces meet, and where runs of a constant's bits do."""
    found, start = {0, value.width}, 0
    for piece in pieces(value):
        found.add(start)
        if piece.value is not None:
            change = piece.value ^ piece.value << 1
            found |= {start + bit for bit in range(piece.width) if change >> bit & 1}
        start += piece.width
    return found


def ceiling(value: Expression, maxima: Mapping[str, int]) -> int:
    """A bound on a value, from bounds on variables."""
    found: dict[int, int] = {}
    for node in order([value]):
        most = (1 << node.width) - 1
        found[id(node)] = min(bound(node, maxima, [found[id(o)] for o in node.operands]), most)
    return found[id(value)]


def bound(node: Expression, maxima: Mapping[str, int], most: list[int]) -> int:
    """A bound from bounds on the operands; what may wrap exceeds the width, and is cut off."""
    right = node.operands[1].value if len(node.operands) == 2 else None
    match node.operator:
        case "constant":
            return int(node.attribute)
        case "variable":
            return maxima.get(str(node.attribute), 1 << 64)
        case "concat":
            lows = itertools.accumulate((piece.width for piece in node.operands), initial=0)
            return sum(bound << low for bound, low in zip(most, lows, strict=False))
        case "extract":
            return most[0] >> int(node.attribute)
        case "ite":
            condition, *sides = node.operands
            # The lesser of two values.
            lesser = condition.operator == "bvult" and list(condition.operands) == sides
            return min(most[1:]) if lesser else max(most[1:])
        case "bvadd":
            return most[0] + most[1]
        case "bvmul":
            return most[0] * most[1]
        case "bvand" if right and most[0] < right & -right:
            return 0
        case "bvand":
            return min(most)
        case "bvor" | "bvxor":
            return (1 << max(most).bit_length()) - 1
        case "bvudiv" if right:
            return most[0] // right
        case "bvurem":
            return right - 1 if right else most[0]
        case "bvshl" if right is not None:
            return most[0] << min(right, node.width)
        case "bvlshr" if right is not None:
            return most[0] >> min(right, node.width)
    return 1 << node.width


def order(
    roots: Iterable[Expression], ends: Callable[[Expression], bool] = lambda node: False
) -> list[Expression]:
    """Every node below the roots, operands first, but for those below where it `ends`."""
    seen: set[Expression] = set()
    result: list[Expression] = []
    # A node comes twice: to be opened, and behind its operands, under a None, to be listed.
    stack: list[Expression | None] = list(roots)
    while stack:
        node = stack.pop()
        if node is None:
            listed = stack.pop()
            assert listed is not None
            result.append(listed)
        elif node not in seen:
            seen.add(node)
            if not node.operands or ends(node):
                result.append(node)
            else:
                stack += (node, None)
                stack += node.operands
    return result


def evaluate(roots: Sequence[Expression], values: Mapping[str, int]) -> list[int]:
    """The numbers that expressions without opaque parts have where each variable has a value."""
    (result,) = evaluate_each(roots, [values])
    return result


def evaluate_each(
    roots: Sequence[Expression], points: Iterable[Mapping[str, int]]
) -> Iterator[list[int]]:
    """`evaluate` at several points."""
    program = _program(tuple(roots))
    for values in points:
        yield program(values)


class _Program:
    """How numbers come from values: rule after rule, and where that is often asked as one function.

    To make a function of the rules costs what following them a few dozen times does.
    """

    def __init__(self, roots: tuple[Expression, ...]) -> None:
        self.roots = roots
        self.steps = [(id(node), node.rule) for node in order(roots)]
        self.keys = [id(root) for root in roots]
        self.uses = 0
        self.whole: Callable[[Mapping[str, int]], list[int]] | None = None

    def __call__(self, values: Mapping[str, int]) -> list[int]:
        if self.whole is not None:
            return self.whole(values)
        self.uses += 1
        if self.uses > _FEW_USES:
            self.whole = whole(self.roots)
        found: dict[int, int] = {}
        for key, rule in self.steps:
            found[key] = rule(found, values)
        return [found[key] for key in self.keys]


# Conditions are tried at one sample after another.
@lru_cache(maxsize=2048)
def _program(roots: tuple[Expression, ...]) -> _Program:
    return _Program(roots)


def _rule(node: Expression) -> Rule:
    """How a node's number comes from those of its operands, by identity, and from variables."""
    keys, width = [id(operand) for operand in node.operands], node.width
    match node.operator:
        case "constant":
            number = int(node.attribute)
            return lambda found, values: number
        case "variable":
            name = str(node.attribute)
            return lambda found, values: values[name]
        case "extract":
            (whole,), low, mask = keys, int(node.attribute), (1 << width) - 1
            return lambda found, values: found[whole] >> low & mask
        case "sign_extend":
            (narrow,), bits, size = keys, node.operands[0].width, 1 << width
            return lambda found, values: as_signed(found[narrow], bits) % size
        case "ite":
            condition, chosen, otherwise = keys
            return lambda found, values: found[chosen if found[condition] else otherwise]
        case "concat":
            lows = itertools.accumulate((piece.width for piece in node.operands), initial=0)
            placed = list(zip(keys, lows, strict=False))
            return lambda found, values: sum(found[key] << low for key, low in placed)
        case operator if operator in FOLD:
            fold, bits, (left, right) = FOLD[operator], node.operands[0].width, keys
            return lambda found, values: fold(bits, found[left], found[right])

    return lambda found, values: _unknown(node.operator)


def whole(roots: Sequence[Expression]) -> Callable[[Mapping[str, int]], list[int]]:
    """One function for all rules below the roots."""
    places = {node: f"n{place}" for place, node in enumerate(order(roots))}
    lines = [f"    {place} = {_line(node, places)}" for node, place in places.items()]
    ends = ", ".join(places[root] for root in roots)
    text = "\n".join(["def evaluated(values):", *lines, f"    return [{ends}]"])
    known = {"FOLD": FOLD, "as_signed": as_signed, "unknown": _unknown}
    exec(text, known)
    return known["evaluated"]  # type: ignore[return-value]


def _line(node: Expression, places: Mapping[Expression, str]) -> str:
    """A node's rule as an expression of Python."""
    names = [places[operand] for operand in node.operands]
    mask = (1 << node.width) - 1
    match node.operator:
        case "constant":
            return str(int(node.attribute))
        case "variable":
            return f"values[{str(node.attribute)!r}]"
        case "extract":
            return f"{names[0]} >> {int(node.attribute)} & {mask}"
        case "sign_extend":
            return f"as_signed({names[0]}, {node.operands[0].width}) & {mask}"
        case "ite":
            return f"{names[1]} if {names[0]} else {names[2]}"
        case "concat":
            lows = itertools.accumulate((piece.width for piece in node.operands), initial=0)
            return " | ".join(f"{n} << {low}" for n, low in zip(names, lows, strict=False))
        case operator if operator in _PLAIN:
            return f"({names[0]} {_PLAIN[operator]} {names[1]}) & {mask}"
        case "=" | "bvult":
            return f"int({names[0]} {'==' if node.operator == '=' else '<'} {names[1]})"
        case operator if operator in FOLD:
            return f"FOLD[{operator!r}]({node.operands[0].width}, {names[0]}, {names[1]})"
    return f"unknown({node.operator!r})"


def _unknown(operator: str) -> int:
    raise PtxError(f"the value depends on memory through {operator}")
