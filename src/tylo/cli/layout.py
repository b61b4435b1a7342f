"""`tylo layout`: evaluate and draw a layout expression."""

from __future__ import annotations

import argparse
import math
from typing import Any

from tylo.cli.drawing import drawing_form, drawn
from tylo.cli.expressions import evaluated
from tylo.cli.output import print_json
from tylo.layouts.coordinates import CoordinateLayout
from tylo.layouts.drawing import grid_of, text
from tylo.layouts.drawing.sources import needs_of, symbols_of
from tylo.layouts.errors import NotationError
from tylo.layouts.int_tuple import show
from tylo.layouts.layout import Layout
from tylo.layouts.linear.value import LinearLayout
from tylo.layouts.notation import parse_int_tuple
from tylo.layouts.swizzle import ComposedLayout, Swizzle

SCHEMA = "tylo.layout/1"

_KINDS = {
    Layout: "layout",
    ComposedLayout: "composed layout",
    Swizzle: "swizzle",
    CoordinateLayout: "coordinate layout",
    LinearLayout: "linear layout",
    bool: "truth",
    int: "integer",
    tuple: "tuple",
}
_COUNTED = (Layout, ComposedLayout, Swizzle, CoordinateLayout)


def run(options: argparse.Namespace) -> int:
    """Print the value with what follows from it, or its drawing; 1 if it is `false`."""
    value = evaluated(options.expression)
    form = drawing_form(options)
    drawing = drawn(value, form, options, options.bits) if form else None
    grid = None
    if isinstance(value, (*_COUNTED, LinearLayout)) and not symbols_of(value):
        grid = grid_of(value, text.SIDE, options.bits)
    facts = _facts(value)
    if options.json:
        facts |= {"schema": SCHEMA, "expression": options.expression}
        if grid:
            cells = [[parse_int_tuple(cell.text) for cell in row] for row in grid.cells]
            facts["table"] = {"cells": cells, "notes": list(grid.notes)}
        if drawing:
            facts["drawing"] = drawing
        print_json(facts)
    elif drawing and "text" in drawing:
        print(drawing["text"], end="")
    else:
        _print_facts(facts)
        if grid and not drawing:
            print(text.table(grid))
        for note in grid.notes if grid else ():
            print(f"[{note}]")
        if drawing:
            print(f"wrote {drawing['file']}")
    return 1 if value is False else 0


def _facts(value: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"kind": _kind(value), "value": _spelled(value)}
    if isinstance(value, LinearLayout):
        facts["size"] = math.prod(size for _, size in value.in_dims)
        facts["cosize"] = math.prod(size for _, size in value.out_dims)
    elif isinstance(value, _COUNTED):
        facts["size"] = _number(value.size())
        if isinstance(value, (Layout, Swizzle)):
            facts["cosize"] = _number(value.cosize())
        facts["conditions"] = list(needs_of(value))
        facts["symbols"] = list(symbols_of(value))
    return facts


def _kind(value: Any) -> str:
    for each, kind in _KINDS.items():
        if isinstance(value, each):
            return kind
    raise NotationError(
        f"{value} is only part of a layout", hint="write shape:stride, as in (4,2):(1,4)"
    )


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return show(value) if isinstance(value, tuple) else str(value)


def _number(entry: Any) -> int | str:
    return entry if isinstance(entry, int) else show(entry)


def _print_facts(facts: dict[str, Any]) -> None:
    print(facts["value"])
    sizes = [f"{name} {facts[name]}" for name in ("size", "cosize") if name in facts]
    if sizes:
        print(", ".join(sizes))
    if facts.get("symbols"):
        print(f"for all positive integers {', '.join(facts['symbols'])}", end="")
        conditions = facts["conditions"]
        print(f" with {' and '.join(conditions)}" if conditions else "")
