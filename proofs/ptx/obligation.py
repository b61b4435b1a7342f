"""One thing to prove: a condition that must not be satisfiable, and the scripts that ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from tylo.layouts.terms import name as named
from tylo.proofs.effects import Less
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.contract import ranges
from tylo.proofs.ptx.integers import integer_script
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.smtlib import script

Spoken: TypeAlias = tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, eq=False)
class Obligation:
    """A condition that must not be satisfiable, and what it is about.

    `line` and `text` are those of the PTX instruction; an obligation about the contract alone has
    line 0. `found` and `wanted` are addresses to compare in a report, or words. `settled` is the
    verdict of an obligation decided by enumeration, which has no script. Of several of one label at
    one line, `number` says which this is. Solvers are told of the
    products of the pairs in `spoken`.
    """

    label: str
    line: int
    text: str
    scene: Scene
    violation: Expression
    found: Expression | str = ""
    wanted: Expression | str = ""
    settled: str = ""
    number: str = ""
    spoken: Spoken = ()

    @property
    def name(self) -> str:
        """The label, told apart from others of its kind at the same line."""
        return self.label + self.number

    @cached_property
    def assumed(self) -> list[Expression]:
        """What is assumed of the variables that the violation mentions."""
        return self.scene.assumptions(self.violation)

    @cached_property
    def script(self) -> str:
        """SMT-LIB text: satisfiable exactly where the obligation fails."""
        return "" if self.settled else script([*self.assumed, self.violation])

    @cached_property
    def linear(self) -> str:
        """A script over integers that, when it is not satisfiable, shows that the obligation holds.

        It says little about products of sizes. Empty where no size varies, or no such form exists.
        """
        if self.settled or not self.scene.effect.parameters:
            return ""
        return self._integers([*self.assumed, self.violation])

    def judged(self, holds: Callable[[str], bool], apart: bool = False) -> str:
        """Like `linear`, where what is assumed decides whether a sum wraps.

        With `apart`, sizes that are multiples of a number are written as such.
        """
        return self._integers([*self.assumed, self.violation], holds, apart) if self.linear else ""

    def bounded(self, name: str, most: int, holds: Callable[[str], bool]) -> str:
        """Like `judged`, where a size, or ``blocks``, is at most a number."""
        domain, scene = self.scene.domain, self.scene
        variable = {**scene.sizes, "blocks": scene.blocks}[name]
        end = domain.constant(most + 1, variable.width)
        below = domain.less(variable, end, variable.width, False)
        closer = replace(scene, ranges=ranges(scene.effect, Less(named(name), most + 1)))
        there = replace(self, scene=closer)
        return there._integers([*self.assumed, below, self.violation], holds)

    def _integers(
        self,
        stated: Sequence[Expression],
        holds: Callable[[str], bool] | None = None,
        apart: bool = False,
    ) -> str:
        limits, scene = self.scene.limits(), self.scene
        if holds is None:
            return integer_script(stated, *limits, spoken=self.spoken)
        totals = [buffer.elements for buffer in scene.effect.buffers if buffer.elements is not None]
        extents = [scene.value(total) for total in dict.fromkeys(totals)]
        return integer_script(stated, *limits, holds, extents, self.spoken, apart)

    @property
    def exact(self) -> bool:
        """Whether no product of sizes takes part, so that `linear` says the whole of it."""
        return not any(condition.product for condition in (self.violation, *self.assumed))

    def at(self, sizes: Mapping[str, int]) -> Obligation:
        """The obligation for one launch alone, given the value of each size, and of ``blocks``."""
        domain, scene = self.scene.domain, self.scene
        values = {
            str(variable.attribute): domain.constant(sizes[name], variable.width)
            for name, variable in (*scene.sizes.items(), ("blocks", scene.blocks))
            if name in sizes
        }
        violation, *assumed = domain.substitute([self.violation, *self.assumed], values)
        there = replace(self, violation=violation)
        there.__dict__["assumed"] = assumed
        return there

    def restricted(self, *conditions: Expression) -> str:
        """The script under further conditions."""
        stated = [*self.assumed, *conditions, self.violation]
        whole = self.exact and self.scene.effect.parameters
        return (self._integers(stated) if whole else "") or script(stated)
