"""The independent checker of mapping certificates: `python -I -S proofs/checker.py FILE...`

It imports the standard library alone and searches for nothing. Each claim gets a line: ACCEPT or
REJECT, its id and why. Exit 0: all accepted; 1: some rejected; 2: not a canonical certificate.

A claim: for all parameters P >= their minimum and all naturals x below their bounds, each relation
=, < or <= holds. A certificate adds digits for each variable. Five facts make acceptance a proof:

1. DIGITS. For radices r0, r1, ... >= 1, every x in [0, r0*r1*...) is d0 + r0*(d1 + r1*(...)) for
   digits d_i in [0, r_i), and all such digits give such an x; without a top radix, every natural.
   So a claim about all x is one about all digits, and terms are polynomials in digits.
2. DIVISION. If e = d*q + r as polynomials and 0 <= r < d everywhere, then e div d = q and
   e mod d = r. The divisor d is a number, or a number times parameters.
3. EXCLUSIVE OR. Digits of radix 2 are bits b, with b*b = b. Sums of distinct powers of two times
   bits combine bit by bit, and a xor b = a + b - 2*a*b; what one operand has beyond its bits, a
   natural multiple of a power of two above all bits of both, passes through.
4. SIGN. A polynomial whose digit d has coefficients of one sign only, or occurs only linearly, is
   least at an end of d: 0 or radix-1. Without digits, write P = minimum + P' with P' >= 0: if
   no coefficient is negative then, the polynomial is never negative.
5. EQUALITY. Equal polynomials are equal functions; ``left < right`` is 0 <= right - left - 1.

Polynomials map sorted tuples of names to nonzero integers. The name "a^b" is the exclusive or of
the bits a and b, "1^a" the opposite of a. A rejection says only that the facts did not suffice.
"""

import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

OPERATORS, RELATIONS = ("+", "-", "*", "div", "mod", "xor"), ("=", "<", "<=")
Polynomial = dict[tuple[str, ...], int]
SCHEMA = "tylo.certificate/1"
LARGEST_FILE, MOST_STEPS = 1 << 24, 1_000_000
encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
ZERO, ONE = Polynomial(), Polynomial({(): 1})


class Rejected(Exception):
    """The five facts do not establish this claim."""


class BadInput(Exception):
    """The file is not a certificate at all."""


class Verdict(NamedTuple):
    id: str
    name: str
    accepted: bool
    reason: str


def collect(parts: Iterable[tuple[tuple[str, ...], int]]) -> Polynomial:
    total: Polynomial = {}
    for monomial, factor in parts:
        total[monomial] = total.get(monomial, 0) + factor
    return {monomial: factor for monomial, factor in total.items() if factor}


def add(left: Polynomial, right: Polynomial, scale: int = 1) -> Polynomial:
    return collect([*left.items(), *((m, scale * factor) for m, factor in right.items())])


