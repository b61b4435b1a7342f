"""That an access lies inside its buffer, and starts at a multiple of its width."""

from __future__ import annotations

from collections.abc import Iterator

from tylo.layouts.terms import Integer
from tylo.proofs.effects import Buffer, buffer_bytes
from tylo.proofs.ptx.obligation import Obligation, Spoken
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.symbolic import Access
from tylo.proofs.ptx.thread_sums import under


def _tiled(scene: Scene, term: Integer) -> Spoken:
    """The products in an extent, of which a factor counts tiles: 32 times so many rows.

    A row is compared with all rows, and not with the tiles.
    """
    if isinstance(term, int) or term.operator == "name":
        return ()
    found = tuple(pair for operand in term.operands for pair in _tiled(scene, operand))
    if term.operator == "*" and not any(isinstance(each, int) for each in term.operands):
        for first, second in (term.operands, term.operands[::-1]):
            if first.operator == "*" and any(isinstance(each, int) for each in first.operands):
                found += ((scene.value(first), scene.value(second)),)
    return found


def inside(
    scene: Scene,
    access: Access,
    label: str,
    buffer: Buffer | None,
    spoken: Spoken = (),
) -> Iterator[Obligation]:
    """In bounds, and aligned to its width; bounds are about the products in `spoken`."""
    domain, size, guard = scene.domain, access.bits // 8, access.guard
    where = access.instruction.line, access.instruction.text, scene
    if buffer is None:
        yield Obligation(f"{label}: bounds", *where, guard, access.address, "an input buffer")
        return
    offset = domain.subtract(access.address, scene.bases[buffer.name], 64)
    offset = under(scene, offset, guard)
    width = domain.constant(size, 64)
    if buffer.elements is None:
        # The smallest grid that contains the block is the tightest: its extent ends with the block.
        share = scene.value(buffer.bytes_per_block)
        block = domain.extend(scene.block, scene.block.width, 64, False)
        end = domain.add(domain.multiply(block, share, 64), share, 64)
    else:
        end = share = scene.value(buffer.total_bytes)
        spoken = (*spoken, *_tiled(scene, buffer.elements))
    last = domain.subtract(end, width, 64)
    # A share smaller than the access would wrap `last` in the first block.
    beyond = domain.bit_or(
        domain.less(last, offset, 64, False), domain.less(share, width, 64, False), 1
    )
    within = f"within the {buffer_bytes(buffer)} bytes of {buffer.name}"
    outside = domain.bit_and(guard, beyond, 1)
    yield Obligation(f"{label}: bounds", *where, outside, access.address, within, spoken=spoken)
    remainder = domain.bit_and(access.address, domain.constant(size - 1, 64), 64)
    misaligned = scene.differ(remainder, domain.constant(0, 64))
    yield Obligation(
        f"{label}: alignment",
        *where,
        domain.bit_and(guard, misaligned, 1),
        access.address,
        f"a multiple of {size}",
    )
