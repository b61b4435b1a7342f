"""Parts of claims about kernels in blocks and grids of two and three axes."""

from __future__ import annotations


def claim(
    threads: tuple[int, ...],
    arguments: str,
    assumed: tuple[str, ...],
    *parts: str,
    blocks: tuple[int, ...] = (65535, 65535),
) -> str:
    listed = ", ".join(f'"{name}"' for name in arguments.split())
    conditions = ", ".join(f'"{each}"' for each in assumed)
    head = f"""schema = "tylo.ptx-claim/1"
entry = "k"
threads = {list(threads)}
blocks = {list(blocks)}
arguments = [{listed}]
assume = [{conditions}]
"""
    return head + "".join(parts)


def sizes(names: str, most: int = 32768, bits: int = 32, least: int = 1) -> str:
    lines = f"bits = {bits}\nleast = {least}\nmost = {most}\n"
    return "".join(f"[size.{name}]\n{lines}" for name in names.split())


def input_of(name: str, elements: str, stride: str = "", element: str = "f32") -> str:
    rows = f'stride = "{stride}"\n' if stride else ""
    bytes_ = 2 if "16" in element else 4
    return (
        f'[buffer.{name}]\ndirection = "in"\nelement = "{element}"\n'
        f'elements = "{elements}"\nalignment = {bytes_}\n{rows}'
    )


def output_of(
    rows: str, columns: str, stride: str = "", name: str = "y", element: str = "f32"
) -> str:
    stride = stride or columns
    return (
        input_of(name, f"({rows}) * ({stride})", element=element).replace('"in"', '"out"')
        + f'written = {{ rows = "{rows}", columns = "{columns}", stride = "{stride}" }}\n'
    )


PLACE = """
[let]
r = "block_y * 8 + thread_y"
c = "block_x * 32 + thread_x"
"""
INSIDE = 'where = ["r < rows", "c < columns"]\n'
COVERED = "columns <= blocks_x * 32", "rows <= blocks_y * 8"