class Domain:
    """The parameters and digits of one claim, and arithmetic over them."""

    def __init__(self, parameters: dict[str, int]) -> None:
        self.parameters = parameters
        self.raised = {p: collect([((p,), 1), ((), least)]) for p, least in parameters.items()}
        self.variables: dict[str, Polynomial] = {}
        self.tops: dict[str, Polynomial | None] = {}  # digit -> radix - 1 in the P' of fact 4
        self.bits = {"1"}
        self.steps = 0

    def multiply(self, left: Polynomial, right: Polynomial) -> Polynomial:
        parts = []
        for a, m in left.items():
            for b, n in right.items():
                names = sorted([*a, *(x for x in b if x not in self.bits or x not in a)])
                parts.append((tuple(names), m * n))
                self.steps += 1 + len(names) + (m * n).bit_length() // 64
                if self.steps > MOST_STEPS:
                    raise Rejected("too large to check")
        return collect(parts)

    def substitute(self, value: Polynomial, images: dict[str, Polynomial]) -> Polynomial:
        parts: list[tuple[tuple[str, ...], int]] = []
        for monomial, factor in value.items():
            image: Polynomial = {tuple(x for x in monomial if x not in images): factor}
            for name in monomial:
                image = self.multiply(image, images[name]) if name in images else image
            parts.extend(image.items())
        return collect(parts)

    def never_negative(self, value: Polynomial) -> bool:
        """Fact 4; False says only that it is not shown."""
        return self.least_is_natural(self.substitute(value, self.raised))

    def least_is_natural(self, value: Polynomial) -> bool:
        digit = next((x for monomial in value for x in monomial if x in self.tops), None)
        natural = all(factor > 0 for factor in value.values())
        if natural or digit is None:
            return natural
        uses = [factor for monomial, factor in value.items() if digit in monomial]
        linear = all(monomial.count(digit) < 2 for monomial in value)
        top, rises, falls = self.tops[digit], max(uses) > 0, min(uses) < 0
        if falls and (top is None or (rises and not linear)):
            return False
        ends = ([ZERO] if rises else []) + ([top] if falls and top is not None else [])
        return all(self.least_is_natural(self.substitute(value, {digit: end})) for end in ends)

    def divide(self, value: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Fact 2: the quotient and the remainder."""
        ((names, number),) = divisor.items() if len(divisor) == 1 else [((), 0)]
        if number < 1:
            raise Rejected("a divisor is not a single positive product")
        wholes = []
        for monomial, factor in value.items():
            rest = Counter(monomial)
            rest.subtract(names)
            if min(rest.values(), default=0) >= 0:
                wholes.append((tuple(sorted(rest.elements())), factor // number))
        quotient = collect(wholes)
        remainder = add(value, self.multiply(quotient, divisor), -1)
        above = add(add(divisor, remainder, -1), ONE, -1)
        if not self.never_negative(remainder) or not self.never_negative(above):
            raise Rejected("a remainder is not shown to lie from 0 to its divisor")
        return quotient, remainder

    def exclusive_or(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Fact 3: bits meet at their places; `beyond` holds what an operand has besides them."""
        places: dict[int, set[str]] = {}
        beyond: list[Polynomial] = []
        taken: list[tuple[int, int]] = []
        for value in (left, right):
            rest = dict(value)
            for monomial, factor in value.items():
                name = monomial[0] if monomial else "1"
                if factor > 0 and len(monomial) < 2 and name in self.bits:
                    del rest[monomial]
                    for place in (i for i, one in enumerate(f"{factor:b}"[::-1]) if one == "1"):
                        taken.append((len(beyond), place))
                        places[place] = places.get(place, set()) ^ set(name.split("^"))
            beyond.append(rest)
        total = add(beyond[0], beyond[1])
        unit = 1 << 1 + max(places, default=-1)
        distinct = len(set(taken)) == len(taken) and not all(beyond)
        if not distinct or any(factor < 0 or factor % unit for factor in total.values()):
            raise Rejected("an operand of xor is not a sum of distinct bits")
        for place, names in places.items():
            bit = "^".join(sorted(names))
            self.bits.add(bit)
            self.tops[bit] = ONE
            total = add(total, {(bit,) if names - {"1"} else (): 1 << place} if names else ZERO)
        return total

    def expand(self, value: Polynomial) -> Polynomial:
        """Fact 3: every "a^b" as a + b - 2*a*b."""
        images: dict[str, Polynomial] = {}
        for name in {x for monomial in value for x in monomial if "^" in x}:
            images[name] = ZERO
            for bit in name.split("^"):
                single: Polynomial = ONE if bit == "1" else {(bit,): 1}
                both = self.multiply(images[name], single)
                images[name] = add(add(images[name], single), both, -2)
        return self.substitute(value, images)

    def polynomial(self, term: Any) -> Polynomial:
        if type(term) is int:
            return collect([((), term)])
        if type(term) is str:
            if term not in self.variables and term not in self.parameters:
                raise Rejected(f"{term} is not declared")
            return self.variables.get(term, {(term,): 1})
        if not fits(term, (str, Any, Any)) or term[0] not in OPERATORS:
            raise BadInput("a term is not an integer, a name or [operator, term, term]")
        operator, left, right = term[0], self.polynomial(term[1]), self.polynomial(term[2])
        if operator in ("+", "-"):
            return add(left, right, 1 if operator == "+" else -1)
        if operator in ("*", "xor"):
            return (self.multiply if operator == "*" else self.exclusive_or)(left, right)
        return self.divide(left, right)[0 if operator == "div" else 1]

    def declare(self, variable: str, bound: Any, digits: Any, sizes: "Domain") -> None:
        """Fact 1: the variable becomes its digits. `sizes` knows the parameters alone."""
        if not fits(digits, [(str, Any)]):
            raise BadInput(f"the digits of {variable} are not pairs of a name and a radix")
        value, weight = ZERO, ONE
        for index, (name, radix) in enumerate(digits):
            if name != f"{variable}.{index}":
                raise Rejected(f"digit {index} of {variable} is not called {variable}.{index}")
            size = ZERO if radix is None else sizes.polynomial(radix)
            top = sizes.substitute(add(size, ONE, -1), self.raised)
            if radix is not None and not sizes.least_is_natural(top):
                raise Rejected(f"the radix of {name} is not shown to be at least 1")
            self.tops[name] = None if radix is None else top
            if top == ONE:
                self.bits.add(name)
            value = add(value, self.multiply(weight, {(name,): 1}))
            weight = self.multiply(weight, size)
        limit = ZERO if bound is None else sizes.polynomial(bound)
        if weight != limit or (limit == ZERO) != (bound is None):
            raise Rejected(f"the radices of {variable} do not multiply to its bound")
        self.variables[variable] = value


def check_claim(claim: dict[str, Any], digits: dict[str, Any]) -> None:
    """Raise `Rejected` unless the five facts establish the claim."""
    names = [*claim["parameters"], *(variable for variable, _ in claim["variables"])]
    natural = all(type(least) is int and least >= 0 for least in claim["parameters"].values())
    if not natural or not all(re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) for name in names):
        raise BadInput("a name is not an identifier, or a minimum is not a natural number")
    if len(set(names)) < len(names) or {*digits} != {*names} - {*claim["parameters"]}:
        raise Rejected("a name is declared twice, or digits are not for exactly the variables")
    if not claim["conjuncts"]:
        raise Rejected("nothing is claimed")
    domain, sizes = Domain(claim["parameters"]), Domain(claim["parameters"])
    for variable, bound in claim["variables"]:
        domain.declare(variable, bound, digits[variable], sizes)
    for label, relation, left, right in claim["conjuncts"]:
        if relation not in RELATIONS:
            raise BadInput("an unknown relation")
        gap = add(domain.polynomial(right), domain.polynomial(left), -1)
        gap = add(gap, ONE if relation == "<" else ZERO, -1)
        full = domain.expand(gap)
        if any(map(domain.never_negative, (gap, full))) if relation != "=" else not full:
            continue
        raise Rejected(f"{relation} does not follow from the digits: {label}")


