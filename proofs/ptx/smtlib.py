"""Bit-vector expressions as SMT-LIB scripts, in the logic QF_BV.

>>> from tylo.proofs.ptx.bitvector import BitVectors
>>> d = BitVectors()
>>> thread = d.variable("thread", 5)
>>> print(script([d.less(thread, d.constant(9, 5), 5, False)]))
(set-logic QF_BV)
(declare-const thread (_ BitVec 5))
(assert (bvult thread (_ bv9 5)))
(check-sat)
<BLANKLINE>
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.bitvector import Expression, order

_PREDICATES = frozenset({"=", "bvult", "bvslt"})
_CONNECTIVES = {"bvand": "and", "bvor": "or", "bvxor": "xor"}


def script(conditions: Iterable[Expression]) -> str:
    """A script that is satisfiable exactly where all conditions, one bit each, can be one."""
    roots = list(conditions)
    nodes = order(roots)
    uses = Counter(id(operand) for node in nodes for operand in node.operands)
    lines = ["(set-logic QF_BV)"]
    names: dict[int, str] = {}
    truths: dict[int, str] = {}
    for node in nodes:
        if node.opaque:
            raise PtxError(f"a condition depends on memory through {node.operator}")
        if node.operator == "variable":
            lines.append(f"(declare-const {node.attribute} (_ BitVec {node.width}))")
            names[id(node)] = str(node.attribute)
            continue
        shared = uses[id(node)] > 1 and bool(node.operands)
        if shared and node.width == 1 and node.operator in _CONNECTIVES:
            # A name for the truth value: spelled out at each use, texts would double and double.
            truths[id(node)] = f"t{len(names)}"
            lines.append(
                f"(define-fun {truths[id(node)]} () Bool {_connected(node, names, truths)})"
            )
            names[id(node)] = f"(ite {truths[id(node)]} (_ bv1 1) (_ bv0 1))"
            continue
        text = _text(node, names, truths)
        if shared:
            names[id(node)] = f"t{len(names)}"
            lines.append(f"(define-fun {names[id(node)]} () (_ BitVec {node.width}) {text})")
        else:
            names[id(node)] = text
    lines += [f"(assert {_condition(root, names, truths)})" for root in roots]
    return "\n".join([*lines, "(check-sat)", ""])


def _text(node: Expression, names: dict[int, str], truths: dict[int, str]) -> str:
    """The node as a bit-vector."""
    operands = [names[id(operand)] for operand in node.operands]
    match node.operator:
        case "constant":
            return f"(_ bv{node.attribute} {node.width})"
        case "extract":
            low = int(node.attribute)
            return f"((_ extract {low + node.width - 1} {low}) {operands[0]})"
        case "sign_extend":
            return f"((_ sign_extend {node.width - node.operands[0].width}) {operands[0]})"
        case "concat":
            text = operands[0]
            for operand in operands[1:]:
                text = f"(concat {operand} {text})"
            return text
        case "ite":
            condition = _condition(node.operands[0], names, truths)
            return f"(ite {condition} {operands[1]} {operands[2]})"
        case operator if operator in _PREDICATES:
            return f"(ite ({operator} {' '.join(operands)}) (_ bv1 1) (_ bv0 1))"
        case operator:
            return f"({operator} {' '.join(operands)})"


def _condition(node: Expression, names: dict[int, str], truths: dict[int, str]) -> str:
    """A node of one bit as a truth value."""
    if node.operator == "constant":
        return "true" if node.attribute else "false"
    if id(node) in truths:
        return truths[id(node)]
    if node.width == 1 and node.operator in _CONNECTIVES:
        return _connected(node, names, truths)
    if node.operator in _PREDICATES:
        return f"({node.operator} {' '.join(names[id(operand)] for operand in node.operands)})"
    return f"(= {names[id(node)]} (_ bv1 1))"


def _connected(node: Expression, names: dict[int, str], truths: dict[int, str]) -> str:
    inner = " ".join(_condition(operand, names, truths) for operand in node.operands)
    return f"({_CONNECTIVES[node.operator]} {inner})"
