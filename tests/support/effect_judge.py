"""Does PTX do what an effect says? Asked of the PTX machine, launch by launch.

The effect is read anew here, by enumerating every thread of a launch in numpy; nothing is shared
with the proof but the terms. Judged are: which bytes are written, and that no other byte of any
buffer changes; values that are moved or rounded, bit for bit; and of values that are computed,
what they are made of. For that the same launch is run with inputs A, twice, with inputs B, and with
mixtures: a value must be that of A wherever its own sources are those of A, and so for B.

Everything that the machine finds wrong with a run (an access out of bounds, a race, a deadlock, a
read of what nobody wrote) raises `PtxError`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np

from tylo.layouts.terms import evaluate
from tylo.proofs.effects import COMPUTED, Effect, Less, Part, Store
from tylo.proofs.ptx.machine.launch import Placed, Unwritten, launch

_MOST_BITS = 5
_ROUNDED: Mapping[str, Any] = {"cvt.rn.bf16.f32": ml_dtypes.bfloat16, "cvt.rn.f16.f32": np.float16}


@dataclass(frozen=True, eq=False)
class _Written:
    """The bytes that one part of a store writes, ``[place, byte]``, and what they are made of."""

    part: Part
    at: Any
    source: Any  # first byte of what is moved or rounded
    # Of a computed value: buffer, first byte, end, how many such ranges, and how far apart.
    ranges: tuple[tuple[str, Any, Any, int, int], ...]


@dataclass(frozen=True, eq=False)
class Launch:
    """One launch of an effect: a size for each parameter, and the number of blocks."""

    effect: Effect
    sizes: Mapping[str, int]
    blocks: int

    def __post_init__(self) -> None:
        given = {**self.sizes, "blocks": self.blocks}
        for each in self.effect.parameters:
            assert each.minimum <= self.sizes[each.name] <= each.maximum, each
        for condition in self.effect.preconditions:
            assert _holds(condition, given), condition
        ways = self.effect.alternatives or ((),)
        assert any(all(_holds(each, given) for each in way) for way in ways), ways

    @property
    def grid(self) -> tuple[int, ...]:
        """The blocks along each axis; those after x are sizes that no argument holds."""
        return self.blocks, *(self.sizes[f"blocks_{axis}"] for axis in self.effect.further)

    @cached_property
    def extents(self) -> dict[str, int]:
        """The bytes of each buffer."""
        given = {**self.sizes, "blocks": self.blocks}
        return {b.name: int(evaluate(b.total_bytes, given)) for b in self.effect.buffers}

    @cached_property
    def written(self) -> dict[str, list[_Written]]:
        """What is written to each output."""
        found: dict[str, list[_Written]] = {
            b.name: [] for b in self.effect.buffers if b.direction == "out"
        }
        for store in self.effect.stores:
            found[store.buffer] += self._parts(store)
        return found

    @cached_property
    def masks(self) -> dict[str, Any]:
        """For each output, which bytes are written; no byte is written twice."""
        result = {}
        for name, parts in self.written.items():
            count = np.zeros(self.extents[name], np.int64)
            for each in parts:
                np.add.at(count, each.at.reshape(-1), 1)
            assert count.max(initial=0) <= 1, f"{name}: the effect writes a byte twice"
            result[name] = count == 1
        return result

    def _parts(self, store: Store) -> Iterator[_Written]:
        given = {**self.sizes, "blocks": self.blocks}
        counts = {
            "block": self.blocks,
            **dict(zip(("block_y", "block_z"), self.grid[1:], strict=False)),
            "round": int(evaluate(store.rounds, given)),
            "step": int(evaluate(store.repeat, given)),
            "thread": self.effect.threads,
        }
        every = np.meshgrid(*(np.arange(n) for n in counts.values()), indexing="ij")
        flat = (axis.reshape(-1) for axis in every)
        point = {**dict(zip(counts, flat, strict=True)), **given}
        performed = np.ones(every[0].size, np.bool_)
        for condition in store.where:
            performed &= _holds(condition, point)

        def at(term: Any) -> Any:
            return np.broadcast_to(evaluate(term, point), performed.shape)[performed]

        low = at(store.offset)
        for part in store.parts:
            ranges = []
            for source in part.sources:
                whole = 0, self.extents[source.buffer]
                first, end = (
                    at(w if term is None else term)
                    for w, term in zip(whole, (source.first, source.end), strict=True)
                )
                several = (int(evaluate(t, self.sizes)) for t in (source.count, source.apart))
                ranges.append((source.buffer, first, end, *several))
            covered = part.conversion != COMPUTED
            yield _Written(
                part,
                low[:, None] + np.arange(part.bits // 8),
                at(part.offset) if covered else None,
                tuple(ranges),
            )
            low = low + part.bits // 8


def _holds(condition: Less, values: Mapping[str, Any]) -> Any:
    return evaluate(condition.left, values) < evaluate(condition.right, values)


class Judge:
    """Inputs for one launch, and the verdict on PTX that is run with them."""

    def __init__(self, where: Launch, seed: int) -> None:
        self.where, self.generator = where, np.random.default_rng(seed)
        effect = where.effect
        self.inputs = [b for b in effect.buffers if b.direction == "in"]
        parts = [part for store in effect.stores for part in store.parts]
        self.computed = any(part.conversion == COMPUTED for part in parts)
        floats = any(part.conversion != "move" for part in parts)
        # The second are the greater ones: they show in a maximum that they should not be part of.
        first, second = (
            {b.name: self._content(b.element_bits, b.name, floats, more) for b in self.inputs}
            for more in (0, 1)
        )
        # Which bytes come from the second: none, and where values are computed all, and mixtures.
        nothing = {name: np.zeros(len(data), np.bool_) for name, data in first.items()}
        self.choices = [nothing, nothing, *(self._mixtures(nothing) if self.computed else ())]
        self.runs = [
            {name: np.where(choice[name], second[name], first[name]) for name in first}
            for choice in self.choices
        ]
        self.poison = {name: self._poison(name) for name in where.masks}
        self.known: dict[tuple[str, int], Mapping[str, Any]] = {}
        # What the text that was run last has left.
        self.ran: tuple[str, dict[int, Mapping[str, Any] | None]] = "", {}

    def right(self, ptx: str) -> bool:
        """Whether the PTX does what the effect says; raises what the machine finds wrong."""
        results: list[Mapping[str, Any]] = []
        for number, inputs in enumerate(self.runs):
            outputs = self._outputs(ptx, number)
            if outputs is None or not self._moved(inputs, self._before(number), outputs):
                return False
            results.append(outputs)
        return self._all_written(*results[:2]) and self._own(results[1:])

    def alike(self, ptx: str, model: str, numbers: Sequence[int]) -> bool:
        """Whether PTX leaves what a model of it leaves, bit for bit, in some of the runs; raises
        what the machine finds wrong."""
        for number in numbers:
            if (model, number) not in self.known:
                found = self._outputs(model, number)
                assert found is not None
                self.known[model, number] = found
            outputs = self._outputs(ptx, number)
            wanted = self.known[model, number]
            if outputs is None or any(
                not np.array_equal(outputs[name], data) for name, data in wanted.items()
            ):
                return False
        return True

    def some(self, seed: int) -> Sequence[int]:
        """Runs that tell most: the first input twice, and a mixture with what it leaves out."""
        pairs = (len(self.runs) - 3) // 2
        if pairs < 1:
            return range(len(self.runs))
        mixture = 3 + seed % pairs * 2
        return 0, 1, mixture, mixture + 1

    def _before(self, number: int) -> dict[str, Any]:
        """What outputs hold before a run."""
        return {name: data ^ (0xFF * (number % 2)) for name, data in self.poison.items()}

    def _outputs(self, ptx: str, number: int) -> Mapping[str, Any] | None:
        """What outputs hold after a run, or `None` where an input has changed.

        The first run goes warp after warp together; the others by random schedules.
        """
        if self.ran[0] != ptx:
            self.ran = ptx, {}
        known = self.ran[1]
        if number not in known:
            outputs = self._before(number)
            kept = self._run(ptx, self.runs[number], outputs, number or None)
            known[number] = outputs if kept else None
        return known[number]

    def _content(self, bits: int, name: str, floats: bool, more: int) -> Any:
        """Random words; where they are computed with, numbers of moderate size, or flags."""
        size, draw = self.where.extents[name], self.generator
        if not floats:
            return draw.integers(0, 256, size, dtype=np.uint8)
        if bits == 32:
            return draw.normal(12 * more, 3, size // 4).astype(np.float32).view(np.uint8)
        if bits == 16:
            # Of either kind of 16-bit numbers these are moderate ones.
            words = draw.integers(0x3C00, 0x4200, size // 2, dtype=np.uint16) + 0x80 * more
            words = words.astype(np.uint16)
            return (words | draw.integers(0, 2, size // 2, dtype=np.uint16) << 15).view(np.uint8)
        return (draw.random(size) < 0.6).astype(np.uint8)

    def _mixtures(self, nothing: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """All of the second; and for each bit of the numbers of ranges of sources, those with it,
        and those without: so each range is of the first beside each other of the second."""
        yield {name: ~none for name, none in nothing.items()}
        ranges: dict[str, set[tuple[int, ...]]] = {name: set() for name in nothing}
        for parts in self.where.written.values():
            for each in parts:
                for name, first, end, *more in each.ranges:
                    found = zip(first.tolist(), end.tolist(), strict=True)
                    ranges[name] |= {(*ends, *more) for ends in found}
        most = max(len(found) for found in ranges.values())
        bits = min((most - 1).bit_length(), _MOST_BITS)
        # Of very many, a few share a number; which ones is drawn.
        numbers = self.generator.permutation(most) % (1 << bits)
        for bit, without in itertools.product(range(bits), (0, 1)):
            choice = {}
            for name, none in nothing.items():
                # What belongs to nobody is any of both.
                choice[name] = self.generator.random(len(none)) < 0.5
                for number, each in zip(numbers, sorted(ranges[name]), strict=False):
                    first, end, count, apart = each
                    for at in range(0, count * apart or 1, apart or 1):
                        choice[name][first + at : end + at] = (number >> bit & 1) ^ without
            yield choice

    def _poison(self, name: str) -> Any:
        return self.generator.integers(0, 256, self.where.extents[name], dtype=np.uint8)

    def _run(
        self, ptx: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], seed: int | None
    ) -> bool:
        where = self.where
        effect, sizes = where.effect, where.sizes
        given: dict[str, Any] = dict(sizes)
        kept = {name: data.copy() for name, data in inputs.items()}
        for buffer in effect.buffers:
            phase = int(evaluate(buffer.phase, sizes)) * (buffer.element_bits // 8)
            written = buffer.direction == "out"
            data = Unwritten(outputs[buffer.name]) if written else kept[buffer.name]
            given[buffer.name] = Placed(data, buffer.alignment + phase)
        names = effect.arguments or tuple(
            each.name for each in (*effect.buffers, *effect.parameters)
        )
        launch(
            ptx,
            effect.entry,
            where.grid,
            effect.block_shape or effect.threads,
            [given[name] for name in names],
            seed=seed,
            shared_bytes=effect.shared_bytes,
        )
        return all(np.array_equal(kept[name], data) for name, data in inputs.items())

    def _moved(
        self, inputs: Mapping[str, Any], before: Mapping[str, Any], outputs: Mapping[str, Any]
    ) -> bool:
        """Whether covered values are right, and nothing is written beside what is to be."""
        for name, parts in self.where.written.items():
            outside = ~self.where.masks[name]
            if not np.array_equal(outputs[name][outside], before[name][outside]):
                return False
            for each in parts:
                if each.source is None:
                    continue
                taken = each.source[:, None] + np.arange(each.part.source_bits // 8)
                wanted = inputs[each.part.buffer][taken]
                if each.part.conversion != "move":
                    numbers = np.ascontiguousarray(wanted).view(np.float32)
                    wanted = numbers.astype(_ROUNDED[each.part.conversion]).view(np.uint8)
                if not np.array_equal(outputs[name][each.at], wanted.reshape(each.at.shape)):
                    return False
        return True

    def _all_written(self, first: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
        """Whether all that is to be written is, and alike: what was there before differs in both,
        and so would what is left of it."""
        return all(
            np.array_equal(first[name][mask], again[name][mask])
            for name, mask in self.where.masks.items()
        )

    def _own(self, results: list[Mapping[str, Any]]) -> bool:
        """Whether computed values are made of their own sources alone."""
        if not self.computed:
            return True
        first, second, *others = results
        for choice, outputs in zip(self.choices[3:], others, strict=True):
            counts = {name: np.r_[0, np.cumsum(taken)] for name, taken in choice.items()}
            for name, parts in self.where.written.items():
                for each in parts:
                    if each.source is not None:
                        continue
                    none = all_ = np.ones(len(each.at), np.bool_)
                    for buffer, start, end, count, apart in each.ranges:
                        at = np.arange(count) * apart
                        ends = counts[buffer][np.add.outer(end, at)]
                        of_second = (ends - counts[buffer][np.add.outer(start, at)]).sum(axis=-1)
                        none = none & (of_second == 0)
                        all_ = all_ & (of_second == count * (end - start))
                    found = outputs[name][each.at]
                    for where, wanted in ((none, first), (all_, second)):
                        if not np.array_equal(found[where], wanted[name][each.at][where]):
                            return False
        return True
