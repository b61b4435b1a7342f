"""Violations that are asked together, and in the same words wherever they are said again.

>>> from tylo.proofs.effects import Effect
>>> from tylo.proofs.ptx.scene import build
>>> scene = build(Effect("k", 1, (), ()))
>>> a, b, c = (scene.domain.variable(name, 1) for name in "abc")
>>> source = Source("x")
>>> first = list(together(scene, source, [(a, "at a"), (b, "at b")]))
>>> again = list(together(scene, source, [(b, "at b"), (c, "at c"), (a, "at a")]))
>>> len(first), again[0] == first[0], again[1][0] is c
(1, True, True)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tylo.proofs.effects import Source
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.scene import Scene

_TOGETHER = 4  # loads that one obligation speaks of


def together(
    scene: Scene, source: Source, outside: Sequence[tuple[Expression, Expression]]
) -> Iterator[tuple[Expression, Expression]]:
    """Violations, many at once, with an address: what they have in common is asked once.

    What flows into several values, such as all columns of a row into each of them, is said of each
    in the same words, so that it is asked once: a violation that was among some others before is
    among the same again.
    """
    domain, known = scene.domain, scene.tables.together
    new = [each for each in dict.fromkeys(outside) if (source, each[0]) not in known]
    for start in range(0, len(new), _TOGETHER):
        several = new[start : start + _TOGETHER]
        anything = domain.constant(0, 1)
        for violation, _ in several:
            anything = domain.bit_or(anything, violation, 1)
        for violation, _ in several:
            known[source, violation] = anything, several[0][1]
    yield from dict.fromkeys(known[source, violation] for violation, _ in outside)
