"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from tylo.layouts.errors import TyloError


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write beside the target and rename: a reader sees the old content, or all of the new.

    Raises `TyloError` where that cannot be written.
    """
    try:
        _write(Path(path), content)
    except OSError as reason:
        raise TyloError(
            f"cannot write {path}: {reason.strerror or reason}",
            hint="name a file that you may write",
        ) from reason


def _write(target: Path, content: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes private files; what is published is for everyone to read.
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
