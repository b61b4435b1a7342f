"""CuTe's layout algebra, checked: one file for each family of operations.

Each operation has a rule, its defining equation, and returns only layouts that satisfy it; where
none does, `LayoutError` names the rule, the operands and a witness. The theorems behind the
closed conditions are in docs/algebra.md.
"""
