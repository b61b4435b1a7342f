"""Mutants of a Python file, by its syntax tree: one small change each, everywhere it may be made.

What is changed: an operation for its neighbour, the order of operands, one parameter for another,
constants by one, signs and widths, arms of choices, alternatives of a tuple or dictionary, and the
syntax lines of the opcode table (a segment, a mark, the order of operands).

>>> source = "def double(d, f, a):\\n    return d.add(a, a, f.width)\\n"
>>> [mutant.change for mutant in mutants(source)]
['add -> subtract', '-> width // 2', '-> width * 2']
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any, TypeAlias

# Operations of the domain that take the same operands, in a circle; and those that commute.
_NEIGHBOURS = {
    "add": "subtract",
    "subtract": "add",
    "multiply": "add",
    "bit_and": "bit_or",
    "bit_or": "bit_xor",
    "bit_xor": "bit_or",
    "divide": "remainder",
    "remainder": "divide",
    "multiply_high": "divide",
    "minimum": "maximum",
    "maximum": "minimum",
    "bitwise_and": "bitwise_or",
    "bitwise_or": "bitwise_xor",
    "bitwise_xor": "bitwise_or",
    "any": "all",
    "all": "any",
    "rint": "trunc",
    "trunc": "floor",
    "floor": "ceil",
    "ceil": "rint",
    "greater": "greater_equal",
    "greater_equal": "greater",
    "less_equal": "less",
    "argmax": "argmin",
}
_COMMUTATIVE = frozenset(
    {"add", "multiply", "bit_and", "bit_or", "bit_xor", "equal", "multiply_high"}
)
_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
# What an instruction that does more than compute may be said to do, in a circle.
_ACTIONS = (
    *("load", "store", "load constant", "ordered load", "ordered store", "atomic", "parameter"),
    *("fence", "barrier", "arrive", "warp barrier", "copy", "commit", "wait", "wait all"),
    *("shuffle", "vote", "ballot", "match", "active", "reduce", "elect"),
    *("load matrix", "store matrix", "move matrix", "multiply", "branch", "return"),
)
_SYNTAX = re.compile(r"^[\w{}.:]+(  .*)?$")
_SECTION = re.compile(r"^9\.\d+(\.\d+)*$")


@dataclass(frozen=True)
class Mutant:
    """A file with one change: the line and the outermost statement it is in, and what changed."""

    code: tuple[CodeType, ...]
    line: int
    statement: str
    change: str

    def run(self, name: str) -> dict[str, Any]:
        """The names that the changed file defines; raises whatever it raises."""
        module = ModuleType(name)
        sys.modules[name] = module
        try:
            for code in self.code:
                exec(code, module.__dict__)
        finally:
            del sys.modules[name]
        return module.__dict__


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a file, in the order of its text."""
    tree = ast.parse(source)
    code = [_compiled(statement) for statement in tree.body]
    for index, statement in enumerate(tree.body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        names = _parameters(statement)
        for node in list(ast.walk(statement)):
            for change, line in _of_node(statement, node, names.get(id(node), [])):
                try:
                    changed = _compiled(statement)
                except (SyntaxError, ValueError, TypeError):
                    continue
                every = (*code[:index], changed, *code[index + 1 :])
                yield Mutant(every, line, _name(statement), change)


def _compiled(statement: ast.stmt) -> CodeType:
    future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
    first = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    body = [statement] if first else [future, statement]
    return compile(ast.fix_missing_locations(ast.Module(body, [])), "<mutant>", "exec")


def _name(statement: ast.stmt) -> str:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return statement.name
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return ",".join(ast.unparse(target) for target in targets)


def _parameters(statement: ast.stmt) -> dict[int, list[str]]:
    """For each name that is read, the parameters of the function around it."""
    found: dict[int, list[str]] = {}
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            names = [argument.arg for argument in node.args.args if argument.arg not in "df"]
            body = node.body if isinstance(node.body, list) else [node.body]
            for part in body:
                for inner in ast.walk(part):
                    if isinstance(inner, ast.Name) and inner.id in names:
                        found[id(inner)] = names
    return found


# What changed and where; the tree holds the change until the next one is asked for.
Changes: TypeAlias = Iterator[tuple[str, int]]


def _changed(node: ast.AST, change: str, line: int = 0, **fields: object) -> Changes:
    """Some fields of one node replaced, for as long as the caller looks."""
    kept = {field: getattr(node, field) for field in fields}
    for field, value in fields.items():
        setattr(node, field, value)
    yield change, line or getattr(node, "lineno", 0)
    for field, value in kept.items():
        setattr(node, field, value)


def _of_node(tree: ast.stmt, node: ast.AST, names: list[str]) -> Changes:
    match node:
        case ast.Call(func=ast.Attribute(attr=attribute)):
            yield from _calls(node, attribute)
        case ast.Name(id=read) if len(names) > 1 and isinstance(node.ctx, ast.Load):
            other = names[(names.index(read) + 1) % len(names)]
            yield from _changed(node, f"{read} -> {other}", id=other)
        case ast.Constant(value=bool(value)):
            yield from _changed(node, f"{value} -> {not value}", value=not value)
        case ast.Constant(value=int(value)):
            for other in (value + 1, value - 1):
                yield from _changed(node, f"{value} -> {other}", value=other)
        case ast.keyword(arg="action", value=ast.Constant(value=str(value))):
            other = _ACTIONS[(_ACTIONS.index(value) + 1) % len(_ACTIONS)]
            yield from _changed(
                node, f"{value} -> {other}", node.value.lineno, value=ast.Constant(other)
            )
        case ast.Constant(value=str(value)) if "  " in value and _SYNTAX.match(value):
            for other in syntax_mutants(value):
                yield from _changed(node, f"{value!r} -> {other!r}", value=other)
        case ast.Attribute(attr="width", value=ast.Name(id="f")):
            inner = ast.Attribute(node.value, "width", ast.Load())
            for operator, text in ((ast.FloorDiv(), "//"), (ast.Mult(), "*")):
                yield from _replaced(
                    tree, node, ast.BinOp(inner, operator, ast.Constant(2)), f"width {text} 2"
                )
        case ast.Attribute(attr="signed", value=ast.Name(id="f")):
            inner = ast.Attribute(node.value, "signed", ast.Load())
            yield from _replaced(tree, node, ast.UnaryOp(ast.Not(), inner), "not signed")
        case ast.BinOp() | ast.BoolOp() if type(node.op) in _OPERATORS:
            yield from _changed(node, type(node.op).__name__, op=_OPERATORS[type(node.op)]())
        case ast.Compare() if type(node.ops[0]) in _OPERATORS:
            ops = [_OPERATORS[type(node.ops[0])](), *node.ops[1:]]
            yield from _changed(node, type(node.ops[0]).__name__, ops=ops)
        case ast.IfExp():
            yield from _changed(node, "arms", body=node.orelse, orelse=node.body)
        case ast.If():
            yield from _changed(node, "condition", test=ast.UnaryOp(ast.Not(), node.test))
        case ast.Tuple(elts=elements) | ast.List(elts=elements) if isinstance(node.ctx, ast.Load):
            for index, element in enumerate(elements):
                if len(elements) > 1 and not isinstance(element, ast.Starred):
                    rest = elements[:index] + elements[index + 1 :]
                    yield from _changed(node, f"without {ast.unparse(element)[:60]}", elts=rest)
        case ast.Dict(keys=keys, values=values) if len(keys) > 1:
            for index in range(len(keys)):
                yield from _changed(
                    node,
                    f"without {ast.unparse(values[index])[:60]}",
                    keys=keys[:index] + keys[index + 1 :],
                    values=values[:index] + values[index + 1 :],
                )


def _calls(node: ast.Call, attribute: str) -> Changes:
    function, arguments = node.func, node.args
    assert isinstance(function, ast.Attribute)
    if attribute in _NEIGHBOURS:
        other = ast.Attribute(function.value, _NEIGHBOURS[attribute], ast.Load())
        yield from _changed(node, f"{attribute} -> {other.attr}", func=other)
    if attribute == "shift_left":
        other = ast.Attribute(function.value, "shift_right", ast.Load())
        yield from _changed(
            node, "left -> right", func=other, args=[*arguments, ast.Constant(False)]
        )
    if attribute == "shift_right":
        other = ast.Attribute(function.value, "shift_left", ast.Load())
        yield from _changed(node, "right -> left", func=other, args=arguments[:-1])
    swapped = {"select": (1, 2)}.get(attribute, (0, 1))
    if (
        attribute not in _COMMUTATIVE
        and len(arguments) > swapped[1]
        and ast.dump(arguments[swapped[0]]) != ast.dump(arguments[swapped[1]])
        and isinstance(function.value, ast.Name)
        and function.value.id == "d"
        and attribute not in ("constant", "extend", "extract", "concatenate", "function")
    ):
        order = list(arguments)
        order[swapped[0]], order[swapped[1]] = order[swapped[1]], order[swapped[0]]
        yield from _changed(node, f"{attribute}: operands swapped", args=order)


def _replaced(tree: ast.stmt, node: ast.expr, other: ast.expr, change: str) -> Changes:
    """One expression for another, wherever it stands."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is node:
                yield from _changed(parent, f"-> {change}", node.lineno, **{field: other})
            elif isinstance(value, list) and any(each is node for each in value):
                changed = [other if each is node else each for each in value]
                yield from _changed(parent, f"-> {change}", node.lineno, **{field: changed})


def syntax_mutants(syntax: str) -> Iterator[str]:
    """Syntax lines with one segment dropped or made optional, or one operand changed."""
    head, _, rest = syntax.partition("  ")
    segments = re.findall(r"\{\.[\w:]+\}|\.?[\w:]+", head)
    for index, segment in enumerate(segments):
        if index:
            other = segment.strip("{}") if segment.startswith("{") else f"{{{segment}}}"
            for part in ([], [other]):
                yield "".join([*segments[:index], *part, *segments[index + 1 :]]) + "  " + rest
    operands = [each.strip() for each in rest.split(",")] if rest else []
    for index, operand in enumerate(operands):
        for other in _operand_mutants(operand):
            yield head + "  " + ", ".join([*operands[:index], other, *operands[index + 1 :]])
        yield head + "  " + ", ".join([*operands[:index], *operands[index + 1 :]])
        yield head + "  " + ", ".join([*operands[: index + 1], *operands[index:]])
    if len(operands) > 1:
        yield head + "  " + ", ".join(reversed(operands))


def _operand_mutants(operand: str) -> Iterator[str]:
    plain, _, mark = operand.partition(":")
    loose = plain.endswith("~") or "~*" in plain
    yield operand.replace("~", "") if loose else f"{plain}~" + (f":{mark}" if mark else "")
    if "[" not in operand and mark != "label":
        for other in ("u64", "u16", "pred"):
            if other[1:] != mark[1:]:
                yield f"{plain}:{other}"
    if "*" in operand and operand[-1] != "*":
        yield re.sub(r"\*(\d)", lambda m: f"*{2 * int(m[1])}", operand)
    yield f"[{plain}]" if "[" not in operand else operand.strip("[]")
