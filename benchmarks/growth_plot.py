"""The growth tables as one SVG: a panel for each operation, both axes logarithmic.

A straight line of slope 1 is linear growth, of slope 2 quadratic; dotted guides show both.
"""

from __future__ import annotations

import math

Curves = dict[str, list[tuple[int, float]]]  # by library: (modes, microseconds)

WIDTH, HEIGHT, MARGIN, COLUMNS = 250, 190, 38, 3
COLOURS = {"tylo": "#2563eb", "pycute": "#d97706", "tensor-layouts": "#7c3aed"}


def plotted(title: str, axis: str, panels: dict[str, Curves]) -> str:
    """The SVG text; every panel has the same scales, so that panels compare."""
    points = [point for curves in panels.values() for line in curves.values() for point in line]
    left, right = (math.log10(f(size for size, _ in points)) for f in (min, max))
    low = math.floor(math.log10(min(value for _, value in points)))
    high = math.ceil(math.log10(max(value for _, value in points)))
    rows = -(-len(panels) // COLUMNS)
    width, height = COLUMNS * WIDTH + 20, rows * HEIGHT + 66
    names = dict.fromkeys(name for curves in panels.values() for name in curves)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        "<style>text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#22272e}"
        ".g{stroke:#c9ced6;stroke-width:.6}.s{stroke:#8a919c;stroke-dasharray:2 3}</style>",
        f'<rect width="{width}" height="{height}" rx="6" fill="#fff"/>',
        f'<text x="14" y="20" font-weight="bold">{title}</text>',
        *(
            f'<text x="{14 + 140 * k}" y="38" style="fill:{COLOURS[name]}">&#9644; {name}</text>'
            for k, name in enumerate(names)
        ),
    ]
    for number, (operation, curves) in enumerate(panels.items()):
        x0 = 10 + number % COLUMNS * WIDTH + MARGIN
        y0 = 50 + number // COLUMNS * HEIGHT
        wide, tall = WIDTH - MARGIN - 12, HEIGHT - 50

        def place(size: float, value: float, x0: int = x0, y0: int = y0) -> str:
            x = x0 + (math.log10(size) - left) / (right - left) * (WIDTH - MARGIN - 12)
            y = y0 + 16 + (high - math.log10(value)) / (high - low) * (HEIGHT - 50)
            return f"{x:.1f},{y:.1f}"

        parts.append(f'<text x="{x0}" y="{y0 + 10}" font-weight="bold">{operation}</text>')
        for power in range(low, high + 1):
            y = y0 + 16 + (high - power) / (high - low) * tall
            parts.append(f'<line class="g" x1="{x0}" x2="{x0 + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(
                f'<text x="{x0 - 4}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
            )
        for size in sorted({size for line in curves.values() for size, _ in line}):
            x = place(size, 1).split(",")[0]
            parts.append(f'<text x="{x}" y="{y0 + 30 + tall}" text-anchor="middle">{size}</text>')
        for slope in (1, 2):
            start = 10.0 ** (low + 0.5)
            end = min(10.0**right, (10.0 ** (high - low - 0.5)) ** (1 / slope) * 10.0**left)
            top = start * (end / 10.0**left) ** slope
            parts.append(
                f'<polyline class="s" fill="none" points="{place(10.0**left, start)} '
                f'{place(end, top)}"/>'
            )
        for name, line in curves.items():
            path = " ".join(place(size, value) for size, value in line)
            parts.append(
                f'<polyline fill="none" stroke="{COLOURS[name]}" stroke-width="1.8" '
                f'points="{path}"/>'
            )
    parts.append(
        f'<text x="14" y="{height - 8}">{axis} across, microseconds a call up; dotted: growth in '
        "proportion, and with the square</text>"
    )
    return "\n".join([*parts, "</svg>\n"])
