"""What a thread is to do, as a flowchart: the order of its barriers, copies, products and stores.

A `Protocol` has variables of its own, such as the tile at hand and the slot of each ring. Its nodes
are steps, which an instruction has to make, and what goes on between them:

`Step`
    An instruction of some kind with these operands. Threads for which its guard does not hold pass
    it by.
`Ask`
    Which way depends on a condition.
`Let`
    Variables take new values.
`May`
    Either way is right.
`End`
    The thread leaves.

That a kernel follows its protocol is what the walk proves: each thread makes exactly these steps,
in this order, however often the loops go round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tylo.proofs.ptx.asynchronous.guarded import Tag
from tylo.proofs.ptx.asynchronous.terms import Level
from tylo.proofs.ptx.bitvector import Expression

Values: TypeAlias = Mapping[str, Expression]
Operands: TypeAlias = Mapping[str, Expression | int | str]


@dataclass(frozen=True, eq=False)
class Step:
    """An instruction of a kind. `together` is who must come to it together, `operands` what each
    of its operands has to be: a term, or a number or word that is compared as it is; `results` says
    which scores the registers of a product hold.
    """

    label: str
    kind: str
    then: str
    operands: Callable[[Values], Operands] = lambda values: {}
    together: Level = Level.LANE
    guard: Callable[[Values], Expression] | None = None
    results: Callable[[Values], Sequence[Tag]] | None = None


@dataclass(frozen=True, eq=False)
class Ask:
    """Which way to go. `onward` is whether threads that have parted by the answer are past it
    where they meet again; else they are where they were. Solvers are not asked what is `plain`.
    """

    condition: Callable[[Values], Expression]
    yes: str
    no: str
    onward: bool = False
    plain: bool = False


@dataclass(frozen=True, eq=False)
class Let:
    """New values of some variables."""

    values: Callable[[Values], Values]
    then: str


@dataclass(frozen=True, eq=False)
class May:
    """Either way."""

    first: str
    otherwise: str


@dataclass(frozen=True, eq=False)
class End:
    """The thread leaves."""


Node: TypeAlias = Step | Ask | Let | May | End


@dataclass(frozen=True, eq=False)
class Read:
    """What may be read: the space, the address in 64 bits, what is there, what has to hold for it
    to be inside, and what is known of what is there. Nothing changes it while the kernel runs.
    """

    label: str
    space: str
    address: Expression
    value: Expression
    inside: Expression
    known: tuple[Expression, ...] = ()


@dataclass(frozen=True, eq=False)
class Protocol:
    """Nodes by name, where to start, and the first values of the variables.

    `ranges` says of values of the variables what always holds: it is proven at each loop's head.
    `lemmas` says what holds of any values: whoever states a protocol proves them elsewhere.
    `landmarks` are terms that registers may follow from round to round. `known` says of some nodes
    what holds where a thread has come to them; that too is proven at each loop's head. `reads` is
    what may be read of memory. Where ways meet at a node of `renamed`, variables that differ get
    new names, of which it says what is known: that is proven there, and must be so of some value
    of theirs whatever other variables are.
    """

    nodes: Mapping[str, Node]
    start: str
    values: Values
    ranges: Callable[[Values], list[Expression]]
    lemmas: Callable[[Values], list[Expression]] = lambda values: []
    landmarks: Callable[[Values], list[Expression]] = lambda values: []
    known: Mapping[str, Callable[[Values], Expression]] = field(default_factory=dict)
    reads: Callable[[Values], list[Read]] = lambda values: []
    renamed: Mapping[str, Callable[[Values], Expression]] = field(default_factory=dict)
