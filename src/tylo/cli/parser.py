"""The options of every command, with nothing imported but argparse."""

from __future__ import annotations

import argparse
from typing import Any

_ATOM = "an instruction atom, such as mma.m16n8k16.bf16"


def build_parser() -> argparse.ArgumentParser:
    """The parser of `tylo`."""
    parser = argparse.ArgumentParser(
        prog="tylo",
        description="GPU layouts you can prove, and CUDA kernels generated from those proofs.",
        epilog="Exit codes: 0 true or done, 1 false or a check failed, 2 bad input, 3 undecided.",
    )
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    layout = commands.add_parser("layout", help="evaluate and draw a layout expression")
    layout.add_argument(
        "expression", metavar="EXPR", help='such as "composition((6,2):(8,2), (4,3):(3,1))"'
    )
    _drawing_options(layout)
    layout.add_argument(
        "--bits", type=int, metavar="N", help="width of an element, for bank colours (default 32)"
    )
    _json_option(layout)

    query = commands.add_parser("query", help="who holds which element of an instruction's operand")
    query.add_argument("atom", help=_ATOM)
    query.add_argument("--operand", default="C", metavar="LETTER", help="A, B, C or D (default C)")
    query.add_argument("--lane", type=int, metavar="N", help="only this lane")
    query.add_argument("--warp", type=int, metavar="N", help="only this warp")
    query.add_argument("--value", type=int, metavar="N", help="only this value")
    query.add_argument(
        "--at", type=int, nargs=2, metavar=("ROW", "COLUMN"), help="who holds this element"
    )
    _tile_options(query, letters="mnk")
    _drawing_options(query)
    _json_option(query)

    prove = commands.add_parser("prove", help="prove a specification's claims")
    prove.add_argument("specification", nargs="*", help="default: all of them")
    prove.add_argument(
        "-o", "--output", type=_place, metavar="DIR", help="write the certificates here"
    )
    prove.add_argument("--solvers", action="store_true", help="ask z3 and cvc5 as well")
    prove.add_argument("--coq", action="store_true", help="emit Coq, and run coqc where it exists")
    _json_option(prove)

    generate = commands.add_parser("generate", help="write the bundle of a verified kernel")
    generate.add_argument("primitive", help="pack_operand_a, softmax or attention")
    generate.add_argument(
        "-o",
        "--output",
        required=True,
        type=_place,
        metavar="DIR",
        help="the bundle's folder",
    )
    generate.add_argument("--atom", help=f"{_ATOM} (the default)")
    generate.add_argument(
        "--arch",
        action="append",
        metavar="sm_XX",
        help="repeatable (default sm_80, sm_90a, sm_100a, sm_120; of attention sm_90a)",
    )
    generate.add_argument(
        "--set",
        action="append",
        metavar="NAME=VALUE",
        help="a parameter of the primitive, repeatable, such as dtype=bf16",
    )
    _tile_options(generate, letters="")
    _json_option(generate)

    check = commands.add_parser(
        "check", help="check bundles, certificates, and anyone's PTX, trusting none of them"
    )
    check.add_argument(
        "paths",
        nargs="*",
        type=_place,
        metavar="PATH",
        help="a bundle's folder or a certificate",
    )
    check.add_argument(
        "--ptx", type=_place, metavar="FILE", help="PTX that anyone wrote, instead of a PATH"
    )
    check.add_argument(
        "--against",
        type=_place,
        metavar="CLAIM",
        help="a .toml file that says what the PTX is to do",
    )
    check.add_argument(
        "--rebuild", action="store_true", help="regenerate and recompile, and compare bytes"
    )
    check.add_argument(
        "--strict", action="store_true", help="a digest alone, or a missing checker, is undecided"
    )
    _json_option(check)

    report = commands.add_parser("report", help="check, and write a proof report")
    report.add_argument(
        "paths",
        nargs="+",
        type=_place,
        metavar="PATH",
        help="a bundle's folder or a certificate",
    )
    report.add_argument(
        "-o",
        "--output",
        required=True,
        type=_place,
        metavar="FILE",
        help="FILE.html or FILE.md",
    )
    _json_option(report)

    run = commands.add_parser("run", help="run a bundle and its generated tests")
    run.add_argument("bundle", type=_place, metavar="BUNDLE")
    run.add_argument(
        "--device",
        default="gpu",
        choices=("gpu", "cpu"),
        help="a GPU, or a machine that runs the PTX without one",
    )
    run.add_argument(
        "--seeds",
        type=int,
        default=3,
        metavar="N",
        help="random schedules of the warps to run under, with --device cpu",
    )
    _json_option(run)
    return parser


def _place(text: str) -> str:
    """A file or folder by name; an unset variable in a script must not mean the current folder."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the name is empty; write . for the current folder")
    return text


def _json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _drawing_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--draw", choices=("text", "svg", "tikz"), help="draw instead of printing")
    parser.add_argument(
        "-o",
        "--output",
        type=_place,
        metavar="FILE",
        help="draw into this file (.txt, .svg, .tex say what)",
    )


def _tile_options(parser: argparse.ArgumentParser, letters: str) -> None:
    if letters:
        for letter in letters:
            parser.add_argument(
                f"--{letter}", type=int, default=1, metavar="N", help=f"{letter.upper()} repeats"
            )
        parser.add_argument("--warps-n", type=int, default=1, metavar="N", help="warps along N")
        parser.add_argument("--warps-m", type=int, default=1, metavar="N", help="warps along M")
    else:
        # No number by default, so that another primitive can refuse one that was given.
        parser.add_argument("--m", type=int, metavar="N", help="M repeats (default 1)")
        parser.add_argument("--pairs", type=int, metavar="N", help="16-column pairs (default 1)")
        parser.add_argument("--warps-m", type=int, metavar="N", help="warps along M (default 1)")


class _Version(argparse.Action):
    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, help="print the version", **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from tylo import __version__

        print(f"tylo {__version__}")
        parser.exit()
