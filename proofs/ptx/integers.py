"""Bit-vector conditions as linear conditions on integers, in the logic QF_LIA.

A bit-vector of w bits is a number modulo 2^w. Of each node two things are kept: a form (`forms`)
that is congruent to it, in which nothing wraps because nothing has to, and, where its value is
asked for, that form moved into [0, 2^w), or into [-2^(w-1), 2^(w-1)) where it has a sign. If bounds
show where the form lies, this is the form plus a constant. Else it becomes an atom, its remainder.
So addresses are compared without the start of their buffer, and a sum that is cut to 32 bits and
extended again is itself, wherever it is known to fit.

That is an equivalence, not an abstraction, with one exception: a product of two values that vary
becomes an atom of its own, of which `products.lemmas` says what holds of every product. So a script
that cannot be satisfied shows that the condition cannot be. What has no such form, an exclusive or
of two values that vary for one, gives no script, and is left to bit-vectors.

>>> from tylo.proofs.ptx.bitvector import BitVectors
>>> d = BitVectors()
>>> a, b = d.variable("a", 8), d.variable("b", 8)
>>> print(integer_script([d.less(d.add(a, b, 8), a, 8, False)], {"a": 100, "b": 200}))
(set-logic QF_LIA)
(declare-const a Int)
(assert (<= 0 a 100))
(declare-const b Int)
(assert (<= 0 b 200))
(define-fun t0 () Int (+ a b))
(define-fun t1 () Int (ite (< t0 256) t0 (- t0 256)))
(define-fun t2 () Bool (< t1 a))
(assert t2)
(check-sat)
<BLANKLINE>
>>> integer_script([d.less(d.bit_xor(a, b, 8), a, 8, False)], {})
''

With `holds`, a judge of scripts, a form that bounds leave in doubt is held against the conditions
that have been written before: that row * columns + i is below 2^31 follows from row < rows and
i < columns, and from no bounds of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from tylo.proofs.ptx.atoms import Atoms
from tylo.proofs.ptx.bounds import Bounds, conjuncts, multiples
from tylo.proofs.ptx.folding import runs
from tylo.proofs.ptx.forms import (
    Form,
    constant,
    content,
    number,
    primitive,
    product,
    reduced,
    scaled,
    total,
)
from tylo.proofs.ptx.nodes import Expression, order
from tylo.proofs.ptx.places import Places

_MOST_TERMS = 64
_MOST_RUNS = 5  # of adjacent ones in a mask


class _NoForm(Exception):
    """A node that is not linear."""


def integer_script(
    conditions: Iterable[Expression],
    maxima: Mapping[str, int],
    minima: Mapping[str, int] = MappingProxyType({}),
    holds: Callable[[str], bool] | None = None,
    extents: Iterable[Expression] = (),
    spoken: Iterable[tuple[Expression, Expression]] = (),
    apart: bool = False,
) -> str:
    """A script that is satisfiable wherever all conditions can be one; empty if there is none.

    Variables lie between their minimum, zero if none is given, and their maximum. What holds of the
    products in `extents` is said too, where their factors matter, and of the pairs in `spoken`.
    With `apart`, a variable that must be a multiple of a number is that number times another one;
    empty if there is none.
    """
    pairs, roots = list(spoken), conjuncts(conditions)
    by = multiples(roots) if apart else {}
    if apart and not by:
        return ""
    writer = _Writer(maxima, minima, holds, apart or bool(pairs), by)
    try:
        for extent in extents:
            writer.mention(extent)
        for root in roots:
            writer.require(root)
        for each in pairs:
            writer.atoms.whole = True
            writer.speak(*each)
    except _NoForm:
        return ""
    return writer.atoms.script(writer.asserted)


class _Writer:
    """The form of each node."""

    def __init__(
        self,
        maxima: Mapping[str, int],
        minima: Mapping[str, int],
        holds: Callable[[str], bool] | None,
        outside: bool,
        multiples: Mapping[str, int],
    ) -> None:
        self.multiples = multiples
        self.minima = minima
        self.outside = outside or bool(
            multiples
        )  # constants of products, so that products meet in their factors
        self.atoms = Atoms()
        self.bounds = Bounds(maxima, minima)
        self.places = Places(self.atoms, holds)
        self.asserted: list[str] = []
        self.forms: dict[tuple[int, int], Form] = {}
        self.values: dict[tuple[int, int], Form] = {}
        self.truths: dict[int, str] = {}

    def mention(self, root: Expression) -> None:
        """Know the products below a node."""
        self._write_below(root)
        self.atoms.mention()

    def speak(self, left: Expression, right: Expression) -> None:
        """Know the product of two nodes, the first with what constant it has."""
        for factor in (left, right):
            self._write_below(factor)
        self.atoms.multiply(self.unsigned(left), primitive(self.unsigned(right)))
        self.atoms.mention()

    def require(self, root: Expression) -> None:
        """Assert that a node of one bit is one."""
        self._write_below(root)
        truth = self.truth(root)
        self.asserted.append(truth)
        if not self.atoms.is_doubtful(truth):
            self.places.known.append(truth)

    def _write_below(self, root: Expression) -> None:
        for node in order([root]):
            if id(node) not in self.bounds.most:
                self.bounds.measure(node)
        for node in order([root], self.bounds.is_zero):
            self._write(node)

    def _write(self, node: Expression) -> None:
        if id(node) not in self.truths and node.width == 1 and (text := self._truth_of(node)):
            self.truths[id(node)] = text
        elif id(node) not in self.truths:
            self.form(node, node.width)

    def truth(self, node: Expression) -> str:
        """A node of one bit as a truth value."""
        if id(node) not in self.truths and (text := self._truth_of(node)):
            self.truths[id(node)] = text  # below what is zero
        if id(node) not in self.truths:
            self.truths[id(node)] = self.atoms.equal(total(self.unsigned(node), constant(1), -1))
        return self.truths[id(node)]

    def _truth_of(self, node: Expression) -> str:
        atoms, operands = self.atoms, node.operands
        match node.operator:
            case "constant":
                return "true" if node.attribute else "false"
            case "=":
                return self._equal(*operands)
            case "bvult":
                left, right = map(self.unsigned, operands)
                return atoms.negative(total(left, right, -1))
            case "bvslt":
                left, right = map(self.signed, operands)
                return atoms.negative(total(left, right, -1))
            case "bvand" | "bvor" | "bvxor" | "ite":
                return atoms.connected(node.operator, *map(self.truth, operands))
        return ""

    def _equal(self, left: Expression, right: Expression) -> str:
        width = left.width
        if width == 1 and (id(left) in self.truths or id(right) in self.truths):
            return self.atoms.connected("=", self.truth(left), self.truth(right))
        size = 1 << width
        difference = reduced(total(self.form(left, width), self.form(right, width), -1), size)
        low, high = self.atoms.interval(difference)
        if (-size < low and high < size) or self.places.lies(difference, 1 - size, size):
            return self.atoms.equal(difference)
        return self.atoms.equal(self.places.moved(difference, size, 0))

    def unsigned(self, node: Expression) -> Form:
        """A node as a number from 0."""
        return self._value(node, 0)

    def signed(self, node: Expression) -> Form:
        """A node as a number that may be negative."""
        return self._value(node, -(1 << (node.width - 1)))

    def _value(self, node: Expression, low: int) -> Form:
        key = id(node), low
        if key not in self.values:
            form = self.places.moved(self.form(node, node.width), 1 << node.width, low)
            if low == 0:
                self.atoms.clip(form, self.bounds.most[id(node)])
            self.values[key] = form
        return self.values[key]

    def _plain(self, node: Expression) -> Form | None:
        """A node as a number from 0, if that is known without a remainder."""
        found = self.places.placed(self.form(node, node.width), 1 << node.width, 0)
        if found is None or self.atoms.is_doubtful_form(found):
            return None
        self.atoms.clip(found, self.bounds.most[id(node)])
        return found

    def form(self, node: Expression, bits: int) -> Form:
        """A form that is congruent to a node modulo 2^bits."""
        key = id(node), bits
        if key in self.forms:
            return self.forms[key]
        whole = self.forms.get((id(node), node.width))
        if whole is not None and not self.atoms.is_doubtful_form(whole):
            return whole
        if self.bounds.is_zero(node):
            found: Form = {}
        elif id(node) in self.truths:
            found = self.atoms.bit(self.truths[id(node)])
        else:
            found = self.atoms.joined(self._form_of(node, bits))
        self.forms[key] = found
        return found

    def _form_of(self, node: Expression, bits: int) -> Form:
        operands = node.operands
        match node.operator:
            case "constant":
                return constant(int(node.attribute))
            case "variable":
                called = str(node.attribute)
                by = self.multiples.get(called, 1)
                least, most = max(0, self.minima.get(called, 0)), self.bounds.most[id(node)]
                if by > 1:
                    # So often as it is counted, it is known to be the same in every product.
                    part = self.atoms.variable(f"{called}.by{by}", (-(-least // by), most // by))
                    return scaled(part, by)
                return self.atoms.variable(called, (least, most))
            case "concat":
                return self._joined(operands, bits)
            case "extract":
                return self._above(operands[0], int(node.attribute), bits)
            case "sign_extend" if bits <= operands[0].width:
                return self.form(operands[0], bits)
            case "sign_extend":
                return self.signed(operands[0])
            case "ite":
                return self._chosen(node, bits)
            case "bvadd" | "bvsub":
                left, right = (self.form(operand, bits) for operand in operands)
                return total(left, right, 1 if node.operator == "bvadd" else -1)
            case "bvmul":
                return self._multiplied(node, bits)
        return self._binary(node, bits, *operands)

    def _joined(self, pieces: tuple[Expression, ...], bits: int) -> Form:
        found: Form = {}
        low = 0
        for piece in pieces:
            if low < bits and piece.value != 0:
                last = low + piece.width >= bits
                part = self.form(piece, bits - low) if last else self.unsigned(piece)
                found = total(found, part, 1 << low)
            low += piece.width
        return found

    def _above(self, node: Expression, low: int, bits: int) -> Form:
        """The bits from `low` on."""
        return self.places.floor(self.form(node, low + bits), 1 << low)

    def _chosen(self, node: Expression, bits: int) -> Form:
        condition, *sides = node.operands
        exact = [self._plain(side) for side in sides] if bits == node.width else [None]
        known = [side for side in exact if side is not None]
        first, second = known if len(known) == 2 else (self.form(side, bits) for side in sides)
        common = {each: times for each, times in first.items() if second.get(each) == times}
        rests = [total(side, common, -1) for side in (first, second)]
        truth = self.truth(condition)
        if truth == "true":
            return first
        if truth == "false" or self.atoms.makes_equal(truth, first, second):
            return second
        ends = [self.atoms.interval(rest) for rest in rests]
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        texts = " ".join(map(self.atoms.named, rests))
        found = self.atoms.defined(f"(ite {truth} {texts})", (low, high))
        if len(known) == 2 and not common:
            self.atoms.clip(found, self.bounds.most[id(node)])
        return total(common, found)

    def _multiplied(self, node: Expression, bits: int) -> Form:
        left, right = node.operands
        if right.value is not None:
            return scaled(self.form(left, bits), right.value)
        exact = [self._plain(side) for side in node.operands]
        known = [side for side in exact if side is not None]
        if len(known) < 2 and all(map(self._has_sign, node.operands)):
            # A difference: lemmas are about numbers that are never negative.
            first, second = map(self.signed, node.operands)
            self.atoms.differ(first, second)
        else:
            first, second = known if len(known) == 2 else map(self.unsigned, node.operands)
            factors = first, second
            if self.outside:
                factors = primitive(first), primitive(second)
            self.atoms.multiply(*factors)
        found = product(first, second)
        if len(found) > _MOST_TERMS:
            raise _NoForm
        return found

    def _has_sign(self, node: Expression) -> bool:
        """Whether a node is a number between two bounds, from below zero perhaps."""
        size = 1 << node.width
        found = self.places.placed(self.form(node, node.width), size, -(size // 2))
        return found is not None and not self.atoms.is_doubtful_form(found)

    def _binary(self, node: Expression, bits: int, left: Expression, right: Expression) -> Form:
        width, amount = node.width, right.value
        match node.operator:
            case "bvshl" if amount is not None:
                return scaled(self.form(left, bits), 1 << amount) if amount < width else {}
            case "bvlshr" | "bvashr" if amount is not None and bits + amount <= width:
                return self._above(left, amount, bits)
            case "bvlshr" if amount is not None:
                return self.places.floor(self.unsigned(left), 1 << min(amount, width))
            case "bvashr" if amount is not None:
                return self.places.floor(self.signed(left), 1 << min(amount, width))
            case "bvand" if amount is not None:
                return self._masked(left, amount, bits)
            case "bvor" | "bvxor" if amount is not None:
                twice = -2 if node.operator == "bvxor" else -1
                either = total(self.form(left, bits), constant(amount))
                return total(either, self._masked(left, amount, bits), twice)
            case "bvor" | "bvxor" if self._apart(left, right):
                return total(self.form(left, bits), self.form(right, bits))
            case "bvudiv" if amount:
                return self.places.floor(self.unsigned(left), amount)
            case "bvurem" if amount and not amount & (amount - 1):
                return self._masked(left, amount - 1, bits)
            case "bvurem" if amount:
                return self.places.moved(self.unsigned(left), amount, 0, doubtful=False)
            case "bvudiv" | "bvurem" | "bvsdiv" | "bvsrem" if amount is None:
                return self._divided(node, left, right)
        raise _NoForm

    def _divided(self, node: Expression, left: Expression, right: Expression) -> Form:
        """The quotient or the remainder by a value that varies."""
        signed, width = node.operator in ("bvsdiv", "bvsrem"), node.width
        dividend, divisor = self.unsigned(left), self.unsigned(right)
        ends = [self.atoms.interval(each)[1] for each in (dividend, divisor)]
        if signed and max(ends) >= 1 << (width - 1):
            raise _NoForm
        quotient = self.atoms.quotient(dividend, divisor, (1 << width) - 1)
        if node.operator in ("bvudiv", "bvsdiv"):
            return quotient
        # By zero, the remainder is the dividend, and so it is here.
        rest = self.atoms.text(total(dividend, product(quotient, divisor), -1))
        least = self.atoms.interval(divisor)[0]
        return self.atoms.defined(rest, (0, ends[1] - 1 if least else max(ends)))

    def _masked(self, node: Expression, mask: int, bits: int) -> Form:
        """The sum of a node's parts under the runs of adjacent ones of a mask."""
        found: Form = {}
        for run, (low, end) in enumerate(runs(mask)):
            if run == _MOST_RUNS:
                raise _NoForm
            if low < bits:
                top = self.form(node, bits) if end >= bits else self._low(node, end)
                found = total(found, scaled(self.places.floor(top, 1 << low), 1 << low))
        return found

    def _low(self, node: Expression, bits: int) -> Form:
        """The number that the lowest bits of a node are."""
        return (
            self.places.moved(self.form(node, bits), 1 << bits, 0, doubtful=False) if bits else {}
        )

    def _apart(self, left: Expression, right: Expression) -> bool:
        """Whether two numbers have no bit in common, the one being below the other's lowest."""
        for small, large in ((left, right), (right, left)):
            form = self.form(large, large.width)
            if number(form) == 0:
                return True
            lowest = content(form) & -content(form)
            if self.bounds.most[id(small)] < min(lowest, 1 << large.width):
                return True
        return False
