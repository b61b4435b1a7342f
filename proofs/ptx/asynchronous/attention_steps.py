"""The steps of an attention kernel's schedule, with the operands of every instruction."""

from __future__ import annotations

from tylo.layouts.atoms import atom
from tylo.layouts.terms import Integer, name
from tylo.proofs.pipelines import schedule as steps
from tylo.proofs.pipelines.cuda_text import TURN_THREADS
from tylo.proofs.ptx.asynchronous.attention_masks import KernelMasks
from tylo.proofs.ptx.asynchronous.attention_terms import K
from tylo.proofs.ptx.asynchronous.protocol import (
    Ask,
    Let,
    May,
    Operands,
    Values,
)
from tylo.proofs.ptx.asynchronous.terms import Level
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.specifications.attention import KEY_ROWS, MATRIX_ROWS, place_in_row
from tylo.proofs.specifications.attention_plan import (
    FIRST_TURN,
    GROUP_ROWS,
)

_CHUNKS = 8  # of a row of one panel


class KernelSteps(KernelMasks):
    """Nodes for waits, arrivals, copies, products and turns."""

    # Scheduled steps.

    def scheduled(self, step: steps.Step, then: str, where: Expression | None = None) -> str:
        d = self.d
        guard = None if where is None else (lambda values: where)
        match step:
            case steps.Wait(barrier, ring, before):

                def waited(values: Values) -> Operands:
                    parity = values[f"{ring}.parity"]
                    if before:
                        parity = d.bit_xor(parity, self.constant(1), 32)
                    return {"address": self.barrier(barrier, ring, values), "parity": parity}

                return self.step(str(step), "wait", then, waited)
            case steps.Expect(barrier, ring):
                count = self.plan.tile(ring).bytes * (self.plan.groups if ring == "q" else 1)
                return self.step(
                    str(step),
                    "expect",
                    then,
                    lambda values: {
                        "address": self.barrier(barrier, ring, values),
                        "bytes": self.constant(count),
                    },
                )
            case steps.Copy(ring):
                return self._copies(ring, then)
            case steps.Arrive(barrier, ring):
                return self.step(
                    str(step),
                    "arrival",
                    then,
                    lambda values: {"address": self.barrier(barrier, ring, values)},
                    guard=self.first_lane,
                )
            case steps.Multiply(product, _):
                return self._multiply(product, then)
            case steps.Await(pending):
                return self.step(
                    str(step),
                    "await products",
                    then,
                    lambda values: {"pending": pending},
                    Level.GROUP,
                )
            case steps.TakeTurn():
                return self.step(str(step), "barrier", then, self._own_turn, Level.GROUP)
            case steps.PassTurn(own):
                turn = self._own_turn if own else self._next_turn
                return self.step(str(step), "barrier arrival", then, turn, Level.GROUP, guard)
            case steps.Advance(ring):
                return self.add(Let(lambda values: self._advanced(ring, values), then))
            case steps.Compute(what, _):
                again = self.plan.reference == "first" and what == "weights"
                return self._again(then) if again else then
        raise AssertionError(step)

    def _own_turn(self, values: Values) -> Operands:
        return self._turn(self.scene.times(self.scene.group, 1))

    def _next_turn(self, values: Values) -> Operands:
        d, group = self.d, self.scene.times(self.scene.group, 1)
        following = self.scene.at(1, group)
        last = d.equal(following, self.constant(self.plan.groups), 32)
        return self._turn(d.select(last, self.constant(0), following, 32))

    def _turn(self, group: Expression) -> Operands:
        return {
            "number": self.scene.at(FIRST_TURN, group),
            "threads": self.constant(TURN_THREADS),
        }

    def _advanced(self, ring: str, values: Values) -> Values:
        """The next slot, from the last one back to the first, in the other phase; the next tile."""
        d = self.d
        slots = self.schedule.ring(ring).slots
        following = self.scene.at(1, values[f"{ring}.slot"])
        last = d.equal(following, self.constant(slots), 32)
        flip = d.select(last, self.constant(1), self.constant(0), 32)
        found = {
            f"{ring}.slot": d.select(last, self.constant(0), following, 32),
            f"{ring}.parity": d.bit_xor(values[f"{ring}.parity"], flip, 32),
        }
        if ring == "v":
            # Values are those of the tile before.
            found["v.tile"] = values["tile"]
        return found

    def _copies(self, ring: str, then: str) -> str:
        """The boxes of a tile; of q, those of every group's."""
        tile = self.plan.tile(ring)
        pieces = [
            (group, offset, column, row)
            for group in range(self.plan.groups if ring == "q" else 1)
            for offset, (column, row), _ in tile.boxes()
        ]
        for group, offset, column, row in reversed(pieces):

            def copied(
                values: Values,
                offset: int = group * tile.bytes + offset,
                column: int = column,
                row: int = group * GROUP_ROWS + row,
            ) -> Operands:
                found = self.work(values)
                first, head = found.first_row, found.head
                if ring != "q":
                    first, head = (
                        self.scene.times(
                            values["v.tile" if ring == "v" else "tile"], self.plan.keys
                        ),
                        found.key_head,
                    )
                return {
                    "target": self.place(ring, values, offset),
                    "barrier": self.barrier(f"{ring}_full", ring, values),
                    **self.box(ring, column, self.scene.at(row, first), head, found.batch),
                }

            label = f"copy {ring}" + (f" of group {group}" if ring == "q" else "")
            then = self.step(f"{label}, columns from {column}", "load box", then, copied)
        return then

    def box(
        self, tensor: str, column: int, row: Expression, head: Expression, batch: Expression
    ) -> dict[str, Expression]:
        starts = (self.constant(column), row, head, batch)
        return {
            "tensor": self.scene.maps[tensor],
            **{f"coordinate {number}": start for number, start in enumerate(starts)},
        }

    def _multiply(self, product: str, then: str) -> str:
        plan = self.plan
        scores = product == "scores"
        columns, along = (plan.keys, plan.depth) if scores else (plan.depth, plan.keys)
        instruction = atom(f"wgmma.m64n{columns}k16.{plan.dtype}").name
        then = self.step(f"commit {product}", "commit products", then, together=Level.GROUP)
        for k in reversed(range(0, along, K)):

            def multiplied(values: Values, k: int = k) -> Operands:
                found: dict[str, Expression | int | str] = {
                    "spelling": instruction,
                    "more": self.d.constant(int(not scores or k > 0), 1),
                    "signs": "1 1",
                    "b transposed": int(not scores),
                }
                if scores:
                    q = self.own("q", values)
                    found["a"] = self.descriptor("q", "K", GROUP_ROWS, k, q)
                    found["a transposed"] = 0
                    key = self.place("k", values)
                    found["b"] = self.descriptor("k", "K", plan.keys, k, key)
                else:
                    found["a"] = "registers"
                    value = self.place("v", values)
                    found["b"] = self.descriptor("v", "MN", plan.depth, k, value)
                return found

            label = f"multiply {product}, K from {k}"
            results = self.tags if scores else None
            then = self.step(label, "product", then, multiplied, Level.GROUP, results=results)
        return self.step(f"begin {product}", "begin products", then, together=Level.GROUP)

    def in_tile(self, ring: str, row: Integer, chunk: Integer, values: Values) -> Expression:
        """Where a chunk of a row starts in a tile, the row and the chunk's number being terms."""
        tile = self.plan.tile(ring)
        place = chunk // _CHUNKS * tile.panel_bytes + place_in_row(row, chunk % _CHUNKS)
        return self.term(place, **{"k step": self.d.extract(values["k step"], 0, 4)})

    def _product_again(self, first: int, then: str) -> str:
        """Four scores of each thread, from `first` on."""
        spelling = atom(f"mma.m16n8k16.{self.plan.dtype}").name
        return self.step(
            f"scores again: values from {first}",
            "multiply",
            then,
            lambda values: {"spelling": spelling},
            Level.WARP,
            results=lambda values: self.tags(values)[first : first + 4],
        )

    def _again(self, then: str) -> str:
        """A warp may compute the scores of its rows again, from shared memory."""
        d, plan = self.d, self.plan
        ask = f"{self.role} again {self.number}"
        k = name("k step")

        def onward(values: Values) -> Values:
            return {"k step": d.add(values["k step"], self.constant(1), 32)}

        inside = self.add(Let(onward, ask))
        for pair in reversed(range(plan.keys // 16)):
            row, chunk = KEY_ROWS(lane=name("lane"))

            def of_key(
                values: Values, row: Integer = row + 16 * pair, chunk: Integer = 2 * k + chunk
            ) -> Operands:
                inner = self.in_tile("k", row, chunk, values)
                return {"address": d.add(self.place("k", values), inner, 32)}

            for first in (8 * pair + 4, 8 * pair):
                inside = self._product_again(first, inside)
            label = f"scores again: keys from {16 * pair}"
            inside = self.step(label, "load matrix", inside, of_key, Level.WARP)
        row, chunk = MATRIX_ROWS(lane=name("lane"))

        def of_query(values: Values) -> Operands:
            inner = self.in_tile("q", row + name("warp") * 16, 2 * k + chunk, values)
            return {"address": d.add(self.own("q", values), inner, 32)}

        inside = self.step("scores again: rows", "load matrix", inside, of_query, Level.WARP)
        limit = self.constant(plan.depth // K)
        over = self.add(Let(lambda values: {"k step": self.constant(0)}, then))

        def going(values: Values) -> Expression:
            return d.less(values["k step"], limit, 32, False)

        self.known[inside] = going
        self.add(Ask(going, inside, over), ask)
        begin = self.add(Let(lambda values: {"k step": self.constant(0)}, ask))
        return self.add(May(begin, then))
