"""Moves, conversions, memory and control flow (PTX ISA 9.7.9, 9.7.12).

The entries with an action touch memory or the order of execution: whoever executes carries them
out. Generic addresses are those of the global space, and windows for shared and local memory that
begin at `WINDOWS` (PTX ISA 5.1, 6.4.1.1: where they begin is not specified).
"""

from __future__ import annotations

from typing import Any

from tylo.proofs.ptx.opcodes.domain import Domain
from tylo.proofs.ptx.opcodes.table import Form, Opcode
from tylo.proofs.ptx.program import TYPES

WINDOWS = {"global": 0, "shared": 1 << 56, "local": 1 << 57}

_WORDS = ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64", "pred")
_INTEGERS = tuple(f"{kind}{width}" for kind in "us" for width in (8, 16, 32, 64))
_STORED = (*_INTEGERS, "b8", "b16", "b32", "b64", "f32", "f64")
_SHARED = ("shared", "shared::cta")
_SPACES = ("global", *_SHARED, "local")
# How caches are used says nothing about values (PTX ISA 9.7.9.1, 9.7.9.2): operators, or else
# priorities of eviction, and how much more to fetch.
_COMMON = {
    "cop": ("ca", "cg", "cs", "lu", "cv"),
    "level1": tuple(
        f"L1::{each}"
        for each in ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")
    ),
    "prefetch": ("L2::64B", "L2::128B", "L2::256B"),
}
_KEPT = {**_COMMON, "cop": ("wb", "cg", "cs", "wt")}
# A vector has 128 bits at most (PTX ISA 5.4.2.2; more from sm_100 on, which nothing uses yet).
_BYTES_8 = tuple(kind for kind in _STORED if TYPES[kind] == 64)
_BYTES_4 = tuple(kind for kind in _STORED if TYPES[kind] < 64)
_PAIRS = {"vec": ("v2",), "type": _BYTES_8}
_VECTORS = {"vec": ("v2", "v4"), "type": _BYTES_4}
_GLOBAL = {"space": ("global",)}
_ORDERED = {"scope": ("cta", "gpu", "sys"), "space": ("global", *_SHARED)}


def _convert(d: Domain[Any], f: Form, a: Any) -> Any:
    source, result = f.chosen["atype"], f.chosen["dtype"]
    if TYPES[result] <= TYPES[source]:
        return d.extract(a, 0, TYPES[result])
    return d.extend(a, TYPES[source], TYPES[result], source[0] == "s")


def _round(d: Domain[Any], f: Form, a: Any) -> Any:
    return d.function(f"cvt.rn.{f.chosen['dtype']}.f32", [a], 16)


def _round_pair(d: Domain[Any], f: Form, a: Any, b: Any) -> Any:
    """The first source becomes the upper half."""
    half = f"cvt.rn.{f.chosen['dtype'].removesuffix('x2')}.f32"
    return d.concatenate([d.function(half, [b], 16), d.function(half, [a], 16)], [16, 16])


def _pack(d: Domain[Any], f: Form, a: list[Any]) -> Any:
    return d.concatenate(a, [f.width // len(a)] * len(a))


def _unpack(count: int) -> Any:
    def unpack(d: Domain[Any], f: Form, a: Any) -> list[Any]:
        part = f.width // count
        return [d.extract(a, index * part, part) for index in range(count)]

    return unpack


MOVEMENT = (
    Opcode("mov.type  d, a", "9.7.9.3", {"type": _WORDS}, lambda d, f, a: a),
    Opcode("mov.type  d, a*2:half", "9.7.9.4", {"type": ("b16", "b32", "b64")}, _pack),
    Opcode("mov.type  d, a*4:quarter", "9.7.9.4", {"type": ("b32", "b64")}, _pack),
    Opcode("mov.type  d*2:half, a", "9.7.9.4", {"type": ("b16", "b32", "b64")}, _unpack(2)),
    Opcode("mov.type  d*4:quarter, a", "9.7.9.4", {"type": ("b32", "b64")}, _unpack(4)),
    Opcode(
        "cvta.to.space.type  d, a",
        "9.7.9.20",
        {"space": ("global", "shared", "local"), "type": ("u64",)},
        lambda d, f, a: d.subtract(a, d.constant(WINDOWS[f.chosen["space"]], 64), 64),
    ),
    Opcode(
        "cvta.space.type  d, a",
        "9.7.9.20",
        {"space": ("global", "shared", "local"), "type": ("u64",)},
        lambda d, f, a: d.add(a, d.constant(WINDOWS[f.chosen["space"]], 64), 64),
    ),
    Opcode(
        "cvt.dtype.atype  d~:dtype, a~:atype",
        "9.7.9.21",
        {"dtype": _INTEGERS, "atype": _INTEGERS},
        _convert,
    ),
    Opcode("cvt.rn.dtype.f32  d:dtype, a:f32", "9.7.9.21", {"dtype": ("bf16", "f16")}, _round),
    Opcode(
        "cvt.rn.dtype.f32  d:dtype, a:f32, b:f32",
        "9.7.9.21",
        {"dtype": ("bf16x2", "f16x2")},
        _round_pair,
    ),
)

MEMORY = (
    Opcode("ld.param.type  d~, [a]", "9.7.9.8", {"type": _STORED}, action="parameter"),
    *(
        Opcode(
            f"{head}{{.vec}}.type  d~*, [a]",
            "9.7.9.8",
            {**_COMMON, **spaces, **data},
            action=action,
        )
        for data in (_PAIRS, _VECTORS)
        for head, spaces, action in (
            ("ld{.weak}{.space}{.cop}", {"space": _SPACES}, "load"),
            ("ld{.weak}{.space}{.level1}{.prefetch}", _GLOBAL, "load"),
            ("ld{.weak}{.space}{.cop}{.prefetch}", _GLOBAL, "load"),
            ("ld.space{.cop}.nc{.prefetch}", {**_GLOBAL, "cop": ("ca", "cg", "cs")}, "load"),
            ("ld.space.nc{.level1}{.prefetch}", _GLOBAL, "load"),
            # What lies in `.const` is no input that an effect knows: an action of its own.
            ("ld{.weak}.space{.cop}", {"space": ("const",)}, "load constant"),
            # Order between threads is more than a value: an action of its own.
            ("ld.volatile{.space}", {"space": ("global", *_SHARED)}, "ordered load"),
            (
                "ld.order.scope{.space}",
                {"order": ("relaxed", "acquire"), **_ORDERED},
                "ordered load",
            ),
        )
    ),
    *(
        Opcode(
            f"{head}{{.vec}}.type  [a], b~*", "9.7.9.11", {**_KEPT, **spaces, **data}, action=action
        )
        for data in (_PAIRS, _VECTORS)
        for head, spaces, action in (
            ("st{.weak}{.space}{.cop}", {"space": _SPACES}, "store"),
            ("st{.weak}{.space}{.level1}", _GLOBAL, "store"),
            ("st.volatile{.space}", {"space": ("global", *_SHARED)}, "ordered store"),
            (
                "st.order.scope{.space}",
                {"order": ("relaxed", "release"), **_ORDERED},
                "ordered store",
            ),
        )
    ),
)

CONTROL = (
    Opcode("bra{.uni}  t:label", "9.7.12.3", {}, action="branch"),
    Opcode("ret{.uni}", "9.7.12.6", {}, action="return"),
    Opcode("exit", "9.7.12.7", {}, action="return"),
)
