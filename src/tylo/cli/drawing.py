"""What `--draw` and `-o` mean, for every command that draws."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tylo.layouts.errors import LayoutError

_FORM_OF_SUFFIX = {".txt": "text", ".svg": "svg", ".tex": "tikz"}


def drawing_form(options: argparse.Namespace) -> str | None:
    """The form that was asked for, by name or by the file's; None if no drawing was."""
    if options.draw or not options.output:
        form: str | None = options.draw
        return form
    suffix = Path(options.output).suffix.lower()
    if suffix not in _FORM_OF_SUFFIX:
        raise LayoutError(
            f"the name {options.output} does not say what to draw",
            hint=f"add --draw, or name a file {', '.join(_FORM_OF_SUFFIX)}",
        )
    return _FORM_OF_SUFFIX[suffix]


def drawn(value: Any, form: str, options: argparse.Namespace, bits: int | None = None) -> Any:
    """The drawing as JSON describes it; written to the file that was named, if one was."""
    # Loading what draws takes as long as the rest of `tylo query`.
    from tylo.layouts.drawing import draw

    text = draw(value, form, bits=bits) + "\n"
    if not options.output:
        return {"form": form, "text": text}
    from tylo.proofs.atomic import write_file

    write_file(options.output, text.encode())
    return {"form": form, "file": options.output}
