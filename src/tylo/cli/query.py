"""`tylo query`: who holds which element."""

from __future__ import annotations

import argparse
from typing import Any

from tylo.cli.drawing import drawing_form, drawn
from tylo.cli.output import print_json
from tylo.layouts.atoms import atom
from tylo.layouts.errors import OwnershipError
from tylo.layouts.indices import inside
from tylo.layouts.owners import owners
from tylo.layouts.ownership import Ownership
from tylo.layouts.tiling import tile_operand

SCHEMA = "tylo.query/1"
_LARGEST_TABLE = 1 << 16


def run(options: argparse.Namespace) -> int:
    """Print the operand's ownership, one lane of it, or the owners of one element."""
    found = atom(options.atom)
    operand = found.operand(options.operand)
    ownership = tile_operand(
        found,
        operand.letter,
        m=options.m,
        n=options.n,
        k=options.k,
        warps_m=options.warps_m,
        warps_n=options.warps_n,
    )
    _require_used(options, operand.letter, ownership)
    if options.at is not None and not options.lane is options.warp is options.value is None:
        raise OwnershipError(
            "--at asks who holds an element, --lane, --warp and --value what a thread holds",
            hint="ask one question at a time",
        )
    threads, values = _chosen(ownership, options)
    if options.at is None and len(threads) * len(values) > _LARGEST_TABLE:
        raise OwnershipError(
            f"a table of {len(threads)} threads by {len(values)} values",
            hint="ask for one --lane, one --value or an element --at",
        )
    form = drawing_form(options)
    if form and not options.lane is options.warp is options.value is options.at is None:
        raise OwnershipError(
            "a drawing shows the whole operand", hint="leave out --lane, --warp, --value and --at"
        )
    drawing = drawn(ownership, form, options) if form else None
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "atom": found.name,
        "operand": operand.letter,
        "dtype": operand.dtype,
        "source": found.source,
        "axes": list(ownership.axis_names),
        "shape": list(ownership.shape),
        "threads": ownership.thread_count,
        "values": ownership.value_count,
    }
    if options.at is not None:
        data["at"] = list(options.at)
        data["owners"] = _owners(ownership, options.at)
    else:
        data["thread_numbers"] = threads
        data["value_numbers"] = values
        data["coordinates"] = [
            [list(ownership.coordinates(thread, value)) for value in values] for thread in threads
        ]
        data["registers"] = [list(ownership.register(value)) for value in values]
    if options.json:
        print_json(data | ({"drawing": drawing} if drawing else {}))
        return 0
    if drawing and "text" in drawing:
        print(drawing["text"], end="")
        return 0
    print(f"{found.name} operand {operand.letter} ({operand.dtype})")
    if drawing:
        print(f"wrote {drawing['file']}")
    elif options.at is not None:
        _print_owners(data)
    else:
        _print_table(data)
    return 0


def _require_used(options: argparse.Namespace, letter: str, ownership: Ownership) -> None:
    """Repeats along an axis that the operand lacks would be ignored."""
    for axis in "mnk":
        if getattr(options, axis) != 1 and axis not in ownership.axis_names:
            raise OwnershipError(
                f"operand {letter} has no {axis} axis to repeat along",
                hint=f"its axes are {', '.join(ownership.axis_names)}",
            )


def _chosen(ownership: Ownership, options: argparse.Namespace) -> tuple[list[int], list[int]]:
    """The threads and value numbers that were asked for, all if none was."""
    threads, values = ownership.thread_count, ownership.value_count
    assert isinstance(threads, int)
    assert isinstance(values, int)
    chosen = []
    for label, asked, count in (
        ("lane", options.lane, 32),
        ("warp", options.warp, threads // 32),
        ("value", options.value, values),
    ):
        chosen.append(range(count) if asked is None else [inside(label, asked, count)])
    lanes, warps, numbers = chosen
    return [lane + 32 * warp for warp in warps for lane in lanes], list(numbers)


def _owners(ownership: Ownership, at: list[int]) -> list[dict[str, int]]:
    result = []
    for owner in owners(ownership, *at):
        thread = owner["lane"] + 32 * owner.get("warp", 0)
        value, stride = 0, 1
        for each in ownership.values:
            assert isinstance(each.size, int)
            value, stride = value + owner[each.name] * stride, stride * each.size
        register, shift = ownership.register(value)
        warp = owner.get("warp", 0)
        result.append(
            {
                "thread": thread,
                "warp": warp,
                "lane": owner["lane"],
                "value": value,
                "register": register,
                "shift": shift,
            }
        )
    return result


def _print_owners(data: dict[str, Any]) -> None:
    where = ", ".join(f"{axis}={x}" for axis, x in zip(data["axes"], data["at"], strict=True))
    for owner in data["owners"]:
        warp = f"warp {owner['warp']} " if data["threads"] > 32 else ""
        bits = f" bits {owner['shift']} up" if owner["shift"] else ""
        print(
            f"({where}) is in {warp}lane {owner['lane']} value {owner['value']}, "
            f"register {owner['register']}{bits}"
        )


def _print_table(data: dict[str, Any]) -> None:
    cells = [[f"({','.join(map(str, at))})" for at in row] for row in data["coordinates"]]
    heads = [f"v{number}" for number in data["value_numbers"]]
    width = max(len(text) for row in [*cells, heads] for text in row)
    print(f"({','.join(data['axes'])}) of each lane and value, shape {tuple(data['shape'])}")
    who = "lane" if data["threads"] == 32 else "thread"
    print(f"{who}  " + "  ".join(head.rjust(width) for head in heads))
    for thread, row in zip(data["thread_numbers"], cells, strict=True):
        print(f"{thread:{len(who)}}  " + "  ".join(text.rjust(width) for text in row))
