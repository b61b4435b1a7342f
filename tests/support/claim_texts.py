"""Claims of the examples, edited in one place, and the effects that come of them."""

from __future__ import annotations

import json
from pathlib import Path

from tylo.proofs.effects import Effect
from tylo.proofs.ptx.claim_effect import lower
from tylo.proofs.ptx.claim_file import claim_from_text
from tylo.proofs.ptx.inprocess import solve

EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
BASE = (EXAMPLES / "masked_copy.toml").read_text()
TILE = (EXAMPLES / "fragment_order.toml").read_text()


def effect_of(text: str, widths: tuple[int, ...] = ()) -> Effect:
    return lower(claim_from_text(text, "claim.toml"), widths, solve).effect


def edited(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def float_claim(
    x: str, y: str, *, threads: int = 32, size: tuple[str, int, int] | None = None, aligned: int = 4
) -> str:
    """The head of a claim about one block of a kernel `k` that reads float32 x and writes y.

    `x` and `y` are their extents, `size` a parameter with its bounds; `aligned` is for y.
    """
    arguments = ["x", "y", *([size[0]] if size else [])]
    head = f"""schema = "tylo.ptx-claim/1"
entry = "k"
threads = {threads}
blocks = 1
arguments = {json.dumps(arguments)}
"""
    if size:
        head += "[size.{}]\nbits = 32\nleast = {}\nmost = {}\n".format(*size)
    for name, direction, extent, alignment in (("x", "in", x, 4), ("y", "out", y, aligned)):
        head += f"""[buffer.{name}]
direction = "{direction}"
element = "f32"
{extent}
alignment = {alignment}
"""
    return head
