"""Which bytes flow into a value, thread by thread, where that depends on no size.

An address is a sum of numbers that vary, times constants, and of a part that the thread alone
decides: the `Split` of block * 8448 + base + thread * 16. Of a value it is then known, for each
thread, between which bytes after that sum its loads lie, whatever is chosen on the way by
conditions that depend on more. Values of other threads, by shuffles and through shared memory, are
those threads' own. Nothing is asked of a solver: a value's bytes lie in a range of the same sum, in
every thread, or they do not.

>>> from tylo.proofs.effects import Buffer, Effect
>>> from tylo.proofs.ptx.scene import build
>>> scene = build(Effect("k", 4, (Buffer("x", "in", 32, 4, 16),), ()))
>>> domain = scene.domain
>>> wide = domain.extend(scene.thread, 2, 64, False)
>>> address = domain.add(scene.bases["x"], domain.multiply(wide, domain.constant(8, 64), 64), 64)
>>> split(scene, domain.subtract(address, scene.bases["x"], 64)).local
(0, 8, 16, 24)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tylo.proofs.effects import Source
from tylo.proofs.ptx.by_thread import flags, values
from tylo.proofs.ptx.contract import extent
from tylo.proofs.ptx.nodes import Expression, order
from tylo.proofs.ptx.scene import Scene

_SIZE = 1 << 64
_WARP = 32

_Sum = tuple[tuple[Expression, int], ...]
_Ends = tuple["int | None", "int | None"]  # the first byte and the one after the last, or neither


@dataclass(frozen=True, slots=True)
class Split:
    """A number of 64 bits: `varying` is what counts how often; `local` what each thread adds."""

    varying: _Sum
    local: tuple[int, ...]


# By buffer, and by what varies in the addresses (None: that is not all): two bytes a thread.
Flow = Mapping[tuple[str, "_Sum | None"], Sequence[_Ends]]


def split(scene: Scene, node: Expression) -> Split:
    """What of a number varies with more than the thread, and what does not."""
    varying: dict[Expression, int] = {}
    local = [0] * scene.effect.threads
    for part, count in _summands(scene, node, 1):
        column = values(scene, part)
        if column is None:
            varying[part] = (varying.get(part, 0) + count) % _SIZE
        else:
            local = [(a + count * b) % _SIZE for a, b in zip(local, column, strict=True)]
    found = sorted(((e, c) for e, c in varying.items() if c), key=lambda each: each[0].serial)
    return Split(tuple(found), tuple(local))


def _summands(scene: Scene, node: Expression, count: int) -> Iterator[tuple[Expression, int]]:
    operands = node.operands
    constant = operands[1].value if len(operands) == 2 else None
    match node.operator:
        case "bvadd" if node.width == 64:
            for operand in operands:
                yield from _summands(scene, operand, count)
        case "bvsub" if node.width == 64:
            yield from _summands(scene, operands[0], count)
            yield from _summands(scene, operands[1], -count)
        case "bvmul" if node.width == 64 and constant is not None:
            yield from _summands(scene, operands[0], count * constant)
        case "bvshl" if node.width == 64 and constant is not None and constant < 64:
            yield from _summands(scene, operands[0], count << constant)
        case "concat":
            low = 0
            for piece in operands:
                yield piece, count << low
                low += piece.width
        case _:
            yield node, count


def flow(scene: Scene, value: Expression) -> Flow | None:
    """Between which bytes the loads of a value lie; `None` where that is not known."""
    for node in order([value], scene.flows.__contains__):
        if node not in scene.flows:
            scene.flows[node] = _flow(scene, node) if node.opaque else {}
    found: Flow | None = scene.flows[value]
    return found


def _flow(scene: Scene, node: Expression) -> Flow | None:
    threads = range(scene.effect.threads)
    name = str(node.attribute) if node.operator == "function" else ""
    if node.operator == "load":
        return _loaded(scene, node.operands[0], 0, node.width // 8)
    if node.operator == "extract" and node.operands[0].operator == "load":
        low = int(node.attribute)
        return _loaded(scene, node.operands[0].operands[0], low // 8, -(-(low + node.width) // 8))
    if name in scene.sources:
        return None
    below = [scene.flows[operand] for operand in node.operands]
    known = [each for each in below if each is not None]
    if len(known) < len(below):
        return None
    if name in ("shared", "shuffled"):
        origin = values(scene, node.operands[1])
        if origin is None or max(origin) >= len(threads):
            return None
        return {key: [ends[origin[t]] for t in threads] for key, ends in known[0].items()}
    if node.operator == "ite" and not node.operands[0].opaque:
        chosen = node.operands[0]
        where = [flags(scene, each)[0] for each in (chosen, scene.negate(chosen))]
        return _joined(threads, known[1:], where)
    found = _joined(threads, known, None)
    if ".sync" in name:
        return {key: _in_warps(ends) for key, ends in found.items()}
    return found


def _loaded(scene: Scene, address: Expression, first: int, end: int) -> Flow | None:
    buffer = scene.buffer_of(address)
    if buffer is None:
        return None
    place = split(scene, scene.domain.subtract(address, scene.bases[buffer.name], 64))
    if any(part.opaque or not _of_all(scene, part) for part, _ in place.varying):
        return {(buffer.name, None): [(0, 0)] * scene.effect.threads}
    ends = [((at + first) % _SIZE, (at + first) % _SIZE + end - first) for at in place.local]
    return {(buffer.name, place.varying): ends}


def _of_all(scene: Scene, part: Expression) -> bool:
    """Whether a number is the same in all threads of the block."""
    names = {str(node.attribute) for node in order([part]) if node.operator == "variable"}
    return not names & {str(scene.thread.attribute), *scene.made}


def _joined(
    threads: range, parts: Sequence[Flow], where: Sequence[Sequence[bool]] | None
) -> dict[tuple[str, _Sum | None], list[_Ends]]:
    """What flows from several, each from where it is taken."""
    found: dict[tuple[str, _Sum | None], list[_Ends]] = {}
    for number, part in enumerate(parts):
        for key, ends in part.items():
            taken = [
                each if where is None or where[number][t] else (None, None)
                for t, each in zip(threads, ends, strict=True)
            ]
            old = found.get(key)
            found[key] = (
                taken if old is None else [_hull(a, b) for a, b in zip(old, taken, strict=True)]
            )
    return found


def _hull(one: _Ends, other: _Ends) -> _Ends:
    if one[0] is None or one[1] is None:
        return other
    if other[0] is None or other[1] is None:
        return one
    return min(one[0], other[0]), max(one[1], other[1])


def _in_warps(ends: Sequence[_Ends]) -> list[_Ends]:
    """Of each thread's warp, all of them."""
    result: list[_Ends] = []
    for start in range(0, len(ends), _WARP):
        every: _Ends = (None, None)
        for each in ends[start : start + _WARP]:
            every = _hull(every, each)
        result += [every] * len(ends[start : start + _WARP])
    return result


def inside(scene: Scene, guard: Expression, found: Flow, source: Source) -> bool:
    """Whether all that flows from a source's buffer lies in its range, wherever the guard holds."""
    if source.first is None or source.end is None:
        return True
    if source.count != 1:
        return False
    least, _ = extent(scene.ranges, source.first)
    if least < 0:
        return False
    first, end = (split(scene, scene.value(term)) for term in (source.first, source.end))
    may, _ = flags(scene, guard)
    for (buffer, varying), ends in found.items():
        if buffer != source.buffer:
            continue
        if varying is None or not varying == first.varying == end.varying:
            return False
        for thread, (low, high) in enumerate(ends):
            if low is None or high is None or not may[thread]:
                continue
            if not first.local[thread] <= low <= high <= end.local[thread]:
                return False
    return True
