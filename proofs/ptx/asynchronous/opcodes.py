"""Hopper's asynchronous instructions, as far as attention uses them (PTX ISA 8.8).

They are in a table of their own: the proof of effects and the machine that runs PTX do not know
them, and refuse them by name.

>>> len([each for each in ASYNCHRONOUS if each.mnemonic == "mbarrier"])
4
>>> ASYNCHRONOUS[2].syntax, ASYNCHRONOUS[2].action
('mbarrier.init.shared::cta.b64  [a], count:u32', 'barrier init')
"""

from __future__ import annotations

from tylo.proofs.ptx.opcodes import OPCODES, Opcode

_ROUNDED = ("f16", "bf16")
# How products are scaled and transposed: minus one or one, zero or one.
_SIGN, _SIDE = ("-1", "1"), ("0", "1")

_PARAMETERS = (
    Opcode(
        "ld.param.vec.type  d~*, [a]",
        "9.7.9.8",
        {"vec": ("v2", "v4"), "type": ("u32", "s32", "b32", "f32", "u64", "b64")},
        action="parameter",
    ),
    Opcode("cvta.param.u64  d:u64, a:u64", "9.7.9.20", {}, action="parameter address"),
)
_BARRIERS = (
    Opcode(
        "mbarrier.init.shared::cta.b64  [a], count:u32", "9.7.13.15.9", {}, action="barrier init"
    ),
    Opcode("mbarrier.arrive.shared::cta.b64  d:b64, [a]", "9.7.13.15.13", {}, action="arrival"),
    Opcode(
        "mbarrier.arrive.expect_tx.shared::cta.b64  d:b64, [a], count:u32",
        "9.7.13.15.13",
        {},
        action="expect",
    ),
    Opcode(
        "mbarrier.try_wait.parity.shared::cta.b64  d:pred, [a], parity:u32",
        "9.7.13.15.16",
        {},
        action="try wait",
    ),
    Opcode("fence.mbarrier_init.release.cluster", "9.7.13.4", {}, action="publish barriers"),
    Opcode("fence.proxy.async.shared::cta", "9.7.13.4", {}, action="publish shared"),
)
_COPIES = (
    Opcode(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint  [d], [a]*4:b32, [b], policy:u64",
        "9.7.9.27.1.2",
        {},
        action="load box",
    ),
    Opcode(
        "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group  [d]*4:b32, [a]",
        "9.7.9.27.1.2",
        {},
        action="store box",
    ),
    Opcode("cp.async.bulk.commit_group", "9.7.9.25.5.1", {}, action="commit stores"),
    Opcode("cp.async.bulk.wait_group.read  n:immediate", "9.7.9.25.5.2", {}, action="await stores"),
)
_PRODUCTS = (
    Opcode("wgmma.fence.sync.aligned", "9.7.15.7.1", {}, action="begin products"),
    Opcode("wgmma.commit_group.sync.aligned", "9.7.15.7.2", {}, action="commit products"),
    Opcode("wgmma.wait_group.sync.aligned  n:immediate", "9.7.15.7.3", {}, action="await products"),
    *(
        Opcode(
            f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.atype.atype  "
            f"d*{columns // 2}:f32, {a}, b:b64, more:pred, sign_a:b32, sign_b:b32, {sides}",
            "9.7.15.5.2",
            {
                "atype": _ROUNDED,
                "sign_a": _SIGN,
                "sign_b": _SIGN,
                "side_a": _SIDE,
                "side_b": _SIDE,
            },
            action="product",
        )
        for columns in range(8, 257, 8)
        for a, sides in (("a:b64", "side_a:b32, side_b:b32"), ("a*4:b32", "side_b:b32"))
    ),
    Opcode(
        "setmaxnreg.change.sync.aligned.u32  n:immediate",
        "9.7.19.5",
        {"change": ("inc", "dec")},
        action="registers",
    ),
)

ASYNCHRONOUS: tuple[Opcode, ...] = (*_PARAMETERS, *_BARRIERS, *_COPIES, *_PRODUCTS)
TABLE: tuple[Opcode, ...] = (*OPCODES, *ASYNCHRONOUS)
