"""Bit-vector conditions as linear conditions on integers, in the logic QF_LIA.

A bit-vector is a number below 2^width, and each operator is what it is on numbers, followed by the
wrap-around where bounds on the operands do not rule it out. That is an equivalence, not an
abstraction, with one exception: a product of two values that vary becomes an integer of its own, of
which `products.lemmas` says what holds of every product. A quotient by a value that varies is an
integer q too, whose product with the divisor reaches up to the dividend: q * b <= a < q * b + b. So
a script that cannot be satisfied shows that the condition cannot be. Sizes, strides and the rows
between them are decided at once in this form, for which bit-blasting adders takes seconds. What has
no such form, an exclusive or of two values that vary for one, gives no script, and is left to
bit-vectors.

>>> from tylo.proofs.ptx.bitvector import BitVectors
>>> d = BitVectors()
>>> a, b = d.variable("a", 8), d.variable("b", 8)
>>> print(integer_script([d.less(d.add(a, b, 8), a, 8, False)], {"a": 100, "b": 200}))
(set-logic QF_LIA)
(declare-const a Int)
(assert (<= 0 a 100))
(declare-const b Int)
(assert (<= 0 b 200))
(define-fun t2 () Int (+ a b))
(define-fun t3 () Int (ite (< t2 256) t2 (- t2 256)))
(define-fun t4 () Bool (< t3 a))
(assert t4)
(check-sat)
<BLANKLINE>
>>> integer_script([d.less(d.bit_xor(a, b, 8), a, 8, False)], {})
''
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.nodes import Expression, bound, order
from tylo.proofs.ptx.products import Product, lemmas
from tylo.proofs.ptx.residues import residue

_CONNECTIVES = {"bvand": "and", "bvor": "or", "bvxor": "xor"}
_MOST_RUNS = 4  # of adjacent ones in a mask
_COMPARED = {"=": "=", "bvult": "<", "bvslt": "<"}


class _NoForm(Exception):
    """A node that is not linear."""


def integer_script(
    conditions: Iterable[Expression],
    maxima: Mapping[str, int],
    minima: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """A script that is satisfiable wherever all conditions can be one; empty if there is none.

    Variables lie between their minimum, zero if none is given, and their maximum.
    """
    roots = list(conditions)
    writer = _Writer(maxima, minima)
    try:
        writer.measure(order(roots))
        for node in order(roots, writer.is_zero):
            writer.write(node)
    except _NoForm:
        return ""
    facts = [f"(assert {fact})" for fact in lemmas(writer.products)]
    asserted = [f"(assert {writer.truth(root)})" for root in roots]
    return "\n".join(["(set-logic QF_LIA)", *writer.lines, *facts, *asserted, "(check-sat)", ""])


class _Writer:
    """Text for each node, with a bound on it and the number of low bits that are zero."""

    def __init__(self, maxima: Mapping[str, int], minima: Mapping[str, int]) -> None:
        self.maxima, self.minima = maxima, minima
        self.lines: list[str] = []
        self.products: list[Product] = []
        self.quotients: dict[tuple[str, str], tuple[str, str]] = {}
        self.named: dict[str, str] = {}
        self.number: dict[int, str] = {}
        self.bits: dict[int, str] = {}
        self.most: dict[int, int] = {}
        self.least: dict[int, int] = {}
        self.zeros: dict[int, int] = {}
        self.count = 0

    def name(self, text: str, sort: str = "Int") -> str:
        """A name for a text that is used more than once; what is spelled alike is the same."""
        if text in self.named:
            return self.named[text]
        called = self.named[text] = f"t{self.count}"
        self.count += 1
        self.lines.append(f"(define-fun {called} () {sort} {text})")
        return called

    def truth(self, node: Expression) -> str:
        """A node of one bit as a truth value."""
        return self.bits.get(id(node)) or f"(= {self.number[id(node)]} 1)"

    def value(self, node: Expression) -> str:
        """A node as a number."""
        if id(node) not in self.number and id(node) not in self.bits:
            # Below what is zero, but part of a residue.
            for each in order([node], self.is_zero):
                self.write(each)
        if id(node) not in self.number:
            self.number[id(node)] = self.name(f"(ite {self.bits[id(node)]} 1 0)")
        return self.number[id(node)]

    def measure(self, nodes: Iterable[Expression]) -> None:
        """Bounds on each node, operands first."""
        for node in nodes:
            if node.opaque:
                raise PtxError(f"a condition depends on memory through {node.operator}")
            most = [self.most[id(operand)] for operand in node.operands]
            self.most[id(node)] = min(bound(node, self.maxima, most), (1 << node.width) - 1)
            self._bound_below(node)

    def is_zero(self, node: Expression) -> bool:
        """Whether bounds say that a node is zero, whatever lies below it."""
        return node.width > 1 and not self.most[id(node)]

    def write(self, node: Expression) -> None:
        if id(node) in self.number or id(node) in self.bits:
            return
        if self.is_zero(node):
            self.zeros[id(node)], self.number[id(node)] = node.width, "0"
            return
        self.zeros[id(node)] = 0
        if node.width == 1 and (text := self._truth_of(node)):
            self.bits[id(node)] = text if node.operator == "constant" else self.name(text, "Bool")
            return
        text = self._number_of(node)
        # More of them than it has bits would be zeros of whatever is put above it.
        self.zeros[id(node)] = min(self.zeros[id(node)], node.width)
        self.number[id(node)] = text if text.isidentifier() or text.isdigit() else self.name(text)

    def _bound_below(self, node: Expression) -> None:
        """Of what a value surely exceeds, enough to divide by sizes that are not zero."""
        least, operands = 0, node.operands
        match node.operator:
            case "variable":
                least = self.minima.get(str(node.attribute), 0)
            case "extract" if not node.attribute and self.most[id(operands[0])] < 1 << node.width:
                least = self.least[id(operands[0])]
            case "concat":
                least = self.least[id(operands[0])]
            case "bvudiv" if divisor := self.least[id(operands[1])]:
                most = self.most[id(operands[0])] // divisor
                self.most[id(node)] = min(self.most[id(node)], most)
            case "bvurem" if self.least[id(operands[1])]:
                most = self.most[id(operands[1])] - 1
                self.most[id(node)] = min(self.most[id(node)], most)
        self.least[id(node)] = least

    def _truth_of(self, node: Expression) -> str:
        operands = node.operands
        if node.operator == "constant":
            return "true" if node.attribute else "false"
        if node.operator in _COMPARED:
            signed = node.operator == "bvslt"
            left, right = (self.signed(o) if signed else self.value(o) for o in operands)
            return f"({_COMPARED[node.operator]} {left} {right})"
        if node.operator in _CONNECTIVES:
            left, right = map(self.truth, operands)
            return f"({_CONNECTIVES[node.operator]} {left} {right})"
        if node.operator == "ite":
            return f"(ite {' '.join(map(self.truth, operands))})"
        return ""

    def signed(self, node: Expression) -> str:
        """A node as a number that may be negative."""
        text, half = self.value(node), 1 << (node.width - 1)
        if self.most[id(node)] < half:
            return text
        return f"(ite (< {text} {half}) {text} (- {text} {2 * half}))"

    def wrapped(self, text: str, most: int, width: int) -> str:
        """A number that is not negative, modulo 2^width."""
        return text if most < 1 << width else f"(mod {text} {1 << width})"

    def _number_of(self, node: Expression) -> str:
        width, operands = node.width, node.operands
        match node.operator:
            case "constant":
                self.zeros[id(node)] = _trailing(int(node.attribute))
                return str(node.attribute)
            case "variable":
                called = str(node.attribute)
                self.lines.append(f"(declare-const {called} Int)")
                least = self.least[id(node)]
                self.lines.append(f"(assert (<= {least} {called} {self.most[id(node)]}))")
                self.count += 1
                return called
            case "concat":
                first = operands[0]
                whole = self.zeros[id(operands[1])] if first.value == 0 else 0
                self.zeros[id(node)] = (
                    first.width + whole if first.value == 0 else self.zeros[id(first)]
                )
                return self._joined(operands)
            case "extract":
                low = int(node.attribute)
                text, most = self.value(operands[0]), self.most[id(operands[0])]
                if low == 0 and most >> width:
                    return residue(operands[0], width, self.value)
                text = f"(div {text} {1 << low})" if low else text
                return self.wrapped(text, most >> low, width)
            case "sign_extend":
                signed = self.signed(operands[0])
                if self.most[id(operands[0])] < 1 << (operands[0].width - 1):
                    return signed
                signed = self.name(signed)
                return f"(ite (< {signed} 0) (+ {signed} {1 << width}) {signed})"
            case "ite":
                chosen, otherwise = self.value(operands[1]), self.value(operands[2])
                return f"(ite {self.truth(operands[0])} {chosen} {otherwise})"
        return self._binary(node)

    def _joined(self, pieces: tuple[Expression, ...]) -> str:
        terms, low = [], 0
        for piece in pieces:
            if piece.value != 0:
                text = self.value(piece)
                terms.append(f"(* {1 << low} {text})" if low else text)
            low += piece.width
        return f"(+ {' '.join(terms)})" if len(terms) > 1 else terms[0] if terms else "0"

    def _binary(self, node: Expression) -> str:
        width, (left, right) = node.width, node.operands
        a, b, constant = self.value(left), self.value(right), right.value
        low, high = self.most[id(left)], self.most[id(right)]
        size = 1 << width
        match node.operator:
            case "bvadd":
                self.zeros[id(node)] = min(self.zeros[id(left)], self.zeros[id(right)])
                if low + high < size:
                    return f"(+ {a} {b})"
                total = self.name(f"(+ {a} {b})")
                return f"(ite (< {total} {size}) {total} (- {total} {size}))"
            case "bvsub":
                difference = self.name(f"(- {a} {b})")
                return f"(ite (< {difference} 0) (+ {difference} {size}) {difference})"
            case "bvmul" if constant is None:
                found = self._product(a, b, low * high)
                return self.wrapped(found.name, found.most, width)
            case "bvudiv" | "bvurem" if constant is None:
                quotient, product = self._quotient(a, b, low)
                if self.least[id(right)]:
                    return quotient if node.operator == "bvudiv" else f"(- {a} {product})"
                if node.operator == "bvudiv":
                    return f"(ite (= {b} 0) {size - 1} {quotient})"
                return f"(ite (= {b} 0) {a} (- {a} {product}))"
            case "bvmul":
                self.zeros[id(node)] = _trailing(int(constant or 0)) + self.zeros[id(left)]
                return self.wrapped(f"(* {constant} {a})", low * int(constant or 0), width)
            case "bvshl" if constant is not None:
                amount = min(constant, width)
                self.zeros[id(node)] = amount + self.zeros[id(left)]
                return self.wrapped(f"(* {1 << amount} {a})", low << amount, width)
            case "bvlshr" if constant is not None:
                return f"(div {a} {1 << constant})" if constant < width else "0"
            case "bvashr" if constant is not None and low < size // 2:
                return f"(div {a} {1 << constant})" if constant < width else "0"
            case "bvudiv" if constant:
                return f"(div {a} {constant})"
            case "bvurem" if constant and not constant & (constant - 1) and low >= constant:
                return residue(left, constant.bit_length() - 1, self.value)
            case "bvand" if constant and not constant & (constant + 1) and low > constant:
                self.zeros[id(node)] = self.zeros[id(left)]
                return residue(left, constant.bit_length(), self.value)
            case "bvurem" if constant:
                return f"(mod {a} {constant})"
            case "bvand" if constant is not None:
                self.zeros[id(node)] = max(self.zeros[id(left)], _trailing(constant))
                return _masked(a, constant, low)
            case "bvor" | "bvxor" if self._apart(left, right):
                return f"(+ {a} {b})"
            case "bvxor" if constant == size - 1:
                return f"(- {size - 1} {a})"
            case "bvxor" | "bvor" if constant is not None:
                # a + c counts the bits that both have twice.
                both, twice = _masked(a, constant, low), node.operator == "bvxor"
                return f"(- (+ {a} {constant}) {f'(* 2 {both})' if twice else both})"
        raise _NoForm

    def _product(self, left: str, right: str, most: int) -> Product:
        """A product of two values that vary."""
        for known in self.products:
            if set(known.factors) == {left, right}:
                return known
        product = Product(f"product{len(self.products)}", most, (left, right))
        self.products.append(product)
        self.lines.append(f"(declare-const {product.name} Int)")
        return product

    def _quotient(self, left: str, right: str, most: int) -> tuple[str, str]:
        """The names of a quotient, where the divisor is not zero, and of its product with it."""
        if (left, right) not in self.quotients:
            quotient = f"quotient{len(self.quotients)}"
            self.lines.append(f"(declare-const {quotient} Int)")
            self.lines.append(f"(assert (<= 0 {quotient} {most}))")
            product = self._product(quotient, right, most).name
            end = f"(< {left} (+ {product} {right}))"
            self.lines.append(f"(assert (or (= {right} 0) (and (<= {product} {left}) {end})))")
            self.quotients[left, right] = quotient, product
        return self.quotients[left, right]

    def _apart(self, left: Expression, right: Expression) -> bool:
        """Whether two numbers have no bit in common, the one being below the other's lowest."""
        return any(
            self.most[id(small)] < 1 << self.zeros[id(large)]
            for small, large in ((left, right), (right, left))
        )


def _trailing(value: int) -> int:
    """How many of the lowest bits of a number are zero."""
    return (value & -value).bit_length() - 1 if value else 64


def _masked(text: str, mask: int, most: int) -> str:
    """A number under a mask: the sum of its parts under runs of adjacent ones."""
    parts = []
    while mask:
        low = _trailing(mask)
        run = mask & ~(mask + (1 << low))
        mask ^= run
        end = 1 << run.bit_length()
        part = text if most < end else f"(mod {text} {end})"
        parts.append(f"(* {1 << low} (div {part} {1 << low}))" if low else part)
        if len(parts) > _MOST_RUNS:
            raise _NoForm
    return f"(+ {' '.join(parts)})" if len(parts) > 1 else parts[0] if parts else "0"
