"""Certificates as Coq files: one theorem per claim, re-checked by a proof assistant.

The theorem states the original claim, with ``/``, ``mod`` and ``Z.lxor`` over all integers. The
proof follows the certificate: take the variables apart into their digits, replace each quotient
and remainder by what the digits make of it, and leave polynomials to ``ring``, ``lia`` and
``nia``. The lemmas it uses come from ``theories/Radix.v`` and are part of the file, which
therefore needs nothing but Coq's own library; `compile_coq` also sees that no axiom crept in.

>>> from tylo.layouts.terms import name
>>> from tylo.proofs.claims import Claim, Conjunct
>>> from tylo.proofs.prover import require_proof
>>> lane = name("lane")
>>> claim = Claim(
...     name="quad", kind="equal", statement="A lane is its quad and its place.", parameters={},
...     variables=[("lane", 32)],
...     conjuncts=[Conjunct("lane", "=", 4 * (lane // 4) + lane % 4, lane)],
... )
>>> print(theorem(require_proof(claim), "quad"))
(* A lane is its quad and its place. *)
Theorem quad : forall lane : Z,
  0 <= lane < 32 ->
  ((4 * (lane / 4)) + (lane mod 4)) = lane.
Proof.
  intros.
  destruct (Radix.digit lane 4 (8)) as (lane'0 & lane'1 & ? & ? & ?);
    [Radix.arithmetic | Radix.arithmetic | subst lane].
  refine _.
  { replace ((lane'0 + 4 * lane'1) / 4) with (lane'1)
      by (symmetry; apply Radix.quotient with (lane'0); Radix.arithmetic).
    replace ((lane'0 + 4 * lane'1) mod 4) with (lane'0)
      by (symmetry; apply Radix.remainder with (lane'1); Radix.arithmetic).
    Radix.arithmetic. }
Qed.
Print Assumptions quad.
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tylo.layouts.terms import Integer, Term, from_json, to_json
from tylo.proofs import checker
from tylo.proofs.certificate import Proof

_RADIX = Path(__file__).parent / "theories" / "Radix.v"
_RESERVED = re.compile(
    "as|at|by|cofix|else|end|exists2?|fix|for|forall|fun|if|IF|in|let|match|mod|Prop|return|Set"
    "|SProp|then|Type|using|where|with|Z"
)


def coq_file(proofs: Sequence[Proof]) -> str:
    """A self-contained Coq file that proves the claims, each as a theorem of its own."""
    _, _, lemmas = _RADIX.read_text(encoding="ascii").partition("Open Scope Z_scope.\n")
    theorems = [
        theorem(proof, f"claim_{place}_{proof.claim.name}") for place, proof in enumerate(proofs)
    ]
    header = "Require Import ZArith Lia.\nOpen Scope Z_scope.\n"
    return "\n".join([header, f"Module Radix.\n{lemmas}\nEnd Radix.\n", *theorems])


def theorem(proof: Proof, title: str) -> str:
    """One claim as a Coq theorem with its proof."""
    claim = proof.claim
    names = [_name(name) for name in (*claim.parameters, *(name for name, _ in claim.variables))]
    premises = [f"{least} <= {_name(name)}" for name, least in claim.parameters.items()]
    for name, bound in claim.variables:
        above = "" if bound is None else f" < {_text(bound)}"
        premises.append(f"0 <= {_name(name)}{above}")
    binders = f" forall {' '.join(names)} : Z," if names else ""
    domain = "".join(f"\n  {premise} ->" for premise in premises)
    conclusion = " /\\\n  ".join(
        f"{_text(part.left)} {part.relation} {_text(part.right)}" for part in claim.conjuncts
    )
    script = _Script(proof)
    steps = ["intros.", *script.take_apart()]
    parts = "_"
    for _ in claim.conjuncts[1:]:
        parts = f"(conj _ {parts})"
    steps.append(f"refine {parts}.")
    steps.extend(script.goal(part.left, part.right) for part in claim.conjuncts)
    body = "\n".join(f"  {line}" for step in steps for line in step.splitlines())
    comment = re.sub(r"\(\*|\*\)|\"", "", claim.statement)
    return (
        f"(* {comment} *)\nTheorem {title} :{binders}{domain}\n  {conclusion}.\n"
        f"Proof.\n{body}\nQed.\nPrint Assumptions {title}.\n"
    )


class _Script:
    """The steps of a proof. Coq checks them: the checker's arithmetic only finds them."""

    def __init__(self, proof: Proof) -> None:
        self.proof = proof
        self.domain = checker.Domain(dict(proof.claim.parameters))
        self.sizes = checker.Domain(dict(proof.claim.parameters))
        self.values: dict[str, str] = {}

    def take_apart(self) -> list[str]:
        """Replace each variable by its digits."""
        steps = []
        entry: dict[str, Any] = self.proof.to_json()
        for name, bound in entry["claim"]["variables"]:
            digits = entry["digits"][name]
            self.domain.declare(name, bound, digits, self.sizes)
            radices = [None if radix is None else _text(from_json(radix)) for _, radix in digits]
            symbols = [_name(digit) for digit, _ in digits]
            rest = _name(name)
            if not digits:
                steps.append(f"assert ({rest} = 0) by lia. subst {rest}.")
            for place, radix in enumerate(radices[:-1]):
                high = symbols[-1] if place + 2 == len(digits) else f"{symbols[place]}'above"
                above = radices[place + 1 :]
                if None in above:
                    split = f"Radix.open_digit {rest} {radix}"
                else:
                    split = f"Radix.digit {rest} {radix} ({' * '.join(map(str, above))})"
                steps.append(
                    f"destruct ({split}) as ({symbols[place]} & {high} & ? & ? & ?);\n"
                    f"  [Radix.arithmetic | Radix.arithmetic | subst {rest}]."
                )
                rest = high
            if len(digits) == 1:
                steps.append(f"rename {rest} into {symbols[0]}.")
            value = symbols[-1] if symbols else "0"
            for symbol, radix in zip(symbols[-2::-1], radices[-2::-1], strict=True):
                value = f"({symbol} + {radix} * {value})"
            self.values[name] = value
        return steps

    def goal(self, left: Integer, right: Integer) -> str:
        """Replace every division and exclusive or, innermost first, and compare polynomials."""
        steps: list[str] = []
        self._rewrite(left, steps)
        self._rewrite(right, steps)
        lines = "\n".join([*steps, "Radix.arithmetic."])
        return "{ " + lines.replace("\n", "\n  ") + " }"

    def _rewrite(self, term: Integer, steps: list[str]) -> str:
        """The text of `term` once `steps` have replaced its divisions."""
        if not isinstance(term, Term):
            return _text(term)
        if term.operator == "name":
            return self.values.get(term.operands[0], _text(term))
        left, right = (self._rewrite(operand, steps) for operand in term.operands)
        if term.operator in ("+", "-", "*"):
            return f"({left} {term.operator} {right})"
        ours, theirs = (self.domain.polynomial(to_json(operand)) for operand in term.operands)
        if term.operator == "xor":
            return self._exclusive_or((left, right), (ours, theirs), steps)
        quotient, remainder = (self._show(part) for part in self.domain.divide(ours, theirs))
        lemma, sign, result, witness = (
            ("quotient", "/", quotient, remainder)
            if term.operator == "div"
            else ("remainder", "mod", remainder, quotient)
        )
        step = (
            f"replace ({left} {sign} {right}) with {result}\n"
            f"  by (symmetry; apply Radix.{lemma} with {witness}; Radix.arithmetic)"
        )
        # A replacement inside may bring back a quotient that was replaced before.
        steps.append(f"try ({step})." if f"{step}." in steps else f"{step}.")
        return result

    def _exclusive_or(
        self,
        texts: tuple[str, str],
        values: tuple[checker.Polynomial, checker.Polynomial],
        steps: list[str],
    ) -> str:
        """Bit by bit: both operands in Horner's form, then `Radix.exclusive_or` at each place."""
        result = self._show(self.domain.exclusive_or(*values))
        places: list[dict[int, checker.Polynomial]] = []
        beyond: list[checker.Polynomial] = []
        for value in values:
            places.append({})
            beyond.append({})
            for monomial, factor in value.items():
                single = not monomial or (len(monomial) == 1 and monomial[0] in self.domain.bits)
                if single and factor > 0:
                    for place in range(factor.bit_length()):
                        if factor >> place & 1:
                            places[-1][place] = {monomial: 1}
                else:
                    beyond[-1][monomial] = factor
        width = 1 + max((*places[0], *places[1]), default=-1)
        horners: list[list[str]] = []
        for known, above in zip(places, beyond, strict=True):
            high = {monomial: factor >> width for monomial, factor in above.items()}
            horner = [self._show(high)]
            for place in reversed(range(width)):
                horner.append(f"({self._show(known.get(place, {}))} + 2 * {horner[-1]})")
            horners.append(horner)
        one, other = (horner[-1] for horner in horners)
        script = [f"transitivity (Z.lxor {one} {other}); [f_equal; Radix.arithmetic |]."]
        for place in range(width):
            digits = [known.get(place, {}) for known in places]
            involved = {name for part in digits for m in self.domain.expand(part) for name in m}
            cases = " ".join(
                f"destruct (Radix.bit {_name(bit)} ltac:(assumption)) as [-> | ->];"
                for bit in sorted(involved)
            )
            a, b = map(self._show, digits)
            differ = self._show(self.domain.exclusive_or(*digits))
            tails = " ".join(horner[width - 1 - place] for horner in horners)
            script.append(
                f"rewrite (Radix.exclusive_or {a} {b} {tails}) by ({cases} lia).\n"
                f"assert ({a} + {b} - 2 * ({a} * {b}) = {differ}) by ({cases} lia)."
            )
        script.append("rewrite ?Z.lxor_0_l, ?Z.lxor_0_r.\nRadix.arithmetic.")
        body = "\n".join(script).replace("\n", "\n    ")
        step = (
            f"assert (Z.lxor {texts[0]} {texts[1]} = {result}) as xor'.\n"
            f"  {{ {body} }}\nrewrite xor'. clear xor'."
        )
        if step not in steps:
            steps.append(step)
        return result

    def _show(self, value: checker.Polynomial) -> str:
        parts = [
            " * ".join([_text(factor)] * (factor != 1 or not monomial) + [*map(_name, monomial)])
            for monomial, factor in self.domain.expand(value).items()
        ]
        return f"({' + '.join(parts) or '0'})"


def _name(name: str) -> str:
    """Claims never contain a quote, so a quoted name is new: ``lane.0`` becomes ``lane'0``."""
    return f"{name}'" if _RESERVED.fullmatch(name) else name.replace(".", "'")


def _text(term: Integer) -> str:
    """The term in Coq, with parentheses around every operation."""
    if not isinstance(term, Term):
        return str(term) if term >= 0 else f"({term})"
    if term.operator == "name":
        return _name(term.operands[0])
    left, right = (_text(operand) for operand in term.operands)
    if term.operator == "xor":
        return f"(Z.lxor {left} {right})"
    sign = {"div": "/"}.get(term.operator, term.operator)
    return f"({left} {sign} {right})"
