"""Claims written by hand from the PTX ISA's formulas for mma.m16n8k16, and a judge of claims.

The judge evaluates a claim's JSON in plain Python integers at small sizes. It shares nothing with
the terms, the checker, or the enumeration that it judges.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from tylo.layouts.terms import Integer, name
from tylo.proofs.bijection import bijection
from tylo.proofs.claims import Claim, Conjunct


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is nightly, unless it is asked for."""
    if config.getoption("markexpr").strip() != "nightly":
        nightly = [item for item in items if item.get_closest_marker("nightly")]
        if nightly:
            config.hook.pytest_deselected(items=nightly)
            items[:] = [item for item in items if item not in nightly]


MINIMA = {"M": 1, "K": 1}
LANE, M, K, m, k, w, h = (name(text) for text in ("lane", "M", "K", "m", "k", "w", "h"))
REPEATS: list[tuple[str, Integer | None]] = [("m", M), ("k", K)]
WORDS: list[tuple[str, Integer | None]] = [("w", 4), ("h", 2)]


def c_row(lane: Integer, value: Integer) -> Integer:
    return lane // 4 + 8 * (value // 2)


def c_column(lane: Integer, value: Integer) -> Integer:
    return 2 * (lane % 4) + value % 2


def a_row(lane: Integer, value: Integer) -> Integer:
    return lane // 4 + 8 * (value // 2 % 2)


