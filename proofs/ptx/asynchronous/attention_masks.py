"""Which steps of keys are taken, and what is read of a packed mask.

Without a mask all steps before the end are taken, from the last to the first. Under a mask a byte
says of each step whether anything of it is kept (`attention_masks` of the specifications): words of
four are gone through from the last to the first, each read one word ahead. `attention_search`
proves that this finds the steps of which something is kept, all of them and in order.
"""

from __future__ import annotations

from tylo.layouts.atoms import atom
from tylo.proofs.ptx.asynchronous.attention_terms import KernelTerms
from tylo.proofs.ptx.asynchronous.attention_work import Columns, column_facts
from tylo.proofs.ptx.asynchronous.guarded import Tag
from tylo.proofs.ptx.asynchronous.layout import LATER, OWN_COLUMN
from tylo.proofs.ptx.asynchronous.protocol import Ask, Let, Read, Values
from tylo.proofs.ptx.asynchronous.terms import Level
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.specifications.attention_masks import RECORD_KEYS, RECORD_WORDS, score_bit
from tylo.proofs.specifications.attention_search import (
    STEPS_OF_WORD,
    first_words,
    found_step,
    kept_of_word,
    steps_of_word,
)


class KernelMasks(KernelTerms):
    """Nodes that choose the next step of keys, and reads of the mask."""

    @property
    def searched(self) -> tuple[str, ...]:
        """Variables of the search: where it is, its word, and the word after that."""
        return ("at", "word", "ahead") if self.plan.mask else ()

    def searching(self, values: Values) -> list[Expression]:
        """What always holds of the step at hand, and of the search."""
        d, tiles, zero = self.d, self.work(values).tiles, self.constant(0)
        tile = values["tile"]
        found = [d.bit_or(d.equal(tile, zero, 32), self._within(tile, tiles), 1)]
        if self.plan.mask:
            at = values["at"]
            natural = d.negate(d.less(at, zero, 32, True))
            inside = d.bit_and(natural, d.negate(d.less(tiles, at, 32, True)), 1)
            found.append(d.bit_or(d.equal(at, zero, 32), inside, 1))
        return found

    def _within(self, value: Expression, limit: Expression) -> Expression:
        d = self.d
        natural = d.negate(d.less(value, self.constant(0), 32, True))
        return d.bit_and(natural, d.less(value, limit, 32, True), 1)

    # Steps.

    def last_tile(self, then: str, over: str) -> str:
        """The last step that is taken, or none."""
        d = self.d
        if self.plan.mask:

            def begun(values: Values) -> Values:
                tiles = self.work(values).tiles
                word, ahead = first_words(d, tiles, lambda index: self.steps_word(values, index))
                return {
                    "at": tiles,
                    "word": self.own_name("first_word", values, word),
                    "ahead": self.own_name("first_ahead", values, ahead),
                }

            return self.add(Let(begun, self._search(then, over)))

        def last(values: Values) -> Values:
            return {"tile": d.subtract(self.work(values).tiles, self.constant(1), 32)}

        return self.add(
            Ask(
                lambda values: d.less(self.constant(0), self.work(values).tiles, 32, True),
                self.add(Let(last, then)),
                over,
            )
        )

    def tile_before(self, then: str, over: str, label: str) -> str:
        """The step before the one at hand that is taken, or none."""
        d = self.d
        if self.plan.mask:
            return self.add(
                Let(lambda values: {"at": values["tile"]}, self._search(then, over)), label
            )

        def lower(values: Values) -> Values:
            return {"tile": d.subtract(values["tile"], self.constant(1), 32)}

        return self.add(
            Ask(
                lambda values: d.less(self.constant(0), values["tile"], 32, True),
                self.add(Let(lower, then)),
                over,
            ),
            label,
        )

    def _search(self, then: str, over: str) -> str:
        """The last step before `at` of which something is kept."""
        d = self.d
        none = self.add(Let(lambda values: {"tile": self.constant(0)}, over))
        asked = self.add(
            Ask(
                lambda values: d.less(values["tile"], self.constant(0), 32, True),
                none,
                then,
                onward=True,
                plain=True,
            )
        )

        def none_or_inside(values: Values) -> Expression:
            tile = values["tile"]
            nothing = d.equal(tile, self.constant(-1), 32)
            return d.bit_or(nothing, self._within(tile, self.work(values).tiles), 1)

        self.renamed[asked] = none_or_inside

        def nothing(values: Values) -> Values:
            return {"tile": self.constant(-1), "at": self.constant(0)}

        def found(values: Values) -> Values:
            at, word = values["at"], values["word"]
            return {"tile": found_step(d, at, word), "at": self.constant(0)}

        def before(values: Values) -> Values:
            return {"at": d.subtract(values["at"], steps_of_word(d, values["at"]), 32)}

        def next_word(values: Values) -> Values:
            index = self.scene.at(-2, self._word_of(values["at"]))
            return {"ahead": self.steps_word(values, index)}

        def empty(values: Values) -> Expression:
            kept = kept_of_word(d, values["at"], values["word"])
            return d.equal(kept, self.constant(0), 32)

        seek = f"{self.role} seek {self.number}"
        look = self.add(
            Ask(
                empty,
                self.add(Let(before, seek)),
                self.add(Let(found, asked)),
                onward=True,
                plain=True,
            )
        )
        ahead = self.add(
            Ask(
                lambda values: d.less(self.constant(7), values["at"], 32, True),
                self.add(Let(next_word, look)),
                look,
                onward=True,
                plain=True,
            )
        )
        turn = self.add(Let(lambda values: {"word": values["ahead"]}, ahead))

        def at_word(values: Values) -> Expression:
            rest = d.bit_and(values["at"], self.constant(STEPS_OF_WORD - 1), 32)
            return d.equal(rest, self.constant(0), 32)

        self.add(
            Ask(
                lambda values: d.less(self.constant(0), values["at"], 32, True),
                self.add(Ask(at_word, turn, look, onward=True, plain=True)),
                self.add(Let(nothing, asked)),
                onward=True,
                plain=True,
            ),
            seek,
        )
        return seek

    # Memory.

    def _word_of(self, step: Expression) -> Expression:
        return self.d.shift_right(step, self.constant(2), 32, False)

    def steps_word(self, values: Values, index: Expression) -> Expression:
        """The word of four steps of the block's rows with an index."""
        number, index = values["round"], self.d.normal(index)
        label = f"steps.{number.serial}.{index.serial}"
        return self.d.named(label, 32, Level.BLOCK)

    def mask_reads(self, values: Values) -> list[Read]:
        """Words of steps, and words of the bits of a thread's rows."""
        if not self.plan.mask:
            return []
        tiles = self.work(values).tiles
        word, ahead = self._word_of(tiles), self.scene.at(-1, self._word_of(tiles))
        later = self.scene.at(-2, self._word_of(values["at"]))
        found = [self._steps(values, index) for index in (word, ahead, later)]
        return [*found, *(self._bits(values, late) for late in (0, 1))]

    def _wide(self, value: Expression) -> Expression:
        return self.d.extend(value, 32, 64, True)

    def _sum(self, start: Expression, *parts: tuple[Expression, Expression]) -> Expression:
        """`start` and products of 64 bits."""
        d = self.d
        for left, right in parts:
            start = d.add(start, d.multiply(left, right, 64), 64)
        return start

    def _steps(self, values: Values, index: Expression) -> Read:
        d, given, found = self.d, self.scene.fields, self.work(values)
        address = self._sum(
            given["kept"],
            (self._wide(found.batch), given["kept_batch"]),
            (self._wide(found.head), given["kept_head"]),
            (self._wide(found.row_tile), given["kept_row"]),
            (self._wide(index), d.constant(STEPS_OF_WORD, 64)),
        )
        words = self._word_of(d.add(found.tiles, self.constant(STEPS_OF_WORD - 1), 32))
        value = self.steps_word(values, index)
        label = "which steps are kept"
        return Read(label, "global", address, value, self._within(index, words))

    def _bits(self, values: Values, late: int) -> Read:
        """The bits of the keys that a thread has of its first row, or of the other one."""
        d, given, found = self.d, self.scene.fields, self.work(values)
        tile = values["tile"]
        parts = RECORD_KEYS // self.plan.keys
        record = d.shift_right(tile, self.constant(parts.bit_length() - 1), 32, False)
        first, row = (self.read_row(values, each) for each in (0, late))
        lane = d.extend(d.extract(self.scene.lane, 0, 2), 2, 64, False)
        assert RECORD_WORDS == 4
        words = self._sum(
            lane,
            (self._wide(found.batch), given["bits_batch"]),
            (self._wide(found.head), given["bits_head"]),
            (self._wide(first), given["bits_row"]),
            (d.extend(record, 32, 64, False), given["bits_record"]),
        )
        if late:
            rows = d.extract(given["bits_row"], 0, 32)
            further = d.multiply(d.subtract(row, first, 32), rows, 32)
            words = d.add(words, self._wide(further), 64)
        address = self._sum(given["bits"], (words, d.constant(4, 64)))
        label = f"bits.{late}.{values['round'].serial}.{d.normal(tile).serial}"
        value = d.named(label, 32, Level.LANE)
        inside = self._within(tile, found.tiles)
        known = (self._whole(values, late, value),)
        return Read(f"bits of row {late}", "global", address, value, inside, known)

    def _first_bit(self, tile: Expression) -> Expression:
        """Where a step's bits begin in the words of its record."""
        d = self.d
        if self.plan.keys == RECORD_KEYS:
            return self.constant(0)
        assert 2 * self.plan.keys == RECORD_KEYS
        # The signed remainder, as it is known by a few points of any sign.
        sign = d.shift_right(tile, self.constant(31), 32, False)
        even = d.bit_and(d.add(tile, sign, 32), self.constant(-2), 32)
        return self.scene.times(d.subtract(tile, even, 32), self.plan.keys // RECORD_WORDS)

    def _step_bits(self, values: Values, late: int, bits: Expression) -> Expression:
        """The bits of a row from the step's first one on."""
        tile = values["tile"]
        found = self.d.shift_right(bits, self._first_bit(tile), 32, False)
        label = ("step_bits", "later_step_bits")[late]
        return self.own_name(label, values, found, tile) if found.operands else found

    def _whole(self, values: Values, late: int, bits: Expression) -> Expression:
        """Where a step's byte says that a group keeps all of it, so do the bits of each row."""
        d, tile = self.d, values["tile"]
        group = self.scene.times(self.scene.group, 1)
        place = self.scene.at(1, group, self.scene.times(d.bit_and(tile, self.constant(3), 32), 8))
        byte = d.bit_and(d.shift_left(self.constant(1), place, 32), values["word"], 32)
        some = d.equal(byte, self.constant(0), 32)
        step = self.constant((1 << self.plan.keys // RECORD_WORDS) - 1)
        mine = d.bit_and(self._step_bits(values, late, bits), step, 32)
        missing = d.negate(d.less(self.row(values, late), self.scene.fields["queries"], 32, True))
        return d.bit_or(some, d.bit_or(missing, d.equal(mine, step, 32), 1), 1)

    # Scores.

    def tags(self, values: Values) -> list[Tag]:
        """Where each score of a thread is kept: before its row's end, and by the mask."""
        d, zero = self.d, self.constant(0)
        held = atom(f"wgmma.m64n{self.plan.keys}k16.{self.plan.dtype}").operand("C").ownership
        rows = []
        for late in (0, 1):
            left = d.subtract(self.row_end(values, late), self.column(values), 32)
            needed = d.less(self.row(values, late), self.scene.fields["queries"], 32, True)
            rows.append((needed, left, self._tag_bits(values, late)))
        known = [
            *column_facts(d, self.scene.fields, self.work(values), self.parts(values)),
            *(
                self.stands_for(bits)
                for _, _, bits in rows
                if bits is not None and id(bits) in self.own_names
            ),
        ]
        found = []
        for number in range(self.plan.keys // 2):
            row, column = held(lane=0, warp=0, value=number)
            needed, left, bits = rows[int(row) // LATER]
            kept = d.negate(d.less(left, self.constant(int(column) + 1), 32, True))
            if bits is not None:
                bit = d.bit_and(bits, self.constant(1 << score_bit(number)), 32)
                kept = d.bit_and(kept, d.negate(d.equal(bit, zero, 32)), 1)
            found.append(Tag(f"score {number}", kept, needed, tuple(known)))
        return found

    def _tag_bits(self, values: Values, late: int) -> Expression | None:
        if not self.plan.mask:
            return None
        return self._step_bits(values, late, self._bits(values, late).value)

    def column(self, values: Values) -> Expression:
        """The first key of a thread in the step at hand."""
        found = self.d.add(
            self.scene.times(values["tile"], self.plan.keys), self.term(OWN_COLUMN), 32
        )
        return self.own_name("column", values, found, values["tile"])

    def parts(self, values: Values) -> Columns:
        """What `column_facts` is about."""
        return Columns(
            tile=values["tile"],
            column=self.column(values),
            whole=self.whole_tiles(values),
            ends=tuple(self.row_end(values, late) for late in (0, 1)),
            step=self.plan.keys,
        )
