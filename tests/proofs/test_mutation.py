"""Hundreds of damaged certificates: whatever the checker still accepts must be true."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tylo.proofs import checker
from tylo.proofs.claims import Claim
from tylo.proofs.prover import require_proof

Json = dict[str, Any]
MUTANTS_PER_CLAIM = 150


def text_of(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def identity(claim: Json) -> str:
    return "sha256:" + hashlib.sha256(text_of(claim).encode()).hexdigest()


def verdict_on(entry: Json) -> checker.Verdict | None:
    """None for input that is not a certificate at all."""
    data = {
        "schema": "tylo.certificate/1",
        "theorem": "Mutated.",
        "specification": {"name": "mutant", "parameters": {}},
        "claims": [entry],
    }
    try:
        [verdict] = checker.check_bytes(f"{text_of(data)}\n".encode())
    except checker.BadInput:
        return None
    return verdict


def places(term: Any, path: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Paths to every part of a term."""
    inner = (
        [p for i in (1, 2) for p in places(term[i], (*path, i))] if isinstance(term, list) else []
    )
    return [path, *inner]


def mutate_term(term: Any, names: list[str], choose: random.Random) -> Any:
    path = choose.choice(places(term))
    changed = copy.deepcopy([None, term])
    holder, key = changed, 1
    for step in path:
        holder, key = holder[key], step
    part = holder[key]
    if isinstance(part, int):
        holder[key] = choose.choice([part + 1, part - 1, 2 * part, part // 2, choose.choice(names)])
    elif isinstance(part, str):
        holder[key] = choose.choice([*names, 0, 1, ["+", part, 1]])
    else:
        operator, left, right = part
        holder[key] = choose.choice(
            [
                [choose.choice(["+", "-", "*", "div", "mod", "xor"]), left, right],
                [operator, right, left],
                left,
                right,
                ["mod", part, choose.choice([2, 4, 8, 16])],
            ]
        )
    return changed[1]


def mutate_claim(claim: Json, choose: random.Random) -> None:
    names = [*claim["parameters"], *(variable for variable, _ in claim["variables"])]
    conjunct = choose.choice(claim["conjuncts"])
    variable = choose.choice(claim["variables"])
    match choose.randrange(8):
        case 0 | 1 | 2:
            conjunct[2] = mutate_term(conjunct[2], names, choose)
        case 3 | 4:
            conjunct[3] = mutate_term(conjunct[3], names, choose)
        case 5:
            conjunct[1] = choose.choice(["=", "<", "<="])
        case 6:
            sizes = list(claim["parameters"]) or [1]
            variable[1] = choose.choice(
                [None, mutate_term(variable[1] or 1, sizes, choose), 4, 32, sizes[0]]
            )
        case 7:
            for parameter in claim["parameters"]:
                claim["parameters"][parameter] = choose.choice([0, 1, 2])


def mutate_digits(digits: Json, choose: random.Random) -> None:
    variable = choose.choice(list(digits))
    row = digits[variable]
    place = choose.randrange(len(row))
    match choose.randrange(7):
        case 0 | 1:
            row[place][1] = choose.choice([0, 1, 2, 3, 4, 8, 16, -2, None, "M", ["*", 2, "M"]])
        case 2:
            other = choose.randrange(len(row))
            row[place][1], row[other][1] = row[other][1], row[place][1]
        case 3:
            del row[place]
        case 4:
            row.append([f"{variable}.{len(row)}", choose.choice([1, 2, None])])
        case 5:
            row[place][0] = choose.choice([variable, "lane.0", f"{variable}.{place + 1}", ""])
        case 6:
            whole = [radix for _, radix in row]
            if all(isinstance(radix, int) for radix in whole) and len(whole) > 1:
                joined = [whole[0] * whole[1], *whole[2:]]
                row[:] = [[f"{variable}.{i}", radix] for i, radix in enumerate(joined)]


@pytest.mark.parametrize("seed", range(3))
def test_no_wrong_mutant_is_accepted(
    seed: int, true_claim: Claim, judge: Callable[..., bool]
) -> None:
    choose = random.Random(f"{true_claim.name} {seed}")
    original = json.loads(text_of(require_proof(true_claim).to_json()))
    seen: Counter[str] = Counter()
    for _ in range(MUTANTS_PER_CLAIM // 3):
        entry = copy.deepcopy(original)
        if choose.random() < 0.7:
            mutate_claim(entry["claim"], choose)
        else:
            mutate_digits(entry["digits"], choose)
        verdict = verdict_on(entry)
        if entry["claim"] != original["claim"]:
            # The id no longer fits: never accepted, however true.
            assert verdict is None or not verdict.accepted
            entry["id"] = identity(entry["claim"])
            verdict = verdict_on(entry)
        if verdict is not None and verdict.accepted:
            seen["accepted"] += 1
            assert judge(entry["claim"], unbounded=9), entry
        else:
            seen["refused"] += 1
    assert seen["refused"] >= MUTANTS_PER_CLAIM // 8


def test_damaged_bytes_are_refused(true_claims: dict[str, Claim]) -> None:
    choose = random.Random(7)
    entry = require_proof(true_claims["same_coordinates"]).to_json()
    data = {
        "schema": "tylo.certificate/1",
        "theorem": "Damaged.",
        "specification": {"name": "damaged", "parameters": {}},
        "claims": [entry],
    }
    content = f"{text_of(data)}\n".encode()
    assert checker.check_bytes(content)[0].accepted
    harmless = 0
    for _ in range(600):
        place = choose.randrange(len(content))
        damaged = bytearray(content)
        damaged[place] ^= 1 << choose.randrange(8)
        try:
            accepted = all(verdict.accepted for verdict in checker.check_bytes(bytes(damaged)))
        except checker.BadInput:
            continue
        # Only the readable text outside the claims may change without a refusal.
        if accepted:
            harmless += 1
            rebuilt = json.loads(bytes(damaged))
            assert rebuilt["claims"] == [entry]
    assert harmless < 60
