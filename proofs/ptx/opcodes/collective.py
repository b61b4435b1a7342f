"""Instructions that lanes, warps or copies carry out together (PTX ISA 9.7.9, 9.7.13, 9.7.14).

All have an action: what they do depends on more lanes than one.
"""

from __future__ import annotations

from tylo.proofs.ptx.opcodes.table import Opcode

_SHARED = {"shared": ("shared", "shared::cta")}
_ROUNDED = ("f16", "bf16")

SHUFFLES = (
    Opcode(
        "shfl.sync.mode.b32  d:b32, a:b32, b:b32, c:b32, members:b32",
        "9.7.9.6",
        {"mode": ("up", "down", "bfly", "idx")},
        action="shuffle",
    ),
    Opcode(
        "shfl.sync.mode.b32  d|p:b32, a:b32, b:b32, c:b32, members:b32",
        "9.7.9.6",
        {"mode": ("up", "down", "bfly", "idx")},
        action="shuffle",
    ),
    Opcode(
        "vote.sync.mode.pred  d:pred, a:pred, members:b32",
        "9.7.13.10",
        {"mode": ("any", "all", "uni")},
        action="vote",
    ),
    Opcode("vote.sync.ballot.b32  d:b32, a:pred, members:b32", "9.7.13.10", {}, action="ballot"),
    Opcode("match.any.sync.b32  d:b32, a:b32, members:b32", "9.7.13.11", {}, action="match"),
    Opcode("activemask.b32  d:b32", "9.7.13.12", {}, action="active"),
    Opcode(
        "redux.sync.operation.type  d, a, members:b32",
        "9.7.13.13",
        {
            "operation": ("add", "min", "max", "and", "or", "xor"),
            "type": ("u32", "s32", "b32"),
        },
        action="reduce",
    ),
    Opcode("elect.sync  d|p:b32, members:b32", "9.7.13.15", {}, action="elect"),
)

BARRIERS = (
    Opcode("bar{.cta}.sync  id:u32", "9.7.13.1", {}, action="barrier"),
    Opcode("bar{.cta}.sync  id:u32, count:u32", "9.7.13.1", {}, action="barrier"),
    Opcode("barrier{.cta}.sync{.aligned}  id:u32", "9.7.13.1", {}, action="barrier"),
    Opcode("barrier{.cta}.sync{.aligned}  id:u32, count:u32", "9.7.13.1", {}, action="barrier"),
    Opcode("bar{.cta}.arrive  id:u32, count:u32", "9.7.13.1", {}, action="arrive"),
    Opcode("barrier{.cta}.arrive{.aligned}  id:u32, count:u32", "9.7.13.1", {}, action="arrive"),
    Opcode("bar.warp.sync  members:b32", "9.7.13.2", {}, action="warp barrier"),
    Opcode("membar.level", "9.7.13.4", {"level": ("cta", "gl", "sys")}, action="fence"),
    Opcode(
        "fence{.sem}.scope",
        "9.7.13.4",
        {"sem": ("sc", "acq_rel"), "scope": ("cta", "cluster", "gpu", "sys")},
        action="fence",
    ),
)

COPIES = (
    Opcode(
        "cp.async.cop.shared.global{.prefetch}  [d], [a], size:immediate",
        "9.7.9.25.3.1",
        {"cop": ("ca", "cg"), "prefetch": ("L2::64B", "L2::128B", "L2::256B"), **_SHARED},
        action="copy",
    ),
    Opcode(
        "cp.async.cop.shared.global{.prefetch}  [d], [a], size:immediate, taken:u32",
        "9.7.9.25.3.1",
        {"cop": ("ca", "cg"), "prefetch": ("L2::64B", "L2::128B", "L2::256B"), **_SHARED},
        action="copy",
    ),
    Opcode("cp.async.commit_group", "9.7.9.25.3.2", {}, action="commit"),
    Opcode("cp.async.wait_group  n:immediate", "9.7.9.25.3.3", {}, action="wait"),
    Opcode("cp.async.wait_all", "9.7.9.25.3.3", {}, action="wait all"),
)

ATOMICS = tuple(
    Opcode(
        f"{head}{{.sem}}{{.scope}}{{.space}}.operation{{.noftz}}.type  {operands}",
        section,
        {
            "sem": ("relaxed", "acquire", "release", "acq_rel"),
            "scope": ("cta", "cluster", "gpu", "sys"),
            "space": ("global", "shared", "shared::cta"),
            "operation": ("add", "min", "max", "and", "or", "xor", "exch", "cas"),
            "type": ("u32", "s32", "b32", "u64", "s64", "b64", "f32"),
        },
        action="atomic",
    )
    for head, operands, section in (
        ("atom", "d, [a], b", "9.7.13.6"),
        ("atom", "d, [a], b, c", "9.7.13.6"),
        ("red", "[a], b", "9.7.13.7"),
    )
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
