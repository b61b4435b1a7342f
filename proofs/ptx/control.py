"""Where control may go in a body: branch targets, loops, and where paths that part meet again.

The body is a list of instructions; its end counts as one more place, which every return leads to.
Where two ways that part at a branch meet again is the first place that both of them must come to:
the nearest post-dominator.

>>> from tylo.proofs.ptx.parser import parse
>>> entry = parse('''.version 8.0 .target sm_90 .address_size 64 .entry k() {
...   .reg .pred %p<2>; .reg .b32 %r<2>;
...   @%p1 bra A; mov.u32 %r1, 1; A: mov.u32 %r1, 2; ret; }''').entries[0]
>>> flow = Flow(entry)
>>> flow.meets(0), flow.loops
(2, {})
"""

from __future__ import annotations

from collections.abc import Sequence

from tylo.proofs.ptx.opcodes import OPCODES, find
from tylo.proofs.ptx.program import Entry, Symbol


class Flow:
    """The control flow of one entry; raises `PtxError` for what the proof does not cover.

    `target` is the module's: what its architecture does not have is refused.
    """

    def __init__(self, entry: Entry, target: Sequence[str] | None = None) -> None:
        self.entry = entry
        self.body = entry.body
        self.forms = [find(OPCODES, instruction, target) for instruction in self.body]
        for instruction in self.body:
            if instruction.guard is not None and instruction.mnemonic.endswith(".uni"):
                raise instruction.error(
                    "a promise that a warp does not part", hint="leave out .uni: it is not proven"
                )
        self.branches = {
            position: self._target(position)
            for position, form in enumerate(self.forms)
            if form.opcode.action == "branch"
        }
        self.loops: dict[int, int] = {}
        for position, place in self.branches.items():
            if place <= position:
                if place in self.loops:
                    raise self.body[position].error("a second branch back to one label")
                self.loops[place] = position
        self._meeting = self._nearest_post_dominators()

    def _target(self, position: int) -> int:
        instruction = self.body[position]
        (label,) = instruction.operands
        labels = self.entry.labels
        if not isinstance(label, Symbol) or label.name not in labels:
            raise instruction.error("a branch to a label that does not exist")
        return labels[label.name]

    def meets(self, position: int) -> int:
        """Where the two ways from a guarded branch or return meet again."""
        return self._meeting[position]

    def _successors(self, position: int) -> tuple[int, ...]:
        guarded = self.body[position].guard is not None
        onward = (position + 1,) if guarded else ()
        match self.forms[position].opcode.action:
            case "branch":
                return (self.branches[position], *onward)
            case "return":
                return (len(self.body), *onward)
        return (position + 1,)

    def _nearest_post_dominators(self) -> dict[int, int]:
        """For each instruction, by the sets of places that all ways from it pass, as bits."""
        end = len(self.body)
        everything = (1 << (end + 1)) - 1
        passed = [everything] * end + [1 << end]
        changed = True
        while changed:
            changed = False
            for position in range(end - 1, -1, -1):
                common = everything
                for successor in self._successors(position):
                    common &= passed[min(successor, end)]
                common |= 1 << position
                if common != passed[position]:
                    passed[position], changed = common, True
        meeting = {}
        for position in range(end):
            later = passed[position] & ~(1 << position)
            # Of the places that must be passed, the nearest is the one that passes all the others.
            candidates = (
                [i for i in range(end + 1) if later >> i & 1] if self._parts(position) else []
            )
            meeting[position] = next((c for c in candidates if passed[c] == later), end)
        return meeting

    def _parts(self, position: int) -> bool:
        guarded = self.body[position].guard is not None
        return guarded and self.forms[position].opcode.action in ("branch", "return")
