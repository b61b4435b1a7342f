"""A lane program: named register arrays in, named register arrays out.

>>> from tylo.proofs.lane_programs.expression import register
>>> double = LaneProgram(
...     "Twice the value.",
...     inputs=(Array("x", "f32", 1),),
...     outputs={"twice": (register("x", 0) + register("x", 0),)},
... )
>>> double.outputs["twice"][0].operator
'add'

An array that is an input and an output is changed in place; all outputs are written after every
input has been read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tylo.layouts.errors import GenerationError
from tylo.proofs.lane_programs.expression import Expression, ordered, register


@dataclass(frozen=True, slots=True)
class Array:
    """A register array of a lane: its name, element type and length."""

    name: str
    type: str
    count: int

    def registers(self) -> tuple[Expression, ...]:
        """One node for each register."""
        return tuple(register(self.name, index, self.type) for index in range(self.count))


@dataclass(frozen=True, eq=False)
class LaneProgram:
    """`summary` in one sentence, the input arrays, and for each output its expressions."""

    summary: str
    inputs: tuple[Array, ...]
    outputs: Mapping[str, tuple[Expression, ...]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "outputs", MappingProxyType(dict(self.outputs)))
        known = {each.name: each for each in self.inputs}
        for node in ordered(self.roots):
            if node.operator != "register":
                continue
            name, index = node.detail
            if name not in known or known[name].type != node.type or index >= known[name].count:
                raise GenerationError(
                    f"register {name}[{index}] of type {node.type} is no input",
                    hint=f"the inputs are {', '.join(map(str, self.inputs))}",
                )
        for name, results in self.outputs.items():
            count = known[name].count if name in known else len(results)
            if len({each.type for each in results}) != 1 or count != len(results):
                raise GenerationError(
                    f"output {name} has {len(results)} registers of several types or lengths",
                    hint="an output is an array of one type, as long as the input it replaces",
                )

    @property
    def roots(self) -> tuple[Expression, ...]:
        """Every output expression, in order."""
        return tuple(each for results in self.outputs.values() for each in results)
