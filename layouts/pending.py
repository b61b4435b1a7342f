"""A matrix result that is still being written.

``wgmma`` returns before its accumulator is there; until ``wgmma.wait_group`` the registers must not
be read (PTX ISA 8.7, section 9.7.15.7). A `Pending` is a type of its own, so that a reduction, a
rounding or a store of it is an error and not a race:

>>> import numpy
>>> from tylo.layouts.atoms import atom
>>> from tylo.layouts.fragment import gather
>>> C = atom("wgmma.m64n8k16.bf16").operand("C").ownership
>>> scores = Pending(gather(numpy.ones((64, 8), numpy.float32), C))
>>> scores.data
Traceback (most recent call last):
tylo.layouts.errors.PendingError: the data of a result that an instruction is still writing; use \
what its wait() returns
>>> float(scores.wait().data.sum())
512.0

Who owns it is known before the wait, and may be asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from tylo.layouts.errors import PendingError
from tylo.layouts.fragment import Fragment
from tylo.layouts.ownership import Ownership


@dataclass(frozen=True, slots=True, eq=False)
class Pending:
    """A fragment that may not be read before `wait`."""

    _fragment: Fragment = field(repr=False)

    @property
    def ownership(self) -> Ownership:
        """Who will own each element."""
        return self._fragment.ownership

    @property
    def data(self) -> NoReturn:
        """Raises `PendingError`."""
        _refuse("data")

    @property
    def map(self) -> NoReturn:
        """Raises `PendingError`."""
        _refuse("map")

    def wait(self) -> Fragment:
        """The completed fragment."""
        return self._fragment


def completed(fragment: Fragment | Pending) -> Fragment:
    """The fragment itself; raises `PendingError` for one that was not waited for."""
    if isinstance(fragment, Pending):
        _refuse("elements")
    return fragment


def _refuse(what: str) -> NoReturn:
    raise PendingError(
        f"the {what} of a result that an instruction is still writing",
        hint="use what its wait() returns",
    )