def is_plain(value: Any) -> bool:
    return type(value) in (int, str) or (type(value) is list and all(map(is_plain, value)))


def fits(value: Any, shape: Any) -> bool:  # a type, dict or tuple of shapes, [of each], Any
    if isinstance(shape, dict) and type(value) is dict:
        return value.keys() == shape.keys() and all(fits(value[key], shape[key]) for key in shape)
    if isinstance(shape, list | tuple) and type(value) is list:
        shapes = shape * len(value) if isinstance(shape, list) else shape
        return len(value) == len(shapes) and all(map(fits, value, shapes))
    return shape is Any or type(value) is shape


CLAIM = {"parameters": dict, "variables": [(str, Any)], "conjuncts": [(str, str, Any, Any)]}
CLAIM |= dict.fromkeys(("name", "kind", "statement"), str)
ENTRY = {"id": str, "claim": CLAIM, "digits": dict}
SPECIFICATION = {"name": str, "parameters": dict}
SHAPE = {"schema": str, "theorem": str, "specification": SPECIFICATION, "claims": [ENTRY]}


def check_bytes(content: bytes) -> list[Verdict]:
    """The verdict on each claim; raises `BadInput` unless `content` is a canonical certificate."""
    try:
        data = json.loads(content)
        if len(content) > LARGEST_FILE or content != f"{encode(data)}\n".encode():
            raise BadInput("not canonical JSON that ends in one newline")
        whole = fits(data, SHAPE) and data["schema"] == SCHEMA and data["claims"]
        if not whole or not all(map(is_plain, data["specification"]["parameters"].values())):
            raise BadInput(f"not of the shape of {SCHEMA}")
    except (ValueError, RecursionError) as error:
        raise BadInput(f"not JSON: {error}") from None
    verdicts = []
    for entry in data["claims"]:
        digest = "sha256:" + hashlib.sha256(encode(entry["claim"]).encode()).hexdigest()
        try:
            check_claim(entry["claim"], entry["digits"])
            accepted = entry["id"] == digest
            reason = "proven" if accepted else "the id is not that of the claim"
        except (Rejected, RecursionError) as rejected:
            accepted, reason = False, str(rejected)
        verdicts.append(Verdict(digest, entry["claim"]["name"], accepted, reason))
    return verdicts


def check_file(path: Any) -> list[Verdict]:
    with open(path, "rb") as file:
        return check_bytes(file.read(LARGEST_FILE + 1))


def main(paths: list[str]) -> int:
    status = 0 if paths else 2
    for path in paths:
        try:
            for id, name, accepted, reason in check_file(path):
                print("ACCEPT" if accepted else "REJECT", id, ascii(f"{name}: {reason}")[1:-1])
                status = max(status, 0 if accepted else 1)
        except (BadInput, OSError) as error:
            print("BAD INPUT", ascii(f"{path}: {error}")[1:-1], file=sys.stderr)
            status = 2
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
