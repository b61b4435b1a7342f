"""The command line. Each command is a module of its own, imported only when it is asked for.

Exit codes: 0 true or done; 1 false, or a check failed; 2 bad input; 3 undecided.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from tylo.cli.parser import build_parser

BAD_INPUT, UNDECIDED = 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. A user's mistake is one line on stderr, never a traceback."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    from importlib import import_module

    from tylo.cli.output import patient_output
    from tylo.layouts.errors import TyloError, Undecided

    def told(message: Warning | str, *_: object, **__: object) -> None:
        print(f"tylo {options.command}: warning: {message}", file=sys.stderr)

    try:
        run = import_module(f"tylo.cli.{options.command}").run
        with warnings.catch_warnings(), patient_output() as output:
            warnings.showwarning = told
            code = int(run(options))
        if output.failure:
            print(f"tylo {options.command}: cannot write: {output.failure}", file=sys.stderr)
            return code or BAD_INPUT
        return code
    except Undecided as reason:
        print(f"tylo {options.command}: undecided: {reason}", file=sys.stderr)
        return UNDECIDED
    except TyloError as reason:
        print(f"tylo {options.command}: {reason}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return 130
