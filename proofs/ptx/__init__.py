"""PTX: a parser, one opcode table, and what can be proven with it about emitted kernels.

The table gives each instruction one meaning, written against abstract values. Read with
bit-vector terms it proves, for every thread and block, what a kernel does to memory.
"""
