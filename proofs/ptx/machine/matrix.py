"""Matrix instructions: products, and moves between registers and shared memory (PTX ISA 9.7.14.5).

Where a fragment's elements lie follows one rule in all shapes here. With e elements in a 32-bit
register, group g = lane / 4 and t = lane % 4, element i of register r is

    A: row g + 8 (r % 2),   column t e + i + 4 e (r / 2)
    B: row t e + i + 4 e r, column g
    C: row g + 8 (n / 2),   column 2 t + n % 2, for n counting a lane's elements

Products are accumulated in FP64 and rounded once: exact wherever the hardware's unspecified order
of accumulation is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tylo.proofs.ptx.machine.accesses import check_read, check_write, faulty
from tylo.proofs.ptx.machine.decode import Step
from tylo.proofs.ptx.machine.floats import apply
from tylo.proofs.ptx.machine.state import State

_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8}
_LANE = np.arange(32)
_GROUP, _MEMBER = _LANE // 4, _LANE % 4


@np.errstate(all="ignore")  # NaN and infinity are operands like any other
def multiply(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`mma.sync`."""
    _whole_warps(state, step, rows, mask)
    parts = step.form.opcode.syntax.split(" ")[0].split(".")
    shape, result, kind = parts[3], parts[6], step.form.chosen["atype"]
    m, n, k = (
        int(size) for size in shape.replace("m", "").replace("n", " ").replace("k", " ").split()
    )
    a, b, c = (
        np.stack(
            [np.broadcast_to(read(rows), (len(state.indices(rows)), 32)) for read in source], -1
        )
        for source in step.sources
    )
    left = np.zeros((len(a), m, k))
    right = np.zeros((len(a), k, n))
    per = 32 // _BITS[kind]
    for register in range(a.shape[-1]):
        for index, value in enumerate(_elements(a[..., register], kind)):
            column = _MEMBER * per + index + 4 * per * (register // 2)
            left[:, _GROUP + 8 * (register % 2), column] = value
    for register in range(b.shape[-1]):
        for index, value in enumerate(_elements(b[..., register], kind)):
            right[:, _MEMBER * per + index + 4 * per * register, _GROUP] = value
    added = _accumulator(c, result)
    total = np.matmul(left, right)[:, _ROW_OF_C, _COLUMN_OF_C] + added
    for index, pattern in enumerate(_rounded(total, result)):
        state.write(step.targets[index], rows, mask, pattern)


# The coordinates of a lane's four elements of C.
_ROW_OF_C = np.stack([_GROUP + 8 * (index // 2) for index in range(4)], -1)
_COLUMN_OF_C = np.stack([2 * _MEMBER + index % 2 for index in range(4)], -1)


def _elements(register: Any, kind: str) -> list[Any]:
    """The numbers in a register, least significant first."""
    width = _BITS[kind]
    found = []
    for low in range(0, 32, width):
        bits = register >> np.uint64(low) & np.uint64((1 << width) - 1)
        match kind:
            case "tf32":
                # The lowest 13 bits are ignored.
                word = (bits & np.uint64(0xFFFFE000)).astype(np.uint32)
                found.append(word.view(np.float32).astype(np.float64))
            case "s8":
                found.append(bits.astype(np.uint8).view(np.int8).astype(np.float64))
            case "u8":
                found.append(bits.astype(np.float64))
            case _:
                word = apply(f"cvt.f32.{kind}", [bits]).astype(np.uint32)
                found.append(word.view(np.float32).astype(np.float64))
    return found


def _accumulator(c: Any, result: str) -> Any:
    """A lane's four numbers from its registers of C."""
    words = c.astype(np.uint32)
    match result:
        case "f32":
            return words.view(np.float32).astype(np.float64)
        case "s32":
            return words.view(np.int32).astype(np.float64)
        case _:
            return np.concatenate([np.stack(_elements(c[..., r], "f16"), -1) for r in range(2)], -1)


def _rounded(total: Any, result: str) -> list[Any]:
    """The registers of D."""
    match result:
        case "f32":
            single = total.astype(np.float32)
            bits = np.where(np.isnan(single), 0x7FFFFFFF, single.view(np.uint32))
            return [bits[..., index].astype(np.uint64) for index in range(4)]
        case "s32":
            bits = total.astype(np.int64).astype(np.uint64) & np.uint64(0xFFFFFFFF)
            return [bits[..., index] for index in range(4)]
        case _:
            half = total.astype(np.float16)
            bits = np.where(np.isnan(half), 0x7FFF, half.view(np.uint16)).astype(np.uint64)
            return [bits[..., 2 * r] | bits[..., 2 * r + 1] << np.uint64(16) for r in range(2)]


def load_matrix(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`ldmatrix`: lane 8 i + r names row r of matrix i."""
    tiles = _shared_rows(state, step, rows, mask, len(step.targets), reading=True)
    for index, target in enumerate(step.targets):
        tile = tiles[:, index]
        pair = _pair(tile.swapaxes(1, 2) if "trans" in step.form.chosen else tile)
        state.write(target, rows, mask, pair)


def store_matrix(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`stmatrix`: the inverse of `ldmatrix`."""
    (sources,) = step.sources
    count = len(sources)
    warps, lanes, space, addresses = _row_addresses(state, step, rows, mask, count)
    tiles = [_tile(np.broadcast_to(read(rows), (len(state.indices(rows)), 32))) for read in sources]
    if "trans" in step.form.chosen:
        tiles = [tile.swapaxes(1, 2) for tile in tiles]
    values = np.stack(tiles, 1).reshape(-1, 8)
    check_write(state, step, "shared", addresses, warps, lanes, 16)
    for column in range(8):
        part = addresses + np.uint64(2 * column)
        space.write(part, values[:, column], 2, faulty(state, step, warps, lanes))


def move_matrix(state: State, step: Step, rows: Any, mask: Any) -> None:
    """`movmatrix.trans`: an 8x8 matrix in registers, transposed."""
    _whole_warps(state, step, rows, mask)
    source = np.broadcast_to(step.sources[0](rows), (len(state.indices(rows)), 32))
    state.write(step.targets[0], rows, mask, _pair(_tile(source).swapaxes(1, 2)))


def _pair(tile: Any) -> Any:
    """An 8x8 matrix as registers: lane 4 r + t holds columns 2 t and 2 t + 1 of row r."""
    halves = tile.reshape(len(tile), 32, 2)
    return halves[..., 0] | halves[..., 1] << np.uint64(16)


def _tile(register: Any) -> Any:
    """The inverse of `_pair`."""
    low, high = register & np.uint64(0xFFFF), register >> np.uint64(16)
    return np.stack([low, high], -1).reshape(len(register), 8, 8)


def _shared_rows(state: State, step: Step, rows: Any, mask: Any, count: int, reading: bool) -> Any:
    warps, lanes, space, addresses = _row_addresses(state, step, rows, mask, count)
    check_read(state, step, "shared", addresses, warps, lanes, 16)
    fault = faulty(state, step, warps, lanes)
    columns = [space.read(addresses + np.uint64(2 * c), 2, fault) for c in range(8)]
    return np.stack(columns, -1).reshape(-1, count, 8, 8)


def _row_addresses(state: State, step: Step, rows: Any, mask: Any, count: int) -> Any:
    _whole_warps(state, step, rows, mask)
    assert step.address is not None
    numbers = state.indices(rows)
    given = np.broadcast_to(np.asarray(step.address(rows)), (len(numbers), 32))[:, : 8 * count]
    warps, lanes = np.repeat(numbers, 8 * count), np.tile(np.arange(8 * count), len(numbers))
    flat = given.reshape(-1)
    misaligned = flat % np.uint64(16) != 0
    if misaligned.any():
        at = int(np.argmax(misaligned))
        message = "shared memory: a row address that is no multiple of 16"
        raise state.fault(step, "alignment", message, warps[at], lanes[at], int(flat[at]))
    space, addresses = state.access(step, "shared", flat, warps, lanes, 16)
    return warps, lanes, space, addresses


def _whole_warps(state: State, step: Step, rows: Any, mask: Any) -> None:
    if mask is not None and not mask.all():
        row, lane = (int(index[0]) for index in np.nonzero(~mask))
        message = "not all lanes of the warp take part in a matrix instruction"
        raise state.fault(step, "divergence", message, state.indices(rows)[row], lane)
