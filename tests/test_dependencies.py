"""Which room may import which, and what no file of this project holds."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = {
    "layouts": {"layouts"},
    "proofs": {"layouts", "proofs"},
    "codegen": {"layouts", "proofs", "codegen"},
}
HEAVY = {"numpy", "sympy", "z3", "cvc5", "cuda", "torch", "ml_dtypes"}
LONGEST = 400
# The machine that runs PTX is numpy throughout; in return it is itself imported inside functions.
ARRAY_MACHINE = "tylo.proofs.ptx.machine"


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


TRACKED = tracked()
SOURCES = {
    path: ".".join(("tylo", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    )
    for room in ROOMS
    for path in TRACKED
    if path.suffix == ".py" and path.is_relative_to(ROOT / room)
} | {
    path: ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    for path in TRACKED
    if path.suffix == ".py" and path.is_relative_to(ROOT / "src")
}
MODULES = set(SOURCES.values())


@cache
def trees() -> dict[Path, ast.AST]:
    """Every file read, when a test asks: each process of a run collects all tests."""
    return {path: ast.parse(path.read_text()) for path in SOURCES}


def type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def nodes(tree: ast.AST, *, everywhere: bool) -> Iterator[ast.AST]:
    """All nodes, or those that run on import: outside functions and `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(tree):
        lazy = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if everywhere or not (lazy or type_checking(child)):
            yield child
            yield from nodes(child, everywhere=everywhere)


def imported(tree: ast.AST, *, everywhere: bool) -> set[str]:
    """The modules that a file imports; `from package import module` counts as the module."""
    found = set()
    for node in nodes(tree, everywhere=everywhere):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                found.add(whole if whole in MODULES else node.module)
    return found


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def test_there_is_something_to_check() -> None:
    assert {room_of(path) for path in SOURCES} == {*ROOMS, "src"}
    assert {"tylo.layouts.terms", "tylo.proofs.checker", "tylo.codegen.printing"} <= MODULES
    assert "tylo.layouts.terms" in imported(
        trees()[ROOT / "layouts/ownership.py"], everywhere=False
    )
    assert "numpy" in imported(trees()[ROOT / "layouts/fragment.py"], everywhere=True)
    assert "numpy" not in imported(trees()[ROOT / "layouts/fragment.py"], everywhere=False)


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_only_the_rooms_before_them(room: str) -> None:
    wrong = {
        (str(path.relative_to(ROOT)), module)
        for path in SOURCES
        if room_of(path) == room
        for module in imported(trees()[path], everywhere=True)
        if module.startswith("tylo.") and module.split(".")[1] not in ROOMS[room]
    }
    assert not wrong


def test_the_front_door_loads_nothing() -> None:
    """Any room may read `tylo.__version__`: what the package offers is imported when it is used."""
    tree = trees()[ROOT / "src/tylo/__init__.py"]
    assert imported(tree, everywhere=False) <= {"__future__", "typing"}


def test_rooms_are_imported_by_their_full_names() -> None:
    """`import layouts` works only where Python happens to run from the root."""
    wrong = {
        (str(path.relative_to(ROOT)), module)
        for path, tree in trees().items()
        for module in imported(tree, everywhere=True)
        if module.split(".")[0] in ROOMS
    }
    assert not wrong


def test_the_checker_imports_the_standard_library_alone() -> None:
    modules = imported(trees()[ROOT / "proofs/checker.py"], everywhere=True)
    assert {module.split(".")[0] for module in modules} <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("room", ROOMS)
def test_heavy_modules_are_imported_inside_functions(room: str) -> None:
    wrong = {
        (str(path.relative_to(ROOT)), module)
        for path, own in SOURCES.items()
        if room_of(path) == room and not own.startswith(ARRAY_MACHINE)
        for module in imported(trees()[path], everywhere=False)
        if module.split(".")[0] in HEAVY or module.startswith(ARRAY_MACHINE)
    }
    assert not wrong


def test_no_import_is_relative_or_a_star() -> None:
    wrong = {
        (str(path.relative_to(ROOT)), node.lineno)
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.level or any(each.name == "*" for each in node.names))
    }
    assert not wrong


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """One cycle of the graph, or nothing."""
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        for other in sorted(graph.get(module, ())):
            found = visit(other, [*path, module])
            if found:
                return found
        done.add(module)
        return []

    return next((found for module in sorted(graph) if (found := visit(module, []))), [])


def test_cycles_are_found() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle({"a": {"a"}}) == ["a", "a"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}}) == []


def test_no_module_imports_itself_through_others() -> None:
    graph = {
        module: imported(trees()[path], everywhere=False) & MODULES
        for path, module in SOURCES.items()
    }
    assert cycle(graph) == []


def test_no_python_under_cuda() -> None:
    assert [path for path in (ROOT / "cuda").rglob("*.py*") if path.suffix != ".pyc"] == []
    assert any((ROOT / "cuda").rglob("*.cuh"))


def test_files_are_small() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in SOURCES}
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def test_no_file_names_a_path_of_some_machine() -> None:
    places = [f"/{folder}/" for folder in ("work", "root", "tmp")] + [".." + "/shared"]
    wrong = []
    for path in TRACKED:
        text = path.read_bytes().decode("utf-8", errors="replace")
        wrong += [(str(path.relative_to(ROOT)), place) for place in places if place in text]
    assert wrong == []
