"""Comparing what a device returned with what the tables predict, element by element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tylo.codegen import oracle
from tylo.codegen.attest.probes import LANES, Observed, memory_matrices
from tylo.layouts.atoms import Atom
from tylo.layouts.fragment import indices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Where a device and a table disagree: the check, its index, what was predicted and found."""

    check: str
    where: tuple[int, ...]
    predicted: float
    found: float


@dataclass(frozen=True, slots=True)
class Judged:
    """One check: how many comparisons it made, how many disagreed, and the first that did."""

    check: str
    comparisons: int
    failures: int
    mismatches: tuple[Mismatch, ...]


@dataclass(frozen=True, slots=True)
class TableAttestation:
    """The verdict on the A, B and C tables of one atom; `hits` counts products that were one."""

    atom: str
    probes: int
    hits: int
    checks: tuple[Judged, ...]

    @property
    def passed(self) -> bool:
        """Whether every comparison agreed."""
        return all(check.failures == 0 for check in self.checks)


def judge(atom: Atom, observed: Observed) -> TableAttestation:
    """Compare everything a device returned with the tables of `atom`."""
    import numpy

    a, b, c = (indices(atom.operand(letter).ownership) for letter in "ABC")
    dtype = atom.operand("A").dtype
    lefts, rights = memory_matrices(dtype)
    wide_b, wide = _two_atoms(b), _two_atoms(c)
    checks = [
        compared("one-hot products", _predicted_products(a, b, c), observed.products),
        compared("one-hot accumulators", numpy.eye(LANES * c[0].shape[1]), observed.added),
        compared("A from row-major memory", 16 * a[0] + a[1], observed.left),
        compared("B from row-major memory", 16 * wide_b[0] + wide_b[1], observed.right),
    ]
    left, right = (oracle.widened(each[1:], dtype) for each in (lefts, rights))
    for case, label in enumerate(("rows of D", "columns of D", "product of D")):
        product = left[case] @ right[case]
        checks.append(compared(label, product[wide[0], wide[1]], observed.results[case]))
    return TableAttestation(
        atom=atom.name,
        probes=observed.products.shape[0] * observed.products.shape[1] + len(observed.added),
        hits=int((observed.products == 1).sum()),
        checks=tuple(checks),
    )


def _two_atoms(coordinates: tuple[Array, ...]) -> tuple[Array, Array]:
    """Coordinates of two atoms side by side: the same again, eight columns on."""
    import numpy

    first, column = coordinates
    return (
        numpy.concatenate([first, first], axis=1),
        numpy.concatenate([column, column + 8], axis=1),
    )


def _predicted_products(a: tuple[Array, ...], b: tuple[Array, ...], c: tuple[Array, ...]) -> Array:
    """One at the owner of (row of A, column of B) where k agrees, zero elsewhere."""
    import numpy

    (row, left_k), (right_k, column) = (
        tuple(axis.reshape(-1) for axis in operand) for operand in (a, b)
    )
    owner = numpy.full((16, 8), -1)
    owner[c] = numpy.arange(c[0].size).reshape(c[0].shape)
    predicted = numpy.zeros((row.size, column.size, c[0].size), numpy.float32)
    left, right = numpy.nonzero(left_k[:, None] == right_k[None, :])
    predicted[left, right, owner[row[left], column[right]]] = 1
    return predicted


def compared(check: str, predicted: Array, found: Array) -> Judged:
    """One check: what a device returned against what a table predicts, element by element."""
    import numpy

    predicted = predicted.reshape(found.shape)
    differs = numpy.argwhere(predicted != found)
    shown = tuple(
        Mismatch(check, where, float(predicted[where]), float(found[where]))
        for where in (tuple(int(index) for index in row) for row in differs[:_SHOWN])
    )
    return Judged(check, found.size, len(differs), shown)
