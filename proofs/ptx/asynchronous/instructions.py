"""What one instruction does to a thread's registers, and which step of the protocol it is.

Ordinary arithmetic is that of the opcode table. Floating point gives values of which nothing is
known but who agrees about them; so do votes and matrix products. What is not listed is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tylo.proofs.ptx.asynchronous.departure import Departure
from tylo.proofs.ptx.asynchronous.guarded import Tag
from tylo.proofs.ptx.asynchronous.state import State, Waiting
from tylo.proofs.ptx.asynchronous.terms import Level
from tylo.proofs.ptx.asynchronous.uses import Uses
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.opcodes import Form
from tylo.proofs.ptx.opcodes.unspecified import unspecified
from tylo.proofs.ptx.program import (
    TYPES,
    Address,
    Box,
    Instruction,
    Number,
    Operand,
    Pair,
    Register,
    Sink,
    Vector,
    registers_of,
)
from tylo.proofs.specifications.attention_arguments import SHARE_PLACES

_ALL = 0xFFFFFFFF
# What a whole warp or group does at once, whether or not it is a step.
_WARP_WIDE = frozenset({"shuffle", "vote", "elect", "load matrix", "store matrix", "multiply"})


class Instructions(Uses):
    """The instructions of one entry."""

    def settle(self, state: State) -> None:
        """What a tried barrier said, once the way taken since then tells."""
        tried = state.waiting
        if tried is None:
            return
        decisions = self.decisions
        passed = decisions.of(tried.passed)
        if decisions.implies(state.here, passed):
            state.waiting = None
            operands = {"address": tried.address, "parity": tried.parity}
            self.progress.perform(state, tried.instruction, "wait", operands)
        elif decisions.implies(state.here, decisions.negation(passed)):
            state.waiting = None
        else:
            raise tried.instruction.error("whether the barrier was passed is not asked")

    def step(self, state: State, position: int, instruction: Instruction, form: Form) -> None:
        """Carry out an instruction that is not control flow."""
        action = form.opcode.action
        if action not in ("product", "await products", "commit products", "begin products"):
            self._require_idle(state, instruction)
        if action == "":
            self._compute(state, instruction, form)
            return
        if instruction.guard is not None:
            raise instruction.error("a guard", hint="branch around the instruction instead")
        if action == "parameter":
            self._parameter(state, position, instruction, form)
            return
        if action in ("parameter address",):
            value = self.source(state, instruction, form, form.opcode.operands[1], 1)
            self.scene.parameter_of(instruction, value)
            self.write(state, instruction, form, 0, value)
            return
        # From here on it matters who is here, and what came before.
        if action != "try wait":
            self.settle(state)
        self.use_operands(state, instruction, form)
        if action in _WARP_WIDE:
            self.progress.together.append(Level.WARP)
            if self.decisions.level(state.here) > Level.WARP:
                raise instruction.error("not every lane of a warp comes here")
        handler = getattr(self, "_" + action.replace(" ", "_"), None)
        if handler is None:
            raise instruction.error(f"a {action}", hint="the proof does not cover it")
        handler(state, instruction, form)

    def _require_idle(self, state: State, instruction: Instruction) -> None:
        """No register of a product that is under way is read or written."""
        busy = state.busy
        if not busy:
            return
        for operand in instruction.operands:
            for register in registers_of(operand):
                if register.name in busy:
                    reason = f"{register.name} belongs to a product that is not awaited"
                    if self.reasoning.possible(state.here, self.terms.constant(1, 1)):
                        raise Departure(instruction, reason)
                    raise instruction.error(reason)

    # Arithmetic.

    def _compute(self, state: State, instruction: Instruction, form: Form) -> None:
        assert form.opcode.semantics is not None
        kinds = form.opcode.operands
        sources = [
            self.source(state, instruction, form, kind, place)
            for place, kind in enumerate(kinds)
            if not kind.destination
        ]
        result = self.of_guarded(state, instruction, form, sources)
        if result is not None:
            self.write(state, instruction, form, 0, result)
            return
        where = unspecified(self.terms, form, sources)
        if where is not None and where.value != 0:
            here = self.decisions.both(
                state.here, self.decisions.of(self.condition(state, instruction))
            )
            self.progress.state(instruction, here, "specified result", self.terms.negate(where))
        result = form.opcode.semantics(self.terms, form, *sources)
        (place,) = [place for place, kind in enumerate(kinds) if kind.destination]
        self.write(state, instruction, form, place, result)

    def _listed(
        self, state: State, instruction: Instruction, form: Form, address: Expression
    ) -> None:
        """A number of the table behind the arguments."""
        terms = self.terms
        place = self.scene.place_in_table(instruction, address)
        limit = terms.constant(SHARE_PLACES, 32)
        inside = terms.less(place, limit, 32, False)
        self.progress.state(instruction, state.here, "inside the table of arguments", inside)
        self.write(state, instruction, form, 0, self.scene.listed(place))

    def _load(self, state: State, instruction: Instruction, form: Form) -> None:
        """What the protocol says that memory holds, and nothing else."""
        operand = instruction.operands[1]
        space = form.chosen.get("space", "").removesuffix("::cta")
        if "vec" in form.chosen:
            raise instruction.error("a load of several values at once")
        assert isinstance(operand, Address)
        address = self.address(state, instruction, operand, 64)
        found = self.progress.read(state, instruction, space, form.width, address)
        self.reasoning.suppose(found.known)
        self.write(state, instruction, form, 0, found.value)

    def _parameter(self, state: State, position: int, instruction: Instruction, form: Form) -> None:
        operand = instruction.operands[1]
        assert isinstance(operand, Address)
        address = self.address(state, instruction, operand, 64)
        kind = form.opcode.operands[0]
        if form.width == 16:
            self._listed(state, instruction, form, address)
            return
        size = form.width // 8
        count = form.operand_count(kind) or 1
        used = self.entry.used_bytes.get(position, -1)
        first = instruction.operands[0]
        targets = first.elements if isinstance(first, Vector) else (first,)
        for number, target in enumerate(targets[:count]):
            mask = ((1 << size) - 1) << number * size
            assert isinstance(target, Register)
            if used & mask == mask:
                offset = self.terms.constant(number * size, 64)
                field = self.scene.field(
                    instruction, self.terms.add(address, offset, 64), form.width
                )
                self.put(state, instruction, form, kind, target, field)
            else:
                state.registers.pop(target.name, None)

    # Steps.

    def _step(
        self, state: State, instruction: Instruction, kind: str, **operands: Any
    ) -> Sequence[Tag]:
        return self.progress.perform(state, instruction, kind, operands)

    def _barrier_init(self, state: State, instruction: Instruction, form: Form) -> None:
        count = self.value(state, instruction, 1, 32)
        address = self.shared_at(state, instruction, 0)
        self._step(state, instruction, "barrier init", address=address, arrivals=count)

    def _publish_barriers(self, state: State, instruction: Instruction, form: Form) -> None:
        self._step(state, instruction, "publish barriers")

    def _publish_shared(self, state: State, instruction: Instruction, form: Form) -> None:
        self._step(state, instruction, "publish shared")

    def _registers(self, state: State, instruction: Instruction, form: Form) -> None:
        operand = instruction.operands[0]
        assert isinstance(operand, Number)
        change = form.chosen["change"]
        self._step(state, instruction, "registers", change=change, count=operand.value)

    def _barrier(self, state: State, instruction: Instruction, form: Form) -> None:
        number = self.value(state, instruction, 0, 32)
        if len(instruction.operands) == 1:
            self._step(state, instruction, "block barrier", number=number)
            return
        threads = self.value(state, instruction, 1, 32)
        self._step(state, instruction, "barrier", number=number, threads=threads)

    def _arrive(self, state: State, instruction: Instruction, form: Form) -> None:
        number = self.value(state, instruction, 0, 32)
        threads = self.value(state, instruction, 1, 32)
        self._step(state, instruction, "barrier arrival", number=number, threads=threads)

    def _elect(self, state: State, instruction: Instruction, form: Form) -> None:
        target, members = instruction.operands
        if not isinstance(target, Pair) or not isinstance(members, Number):
            raise instruction.error("an election that is not written as covered")
        self._require_members(state, instruction, members)
        # The same lane of a warp each time (PTX ISA 9.7.13.15).
        self.put(
            state, instruction, form, form.opcode.operands[0], target.second, self.scene.elected
        )
        if not isinstance(target.first, Sink):
            raise instruction.error("which lane is elected")

    def _try_wait(self, state: State, instruction: Instruction, form: Form) -> None:
        self.settle(state)
        passed = self.terms.fresh(1, Level.LANE)
        address = self.shared_at(state, instruction, 1)
        parity = self.value(state, instruction, 2, 32)
        state.waiting = Waiting(instruction, address, parity, passed)
        self.write(state, instruction, form, 0, passed)

    def _expect(self, state: State, instruction: Instruction, form: Form) -> None:
        address = self.shared_at(state, instruction, 1)
        count = self.value(state, instruction, 2, 32)
        self._step(state, instruction, "expect", address=address, bytes=count)

    def _arrival(self, state: State, instruction: Instruction, form: Form) -> None:
        self._step(state, instruction, "arrival", address=self.shared_at(state, instruction, 1))

    def _box(self, state: State, instruction: Instruction, operand: Operand) -> dict[str, Any]:
        assert isinstance(operand, Box)
        tensor = self.register(state, instruction, operand.base, 64, False)
        found: dict[str, Any] = {"tensor": tensor}
        for number, each in enumerate(operand.coordinates):
            found[f"coordinate {number}"] = self.scalar(state, instruction, each, 32, False)
        return found

    def _load_box(self, state: State, instruction: Instruction, form: Form) -> None:
        box = self._box(state, instruction, instruction.operands[1])
        target, barrier = (self.shared_at(state, instruction, place) for place in (0, 2))
        self._step(state, instruction, "load box", target=target, barrier=barrier, **box)

    def _store_box(self, state: State, instruction: Instruction, form: Form) -> None:
        box = self._box(state, instruction, instruction.operands[0])
        source = self.shared_at(state, instruction, 1)
        self._step(state, instruction, "store box", source=source, **box)

    def _commit_stores(self, state: State, instruction: Instruction, form: Form) -> None:
        self._step(state, instruction, "commit stores")

    def _await_stores(self, state: State, instruction: Instruction, form: Form) -> None:
        self._step(state, instruction, "await stores", pending=self.immediate(instruction, 0))

    def _store(self, state: State, instruction: Instruction, form: Form) -> None:
        space = form.chosen.get("space", "")
        operand = instruction.operands[0]
        if space not in ("global", "shared", "shared::cta") or "vec" in form.chosen:
            raise instruction.error("a store that is not covered", hint="store to .global alone")
        assert isinstance(operand, Address)
        address = self.address(state, instruction, operand, 64)
        value = self.source(state, instruction, form, form.opcode.operands[1], 1)
        if space != "global":
            self._step(
                state, instruction, "shared store", address=address, bits=form.width, value=value
            )
            return
        self._step(state, instruction, "store", address=address, bits=form.width)

    # Matrices.

    def _begin_products(self, state: State, instruction: Instruction, form: Form) -> None:
        state.written.clear()
        self._step(state, instruction, "begin products")

    def _product(self, state: State, instruction: Instruction, form: Form) -> None:
        operands = instruction.operands
        kinds = form.opcode.operands
        named = {kind.name: place for place, kind in enumerate(kinds)}
        results = operands[0]
        assert isinstance(results, Vector)
        written = frozenset(r.name for r in registers_of(results))
        read = frozenset(r.name for r in registers_of(operands[1]))
        if len(written) != len(results.elements):
            raise instruction.error("a register twice among accumulators")
        in_registers = isinstance(operands[1], Vector)
        if in_registers and written & read:
            raise instruction.error("a register that is both operand and accumulator")
        ours = written | (read if in_registers else frozenset())
        for name in ours & state.written:
            raise instruction.error(f"{name} was written after the products were told to begin")
        for batch in state.batches:
            if batch & ours:
                raise instruction.error("a register of a product of another batch")
        if (state.open & ours) - written:
            raise instruction.error("a register that this batch writes")
        more = self.scalar(state, instruction, operands[named["more"]], 1, False)
        # What is not added to is not read (PTX ISA 9.7.15.5.2, scale-d).
        self.read_all(state, instruction, operands[1])
        if more.value != 0:
            self.read_all(state, instruction, operands[0])
        constants = {
            name: operand.value
            for name, place in named.items()
            if isinstance(operand := operands[place], Number)
        }
        found: dict[str, Any] = {
            "spelling": instruction.mnemonic,
            "more": more,
            "b": self.value(state, instruction, named["b"], 64),
            "signs": f"{constants['sign_a']} {constants['sign_b']}",
            "b transposed": constants["side_b"],
        }
        if in_registers:
            found["a"] = "registers"
        else:
            found["a"] = self.value(state, instruction, 1, 64)
            found["a transposed"] = constants["side_a"]
        tags = self._step(state, instruction, "product", **found)
        state.open = state.open | ours
        listed = list(registers_of(operands[0]))
        added = [] if more.value == 0 else [state.registers[each.name] for each in listed]
        for name in written:
            state.registers[name] = self.terms.fresh(32, Level.LANE)
        self.give(state, instruction, tags, listed, added)

    def _commit_products(self, state: State, instruction: Instruction, form: Form) -> None:
        self._step(state, instruction, "commit products")
        state.batches, state.open = (*state.batches, state.open), frozenset()

    def _await_products(self, state: State, instruction: Instruction, form: Form) -> None:
        pending = self.immediate(instruction, 0)
        self._step(state, instruction, "await products", pending=pending)
        state.batches = state.batches[len(state.batches) - pending :] if pending else ()

    def _load_matrix(self, state: State, instruction: Instruction, form: Form) -> None:
        self._step(state, instruction, "load matrix", address=self.shared_at(state, instruction, 1))
        self._forget(state, instruction, form)

    def _store_matrix(self, state: State, instruction: Instruction, form: Form) -> None:
        self.read_all(state, instruction, instruction.operands[1])
        kind = instruction.mnemonic
        address = self.shared_at(state, instruction, 0)
        self._step(state, instruction, "store matrix", spelling=kind, address=address)

    def _multiply(self, state: State, instruction: Instruction, form: Form) -> None:
        """A product of the warp alone: values."""
        for operand in instruction.operands[1:]:
            self.read_all(state, instruction, operand)
        results, summands = (list(registers_of(instruction.operands[at])) for at in (0, 3))
        added = [state.registers[each.name] for each in summands]
        tags = self._step(state, instruction, "multiply", spelling=instruction.mnemonic)
        self._forget(state, instruction, form)
        self.give(state, instruction, tags, results, added)

    def _forget(self, state: State, instruction: Instruction, form: Form) -> None:
        operand = instruction.operands[0]
        for register in registers_of(operand):
            fresh = self.terms.fresh(TYPES[self.entry.registers[register.name]], Level.LANE)
            self.put(state, instruction, form, form.opcode.operands[0], register, fresh)

    # Lanes.

    def _require_members(self, state: State, instruction: Instruction, operand: Operand) -> None:
        if self.scalar(state, instruction, operand, 32, False).value != _ALL:
            raise instruction.error("part of a warp", hint="the member mask must be all ones")

    def _vote(self, state: State, instruction: Instruction, form: Form) -> None:
        self._require_members(state, instruction, instruction.operands[2])
        self.scalar(state, instruction, instruction.operands[1], 1, False)
        self.write(state, instruction, form, 0, self.terms.fresh(1, Level.WARP))

    def _shuffle(self, state: State, instruction: Instruction, form: Form) -> None:
        """A value of another lane: known where it is the same in all lanes or that of a lane."""
        target, _, by, limits, members = instruction.operands
        self._require_members(state, instruction, members)
        value = self.value(state, instruction, 1, 32)
        lane, clamp = (self.scalar(state, instruction, each, 32, False) for each in (by, limits))
        if self.terms.level(value) <= Level.WARP:
            moved = value
        elif form.chosen["mode"] == "idx" and lane.value is not None and clamp.value == 31:
            moved = self.scene.in_lane(value, lane.value % 32)
        else:
            moved = self.terms.fresh(32, Level.LANE)
        kind = form.opcode.operands[0]
        first, second = (
            (target.first, target.second) if isinstance(target, Pair) else (target, Sink())
        )
        self.put(state, instruction, form, kind, first, moved)
        self.put(state, instruction, form, kind, second, self.terms.fresh(1, Level.LANE))
