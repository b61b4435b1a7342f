"""What a proof against an effect assumes, and what it leaves out, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tylo.layouts.terms import Integer, show
from tylo.proofs.effects.axes import AXES, blocks_of
from tylo.proofs.effects.elements import Less
from tylo.proofs.effects.parts import COMPUTED
from tylo.proofs.effects.values import Buffer, Effect


def assumptions(effect: Effect) -> tuple[str, ...]:
    """What a proof against the effect takes for granted about a launch, in words."""
    ability = {"in": "readable", "out": "writable"}
    return (
        _launch(effect),
        *(
            f"{buffer.name}: {buffer_bytes(buffer)} bytes, "
            f"{ability[buffer.direction]}, "
            f"starts {_start(buffer)}, ends within 2^64"
            for buffer in effect.buffers
        ),
        *(
            f"{parameter.minimum} <= {parameter.name} <= {parameter.maximum}"
            for parameter in effect.parameters
        ),
        *_conditions(effect.preconditions),
        *_one_of(effect),
        "no two buffers overlap",
    )


def _launch(effect: Effect) -> str:
    grid = [f"1 <= blocks <= {effect.maximum_blocks} along x"]
    grid += [f"{blocks_of(axis)} along {axis}" for axis in effect.further]
    shape = effect.block_shape
    if len(shape) > 1:
        block = f"{' x '.join(map(str, shape))} threads along {', '.join(AXES[: len(shape)])}"
    else:
        block = f"{effect.threads} threads along x"
    if len(grid) == 1 and len(shape) < 2:
        return f"launch: {grid[0]}, {block}, y and z extents 1"
    return f"launch: {', '.join(grid)}, {block}, all other extents 1"


def _conditions(stated: Sequence[Less]) -> Iterator[str]:
    """Conditions in words; two that say that terms are equal, as one."""
    left = list(stated)
    while left:
        condition = left.pop(0)
        # a < b + 1 and b < a + 1
        most = condition.right - 1 if isinstance(condition.right, int) else _predecessor(condition)
        partner = None if most is None else Less(most, condition.left + 1)
        if partner in left:
            left.remove(partner)
            yield f"{show(condition.left)} == {show(partner.left)}"
        else:
            yield str(condition)


def _one_of(effect: Effect) -> Iterator[str]:
    """The alternatives of an effect, as one."""
    if effect.alternatives:
        yield ", or ".join(" and ".join(_conditions(each)) for each in effect.alternatives)


def _predecessor(condition: Less) -> Integer | None:
    """The term that is one below the right side, if it is spelled so."""
    right = condition.right
    if isinstance(right, int) or right.operator != "+" or right.operands[1] != 1:
        return None
    before: Integer = right.operands[0]
    return before


def uncovered(effect: Effect) -> tuple[str, ...]:
    """What no proof against the effect says anything about, by name."""
    named_values = dict.fromkeys(
        f"values not covered: {part} (stored to {store.buffer})"
        for store in effect.stores
        for part in store.parts
        if part.conversion == COMPUTED
    )
    return tuple(named_values)


def buffer_bytes(buffer: Buffer) -> str:
    """The extent of a buffer in bytes, in words."""
    if buffer.elements is None:
        return f"{_product(buffer.bytes_per_block)} * blocks"
    return show(buffer.total_bytes)


def _start(buffer: Buffer) -> str:
    multiple = f"a multiple of {buffer.alignment}"
    if buffer.phase == 0:
        return f"at {multiple}"
    return f"{show(buffer.phase)} elements of {buffer.element_bits // 8} bytes after {multiple}"


def _product(term: Integer) -> str:
    return str(term) if isinstance(term, int) or term.operator in "*name" else f"({term})"
