"""Thirty-two colours: eight hues, four shades each, all light enough for dark text.

Key k has hue k // 4 and shade k % 4. Hues are 45 degrees apart in OKLCH from 20 on, shades have
the lightness 0.95, 0.875, 0.8, 0.725, so that shades of different hues look equally strong.
"""

from __future__ import annotations

INK = "#14181f"
UNCOLOURED = "#f3f4f6"

_HUES = (
    ("#fee9e8", "#ffc5c4", "#f8a4a3", "#e88687"),
    ("#ffebd8", "#f7cda6", "#ebb077", "#da954e"),
    ("#eff1d6", "#d8dba5", "#c1c476", "#abad4c"),
    ("#ddf6e4", "#b2e4c2", "#88d1a2", "#62bc85"),
    ("#d4f6f8", "#9ee4e8", "#64d1d7", "#18bcc4"),
    ("#e1f1ff", "#b3dbfe", "#86c5fa", "#60adec"),
    ("#eeecff", "#d5cffe", "#bcb3fa", "#a599ec"),
    ("#fee6f8", "#f4c5e8", "#e6a5d7", "#d488c4"),
)
COLOURS = tuple(shade for hue in _HUES for shade in hue)


def colour(key: int | None) -> str:
    """The background of a cell with this key.

    >>> colour(0), colour(33) == colour(1), colour(None)
    ('#fee9e8', True, '#f3f4f6')
    """
    return UNCOLOURED if key is None else COLOURS[key % len(COLOURS)]
