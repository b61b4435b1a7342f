"""Where control may go in a kernel with roles, and the loops it has.

Instructions have ranks: those from which others are reached come before them, but for ways that
lead back to where they came from. Such a way closes a loop; where it leads is the loop's head. A
loop that can be entered elsewhere than at its head is refused.

>>> from tylo.proofs.ptx.parser import parse
>>> flow = Flow(parse('''.version 8.8 .target sm_90a .address_size 64 .entry k() {
...   .reg .pred %p<2>; .reg .b32 %r<2>; mov.u32 %r1, 4;
...   A: add.s32 %r1, %r1, -1; setp.ne.s32 %p1, %r1, 0; @%p1 bra A; ret; }''', partial_loads=True))
>>> flow.loops[1].body == frozenset({1, 2, 3}), sorted(flow.loops[1].changed)
(True, ['%p1', '%r1'])
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.asynchronous.opcodes import TABLE
from tylo.proofs.ptx.opcodes import find
from tylo.proofs.ptx.program import Instruction, Module, Symbol, registers_of


@dataclass(frozen=True, slots=True)
class Loop:
    """The places of a loop, and the registers that one of its instructions writes."""

    head: int
    body: frozenset[int]
    changed: frozenset[str]


class Flow:
    """The control flow of a module's only entry."""

    def __init__(self, module: Module) -> None:
        if len(module.entries) != 1:
            raise PtxError(f"{len(module.entries)} entries", hint="a module holds one kernel alone")
        (self.entry,) = module.entries
        self.body = self.entry.body
        self.forms = [find(TABLE, each, module.target) for each in self.body]
        self.targets = {
            position: self._target(self.body[position])
            for position, form in enumerate(self.forms)
            if form.opcode.action == "branch"
        }
        self.end = len(self.body)
        self._before: dict[int, list[int]] = {}
        for position in range(self.end):
            for following in self.successors(position):
                self._before.setdefault(following, []).append(position)
        self.rank = self._ranks()
        # Where ways lead back, by branches or simply on.
        self._back = [
            (place, following)
            for place in self.rank
            for following in self.successors(place)
            if self.rank[following] <= self.rank[place]
        ]
        heads = sorted({target for _, target in self._back})
        self.loops = {head: self._loop(head) for head in heads}

    def _target(self, instruction: Instruction) -> int:
        (label,) = instruction.operands
        if not isinstance(label, Symbol) or label.name not in self.entry.labels:
            raise instruction.error("a branch to a label that does not exist")
        if instruction.guard is not None and instruction.mnemonic.endswith(".uni"):
            raise instruction.error("a promise that a warp does not part", hint="leave out .uni")
        return self.entry.labels[label.name]

    def _ranks(self) -> dict[int, int]:
        """The reverse of the order in which a search in depth leaves the instructions."""
        left: list[int] = []
        seen = {0}
        stack = [(0, iter(self.successors(0)))]
        while stack:
            position, following = stack[-1]
            fresh = next((each for each in following if each not in seen), None)
            if fresh is None:
                left.append(position)
                stack.pop()
            elif fresh < self.end:
                seen.add(fresh)
                stack.append((fresh, iter(self.successors(fresh))))
            else:
                raise PtxError(f"line {self.entry.line}: {self.entry.name} runs past its end")
        return {position: rank for rank, position in enumerate(reversed(left))}

    def alone(self, position: int) -> bool:
        """Whether an instruction is reached from one other alone."""
        return len(self._before.get(position, ())) == 1

    def successors(self, position: int) -> tuple[int, ...]:
        """Where control may go from an instruction."""
        guarded = self.body[position].guard is not None
        match self.forms[position].opcode.action:
            case "branch":
                return (self.targets[position], *((position + 1,) if guarded else ()))
            case "return":
                return (position + 1,) if guarded else ()
        return (position + 1,)

    def _loop(self, head: int) -> Loop:
        body = {head}
        waiting = [place for place, target in self._back if target == head]
        while waiting:
            position = waiting.pop()
            if position not in body:
                body.add(position)
                waiting += self._before.get(position, [])
        for position in body - {head}:
            if any(place not in body for place in self._before.get(position, [])):
                raise self.body[position].error("a loop that is entered elsewhere than at its head")
        if head == 0 or 0 in body:
            raise self.body[head].error("a loop that begins with the kernel")
        changed = {name for place in body for name in self.written(place)}
        return Loop(head, frozenset(body), frozenset(changed))

    def written(self, position: int) -> Iterator[str]:
        """The registers that an instruction may write."""
        kinds = self.forms[position].opcode.operands
        for kind, operand in zip(kinds, self.body[position].operands, strict=True):
            if kind.destination and not kind.address:
                for register in registers_of(operand):
                    yield register.name
