"""Loads, stores, parameters and atomics of the running machine (PTX ISA 9.7.9, 9.7.13.6).

Races are checked in shared memory. Atomics are taken lane by lane in ascending order, which is one
of the orders that the hardware may choose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tylo.proofs.ptx.machine.decode import Step
from tylo.proofs.ptx.machine.floats import apply
from tylo.proofs.ptx.machine.memory import Fault
from tylo.proofs.ptx.machine.state import State


def parameter(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`ld.param`."""
    state.write(step.targets[0], rows, mask, step.sources[0](rows))


def load(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`ld`, scalar or vector."""
    size, count = step.form.width // 8, len(step.targets)
    warps, lanes = state.active(rows, mask)
    if not len(warps):
        return
    space, addresses = _resolve(state, step, rows, mask, warps, lanes, size * count)
    check_read(state, step, space.name, addresses, warps, lanes, size * count)
    for index, target in enumerate(step.targets):
        part = addresses + np.uint64(index * size)
        values = space.read(part, size, faulty(state, step, warps, lanes))
        state.write(target, rows, mask, spread(state, rows, mask, values))


def store(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`st`, scalar or vector."""
    (source,) = step.sources
    reads = source if isinstance(source, list) else [source]
    size = step.form.width // 8
    warps, lanes = state.active(rows, mask)
    if not len(warps):
        return
    space, addresses = _resolve(state, step, rows, mask, warps, lanes, size * len(reads))
    values = [state.lanes(read(rows), rows, mask) for read in reads]
    _one_writer(state, step, space.name, addresses, values, warps, lanes)
    check_write(state, step, space.name, addresses, warps, lanes, size * len(reads))
    for index, value in enumerate(values):
        part = addresses + np.uint64(index * size)
        space.write(part, value, size, faulty(state, step, warps, lanes))


def atomic(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`atom` and `red`."""
    size = step.form.width // 8
    warps, lanes = state.active(rows, mask)
    if not len(warps):
        return
    space, addresses = _resolve(state, step, rows, mask, warps, lanes, size)
    if space.name == "shared" and state.shadow is not None:
        within = addresses % np.uint64(state.shared_pitch)
        raced = state.shadow.check_update(state.shadow.cells(warps, within, size), warps, lanes)
        _report(state, step, raced, within, warps, lanes, "updates")
    operands = [state.lanes(read(rows), rows, mask) for read in step.sources]
    update = _UPDATES[step.form.chosen["operation"]]
    fault = faulty(state, step, warps, lanes)
    old = np.zeros(len(warps), np.uint64)
    # The first lane at each address, then the second at each, and so on.
    order = np.argsort(addresses, kind="stable")
    first = np.r_[True, addresses[order][1:] != addresses[order][:-1]]
    starts = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    turn = np.zeros(len(warps), np.int64)
    turn[order] = np.arange(len(order)) - starts
    for each in range(int(turn.max()) + 1):
        now = np.flatnonzero(turn == each)
        here = addresses[now]
        before = space.read(here, size, faulty(state, step, warps[now], lanes[now]))
        old[now] = before
        after = update(state, step, before, [operand[now] for operand in operands])
        space.write(here, np.asarray(after, dtype=np.uint64), size, fault)
    if step.targets:
        state.write(step.targets[0], rows, mask, spread(state, rows, mask, old))


def _add(state: State, step: Step, old: Any, new: list[Any]) -> Any:
    if step.form.type == "f32":
        return apply("add.rn.f32", [old, new[0]])
    return state.domain.add(old, new[0], step.form.width)


def _extremum(greater: bool) -> Callable[..., Any]:
    def run(state: State, step: Step, old: Any, new: list[Any]) -> Any:
        less = state.domain.less(old, new[0], step.form.width, step.form.signed)
        return np.where((less == 1) == greater, new[0], old)

    return run


_UPDATES: dict[str, Callable[..., Any]] = {
    "add": _add,
    "min": _extremum(False),
    "max": _extremum(True),
    "and": lambda state, step, old, new: old & new[0],
    "or": lambda state, step, old, new: old | new[0],
    "xor": lambda state, step, old, new: old ^ new[0],
    "exch": lambda state, step, old, new: new[0],
    "cas": lambda state, step, old, new: np.where(old == new[0], new[1], old),
}


def _resolve(
    state: State, step: Step, rows: Any, mask: Any, warps: Any, lanes: Any, size: int
) -> Any:
    assert step.address is not None
    addresses = state.lanes(step.address(rows), rows, mask)
    space, within = state.access(
        step, step.form.chosen.get("space", ""), addresses, warps, lanes, size
    )
    misaligned = addresses % np.uint64(size) != 0
    if misaligned.any():
        at = int(np.argmax(misaligned))
        message = f"{space.name} memory: an address that is no multiple of {size}"
        raise state.fault(step, "alignment", message, warps[at], lanes[at], int(addresses[at]))
    return space, within


def spread(state: State, rows: Any, mask: Any, values: Any) -> Any:
    """Values of active lanes back in the shape of a register."""
    full = np.zeros((len(state.indices(rows)), 32), np.uint64)
    if mask is None:
        return values.reshape(full.shape)
    full[np.nonzero(mask)] = values
    return full


def faulty(state: State, step: Step, warps: Any, lanes: Any) -> Fault:
    """How a space reports a fault of these lanes."""

    def fault(kind: str, message: str, index: int, address: int) -> None:
        raise state.fault(step, kind, message, warps[index], lanes[index], address)

    return fault


def check_read(
    state: State, step: Step, space: str, addresses: Any, warps: Any, lanes: Any, size: int
) -> None:
    """Report a read of shared memory that races."""
    if space == "shared" and state.shadow is not None:
        within = addresses % np.uint64(state.shared_pitch)
        raced = state.shadow.check_read(state.shadow.cells(warps, within, size), warps, lanes)
        _report(state, step, raced, within, warps, lanes, "reads")


def check_write(
    state: State,
    step: Step,
    space: str,
    addresses: Any,
    warps: Any,
    lanes: Any,
    size: int,
    flying: bool = False,
) -> Any:
    """Report a write of shared memory that races; returns the granules written."""
    if space != "shared" or state.shadow is None:
        return None
    within = addresses % np.uint64(state.shared_pitch)
    cells = state.shadow.cells(warps, within, size)
    raced = state.shadow.check_write(cells, warps, lanes, flying)
    _report(state, step, raced, within, warps, lanes, "writes")
    return cells


def _report(
    state: State, step: Step, raced: Any, within: Any, warps: Any, lanes: Any, verb: str
) -> None:
    hit = raced.any(axis=1)
    if hit.any():
        at = int(np.argmax(hit))
        message = f"shared memory: {verb} what another access touches, with no barrier between"
        raise state.fault(step, "race", message, warps[at], lanes[at], int(within[at]))


def _one_writer(
    state: State, step: Step, space: str, addresses: Any, values: list[Any], warps: Any, lanes: Any
) -> None:
    """Two lanes of one instruction may not store different values at one address."""
    order = np.argsort(addresses, kind="stable")
    same = addresses[order][1:] == addresses[order][:-1]
    if not same.any() or space == "local":
        return
    differ = np.zeros(len(same), np.bool_)
    for value in values:
        differ |= value[order][1:] != value[order][:-1]
    if space == "shared":
        # Equal values race there as others do: no barrier is between the two warps.
        differ |= warps[order][1:] != warps[order][:-1]
    if (same & differ).any():
        at = int(order[1:][int(np.argmax(same & differ))])
        message = f"{space} memory: two lanes store at one address in one instruction"
        raise state.fault(step, "race", message, warps[at], lanes[at], int(addresses[at]))