def a_column(lane: Integer, value: Integer) -> Integer:
    return 2 * (lane % 4) + value % 2 + 8 * (value // 4)


def same_coordinates(
    *,
    atom: Integer = 2 * k + w // 2,
    value: Integer = 2 * (w % 2) + h,
    lane: Integer = LANE,
    row: Integer = 16 * m,
) -> Claim:
    """C values in adjacent atoms stand where A values stand; keywords plant a fault."""
    return Claim(
        name="same_coordinates",
        kind="same_lane",
        statement="Two adjacent C atoms supply an A operand in the same lanes.",
        parameters=MINIMA,
        variables=[("lane", 32), *WORDS, *REPEATS],
        conjuncts=[
            Conjunct("row", "=", 16 * m + a_row(LANE, 2 * w + h), row + c_row(lane, value)),
            Conjunct(
                "column", "=", 16 * k + a_column(LANE, 2 * w + h), 8 * atom + c_column(lane, value)
            ),
        ],
    )


def exchange(*, atom: Integer = 2 * k + w // 2) -> Claim:
    n, v = name("n"), name("v")
    return bijection(
        name="exchange",
        kind="exchange",
        statement="C values and halves of A words correspond one to one.",
        parameters=MINIMA,
        source=[*REPEATS, *WORDS],
        target=[("m", M), ("n", 2 * K), ("v", 4)],
        forward={"m": m, "n": atom, "v": 2 * (w % 2) + h},
        inverse={"m": m, "k": n // 2, "w": 2 * (n % 2) + v // 2, "h": v % 2},
    )


def c_ownership(*, half: Integer = 8) -> Claim:
    row, column, value, n = name("row"), name("column"), name("value"), name("n")
    return bijection(
        name="c_ownership",
        kind="bijective",
        statement="Every C element has exactly one owner.",
        parameters=MINIMA,
        source=[("lane", 32), ("value", 4), ("m", M), ("n", K)],
        target=[("row", 16 * M), ("column", 8 * K)],
        forward={"row": 16 * m + c_row(LANE, value), "column": 8 * n + c_column(LANE, value)},
        inverse={
            "m": row // 16,
            "n": column // 8,
            "lane": 4 * (row % 8) + column % 8 // 2,
            "value": 2 * (row % 16 // half) + column % 2,
        },
    )


def a_ownership() -> Claim:
    row, column, value = name("row"), name("column"), name("value")
    return bijection(
        name="a_ownership",
        kind="bijective",
        statement="Every A element has exactly one owner.",
        parameters=MINIMA,
        source=[("lane", 32), ("value", 8), ("m", M), ("k", K)],
        target=[("row", 16 * M), ("column", 16 * K)],
        forward={"row": 16 * m + a_row(LANE, value), "column": 16 * k + a_column(LANE, value)},
        inverse={
            "m": row // 16,
            "k": column // 16,
            "lane": 4 * (row % 8) + column % 8 // 2,
            "value": 4 * (column % 16 // 8) + 2 * (row % 16 // 8) + column % 2,
        },
    )


def b_ownership() -> Claim:
    depth, column, value, n = name("depth"), name("column"), name("value"), name("n")
    return bijection(
        name="b_ownership",
        kind="bijective",
        statement="Every B element has exactly one owner.",
        parameters=MINIMA,
        source=[("lane", 32), ("value", 4), ("k", K), ("n", M)],
        target=[("depth", 16 * K), ("column", 8 * M)],
        forward={
            "depth": 16 * k + 2 * (LANE % 4) + value % 2 + 8 * (value // 2),
            "column": 8 * n + LANE // 4,
        },
        inverse={
            "k": depth // 16,
            "n": column // 8,
            "lane": 4 * (column % 8) + depth % 8 // 2,
            "value": 2 * (depth % 16 // 8) + depth % 2,
        },
    )


def registers(*, stride: Integer = M) -> Claim:
    v = 2 * (w % 2) + h
    return Claim(
        name="registers",
        kind="in_bounds",
        statement="Words and their source registers lie inside their arrays.",
        parameters=MINIMA,
        variables=[*WORDS, *REPEATS],
        conjuncts=[
            Conjunct("word", "<", w + 4 * (m + stride * k), 4 * M * K),
            Conjunct("source", "<", v + 4 * (m + M * (2 * k + w // 2)), 8 * M * K),
        ],
    )


def packed_word(*, halves: Integer = 2) -> Claim:
    value = 2 * w + h + 8 * (m + M * k)
    return Claim(
        name="packed_word",
        kind="packed_word",
        statement="A flat A value is its word's low or high half.",
        parameters=MINIMA,
        variables=[*WORDS, *REPEATS],
        conjuncts=[
            Conjunct("word", "=", value // halves, w + 4 * (m + M * k)),
            Conjunct("half", "=", value % halves, h),
        ],
    )


def register_numbers() -> Claim:
    register = name("register")
    return bijection(
        name="register_numbers",
        kind="bijective",
        statement="A flat register number is a word, a row repeat and a column repeat.",
        parameters=MINIMA,
        source=[("register", 4 * M * K)],
        target=[("w", 4), ("m", M), ("k", K)],
        forward={"w": register % 4, "m": register // 4 % M, "k": register // 4 // M},
        inverse={"register": w + 4 * (m + M * k)},
    )


def swizzle(*, mask: int = 8) -> Claim:
    row, chunk = name("row"), name("chunk")
    return Claim(
        name="swizzle",
        kind="conflict_free",
        statement="A swizzled chunk stays in its row and swizzling again undoes it.",
        parameters={},
        variables=[("row", None), ("chunk", 8)],
        conjuncts=[
            Conjunct("inside", "<", chunk ^ row % mask, 8),
            Conjunct("twice", "=", (chunk ^ row % mask) ^ row % 8, chunk),
            Conjunct("address", "=", (8 * row + chunk) ^ row % 8, 8 * row + (chunk ^ row % mask)),
        ],
    )


# Faults that a careless generator could make, and the least point where each shows.
FAULT_AT_17 = 4 * (LANE // 17 - LANE // 18)
FALSE_CLAIMS: dict[str, tuple[Claim, dict[str, int], str]] = {
    "atoms_swapped": (same_coordinates(atom=2 * k + 1 - w // 2), {"lane": 0, "w": 0}, "column"),
    "wrong_row_half": (same_coordinates(value=2 * (1 - w % 2) + h), {"lane": 0, "w": 0}, "row"),
    "one_lane_off": (same_coordinates(lane=(LANE + 1) % 32), {"lane": 0, "w": 0}, "column"),
    "lane_17_alone": (same_coordinates(lane=LANE + FAULT_AT_17), {"lane": 17, "w": 0}, "row"),
    "high_word_alone": (
        same_coordinates(value=2 * (w % 2) + h * (1 - w // 3)),
        {"lane": 0, "w": 3, "h": 1},
        "column",
    ),
    "row_stride": (same_coordinates(row=8 * m), {"M": 2, "lane": 0, "m": 1}, "row"),
    "atom_by_parity": (exchange(atom=2 * k + w % 2), {"m": 0, "n": 0, "v": 2}, "target n returns"),
    "half_of_four": (c_ownership(half=4), {"lane": 0, "value": 0, "row": 4}, "target row returns"),
    "register_stride": (registers(stride=M + 1), {"M": 1, "K": 2, "m": 0, "k": 1}, "word"),
    "halves_of_four": (packed_word(halves=4), {"w": 1, "h": 0}, "word"),
    "half_a_mask": (swizzle(mask=4), {"row": 4, "chunk": 0}, "twice"),
}


def source_of(term: Any) -> str:
    """Python source of a term's JSON."""
    if isinstance(term, int | str):
        return str(term)
    sign = {"div": "//", "mod": "%", "xor": "^"}.get(term[0], term[0])
    return f"({source_of(term[1])} {sign} {source_of(term[2])})"


def names_in(term: Any) -> set[str]:
    if isinstance(term, list):
        return names_in(term[1]) | names_in(term[2])
    return {term} if isinstance(term, str) else set()


def holds_at(claim: Mapping[str, Any], sizes: Mapping[str, int], unbounded: int) -> bool:
    """Whether every conjunct holds at these sizes, by trying all values of the names it uses."""
    bounds = {
        variable: unbounded if bound is None else eval(source_of(bound), dict(sizes))
        for variable, bound in claim["variables"]
    }
    if any(bound < 1 for bound in bounds.values()):
        return True
    for _, relation, left, right in claim["conjuncts"]:
        used = [variable for variable in bounds if variable in names_in(left) | names_in(right)]
        sign = "==" if relation == "=" else relation
        formula = f"lambda {', '.join(used)}: {source_of(left)} {sign} {source_of(right)}"
        test = eval(formula, dict(sizes))
        if not all(itertools.starmap(test, itertools.product(*(range(bounds[u]) for u in used)))):
            return False
    return True


def holds_at_small_sizes(claim: Mapping[str, Any], *, more: int = 2, unbounded: int = 20) -> bool:
    """Whether the claim holds for every parameter from its minimum to `more` above it."""
    parameters = claim["parameters"]
    choices = itertools.product(*(range(least, least + more + 1) for least in parameters.values()))
    return all(
        holds_at(claim, dict(zip(parameters, choice, strict=True)), unbounded) for choice in choices
    )


TRUE_CLAIMS = {
    build.__name__: build()
    for build in (
        same_coordinates,
        exchange,
        c_ownership,
        a_ownership,
        b_ownership,
        registers,
        packed_word,
        register_numbers,
        swizzle,
    )
}


@pytest.fixture(params=TRUE_CLAIMS.values(), ids=TRUE_CLAIMS.keys())
def true_claim(request: pytest.FixtureRequest) -> Claim:
    claim: Claim = request.param
    return claim


@pytest.fixture(params=FALSE_CLAIMS.values(), ids=FALSE_CLAIMS.keys())
def false_claim(request: pytest.FixtureRequest) -> tuple[Claim, dict[str, int], str]:
    planted: tuple[Claim, dict[str, int], str] = request.param
    return planted


@pytest.fixture(scope="session")
def by_hand() -> SimpleNamespace:
    """The builders, under their names."""
    return SimpleNamespace(**{name: build for name, build in globals().items() if callable(build)})


@pytest.fixture(scope="session")
def true_claims() -> dict[str, Claim]:
    return TRUE_CLAIMS


@pytest.fixture(scope="session")
def judge() -> Callable[..., bool]:
    return holds_at_small_sizes
