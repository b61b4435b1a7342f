"""Claims of the examples, edited in one place, and the effects that come of them."""

from __future__ import annotations

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
