"""Which bytes flow into a value, thread by thread, where that depends on no size.

Of a value it is known, for each thread, between which bytes of a buffer its loads lie, as two sums
over sizes (`thread_sums`), whatever is chosen on the way by conditions that depend on more: block *
8448 + thread * 16 and the 16 bytes from there, or, of a mask, row * stride + 3 * pitch. Values of
other threads, by shuffles and through shared memory, are those threads' own. A load reads where its
own guard holds: the row of a thread that has one is then the row, and no longer a choice between
that and another. Nothing is asked of a solver: a value's bytes lie in a range, in every thread,
whatever the numbers are that are summed, or they do not.

>>> from tylo.proofs.effects import Buffer, Effect
>>> from tylo.proofs.ptx.scene import build
>>> scene = build(Effect("k", 4, (Buffer("x", "in", 32, 4, 16),), ()))
>>> domain = scene.domain
>>> wide = domain.extend(scene.thread, 2, 64, False)
>>> address = domain.add(scene.bases["x"], domain.multiply(wide, domain.constant(8, 64), 64), 64)
>>> found = flow(scene, domain.load(address, 32), {})
>>> [(dict(each.low), dict(each.end)) for each in found["x"]][1:3]
[({(): 8}, {(): 12}), ({(): 16}, {(): 20})]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tylo.proofs.effects import Source
from tylo.proofs.ptx.by_thread import flags, values
from tylo.proofs.ptx.contract import extent
from tylo.proofs.ptx.forms import Form, constant, total
from tylo.proofs.ptx.nodes import Expression, order
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.thread_sums import most, sums, under

_WARP = 32
_MOST = 1 << 63


@dataclass(frozen=True, eq=False, slots=True)
class Reach:
    """Bytes between two sums: what lies there is `low` or more, count by count, and below `end`."""

    low: Form
    end: Form


# Bytes that may be anywhere.
_ANYWHERE = Reach({}, {})

# By buffer, of each thread: what is read of it, if anything.
Flow = Mapping[str, Sequence["Reach | None"]]
Guards = Mapping[Expression, Expression]  # where an address is loaded from, if not everywhere


def flow(scene: Scene, value: Expression, guards: Guards) -> Flow | None:
    """Between which bytes the loads of a value lie; `None` where that is not known.

    Of one scene, the guards are always the same.
    """
    for node in order([value], scene.tables.flows.__contains__):
        if node not in scene.tables.flows:
            scene.tables.flows[node] = _flow(scene, node, guards) if node.opaque else {}
    found: Flow | None = scene.tables.flows[value]
    return found


def _flow(scene: Scene, node: Expression, guards: Guards) -> Flow | None:
    threads = range(scene.effect.threads)
    name = str(node.attribute) if node.operator == "function" else ""
    if node.operator == "load":
        return _loaded(scene, node, 0, node.width, guards)
    if node.operator == "extract" and node.operands[0].operator == "load":
        low = int(node.attribute)
        return _loaded(scene, node.operands[0], low, low + node.width, guards)
    if name in scene.sources:
        return None
    below = [scene.tables.flows[operand] for operand in node.operands]
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
        return _joined(known[1:], where)
    found = _joined(known, None)
    if ".sync" in name:
        return {key: _in_warps(ends) for key, ends in found.items()}
    return found


def _loaded(scene: Scene, load: Expression, low: int, end: int, guards: Guards) -> Flow | None:
    """The bytes that some bits of a load are."""
    address = load.operands[0]
    buffer = scene.buffer_of(address)
    if buffer is None:
        return None
    offset = scene.domain.subtract(address, scene.bases[buffer.name], 64)
    if address in guards:
        offset = under(scene, offset, guards[address])
    places = sums(scene, offset)
    if places is None:
        return {buffer.name: [_ANYWHERE] * scene.effect.threads}
    first, last = constant(low // 8), constant(-(-end // 8))
    made: dict[int, Reach] = {}
    for place in places:
        if id(place) not in made:
            made[id(place)] = Reach(total(place, first), total(place, last))
    return {buffer.name: [made[id(place)] for place in places]}


def _joined(
    parts: Sequence[Flow], where: Sequence[Sequence[bool]] | None
) -> dict[str, list[Reach | None]]:
    """What flows from several, each from where it is taken."""
    found: dict[str, list[Reach | None]] = {}
    hulls: dict[tuple[int, int], Reach] = {}
    for number, part in enumerate(parts):
        for key, ends in part.items():
            taken = list(ends)
            if where is not None:
                each_thread = zip(where[number], ends, strict=True)
                taken = [each if here else None for here, each in each_thread]
            old = found.get(key)
            found[key] = (
                taken
                if old is None
                else [_hull(hulls, a, b) for a, b in zip(old, taken, strict=True)]
            )
    return found


def _hull(
    hulls: dict[tuple[int, int], Reach], one: Reach | None, other: Reach | None
) -> Reach | None:
    """The bytes between two ranges, and they themselves."""
    if one is None or one is other:
        return other
    if other is None:
        return one
    if one is _ANYWHERE or other is _ANYWHERE:
        return _ANYWHERE
    key = id(one), id(other)
    if key not in hulls:
        hulls[key] = _around(one, other)
    return hulls[key]


def _around(one: Reach, other: Reach) -> Reach:
    low = {
        each: min(one.low.get(each, 0), other.low.get(each, 0)) for each in {**one.low, **other.low}
    }
    end = {
        each: max(one.end.get(each, 0), other.end.get(each, 0)) for each in {**one.end, **other.end}
    }
    for known in (one, other):
        if low == known.low and end == known.end:
            return known
    return Reach(low, end)


def _in_warps(ends: Sequence[Reach | None]) -> list[Reach | None]:
    """Of each thread's warp, all of them."""
    result: list[Reach | None] = []
    for start in range(0, len(ends), _WARP):
        every: Reach | None = None
        for each in ends[start : start + _WARP]:
            every = _hull({}, every, each)
        result += [every] * len(ends[start : start + _WARP])
    return result


def inside(scene: Scene, guard: Expression, found: Flow, source: Source) -> bool:
    """Whether all that flows from a source's buffer lies in its range, wherever the guard holds.

    Numbers that are summed are never negative, so that a sum is no less than another one if it has
    no less of each. That nothing wraps follows from the largest value of the range's length.
    """
    if source.first is None or source.end is None:
        return True
    if source.count != 1:
        return False
    if min(extent(scene.ranges, each)[0] for each in (source.first, source.end)) < 0:
        return False
    ends = [sums(scene, scene.value(term)) for term in (source.first, source.end)]
    if ends[0] is None or ends[1] is None:
        return False
    may, _ = flags(scene, guard)
    fits: dict[tuple[int, int, int], bool] = {}
    reaches = found.get(source.buffer, ())
    for here, reach, first, end in zip(may, reaches, ends[0], ends[1], strict=False):
        if not here or reach is None:
            continue
        key = id(reach), id(first), id(end)
        if key not in fits:
            fits[key] = reach is not _ANYWHERE and _fits(scene, reach, first, end)
        if not fits[key]:
            return False
    return True


def _fits(scene: Scene, reach: Reach, first: Form, end: Form) -> bool:
    before, after = total(reach.low, first, -1), total(end, reach.end, -1)
    if any(count < 0 for form in (before, after) for count in form.values()):
        return False
    return most(scene, total(end, first, -1)) < _MOST
