"""Where a form lies: moved by a multiple of a power of two into the range that a value has.

>>> from tylo.proofs.ptx.atoms import Atoms
>>> atoms = Atoms()
>>> i = atoms.variable("i", (0, 99))
>>> places = Places(atoms, None)
>>> places.placed({**i, (): -100}, 256, 0)
{('i',): 1, (): 156}
>>> places.placed({**i, (): -50}, 256, 0) is None
True
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from tylo.proofs.ptx.atoms import Atoms
from tylo.proofs.ptx.forms import Form, constant, content, divided, integer, reduced, total


class Places:
    """Forms moved to where they lie: by bounds, by what is `known`, or as a remainder."""

    def __init__(self, atoms: Atoms, holds: Callable[[str], bool] | None) -> None:
        self.atoms, self.holds = atoms, holds
        self.known: list[str] = []  # what is asserted and has no remainder in it

    def placed(self, form: Form, size: int, low: int) -> Form | None:
        """The congruent form that lies in [low, low + size) by the bounds of its atoms."""
        for each in (form, reduced(form, size)):
            least, most = self.atoms.interval(each)
            away = (least - low) // size * size
            if most - away < low + size:
                return total(each, constant(-away))
        return None

    def moved(self, form: Form, size: int, low: int, doubtful: bool = True) -> Form:
        """A number in [low, low + size) that is congruent to the form."""
        placed = self.placed(form, size, low)
        if placed is not None:
            return placed
        form = reduced(form, size)
        if doubtful and self.lies(form, low, low + size):
            return form
        least, most = self.atoms.interval(form)
        end = low + size
        text = self.atoms.named(form)
        if least >= low and most < end + size:
            found = f"(ite (< {text} {end}) {text} (- {text} {size}))"
        elif least >= low - size and most < end:
            found = f"(ite (< {text} {integer(low)}) (+ {text} {size}) {text})"
        elif low == 0 and not doubtful:
            return self.atoms.residue(form, size)
        elif low == 0:
            found = f"(mod {text} {size})"
        else:
            rest = self.atoms.name(f"(mod {text} {size})")
            found = f"(ite (< {rest} {end}) {rest} (- {rest} {size}))"
        make = self.atoms.remainder if doubtful else self.atoms.defined
        result = make(found, (low, end - 1))
        if low == 0 and not doubtful:
            self.atoms.remains(result, form, size)
        return result

    def lies(self, form: Form, low: int, end: int) -> bool:
        """Whether what is known shows that a form lies in [low, end)."""
        if self.holds is None or not self.known or self.atoms.is_doubtful_form(form):
            return False
        text = self.atoms.named(form)
        outside = f"(or (< {text} {integer(low)}) (<= {integer(end)} {text}))"
        return self.holds(self.atoms.script([*self.known, outside]))

    def floor(self, form: Form, divisor: int) -> Form:
        """The quotient by a positive number, rounded down."""
        whole, rest = divided(form, divisor)
        low, high = self.atoms.interval(rest)
        if low // divisor == high // divisor:
            return total(whole, constant(low // divisor))
        varying = {each: times for each, times in rest.items() if each}
        by = gcd(content(varying), divisor)
        divisor //= by
        more, ones = divmod(rest.get((), 0) // by, divisor)
        whole = total(whole, constant(more))
        rest = total({each: times // by for each, times in varying.items()}, constant(ones))
        left = self.atoms.left(rest, divisor)
        if left is not None:
            # The high digits of a number's low ones are the low ones of its high ones.
            number, size = left
            digits = self.moved(self.floor(number, divisor), size // divisor, 0, doubtful=False)
            return total(whole, digits)
        return total(whole, self.atoms.divided(rest, divisor))
