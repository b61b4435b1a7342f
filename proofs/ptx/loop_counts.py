"""How often a loop is gone round, and by how much it changes a register: guesses from samples.

Nothing here is trusted: what `loops` makes of it are obligations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tylo.layouts.terms import Integer, show
from tylo.proofs.ptx.bitvector import BitVectors, Expression
from tylo.proofs.ptx.nodes import evaluate, evaluate_each
from tylo.proofs.ptx.program import Instruction
from tylo.proofs.ptx.samples import edges, launches
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.widened import at_step


class Counted:
    """A loop whose `counter`, ``step`` or ``round``, is the variable `number_of`."""

    scene: Scene
    domain: BitVectors
    branch: Instruction
    outside: Expression  # where the loop is come to
    counter: str
    number_of: Expression
    wide: Expression  # the counter in 64 bits
    counts: list[Integer]

    def _at(self, condition: Expression, step: Expression) -> Expression:
        """The condition of going on in a step, in whole numbers."""
        return at_step(self.domain, condition, self.number_of, step)

    def _slope(self, before: Expression, after: Expression) -> Expression | None:
        """By how much a register changes, if that seems to be the same in every step."""
        if before.opaque or after.opaque:
            return None
        found = set()
        effect = self.scene.effect
        for thread, block in ((0, 0), (1, 0), (0, 1)):
            if thread < effect.threads and block < self.scene.most_blocks:
                old, new = evaluate([before, after], self.scene.point(thread, block))
                found.add((new - old) % (1 << before.width))
        added = self.domain.subtract(after, before, before.width)
        if added.operator == "bvsub" or added.value is not None:
            # No summand of its own: the same number everywhere, or nothing that is known.
            return self.domain.constant(found.pop(), before.width) if len(found) == 1 else None
        return added

    def _count(self, condition: Expression, following: Expression) -> Expression | None:
        """The repeat of the effect that the loop seems to have in all threads alike."""
        scene = self.scene
        if not self.counts:
            raise self.branch.error(
                "a loop whose number of steps is not constant",
                hint="no store of the effect repeats",
            )
        for repeat in self.counts:
            count = scene.value(repeat)
            roots = [condition, following, count, self.outside]
            if all(
                end == (after < steps)
                for end, after, steps, taken in self._samples(roots, count, repeat)
                if taken and after <= steps
            ):
                return count
        return self._until_equal(condition)

    def _until_equal(self, condition: Expression) -> Expression | None:
        """The steps until a register that changes by a constant has some value, if that ends it."""
        domain, width = self.domain, self.number_of.width
        if condition.operator != "bvxor" or condition.operands[0].operator != "=":
            return None
        moving, end = condition.operands[0].operands
        starts, ends = (
            [
                domain.substitute([side], {self.counter: domain.constant(at, width)})[0]
                for side in (moving, end)
            ]
            for at in range(2)
        )
        if starts[1] is not ends[1]:
            return None
        pace = self._slope(starts[0], ends[0])
        if pace is None or not pace.value:
            return None
        width, down = moving.width, pace.value >> (moving.width - 1)
        way = (starts[0], end) if down else (end, starts[0])
        by = domain.constant((1 << width) - pace.value if down else pace.value, width)
        more = domain.divide(domain.subtract(*way, width), by, width, False)
        wide = domain.extend(more, width, 64, False)
        return domain.add(wide, domain.constant(1, 64), 64)

    def _limit(self, condition: Expression, following: Expression) -> Expression:
        """A repeat of the effect that no thread's steps seem to exceed."""
        scene = self.scene
        goes_on = self._at(condition, self.wide)
        for repeat in self.counts:
            limit = scene.value(repeat)
            roots = [goes_on, following, limit, self.outside]
            if not any(
                end and after == steps
                for end, after, steps, taken in self._samples(roots, limit, repeat)
                if taken
            ):
                return limit
        raise self.branch.error(
            "the loop ends after another number of steps than any store of the effect repeats",
            hint=f"the repeats: {[show(repeat) for repeat in self.counts]}",
        )

    def _samples(
        self, roots: Sequence[Expression], count: Expression, repeat: Integer
    ) -> Iterator[list[int]]:
        yield from evaluate_each(list(roots), self._points(count, repeat))

    def _points(self, count: Expression, repeat: Integer) -> Iterator[dict[str, int]]:
        scene, effect = self.scene, self.scene.effect
        last = effect.threads - 1
        known = (*launches(effect), *edges(effect, repeat))
        limits = evaluate_each([count], (scene.point(0, 0, 0, sizes=sizes) for sizes in known))
        ends = [limit for (limit,) in limits]
        for thread in sorted({min(t, last) for t in (0, 1, 17, 31, last // 2, last)}):
            for least in (1, 2, 5):
                for number in range(5):
                    yield scene.point(thread, 0, 0, least) | {self.counter: number}
            for sizes, limit in zip(known, ends, strict=True):
                # Where a loop ends is told by its last steps, and by the blocks past the last row.
                for block in sorted({0, 1, sizes.get("blocks", 1), sizes.get("blocks", 1) - 1}):
                    for number in sorted({0, 1, 2, 3, limit - 2, limit - 1}):
                        if 0 <= number < 1 << self.number_of.width and block < scene.most_blocks:
                            point = scene.point(thread, block, 0, sizes=sizes)
                            yield point | {self.counter: number}
