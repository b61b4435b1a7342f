"""Shuffles, votes and reductions across the lanes of a warp (PTX ISA 9.7.9.6, 9.7.13.10 to 15).

They run once all lanes that their member mask names stand at them; the schedule sees to that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tylo.proofs.ptx.machine.decode import Step
from tylo.proofs.ptx.machine.state import State

_LANES = np.arange(32, dtype=np.int64)
_BITS = np.left_shift(np.uint64(1), np.arange(32, dtype=np.uint64))


def _full(state: State, rows: Any, value: Any) -> Any:
    return np.broadcast_to(np.asarray(value), (len(state.indices(rows)), 32))


def _mask(state: State, rows: Any, mask: Any) -> Any:
    return np.ones((len(state.indices(rows)), 32), np.bool_) if mask is None else mask


def shuffle(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`shfl.sync`: the ISA's pseudocode, for all lanes of all rows at once."""
    value, second, third, _ = (_full(state, rows, read(rows)) for read in step.sources)
    taking = _mask(state, rows, mask)
    by = (second & np.uint64(31)).astype(np.int64)
    clamp = (third & np.uint64(31)).astype(np.int64)
    segment = (third >> np.uint64(8) & np.uint64(31)).astype(np.int64)
    most = (_LANES & segment) | (clamp & ~segment)
    mode = step.form.chosen["mode"]
    source = {
        "up": _LANES - by,
        "down": _LANES + by,
        "bfly": _LANES ^ by,
        "idx": (_LANES & segment) | (by & ~segment),
    }[mode]
    inside = source >= most if mode == "up" else source <= most
    source = np.where(inside, source, _LANES)
    row = np.arange(len(taking))[:, None]
    absent = taking & ~taking[row, source]
    if absent.any():
        at, lane = (int(index[0]) for index in np.nonzero(absent))
        message = f"takes a value from lane {source[at, lane]}, which does not take part"
        raise state.fault(step, "shuffle", message, state.indices(rows)[at], lane)
    state.write(step.targets[0], rows, mask, value[row, source])
    if len(step.targets) > 1:
        state.write(step.targets[1], rows, mask, inside.astype(np.uint64))


def vote(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`vote.sync.any`, `.all` and `.uni`."""
    taking = _mask(state, rows, mask)
    true = (_full(state, rows, step.sources[0](rows)) == 1) & taking
    some = true.any(axis=1)
    every = (true == taking).all(axis=1)
    result = {"any": some, "all": every, "uni": every | ~some}[step.form.chosen["mode"]]
    state.write(step.targets[0], rows, mask, result.astype(np.uint64)[:, None])


def ballot(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`vote.sync.ballot`."""
    true = (_full(state, rows, step.sources[0](rows)) == 1) & _mask(state, rows, mask)
    state.write(step.targets[0], rows, mask, (true * _BITS).sum(axis=1, dtype=np.uint64)[:, None])


def match(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`match.any.sync`: the lanes that hold the same value."""
    value = _full(state, rows, step.sources[0](rows))
    same = (value[:, :, None] == value[:, None, :]) & _mask(state, rows, mask)[:, None, :]
    state.write(step.targets[0], rows, mask, (same * _BITS).sum(axis=2, dtype=np.uint64))


def active(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`activemask`."""
    taking = _mask(state, rows, mask)
    state.write(step.targets[0], rows, mask, (taking * _BITS).sum(axis=1, dtype=np.uint64)[:, None])


def reduce(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`redux.sync`."""
    value = _full(state, rows, step.sources[0](rows)).astype(np.uint32)
    numbers: Any = value.view(np.int32) if step.form.signed else value
    taking = _mask(state, rows, mask)
    operation = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }[step.form.chosen["operation"]]
    results = [
        operation.reduce(row[take]) if take.any() else row[0]
        for row, take in zip(numbers, taking, strict=True)
    ]
    patterns = np.array(results, dtype=numbers.dtype).view(np.uint32).astype(np.uint64)
    state.write(step.targets[0], rows, mask, patterns[:, None])


def elect(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`elect.sync`: the lowest lane that takes part, one of the choices the ISA allows."""
    taking = _mask(state, rows, mask)
    leader = np.argmax(taking, axis=1).astype(np.uint64)[:, None]
    state.write(step.targets[0], rows, mask, leader)
    mine = leader == _LANES.astype(np.uint64)
    state.write(step.targets[1], rows, mask, mine.astype(np.uint64))
