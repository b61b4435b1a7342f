"""Another thread of the block, and whether two ranges of shared memory meet."""

from __future__ import annotations

from tylo.proofs.ptx.nodes import Expression
from tylo.proofs.ptx.scene import Scene


def overlap(
    scene: Scene, first: Expression, first_bits: int, second: Expression, second_bits: int
) -> Expression:
    """Whether two ranges of bytes meet; both are in bounds, so that nothing wraps."""
    domain = scene.domain
    end_of_first = domain.add(first, domain.constant(first_bits // 8, 32), 32)
    end_of_second = domain.add(second, domain.constant(second_bits // 8, 32), 32)
    return domain.bit_and(
        domain.less(first, end_of_second, 32, False),
        domain.less(second, end_of_first, 32, False),
        1,
    )


def any_thread(scene: Scene) -> Expression:
    """Any thread of the block."""
    other = scene.private("other", scene.thread.width)
    threads = scene.effect.threads
    if threads < 1 << other.width:
        limit = scene.domain.constant(threads, other.width)
        scene.assumed[str(other.attribute)] = (scene.domain.less(other, limit, other.width, False),)
    return other
