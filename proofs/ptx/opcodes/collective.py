"""Instructions that lanes, warps or copies carry out together (PTX ISA 9.7.9, 9.7.13, 9.7.14).

All have an action: what they do depends on more lanes than one.
"""

from __future__ import annotations

from tylo.proofs.ptx.opcodes.table import Opcode

_SHARED = {"shared": ("shared", "shared::cta")}
_ROUNDED = ("f16", "bf16")
_NUMERIC = ("add", "min", "max")
_BITWISE = ("and", "or", "xor")
_BITS = ("b32", "b64")
# Scopes beyond the block but for clusters, which nothing uses yet.
_SCOPES = ("cta", "gpu", "sys")

SHUFFLES = (
    Opcode(
        "shfl.sync.mode.b32  d:b32, a:b32, b:b32, c:b32, members:u32",
        "9.7.9.6",
        {"mode": ("up", "down", "bfly", "idx")},
        action="shuffle",
    ),
    Opcode(
        "shfl.sync.mode.b32  d|p:b32, a:b32, b:b32, c:b32, members:u32",
        "9.7.9.6",
        {"mode": ("up", "down", "bfly", "idx")},
        action="shuffle",
    ),
    Opcode(
        "vote.sync.mode.pred  d:pred, a:pred, members:u32",
        "9.7.13.10",
        {"mode": ("any", "all", "uni")},
        action="vote",
    ),
    Opcode("vote.sync.ballot.b32  d:b32, a:pred, members:u32", "9.7.13.10", {}, action="ballot"),
    Opcode("match.any.sync.b32  d:b32, a:b32, members:u32", "9.7.13.11", {}, action="match"),
    Opcode("activemask.b32  d:b32", "9.7.13.12", {}, action="active"),
    *(
        Opcode(
            "redux.sync.operation.type  d, a, members:u32",
            "9.7.13.13",
            {"operation": operations, "type": types},
            action="reduce",
        )
        for operations, types in ((_NUMERIC, ("u32", "s32")), (_BITWISE, ("b32",)))
    ),
    Opcode("elect.sync  d|p:b32, members:u32", "9.7.13.15", {}, action="elect", since=90),
)

BARRIERS = (
    Opcode("bar{.cta}.sync  id:u32", "9.7.13.1", {}, action="barrier"),
    Opcode("bar{.cta}.sync  id:u32, count:u32", "9.7.13.1", {}, action="barrier"),
    Opcode("barrier{.cta}.sync{.aligned}  id:u32", "9.7.13.1", {}, action="barrier"),
    Opcode("barrier{.cta}.sync{.aligned}  id:u32, count:u32", "9.7.13.1", {}, action="barrier"),
    Opcode("bar{.cta}.arrive  id:u32, count:u32", "9.7.13.1", {}, action="arrive"),
    Opcode("barrier{.cta}.arrive{.aligned}  id:u32, count:u32", "9.7.13.1", {}, action="arrive"),
    Opcode("bar.warp.sync  members:u32", "9.7.13.2", {}, action="warp barrier"),
    Opcode("membar.level", "9.7.13.4", {"level": ("cta", "gl", "sys")}, action="fence"),
    Opcode(
        "fence{.sem}.scope",
        "9.7.13.4",
        {"sem": ("sc", "acq_rel"), "scope": _SCOPES},
        action="fence",
    ),
)

# Only whole copies of 16 bytes may pass by the first level of the caches.
_COPIED = ({"cop": ("ca",), "size": ("4", "8", "16")}, {"cop": ("cg",), "size": ("16",)})

COPIES = (
    *(
        Opcode(
            f"cp.async.cop.shared.global{{.prefetch}}  [d], [a], size:immediate{taken}",
            "9.7.9.25.3.1",
            {"prefetch": ("L2::64B", "L2::128B", "L2::256B"), **_SHARED, **copied},
            action="copy",
        )
        for copied in _COPIED
        for taken in ("", ", taken:u32")
    ),
    Opcode("cp.async.commit_group", "9.7.9.25.3.2", {}, action="commit"),
    Opcode("cp.async.wait_group  n:immediate", "9.7.9.25.3.3", {}, action="wait"),
    Opcode("cp.async.wait_all", "9.7.9.25.3.3", {}, action="wait all"),
)

_SEMANTICS = ("relaxed", "acquire", "release", "acq_rel")
# Which operations which types have (PTX ISA 9.7.13.6): numbers, bit patterns, an exchange.
_UPDATES = (
    (("add",), ("u32", "s32", "u64", "f32")),
    (("min", "max"), ("u32", "s32", "u64", "s64")),
    (_BITWISE, _BITS),
)

ATOMICS = tuple(
    Opcode(
        f"{head}{{.sem}}{{.scope}}{{.space}}.operation.type  {operands}",
        section,
        {
            "sem": semantics,
            "scope": _SCOPES,
            "space": ("global", "shared", "shared::cta"),
            "operation": operations,
            "type": types,
        },
        action="atomic",
    )
    for head, operands, section, semantics, updates in (
        ("atom", "d, [a], b", "9.7.13.6", _SEMANTICS, (*_UPDATES, (("exch",), _BITS))),
        ("atom", "d, [a], b, c", "9.7.13.6", _SEMANTICS, ((("cas",), _BITS),)),
        ("red", "[a], b", "9.7.13.7", ("relaxed", "release"), _UPDATES),
    )
    for operations, types in updates
)

MATRIX_MOVES = (
    *(
        Opcode(
            f"ldmatrix.sync.aligned.m8n8.x{count}{{.trans}}.shared.b16  d*{count}:b32, [a]",
            "9.7.14.5.15",
            {"trans": ("trans",), **_SHARED},
            action="load matrix",
        )
        for count in (1, 2, 4)
    ),
    *(
        Opcode(
            f"stmatrix.sync.aligned.m8n8.x{count}{{.trans}}.shared.b16  [a], b*{count}:b32",
            "9.7.14.5.16",
            {"trans": ("trans",), **_SHARED},
            action="store matrix",
            since=90,
        )
        for count in (1, 2, 4)
    ),
    Opcode(
        "movmatrix.sync.aligned.m8n8.trans.b16  d:b32, a:b32",
        "9.7.14.5.17",
        {},
        action="move matrix",
    ),
)

# Shape, result type, operand type, and the registers of D, A and B.
_PRODUCTS = (
    ("m16n8k16", "f32", _ROUNDED, 4, 4, 2),
    ("m16n8k8", "f32", _ROUNDED, 4, 2, 1),
    ("m16n8k16", "f16", ("f16",), 2, 4, 2),
    ("m16n8k8", "f16", ("f16",), 2, 2, 1),
    ("m16n8k8", "f32", ("tf32",), 4, 4, 2),
    ("m16n8k4", "f32", ("tf32",), 4, 2, 1),
    ("m16n8k32", "s32", ("s8", "u8"), 4, 4, 2),
    ("m16n8k16", "s32", ("s8", "u8"), 4, 2, 1),
)

MATRIX_PRODUCTS = tuple(
    Opcode(
        f"mma.sync.aligned.{shape}.row.col.{result}.atype.atype.{result}  "
        f"d*{d}:{word}, a*{a}:b32, b*{b}:b32, c*{d}:{word}",
        "9.7.14.5.14",
        {"atype": types},
        action="multiply",
    )
    for shape, result, types, d, a, b in _PRODUCTS
    for word in ("f32" if result == "f32" else "b32",)
)

COLLECTIVE = (*SHUFFLES, *BARRIERS, *COPIES, *ATOMICS, *MATRIX_MOVES, *MATRIX_PRODUCTS)
