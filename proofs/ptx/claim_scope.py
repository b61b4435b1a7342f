"""What the names in a claim's terms stand for, at each place where a term may stand.

Everywhere: sizes, and what ``[let]`` defines. Where a launch is described, ``blocks`` too, by axis
if the grid has several (`claim_grid`). In a store, the coordinates of a thread, ``round``,
``step``, ``value``, the axes of its ownership, and for short ``lane`` and ``warp``, which are
``thread % 32`` and ``thread / 32``. Of a writer, ``row`` and ``column``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, evaluate, names, show
from tylo.layouts.terms import name as named
from tylo.proofs.ptx.claim_file import PtxClaim
from tylo.proofs.ptx.claim_grid import COORDINATES
from tylo.proofs.ptx.claim_tables import Table

_ELEMENT: Mapping[str, Integer] = {each: named(each) for each in ("row", "column")}
_STEPS: Mapping[str, Integer] = {each: named(each) for each in ("round", "step")}
_TAKEN = ("thread", "block", *_STEPS, "blocks", "lane", "warp", *_ELEMENT, "value", *COORDINATES)
_LARGEST = 1 << 63
_MOST_NODES = 1000  # numbers, names and operations of one term


class Scope:
    """The names of one claim."""

    def __init__(self, claim: PtxClaim) -> None:
        self.claim = claim
        self.sizes: dict[str, Integer] = {size.name: named(size.name) for size in claim.sizes}
        unused = [each.name for each in claim.unused]
        for each in (*self.sizes, *unused, *claim.definitions):
            if each in _TAKEN:
                claim.table.fail(
                    f"{each!r} already has a meaning", hint=f"taken: {', '.join(_TAKEN)}"
                )
        for each in claim.definitions:
            if each in self.sizes or each in unused:
                claim.table.fail(f"[let] {each!r} is a parameter", hint="rename one of them")

    def launch(self, table: Table, key: str, term: Integer) -> Integer:
        """A term over sizes and blocks."""
        return self._resolve(table, key, term, self.claim.grid.launch_names())

    def thread(
        self, table: Table, key: str, term: Integer, local: Mapping[str, Integer]
    ) -> Integer:
        """A term about one thread; `local` are the value and the axes of an ownership."""
        for each in local:
            if each != "value" and (each in self.sizes or each in self.claim.definitions):
                table.fail(
                    f"{each!r} is an axis of the ownership and a name of the claim",
                    hint="rename the size or the definition",
                )
        names = self.claim.grid.thread_names()
        return self._resolve(table, key, term, {**names, **_STEPS, **local})

    def element(self, table: Table, key: str, term: Integer) -> Integer:
        """A term about an element of a matrix."""
        names = self.claim.grid.launch_names()
        return self._resolve(table, key, term, {**_ELEMENT, **names})

    def _resolve(
        self, table: Table, key: str, term: Integer, local: Mapping[str, Integer]
    ) -> Integer:
        known: dict[str, Integer] = {**self.sizes, **local}
        needed = set(names(term))
        weights = {each: _weight(found, {}) for each, found in known.items()}
        for each, definition in self.claim.definitions.items():
            # A definition may mention those before it, and is looked at only where it is used.
            if self._mentions(needed, each):
                weights[each] = self._weighed(table, key, definition, weights)
                known[each] = self._replaced(table, f"[let] {each}, in {key}", definition, known)
        self._weighed(table, key, term, weights)
        return self._replaced(table, key, term, known)

    def _weighed(self, table: Table, key: str, term: Integer, weights: Mapping[str, int]) -> int:
        """How long the term is once its names are replaced; definitions could double it often."""
        found = _weight(term, weights)
        if found > _MOST_NODES:
            table.fail(f"{key}: {found} numbers and names", hint=f"at most {_MOST_NODES}")
        return found

    def _mentions(self, needed: set[str], wanted: str) -> bool:
        reached, waiting = set(needed), list(needed)
        while waiting:
            each = waiting.pop()
            for other in names(self.claim.definitions.get(each, 0)):
                if other not in reached:
                    reached.add(other)
                    waiting.append(other)
        return wanted in reached

    def _replaced(
        self, table: Table, key: str, term: Integer, known: Mapping[str, Integer]
    ) -> Integer:
        others = [each for each in names(term) if each not in known]
        if others:
            table.fail(
                f"{key}: {show(term)} mentions {', '.join(others)}",
                hint=f"known here: {', '.join(known)}",
            )
        try:
            found: Integer = evaluate(term, known)
        except ClaimError as reason:
            table.fail(f"{key}: {reason.message}", reason.hint)
        if _largest(found) >= _LARGEST:
            table.fail(f"{key}: a number beyond 2^63", hint="offsets have 64 bits")
        return found


def _largest(term: Integer) -> int:
    """The largest magnitude of a number in a term."""
    if isinstance(term, int):
        return abs(term)
    if term.operator == "name":
        return 0
    return max(_largest(operand) for operand in term.operands)


def _weight(term: Integer, weights: Mapping[str, int]) -> int:
    if isinstance(term, int):
        return 1
    if term.operator == "name":
        return weights.get(term.operands[0], 1)
    return 1 + sum(_weight(operand, weights) for operand in term.operands)
