"""What a proof ranges over: thread, block, grid and base addresses, and the words to say where.

Variables are as narrow as their range, so that solvers see from the widths that high bits are
zero. Base addresses are a variable times their alignment.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tylo.layouts.terms import Integer, names
from tylo.layouts.terms import name as named
from tylo.proofs.effects import Buffer, Effect, Less, Store
from tylo.proofs.effects.axes import AXES, block_of, blocks_of, thread_along
from tylo.proofs.ptx.bitvector import BitVectors, Expression
from tylo.proofs.ptx.contract import expression, extent, ranges, sample
from tylo.proofs.ptx.forms import Form
from tylo.proofs.ptx.nodes import evaluate, evaluate_each
from tylo.proofs.ptx.program import Entry, Variable
from tylo.proofs.ptx.samples import samples

_Values: TypeAlias = Mapping[str, int]
_ELEMENT = ("row", "column")
_MOST_SETTLED = 24  # steps tried
_SHARED_BITS = 24
_SHARED_STEP = 1 << 19  # farther than any shared variable reaches
_BASE_STEP = 44  # sample bases lie 2^44 bytes apart, farther than any buffer reaches


@dataclass(frozen=True, slots=True)
class Tables:
    """What was found out about expressions, most of it thread by thread."""

    values: dict[Expression, tuple[int, ...] | None] = field(default_factory=dict)
    uniform: dict[Expression, tuple[Expression, ...] | None] = field(default_factory=dict)
    sums: dict[Expression, tuple[Form, ...] | None] = field(default_factory=dict)
    atoms: dict[str, Expression] = field(default_factory=dict)  # of those sums
    flows: dict[Expression, Any] = field(default_factory=dict)
    facts: dict[Expression, tuple[Expression, ...]] = field(default_factory=dict)
    # By source and violation: several violations as one, and an address among theirs.
    together: dict[Any, tuple[Expression, Expression]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scene:
    """One effect in one domain: its variables, and what is assumed about them."""

    effect: Effect
    domain: BitVectors
    thread: Expression
    block: Expression
    blocks: Expression
    round: Expression
    step: Expression
    row: Expression
    column: Expression
    further: dict[str, Expression]  # a block's coordinates along y and z, by name
    sizes: dict[str, Expression]
    bases: dict[str, Expression]
    assumed: dict[str, tuple[Expression, ...]]
    # Variables made on the way, those with a number one for each thread; what carried values are
    # made of; shared variables.
    made: dict[str, Expression]
    sources: dict[str, tuple[Expression, ...]]
    shared: dict[str, tuple[Variable, Expression]]
    # Terms of the contract in 64 bits, what is known of expressions, and sample points.
    terms: dict[Integer, Expression]
    tables: Tables
    sampled: dict[tuple[Any, ...], tuple[_Values, ...]]
    known: tuple[_Values, ...]
    ranges: Mapping[str, tuple[int, int]]

    def anew(self) -> Scene:
        """The scene for another kernel, where this one is as it was built; nodes are shared."""
        forgotten: dict[str, Any] = {"made": {}, "sources": {}, "shared": {}}
        tables = Tables(values=self.tables.values)
        return replace(self, assumed=dict(self.assumed), tables=tables, **forgotten)

    def value(self, term: Integer) -> Expression:
        """A term of the contract in 64 bits."""
        found = self.terms.get(term)
        if found is None:
            found = self.terms[term] = self._value(term)
        return found

    def _value(self, term: Integer) -> Expression:
        extent(self.ranges, term)
        return expression(self.domain, {**self.counted, **self.sizes, "blocks": self.blocks}, term)

    @property
    def counted(self) -> dict[str, Expression]:
        """The variables that are counted from zero, by name."""
        return {
            **{"thread": self.thread, "block": self.block, "round": self.round, "step": self.step},
            **{"row": self.row, "column": self.column, **self.further},
        }

    def holds(self, condition: Less) -> Expression:
        """A condition of the contract as one bit: terms are numbers, which may be negative."""
        left, right = self.value(condition.left), self.value(condition.right)
        return self.domain.less(left, right, 64, True)

    def all_of(self, conditions: Iterable[Expression]) -> Expression:
        """The conjunction of bits."""
        result = self.domain.constant(1, 1)
        for condition in conditions:
            result = self.domain.bit_and(result, condition, 1)
        return result

    def any_of(self, conditions: Iterable[Expression]) -> Expression:
        """The disjunction of bits."""
        return self.negate(self.all_of(map(self.negate, conditions)))

    def _all_hold(self, conditions: Iterable[Less]) -> Expression:
        return self.all_of(map(self.holds, conditions))

    def performed(self, store: Store) -> Expression:
        """Whether the contract's store is performed, in the thread, block and step at hand."""
        return self.all_of(map(self.holds, conditions(store)))

    def address(self, buffer: str, term: Integer) -> Expression:
        """Where the contract means by a buffer and an offset."""
        return self.domain.add(self.bases[buffer], self.value(term), 64)

    @property
    def most_blocks(self) -> int:
        """The blocks of the largest grid that the preconditions allow."""
        return self.ranges["blocks"][1]

    @property
    def counts_blocks(self) -> bool:
        """Whether any term of the effect mentions how many blocks there are."""
        stores = self.effect.stores
        stated = (*self.effect.preconditions, *itertools.chain(*self.effect.alternatives))
        terms = [side for each in stated for side in (each.left, each.right)]
        terms += [term for each in stores for term in (each.offset, each.repeat, each.rounds)]
        return any("blocks" in names(term) for term in terms)

    def limits(self) -> tuple[dict[str, int], dict[str, int]]:
        """The largest value of each variable, and the smallest of those that are not from zero."""
        # A size may be called what a variable is: those of sizes are named by their place alone.
        sizes = [self.ranges[each.name] for each in self.effect.parameters]
        largest = {name: self.ranges[name][1] for name in (*self.counted, "blocks")}
        largest |= {f"size{i}": most for i, (_, most) in enumerate(sizes)}
        smallest = {f"size{i}": least for i, (least, _) in enumerate(sizes)}
        return largest, smallest | {"blocks": self.ranges["blocks"][0]}

    def repeats(self) -> list[Integer]:
        """The numbers of steps that stores have, each once, other than one."""
        found = dict.fromkeys(store.repeat for store in self.effect.stores)
        return [repeat for repeat in found if repeat != 1]

    def rounds(self) -> list[Integer]:
        """The numbers of rounds that stores have, each once, other than one."""
        found = dict.fromkeys(store.rounds for store in self.effect.stores)
        return [rounds for rounds in found if rounds != 1]

    def negate(self, condition: Expression) -> Expression:
        """The complement of one bit."""
        return self.domain.bit_xor(condition, self.domain.constant(1, 1), 1)

    def differ(self, left: Expression, right: Expression) -> Expression:
        """Whether two values of one width differ."""
        return self.negate(self.domain.equal(left, right, left.width))

    def private(self, name: str, width: int) -> Expression:
        """A new variable that each thread has its own of."""
        variable = self.domain.variable(f"{name}.{len(self.made)}", width)
        self.made[str(variable.attribute)] = variable
        return variable

    def decision(self, condition: Expression) -> Expression:
        """A condition; if it depends on memory, a variable that stands for it."""
        if not condition.opaque:
            return condition
        # Never a name that `private` gives, which ends with a number after one dot.
        name = f"choice.of.{condition.serial}"
        return self.made.setdefault(name, self.domain.variable(name, 1))

    def carried(self, name: str, step: Expression, width: int) -> Expression:
        """A value that a loop carries from step to step, of which nothing is known."""
        return self.domain.function(name, [self.thread, self.round, step], width)

    def at_thread(self, roots: Sequence[Expression], thread: Expression) -> list[Expression]:
        """The expressions as another thread of the block has them."""
        values = {str(self.thread.attribute): thread}
        if self.thread.operator != "variable":
            return list(roots)
        for name in sorted(set().union(*(root.variables for root in roots))):
            if name in self.made and "." in name:
                variable = self.made[name]
                values[name] = self.private(name.split(".")[0], variable.width)
        for name, variable in values.items():
            if name in self.made and name in self.assumed:
                facts = self.domain.substitute(self.assumed[name], values)
                self.assumed[str(variable.attribute)] = tuple(facts)
        return self.domain.substitute(roots, values)

    def shared_base(self, variable: Variable) -> Expression:
        """The address of a shared variable: any multiple of its alignment (32 bits)."""
        domain = self.domain
        if variable.name not in self.shared:
            zeros = variable.alignment.bit_length() - 1
            base = domain.variable(f"shared{len(self.shared)}", _SHARED_BITS - zeros)
            parts = [domain.constant(0, zeros)] * (zeros > 0) + [base]
            low = domain.concatenate(parts, [part.width for part in parts])
            address = domain.extend(low, _SHARED_BITS, 32, False)
            self.shared[variable.name] = variable, address
        return self.shared[variable.name][1]

    def shared_variable(self, address: int) -> Variable | None:
        """The shared variable that an address at a sample point lies in."""
        index = (address + _SHARED_STEP // 2) // _SHARED_STEP - 1
        known = [variable for variable, _ in self.shared.values()]
        return known[index] if 0 <= index < len(known) else None

    def shared_size(self, variable: Variable) -> int:
        """Its bytes; those of an array of unstated length are the launch's."""
        return variable.size or self.effect.shared_bytes

    def assumptions(self, condition: Expression) -> list[Expression]:
        """What is assumed about the variables of a condition, and about those tied to them."""
        preconditions = [self.holds(each) for each in self.effect.preconditions]
        if self.effect.alternatives:
            preconditions.append(self.any_of(map(self._all_hold, self.effect.alternatives)))
        used: set[str] = set()
        found = condition.variables
        while found - used:
            new = found - used
            used |= new
            if "block" in new and any("blocks" in each.variables for each in preconditions):
                found = found | {"blocks"}
            for name in new & (self.made.keys() | self.further.keys()):
                found = found.union(*(fact.variables for fact in self.assumed.get(name, ())))
            tied = [each.variables for each in preconditions]
            found = found.union(*(names for names in tied if names & used))
        if "blocks" in used:
            used.add("block")
        facts = [fact for name in sorted(used) for fact in self.assumed.get(name, ())]
        return facts + [c for c in preconditions if c.variables <= used]

    def point(
        self, thread: int, block: int, step: int = 0, least: int = 3, sizes: _Values | None = None
    ) -> dict[str, int]:
        """A value for every variable: a sample launch that contains this thread."""
        values = {"thread": thread, "block": block, "blocks": block + 1, "step": step}
        values |= dict.fromkeys(("round", *_ELEMENT, *self.further, *self.made), 0)
        for index, (variable, _) in enumerate(self.shared.values()):
            values[f"shared{index}"] = (index + 1) * _SHARED_STEP // variable.alignment
        known = sizes or next(
            (each for each in self.known if each["blocks"] > block),
            sample(self.effect, least),
        )
        values["blocks"] = max(known.get("blocks", 0), block + 1)
        for index, parameter in enumerate(self.effect.parameters):
            values[f"size{index}"] = known[parameter.name]
        for index, buffer in enumerate(self.effect.buffers):
            values[f"base{index}"] = ((index + 1) << _BASE_STEP) // buffer.alignment
        return values

    def settled(self, point: dict[str, int]) -> dict[str, int]:
        """A sample point at which loops ended in steps in which they may end."""
        result = dict(point)
        for name in self.made:
            facts = list(self.assumed.get(name, ())) if name.startswith("last.") else []
            tried = range(_MOST_SETTLED if facts else 0)
            found = evaluate_each(facts, ({**result, name: value} for value in tried))
            ends = (value for value, held in zip(tried, found, strict=True) if all(held))
            result[name] = next(ends, tried[-1] if facts else 0)
        return result

    def place(self, address: int) -> tuple[Buffer, int] | None:
        """The buffer, and the offset in it, of an address at a sample point."""
        index, offset = divmod(address, 1 << _BASE_STEP)
        if offset >> (_BASE_STEP - 1):
            index, offset = index + 1, offset - (1 << _BASE_STEP)
        if 1 <= index <= len(self.effect.buffers):
            return self.effect.buffers[index - 1], offset
        return None

    def buffer_of(self, address: Expression) -> Buffer | None:
        """The buffer that an address seems to lie in, at a sample point."""
        (sampled,) = evaluate([address], self.point(0, 0))
        found = self.place(sampled)
        return found[0] if found else None

    def words(self, address: int) -> str:
        """An address at a sample point as buffer and offset."""
        found = self.place(address)
        if found is None and address < _SHARED_STEP:
            return f"byte {address}"
        return f"{found[0].name}{found[1]:+d}" if found else f"0x{address:x}, in no buffer"


def conditions(store: Store) -> list[Less]:
    """All that a store of the contract is performed under."""
    counts = (("round", store.rounds), ("step", store.repeat))
    counted = [Less(named(name), count) for name, count in counts if count != 1]
    return [*counted, *store.where]


def build(effect: Effect) -> Scene:
    """The scene of an effect."""
    domain = BitVectors()
    assumed: dict[str, tuple[Expression, ...]] = {}

    def counted(name: str, size: int) -> Expression:
        width = max(1, (size - 1).bit_length())
        if size == 1:
            return domain.constant(0, width)
        variable = domain.variable(name, width)
        if size < 1 << width:
            assumed[name] = (domain.less(variable, domain.constant(size, width), width, False),)
        return variable

    known = ranges(effect)
    names = (*effect.coordinates, *_ELEMENT)
    counts = {name: counted(name, known[name][1] + 1) for name in names}
    thread, block, *others, number, step, row, column = counts.values()
    further = dict(zip(effect.coordinates[2:], others, strict=False))
    blocks = domain.variable("blocks", 32)
    limit = domain.constant(known["blocks"][1] + 1, 32)
    assumed["blocks"] = (
        domain.less(domain.extend(block, block.width, 32, False), blocks, 32, False),
        domain.less(blocks, limit, 32, False),
    )
    given = {}
    for index, parameter in enumerate(effect.parameters):
        width = parameter.bits
        size = domain.variable(f"size{index}", width)
        given[parameter.name] = size
        assumed[f"size{index}"] = _within(domain, size, *known[parameter.name])
    for axis in effect.further:
        place, count = further[block_of(axis)], given[blocks_of(axis)]
        wide = domain.extend(place, place.width, count.width, False)
        assumed[block_of(axis)] = (domain.less(wide, count, count.width, False),)
    bases = {}
    for index, buffer in enumerate(effect.buffers):
        zeros = buffer.alignment.bit_length() - 1
        base = domain.variable(f"base{index}", 64 - zeros)
        parts = [domain.constant(0, zeros)] * (zeros > 0) + [base]
        start = domain.concatenate(parts, [part.width for part in parts])
        phase = expression(domain, given, buffer.phase * (buffer.element_bits // 8))
        bases[buffer.name] = domain.add(start, phase, 64)
    return Scene(
        *(effect, domain, thread, block, blocks, number, step, row, column, further, given, bases),
        *(assumed, {}, {}, {}, {}),
        *(Tables(), {}),
        samples(effect),
        known,
    )


def _within(domain: BitVectors, value: Expression, low: int, high: int) -> tuple[Expression, ...]:
    width, one = value.width, domain.constant(1, 1)
    above = domain.less(domain.constant(high, width), value, width, False)
    below = domain.less(value, domain.constant(low, width), width, False)
    return tuple(domain.bit_xor(fact, one, 1) for fact in (above, below))


def special_registers(scene: Scene) -> dict[str, Expression]:
    """The special registers under a launch (PTX ISA 10): threads are counted along x first."""
    domain, effect = scene.domain, scene.effect
    thread = domain.extend(scene.thread, scene.thread.width, 32, False)
    shape = (*(effect.block_shape or (effect.threads,)), 1, 1)[:3]
    found = {"%laneid": domain.bit_and(thread, domain.constant(31, 32), 32)}
    for axis, threads in zip(AXES, shape, strict=True):
        given = axis == "x" or axis in effect.further
        block = scene.counted[block_of(axis)] if given else domain.constant(0, 32)
        blocks = {**scene.sizes, "blocks": scene.blocks}.get(blocks_of(axis)) if given else None
        place = domain.extract(scene.value(thread_along(shape, axis)), 0, 32)
        found |= {
            f"%tid.{axis}": place,
            f"%ntid.{axis}": domain.constant(threads, 32),
            f"%ctaid.{axis}": domain.extend(block, block.width, 32, False),
            f"%nctaid.{axis}": domain.constant(1, 32) if blocks is None else blocks,
        }
    return found


def parameters(scene: Scene, entry: Entry) -> dict[str, Expression]:
    """The entry's parameters, which `require_module` found fit, as base addresses and sizes."""
    values = scene.bases | scene.sizes
    called = scene.effect.arguments or tuple(values)
    return {
        declared.name: values[name] for declared, name in zip(entry.parameters, called, strict=True)
    }
