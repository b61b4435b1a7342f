"""Operands for which the PTX ISA leaves an integer instruction's result open.

The semantics in the table must give some value there. Nothing may be proven from it, so whoever
proves something shows that these operands never occur. Everything else in the table has a result
for all operands: shifts clamp their amount, selectors of `prmt` are masked, and integer conversions
truncate. Positions and lengths of bit fields are restricted to 0..255 by the ISA; beyond, an H200
reads one byte of them at 32 bits and clamps them at 64.

>>> from tylo.proofs.ptx.bitvector import BitVectors
>>> from tylo.proofs.ptx.opcodes import OPCODES
>>> d = BitVectors()
>>> form = next(filter(None, (opcode.match("rem.u32") for opcode in OPCODES)))
>>> [unspecified(d, form, [d.variable("a", 32), d.constant(b, 32)]).value for b in (0, 3)]
[1, 0]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tylo.proofs.ptx.opcodes.domain import Domain
from tylo.proofs.ptx.opcodes.table import Form


def _lowest(d: Domain[Any], f: Form, value: Any) -> Any:
    """Whether a value is the negative one without a positive counterpart."""
    return d.equal(value, d.constant(1 << (f.width - 1), f.width), f.width)


def _division(d: Domain[Any], f: Form, a: Any, b: Any) -> Any:
    """By zero (PTX ISA 9.7.1.8, 9.7.1.9), and where the quotient does not fit."""
    by_zero = d.equal(b, d.constant(0, f.width), f.width)
    if not f.signed:
        return by_zero
    by_minus_one = d.equal(b, d.constant(-1, f.width), f.width)
    return d.bit_or(by_zero, d.bit_and(by_minus_one, _lowest(d, f, a), 1), 1)


def _field(d: Domain[Any], f: Form, *sources: Any) -> Any:
    """A position or length past 255 (PTX ISA 9.7.1.16, 9.7.1.17)."""
    position, length = (d.less(d.constant(255, 32), each, 32, False) for each in sources[-2:])
    return d.bit_or(position, length, 1)


_UNSPECIFIED: Mapping[str, Callable[..., Any]] = {
    "div": _division,
    "rem": _division,
    "abs": _lowest,
    "bfe": _field,
    "bfi": _field,
}


def unspecified(d: Domain[Any], form: Form, sources: list[Any]) -> Any | None:
    """One bit: whether the result is open for these sources; `None` where it never is."""
    where = _UNSPECIFIED.get(form.opcode.mnemonic)
    if where is None or form.type[0] == "f":
        return None
    return where(d, form, *sources)
