"""What each operator of a lane program guarantees about kinds and numbers; see `cases`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tylo.proofs.lane_programs.cases import (
    _OVERFLOW,
    INFINITE,
    MISSING,
    NEGATIVE,
    NUMBER,
    Cases,
    Float,
    both,
    either,
    implies,
)

Rules = list[tuple[str, Callable[[Float], str]]]


def operators(script: Cases) -> Mapping[str, Callable[..., Any]]:
    """The operators that float32 and Booleans have, writing into `script`."""

    def add(a: Float, b: Float) -> Float:
        return _sum(script, "add", a, b)

    def subtract(a: Float, b: Float) -> Float:
        return _sum(script, "subtract", a, negated(b))

    def multiply(a: Float, b: Float) -> Float:
        script.guard("multiply", _undefined_product(a, b))
        return script.result(_product_rules(a, b))

    def fma(a: Float, b: Float, c: Float) -> Float:
        script.guard("fma", _undefined_product(a, b))
        # The product is not rounded here; what rounding keeps of it holds of it all the more.
        product = script.result(_product_rules(a, b))
        return _sum(script, "fma", product, c, rounded_operands=False)

    def divide(a: Float, b: Float) -> Float:
        unbounded = both(*(each.is_kind(INFINITE, NEGATIVE) for each in (a, b)))
        script.guard("divide", both(_no_nan(a, b), either(b.is_zero, unbounded)))
        return script.fresh()

    def reciprocal(a: Float) -> Float:
        script.guard("reciprocal", a.is_zero)
        large = both(a.is_kind(NUMBER), f"(>= {a.number} 1.0)")
        return script.result(
            [
                (a.is_kind(MISSING), lambda r: r.is_kind(MISSING)),
                (a.is_kind(INFINITE, NEGATIVE), lambda r: r.is_zero),
                # Of a float32, which is below 2^128, a reciprocal is no zero: subnormals exist.
                (large, lambda r: both(r.is_kind(NUMBER), *_between(r, "<", "<=", "1.0"))),
                ("true", lambda r: r.is_kind(NUMBER, INFINITE, NEGATIVE)),
            ]
        )

    def select(condition: str, yes: Float, no: Float) -> Float:
        return Float(
            script.named("Real", f"(ite {condition} {yes.kind} {no.kind})"),
            script.named("Real", f"(ite {condition} {yes.number} {no.number})"),
        )

    def negated(a: Float) -> Float:
        swapped = f"(ite (= {a.kind} {NEGATIVE}) {INFINITE} {a.kind})"
        kind = f"(ite (= {a.kind} {INFINITE}) {NEGATIVE} {swapped})"
        return Float(script.named("Real", kind), script.named("Real", f"(- {a.number})"))

    def maximum(a: Float, b: Float) -> Float:
        chosen = select(less(a, b), b, a)
        missing = either(a.is_kind(MISSING), b.is_kind(MISSING))
        return select(missing, Float(MISSING, "0.0"), chosen)

    def minimum(a: Float, b: Float) -> Float:
        return negated(maximum(negated(a), negated(b)))

    def less(a: Float, b: Float) -> str:
        numbers = both(_numbers(a, b), f"(< {a.number} {b.number})")
        below = both(a.is_kind(NEGATIVE), b.is_kind(NUMBER, INFINITE))
        above = both(a.is_kind(NUMBER), b.is_kind(INFINITE))
        return script.named("Bool", either(numbers, below, above))

    def equal(a: Float, b: Float) -> str:
        numbers = both(_numbers(a, b), f"(= {a.number} {b.number})")
        infinite = [both(a.is_kind(kind), b.is_kind(kind)) for kind in (INFINITE, NEGATIVE)]
        return script.named("Bool", either(numbers, *infinite))

    def ex2(a: Float) -> Float:
        return script.result(
            [
                (a.is_kind(MISSING), lambda r: r.is_kind(MISSING)),
                (a.is_kind(INFINITE), lambda r: r.is_kind(INFINITE)),
                (a.is_kind(NEGATIVE), lambda r: r.is_zero),
                (a.is_zero, lambda r: both(r.is_kind(NUMBER), f"(= {r.number} 1.0)")),
                (
                    f"(< {a.number} 0.0)",
                    lambda r: both(r.is_kind(NUMBER), *_between(r, "<=", "<=", "1.0")),
                ),
                (
                    "true",
                    lambda r: either(
                        r.is_kind(INFINITE), both(r.is_kind(NUMBER), f"(>= {r.number} 1.0)")
                    ),
                ),
            ]
        )

    def lg2(a: Float) -> Float:
        positive = either(a.is_kind(INFINITE), both(a.is_kind(NUMBER), f"(> {a.number} 0.0)"))
        script.guard("lg2", both(_no_nan(a), f"(not {positive})"))
        return script.result(
            [
                (a.is_kind(MISSING), lambda r: r.is_kind(MISSING)),
                (a.is_kind(INFINITE), lambda r: r.is_kind(INFINITE)),
                # Of a float32, whose logarithm is between -149 and 128.
                (positive, lambda r: r.is_kind(NUMBER)),
            ]
        )

    return {
        "add": add,
        "subtract": subtract,
        "multiply": multiply,
        "fma": fma,
        "divide": divide,
        "reciprocal": reciprocal,
        "maximum": maximum,
        "minimum": minimum,
        "ex2": ex2,
        "lg2": lg2,
        "less": less,
        "equal": equal,
        "not": lambda a: f"(not {a})",
        "and": both,
        "or": either,
        "select": select,
    }


def _numbers(*values: Float) -> str:
    return both(*(each.is_kind(NUMBER) for each in values))


def _no_nan(*values: Float) -> str:
    return both(*(f"(not {each.is_kind(MISSING)})" for each in values))


def _between(a: Float, low: str, high: str, most: str) -> tuple[str, str]:
    return f"({low} 0.0 {a.number})", f"({high} {a.number} {most})"


def _sum(script: Cases, label: str, a: Float, b: Float, *, rounded_operands: bool = True) -> Float:
    """a + b, rounded; the product of an fma, which comes first, is not a float32 itself."""
    opposed = either(
        both(a.is_kind(INFINITE), b.is_kind(NEGATIVE)),
        both(a.is_kind(NEGATIVE), b.is_kind(INFINITE)),
    )
    script.guard(label, opposed)
    exact = f"(+ {a.number} {b.number})"

    def rounded(r: Float) -> str:
        number, up, down = r.is_kind(NUMBER), r.is_kind(INFINITE), r.is_kind(NEGATIVE)
        # What is exact is not rounded.
        exactly = [(b, a), (a, b)] if rounded_operands else [(a, b)]
        natural = both(f"(<= 0.0 {a.number})", f"(<= 0.0 {b.number})")
        # Rounding is monotone: it keeps a sum on the same side of any float32, such as an operand.
        floats = ["1.0", b.number, *([a.number] if rounded_operands else [])]
        at_least = [implies(f"(<= {each} {exact})", f"(<= {each} {r.number})") for each in floats]
        return both(
            r.is_kind(NUMBER, INFINITE, NEGATIVE),
            implies(up, f"(>= {exact} {_OVERFLOW})"),
            implies(down, f"(<= {exact} (- {_OVERFLOW}))"),
            *(
                implies(both(number, f"({sign} {exact} 0.0)"), f"({sign} {r.number} 0.0)")
                for sign in ("<", "=", ">")
            ),
            *(
                implies(none.is_zero, both(number, f"(= {r.number} {other.number})"))
                for none, other in exactly
            ),
            implies(number, both(*at_least)),
            implies(both(number, natural), f"(<= {r.number} (* 2.0 {exact}))"),
        )

    return script.result(
        [
            (either(a.is_kind(MISSING), b.is_kind(MISSING), opposed), lambda r: r.is_kind(MISSING)),
            (either(a.is_kind(INFINITE), b.is_kind(INFINITE)), lambda r: r.is_kind(INFINITE)),
            (either(a.is_kind(NEGATIVE), b.is_kind(NEGATIVE)), lambda r: r.is_kind(NEGATIVE)),
            ("true", rounded),
        ]
    )


def _undefined_product(a: Float, b: Float) -> str:
    return either(
        both(a.is_zero, b.is_kind(INFINITE, NEGATIVE)),
        both(b.is_zero, a.is_kind(INFINITE, NEGATIVE)),
    )


def _sign(a: Float, sign: str, infinite: str) -> str:
    return either(both(a.is_kind(NUMBER), f"({sign} {a.number} 0.0)"), a.is_kind(infinite))


def _product_rules(a: Float, b: Float) -> Rules:
    positive, negative = (
        either(
            both(_sign(a, ">", INFINITE), _sign(b, first, one)),
            both(_sign(a, "<", NEGATIVE), _sign(b, second, other)),
        )
        for first, one, second, other in (
            (">", INFINITE, "<", NEGATIVE),
            ("<", NEGATIVE, ">", INFINITE),
        )
    )
    missing = either(a.is_kind(MISSING), b.is_kind(MISSING), _undefined_product(a, b))
    infinite = either(a.is_kind(INFINITE, NEGATIVE), b.is_kind(INFINITE, NEGATIVE))

    def rounded(r: Float) -> str:
        number = r.is_kind(NUMBER)
        facts = [
            r.is_kind(NUMBER, INFINITE, NEGATIVE),
            implies(either(a.is_zero, b.is_zero), r.is_zero),
            implies(both(number, positive), f"(>= {r.number} 0.0)"),
            implies(both(number, negative), f"(<= {r.number} 0.0)"),
            implies(r.is_kind(INFINITE), positive),
            implies(r.is_kind(NEGATIVE), negative),
        ]
        for one, other in ((a, b), (b, a)):
            shrinks = both(*_between(one, "<=", "<=", "1.0"), f"(<= 0.0 {other.number})")
            facts.append(
                implies(
                    shrinks, both(number, f"(<= 0.0 {r.number})", f"(<= {r.number} {other.number})")
                )
            )
            facts.append(
                implies(f"(= {one.number} 1.0)", both(number, f"(= {r.number} {other.number})"))
            )
        return both(*facts)

    return [
        (missing, lambda r: r.is_kind(MISSING)),
        (both(infinite, positive), lambda r: r.is_kind(INFINITE)),
        (both(infinite, negative), lambda r: r.is_kind(NEGATIVE)),
        ("true", rounded),
    ]
