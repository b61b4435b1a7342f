"""Who owns what, by an atom's name: the coordinates that a claim's terms may then mention.

``ownership = "mma.m16n8k16.bf16 C"`` gives each thread the values of that fragment; a table names
repeats and warps too. The axes' names (``m`` and ``n`` here) are then the coordinate of `value`:

>>> from tylo.layouts.terms import show
>>> from tylo.proofs.ptx.claim_tables import Table
>>> table = Table("c.toml", "store 0", {"ownership": "mma.m16n8k16.bf16 C"})
>>> axes = coordinates(read_ownership(table), threads=32, value=2)
>>> {name: show(term) for name, term in axes.items()}
{'m': '8 + thread % 32 / 4', 'n': 'thread % 32 % 4 * 2'}
"""

from __future__ import annotations

from tylo.layouts.atoms import atom
from tylo.layouts.errors import AtomError, OwnershipError
from tylo.layouts.ownership import Ownership
from tylo.layouts.terms import Integer, name
from tylo.layouts.tiling import tile_operand
from tylo.proofs.ptx.claim_tables import Table

_COUNTS = ("m", "n", "k", "warps_m", "warps_n")
_MOST = 64


def read_ownership(table: Table) -> Ownership:
    """What the key ``ownership`` of a store names."""
    if isinstance(table.data["ownership"], dict):
        named = table.table("ownership")
        asked, letter = named.text("atom"), named.text("operand")
        counts = {key: named.integer(key, 1, _MOST) for key in _COUNTS if named.has(key)}
        named.finish()
    else:
        asked, _, letter = table.text("ownership").strip().rpartition(" ")
        counts = {}
    if not asked:
        table.fail(f"ownership is {letter!r}", hint='name atom and operand: "mma.m16n8k16.bf16 C"')
    try:
        found = atom(asked)
        return tile_operand(found, found.operand(letter).letter, **counts)  # type: ignore[arg-type]
    except (AtomError, OwnershipError) as reason:
        table.fail(f"ownership: {reason.message}", reason.hint)


def coordinates(owner: Ownership, threads: int, value: int) -> dict[str, Integer]:
    """The coordinate of a value, by axis; in larger blocks each group of threads owns a tile."""
    thread: Integer = name("thread")
    if threads != owner.thread_count:
        thread = thread % owner.thread_count
    return dict(zip(owner.axis_names, owner.coordinates(thread, value), strict=True))
