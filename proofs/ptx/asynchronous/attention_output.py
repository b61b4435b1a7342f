"""What follows a group's last tile: the log-sum-exp of its rows, and its output tile."""

from __future__ import annotations

from tylo.layouts.terms import Integer, name
from tylo.proofs.ptx.asynchronous.attention_steps import KernelSteps
from tylo.proofs.ptx.asynchronous.attention_terms import K
from tylo.proofs.ptx.asynchronous.layout import LATER
from tylo.proofs.ptx.asynchronous.protocol import (
    Operands,
    Values,
)
from tylo.proofs.ptx.asynchronous.terms import Level
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.specifications.attention import MATRIX_ROWS
from tylo.proofs.specifications.attention_plan import (
    FIRST_TURN,
    GROUP_ROWS,
    GROUP_THREADS,
)

_STORE_MATRIX = "stmatrix.sync.aligned.m8n8.x4.shared.b16"


class KernelOutput(KernelSteps):
    """Nodes for what is stored."""

    # What follows the last tile.

    def epilogue(self, then: str) -> str:
        d, plan, scene = self.d, self.plan, self.scene
        number = FIRST_TURN + plan.groups

        def met(values: Values) -> Operands:
            group = scene.times(scene.group, 1)
            return {
                "number": scene.at(number, group),
                "threads": self.constant(GROUP_THREADS),
            }

        then = self.step("commit output", "commit stores", then, guard=self.first_thread)
        for offset, (column, row), _ in reversed(list(plan.tile("out").boxes())):

            def stored(
                values: Values, offset: int = offset, column: int = column, row: int = row
            ) -> Operands:
                found = self.work(values)
                group = scene.times(scene.group, GROUP_ROWS)
                first = scene.at(row, found.first_row, group)
                return {
                    "source": scene.at(offset, self.own("out", values)),
                    **self.box("out", column, first, found.head, found.batch),
                }

            label = f"store output, columns from {column}"
            then = self.step(label, "store box", then, stored, guard=self.first_thread)
        then = self.step("output is placed", "barrier", then, met, Level.GROUP)
        then = self.step("publish output", "publish shared", then)
        row, chunk = MATRIX_ROWS(lane=name("lane"))
        for k in reversed(range(plan.depth // K)):

            def placed(values: Values, chunk: Integer = 2 * k + chunk) -> Operands:
                inner = self.in_tile("out", row + name("warp") * 16, chunk, values)
                return {
                    "spelling": _STORE_MATRIX,
                    "address": d.add(self.own("out", values), inner, 32),
                }

            label = f"place output, columns from {K * k}"
            then = self.step(label, "store matrix", then, placed, Level.WARP)
        then = self.step("output may be placed", "barrier", then, met, Level.GROUP)
        then = self.step(
            "await stores of the item before",
            "await stores",
            then,
            lambda values: {"pending": 0},
            guard=self.first_thread,
        )
        for late in (LATER, 0):
            then = self._lse(late, then)
        return then

    def _lse(self, late: int, then: str) -> str:
        """The log-sum-exp of one of a thread's rows, from the first of the lanes that share it."""
        d, scene, given = self.d, self.scene, self.scene.fields

        def wide(value: Expression) -> Expression:
            return d.extend(value, 32, 64, True)

        def row(values: Values) -> Expression:
            return d.add(wide(self.row(values, 0)), d.constant(late, 64), 64)

        def stored(values: Values) -> Operands:
            found = self.work(values)
            heads = d.add(
                d.multiply(wide(found.batch), wide(given["heads"]), 64), wide(found.head), 64
            )
            element = d.add(d.multiply(heads, wide(given["queries"]), 64), row(values), 64)
            address = d.add(given["lse"], d.multiply(element, d.constant(4, 64), 64), 64)
            return {"address": address, "bits": 32}

        def wanted(values: Values) -> Expression:
            asked = d.negate(d.equal(given["lse"], d.constant(0, 64), 64))
            first = d.equal(d.extract(scene.lane, 0, 2), d.constant(0, 2), 2)
            inside = d.less(row(values), wide(given["queries"]), 64, True)
            return d.all_of((asked, first, inside))

        return self.step(f"log-sum-exp of row {late}", "store", then, stored, guard=wanted)
