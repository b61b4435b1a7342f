"""The package's front: names load lazily, all of them resolve, and importing costs little."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tylo.layouts


def test_every_public_name_resolves_and_is_declared_to_type_checkers() -> None:
    source = Path(tylo.layouts.__file__).read_text()
    declared = re.findall(r"^    from \S+ import (\w+) as \1$", source, re.MULTILINE)
    assert sorted(declared) == sorted(tylo.layouts.__all__)
    for name in tylo.layouts.__all__:
        assert getattr(tylo.layouts, name) is not None
        assert name in dir(tylo.layouts)
    assert tylo.layouts.__getattr__("linear") is tylo.layouts.linear
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = tylo.layouts.absent


def test_importing_the_package_loads_no_module_of_it() -> None:
    code = "import sys, tylo.layouts; print([m for m in sys.modules if 'tylo.layouts.' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
