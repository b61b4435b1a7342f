"""Where everything of an attention kernel is: tiles, slots, barriers, descriptors, lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tylo.layouts.shared import tile_descriptor
from tylo.layouts.shared.swizzle_mode import CHUNK
from tylo.layouts.terms import Integer
from tylo.proofs.ptx.asynchronous.attention_work import (
    Work,
    half_of,
    row_end_of,
    share_of,
    whole_of,
    work,
)
from tylo.proofs.ptx.asynchronous.guarded import Tag
from tylo.proofs.ptx.asynchronous.layout import LATER, OWN_ROW
from tylo.proofs.ptx.asynchronous.protocol import (
    Node,
    Operands,
    Read,
    Step,
    Values,
)
from tylo.proofs.ptx.asynchronous.scene import Scene
from tylo.proofs.ptx.asynchronous.terms import Level
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.contract import expression
from tylo.proofs.specifications.attention_arguments import MOST_SHARES
from tylo.proofs.specifications.attention_plan import (
    ALIGNMENT,
    BARRIER_BYTES,
    GROUP_ROWS,
    Plan,
)

K = 16  # elements along K of every product, and columns of four 8x8 matrices


class KernelTerms:
    """One plan in one scene; nodes are added from the last to the first."""

    def __init__(self, plan: Plan, scene: Scene) -> None:
        self.plan, self.scene, self.d = plan, scene, scene.terms
        self.nodes: dict[str, Node] = {}
        self.known: dict[str, Callable[[Values], Expression]] = {}
        self.renamed: dict[str, Callable[[Values], Expression]] = {}
        self.schedule = plan.schedule
        low = self.d.constant(-ALIGNMENT, 32)
        self.base = self.d.bit_and(scene.at(ALIGNMENT - 1, scene.memory), low, 32)
        self.works: dict[int, Work] = {}
        self.own_names: dict[int, tuple[Expression, Expression]] = {}
        self.number = 0
        self.role = ""

    # Terms.

    def constant(self, value: int) -> Expression:
        return self.d.constant(value, 32)

    def work(self, values: Values) -> Work:
        number = values["round"]
        if id(number) not in self.works:
            found = work(self.scene, self.plan.rows, self.plan.keys, number)
            self.scene.define(found.defined)
            self.works[id(number)] = found
            for late in (0, 1):
                self.read_row(values, late)
                self.row_end(values, late)
            self.whole_tiles(values)
        return self.works[id(number)]

    # The block's shares of the last turns, which a table in static shared memory lists.

    def share_place(self, share: Expression) -> Expression:
        """Where a share lies, in 64 bits."""
        d = self.d
        start = d.extend(self.scene.table, 32, 64, False)
        return d.add(start, d.multiply(d.extend(share, 32, 64, True), d.constant(2, 64), 64), 64)

    def in_shares(self, number: Expression) -> Expression:
        """Whether a round is none after the last share that a block has, or the first."""
        d, shares = self.d, self.scene.fields["shares"]
        one = self.constant(1)
        most = d.select(d.less(shares, one, 32, True), one, shares, 32)
        return d.less(share_of(self.scene, number), most, 32, True)

    def listed_last(self, values: Values) -> Expression:
        """What a launch sees to: a block's list ends with no item."""
        d, share = self.d, share_of(self.scene, values["round"])
        earlier = d.less(share, self.constant(0), 32, True)
        following = d.less(self.scene.at(1, share), self.scene.fields["shares"], 32, True)
        absent = d.negate(self.work(values).exists)
        return d.bit_or(absent, d.bit_or(earlier, following, 1), 1)

    def own_share(self, number: Expression) -> Read:
        """A round's share."""
        d, share = self.d, share_of(self.scene, number)
        inside = d.less(share, self.constant(MOST_SHARES), 32, False)
        found = half_of(self.scene, number)
        return Read("own share", "shared", self.share_place(share), found, inside)

    def place(self, ring: str, values: Values, offset: int = 0) -> Expression:
        """A byte of the tile in a ring's slot."""
        tile, times = self.plan.tile(ring), self.plan.groups if ring == "q" else 1
        slot = self.scene.times(values[f"{ring}.slot"], tile.bytes * times)
        return self.scene.at(self.plan.place(ring) + offset, self.base, slot)

    def own(self, ring: str, values: Values) -> Expression:
        """The tile of the thread's group, where each group has its own."""
        group = self.scene.times(self.scene.group, self.plan.tile(ring).bytes)
        start = (
            self.place("q", values)
            if ring == "q"
            else self.scene.at(self.plan.place(ring), self.base)
        )
        return self.d.add(start, group, 32) if ring in ("q", "out") else self.place(ring, values)

    def barrier(self, label: str, ring: str, values: Values) -> Expression:
        slot = self.scene.times(values[f"{ring}.slot"], BARRIER_BYTES)
        return self.scene.at(self.plan.barrier_place(label), self.base, slot)

    def term(self, of: Integer, **variables: Expression) -> Expression:
        """An integer term of small variables, in 32 bits."""
        known = {"lane": self.scene.lane, "warp": self.scene.warp, **variables}
        return self.d.extract(expression(self.d, known, of), 0, 32)

    def row(self, values: Values, late: int) -> Expression:
        """One of the two rows of a thread of a group."""
        if late:
            return self.own_name("later_row", values, self.scene.at(LATER, self.row(values, 0)))
        inside = self.scene.times(self.scene.group, GROUP_ROWS)
        found = self.d.add(self.d.add(self.work(values).first_row, inside, 32), self.own_row, 32)
        return self.own_name("row", values, found)

    @property
    def own_row(self) -> Expression:
        """The first of the two rows, among those of its group."""
        return self.term(OWN_ROW)

    def read_row(self, values: Values, late: int) -> Expression:
        """The row whose mask is read: the last one there is, where there is no such row."""
        row, last = self.row(values, late), self.scene.at(-1, self.scene.fields["queries"])
        found = self.d.select(self.d.less(row, last, 32, True), row, last, 32)
        return self.own_name(("read_row", "later_read_row")[late], values, found)

    def row_end(self, values: Values, late: int) -> Expression:
        """The first key that a row does not see: the last one's, or the diagonal's."""
        found = row_end_of(self.d, self.scene.fields, self.row(values, late))
        return self.own_name(("row_end", "later_row_end")[late], values, found)

    def whole_tiles(self, values: Values) -> Expression:
        """Before which step all rows of a group see every key."""
        inside = self.scene.times(self.scene.group, GROUP_ROWS)
        first = self.d.add(self.work(values).first_row, inside, 32)
        found = whole_of(self.d, self.scene.fields, first, self.plan.keys)
        return self.own_name("whole", values, found)

    def rows_named(self, values: Values) -> list[Expression]:
        """What the names of rows stand for."""
        found = []
        for name in (each(values, late) for late in (0, 1) for each in (self.row, self.row_end)):
            found.append(self.stands_for(name))
        return found

    def stands_for(self, name: Expression) -> Expression:
        """That a name is its term."""
        return self.d.equal(name, self.own_names[id(name)][1], 32)

    def own_name(
        self, label: str, values: Values, term: Expression, of: Expression | None = None
    ) -> Expression:
        """A name for a term of a thread in a round, and of something that changes inside it."""
        full = f"{label}.{values['round'].serial}"
        if of is not None:
            full += f".{self.d.normal(of).serial}"
        variable = self.d.named(full, 32, self.d.level(term))
        if id(variable) not in self.own_names:
            self.own_names[id(variable)] = variable, term
            self.d.stand_for(variable, term)
            self.scene.define([(variable, term)])
        return variable

    def descriptor(
        self, ring: str, major: str, extent: int, k: int, start: Expression
    ) -> Expression:
        """The descriptor of a K step of the tile that starts at an address."""
        bits = tile_descriptor(self.plan.tile(ring), major, extent=extent, k=k).encoded()
        moved = self.scene.at((bits & 0x3FFF) * CHUNK, start)
        parts = [self.d.extract(moved, 4, 14), self.d.constant(bits >> 14, 50)]
        return self.d.concatenate(parts, [14, 50])

    def first_lane(self, values: Values) -> Expression:
        return self.d.equal(self.scene.lane, self.d.constant(0, 5), 5)

    def first_thread(self, values: Values) -> Expression:
        """The first thread of its group."""
        warp = self.d.equal(self.scene.warp, self.d.constant(0, 2), 2)
        return self.d.bit_and(warp, self.first_lane(values), 1)

    def in_group(self, number: int) -> Expression:
        return self.d.equal(self.scene.group, self.d.constant(number, 3), 3)

    # Nodes.

    def add(self, node: Node, label: str = "") -> str:
        self.number += 1
        label = label or f"{self.role} {self.number}"
        self.nodes[label] = node
        return label

    def step(
        self,
        label: str,
        kind: str,
        then: str,
        operands: Callable[[Values], Operands] = lambda values: {},
        together: Level = Level.LANE,
        guard: Callable[[Values], Expression] | None = None,
        results: Callable[[Values], Sequence[Tag]] | None = None,
    ) -> str:
        said = f"{self.role}: {label}" if self.role else label
        return self.add(Step(said, kind, then, operands, together, guard, results))
