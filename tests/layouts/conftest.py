"""Nightly mode: `-m nightly` runs long randomised tests, and every property on many more examples.

Without it the long tests stay out. How many examples a property of the algebra gets is the profile
"properties", which the tests name.
"""

from __future__ import annotations

import pytest
from hypothesis import is_hypothesis_test, settings

EXAMPLES, NIGHTLY_EXAMPLES = 300, 3_000


def is_nightly(config: pytest.Config) -> bool:
    return config.getoption("markexpr").strip() == "nightly"


def pytest_configure(config: pytest.Config) -> None:
    count = NIGHTLY_EXAMPLES if is_nightly(config) else EXAMPLES
    settings.register_profile("properties", max_examples=count, deadline=None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if is_nightly(config):
        for item in items:
            if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
                item.add_marker("nightly")
        return
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if nightly:
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if item not in nightly]
