"""What a proof ranges over: thread, block, grid and base addresses, and the words to say where.

Variables are as narrow as their range, so that solvers see from the widths that high bits are
zero. Base addresses are a variable times their alignment.
"""

from __future__ import annotations

from dataclasses import dataclass

from tylo.layouts.terms import Integer
from tylo.proofs.effects import Buffer, Effect
from tylo.proofs.ptx.bitvector import BitVectors, Expression, order
from tylo.proofs.ptx.contract import expression, extent, sample, sizes
from tylo.proofs.ptx.program import Entry

_BASE_STEP = 44  # sample bases lie 2^44 bytes apart, farther than any buffer reaches


@dataclass(frozen=True, slots=True)
class Scene:
    """One effect in one domain: its variables, and what is assumed about them."""

    effect: Effect
    domain: BitVectors
    thread: Expression
    block: Expression
    blocks: Expression
    step: Expression
    sizes: dict[str, Expression]
    bases: dict[str, Expression]
    assumed: dict[str, tuple[Expression, ...]]

    def value(self, term: Integer) -> Expression:
        """A term of the contract in 64 bits."""
        extent(sizes(self.effect), term)
        variables = {"thread": self.thread, "block": self.block, "step": self.step, **self.sizes}
        return expression(self.domain, variables, term)

    def address(self, buffer: str, term: Integer) -> Expression:
        """Where the contract means by a buffer and an offset."""
        return self.domain.add(self.bases[buffer], self.value(term), 64)

    def maxima(self) -> dict[str, int]:
        """The largest value of each variable."""
        known = {n: size - 1 for n, size in sizes(self.effect).items()}
        named = {f"size{i}": p.maximum for i, p in enumerate(self.effect.parameters)}
        return known | named | {"blocks": self.effect.maximum_blocks}

    def repeats(self) -> list[Integer]:
        """The numbers of steps that stores have, each once, other than one."""
        found = dict.fromkeys(store.repeat for store in self.effect.stores)
        return [repeat for repeat in found if repeat != 1]

    def negate(self, condition: Expression) -> Expression:
        """The complement of one bit."""
        return self.domain.bit_xor(condition, self.domain.constant(1, 1), 1)

    def differ(self, left: Expression, right: Expression) -> Expression:
        """Whether two values of one width differ."""
        return self.negate(self.domain.equal(left, right, left.width))

    def assumptions(self, condition: Expression) -> list[Expression]:
        """What is assumed about the variables of a condition."""
        used = {str(node.attribute) for node in order([condition]) if node.operator == "variable"}
        if "blocks" in used:
            used.add("block")
        return [fact for name in sorted(used) for fact in self.assumed.get(name, ())]

    def point(self, thread: int, block: int, step: int = 0, least: int = 3) -> dict[str, int]:
        """A value for every variable: a sample launch that contains this thread."""
        values = {"thread": thread, "block": block, "blocks": block + 1, "step": step}
        for index, size in enumerate(sample(self.effect, least).values()):
            values[f"size{index}"] = size
        for index, buffer in enumerate(self.effect.buffers):
            values[f"base{index}"] = ((index + 1) << _BASE_STEP) // buffer.alignment
        return values

    def place(self, address: int) -> tuple[Buffer, int] | None:
        """The buffer, and the offset in it, of an address at a sample point."""
        index, offset = divmod(address, 1 << _BASE_STEP)
        if offset >> (_BASE_STEP - 1):
            index, offset = index + 1, offset - (1 << _BASE_STEP)
        if 1 <= index <= len(self.effect.buffers):
            return self.effect.buffers[index - 1], offset
        return None

    def words(self, address: int) -> str:
        """An address at a sample point as buffer and offset."""
        found = self.place(address)
        return f"{found[0].name}{found[1]:+d}" if found else f"0x{address:x}, in no buffer"


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

    thread = counted("thread", effect.threads)
    block = counted("block", effect.maximum_blocks)
    step = counted("step", sizes(effect)["step"])
    blocks = domain.variable("blocks", 32)
    limit = domain.constant(effect.maximum_blocks + 1, 32)
    assumed["blocks"] = (
        domain.less(domain.extend(block, block.width, 32, False), blocks, 32, False),
        domain.less(blocks, limit, 32, False),
    )
    bases = {}
    for index, buffer in enumerate(effect.buffers):
        zeros = buffer.alignment.bit_length() - 1
        base = domain.variable(f"base{index}", 64 - zeros)
        bases[buffer.name] = (
            domain.concatenate([domain.constant(0, zeros), base], [zeros, 64 - zeros])
            if zeros
            else base
        )
    named = {}
    for index, parameter in enumerate(effect.parameters):
        width = parameter.bits
        size = domain.variable(f"size{index}", width)
        named[parameter.name] = size
        assumed[f"size{index}"] = _within(domain, size, parameter.minimum, parameter.maximum)
    return Scene(effect, domain, thread, block, blocks, step, named, bases, assumed)


def _within(domain: BitVectors, value: Expression, low: int, high: int) -> tuple[Expression, ...]:
    width, one = value.width, domain.constant(1, 1)
    above = domain.less(domain.constant(high, width), value, width, False)
    below = domain.less(value, domain.constant(low, width), width, False)
    return tuple(domain.bit_xor(fact, one, 1) for fact in (above, below))


def special_registers(scene: Scene) -> dict[str, Expression]:
    """The special registers under a launch along x (PTX ISA 10)."""
    domain = scene.domain
    zero, one = domain.constant(0, 32), domain.constant(1, 32)
    thread = domain.extend(scene.thread, scene.thread.width, 32, False)
    return {
        "%tid.x": thread,
        "%ntid.x": domain.constant(scene.effect.threads, 32),
        "%laneid": domain.bit_and(thread, domain.constant(31, 32), 32),
        "%ctaid.x": domain.extend(scene.block, scene.block.width, 32, False),
        "%nctaid.x": scene.blocks,
        **{f"%{name}.{axis}": zero for name in ("tid", "ctaid") for axis in "yz"},
        **{f"%{name}.{axis}": one for name in ("ntid", "nctaid") for axis in "yz"},
    }


def parameters(scene: Scene, entry: Entry) -> dict[str, Expression]:
    """The entry's parameters, which `require_module` found fit, as base addresses and sizes."""
    values = [scene.bases[buffer.name] for buffer in scene.effect.buffers]
    values += [scene.sizes[parameter.name] for parameter in scene.effect.parameters]
    return {declared.name: value for declared, value in zip(entry.parameters, values, strict=True)}
