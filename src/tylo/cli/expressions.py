"""Expressions on the command line: symbols are allowed, and a mistake is shown where it is.

A word that is no function is a symbol, which stands for every positive integer. A refusal shows the
expression with a caret under the column where the text, or the operation that refused, begins.
"""

from __future__ import annotations

from typing import Any

from tylo.layouts.errors import LayoutError, NotationError
from tylo.layouts.notation import Reader


class _SymbolReader(Reader):
    """Reads symbols too, and remembers which operation was the first to refuse."""

    refused_at: int | None = None

    def call(self, word: str, start: int) -> Any:
        self.skip_blanks()
        if not self.text.startswith("(", self.column):
            import sympy

            return sympy.Symbol(word, integer=True, positive=True)
        try:
            return super().call(word, start)
        except NotationError:
            raise
        except (ValueError, LookupError, ArithmeticError):
            if self.refused_at is None:
                self.refused_at = start
            raise


def evaluated(text: str) -> Any:
    """The value of an expression.

    >>> print(evaluated("logical_divide(n:1, 8)"))
    (8,ceiling(n/8)):(1,8)
    >>> evaluated("(4,2):(1;8)")
    Traceback (most recent call last):
    tylo.layouts.errors.NotationError: expected ',' or ')' but found ';'
      (4,2):(1;8)
              ^
    """
    reader = _SymbolReader(text)
    try:
        value = reader.expression()
        reader.end()
    except NotationError as error:
        column = error.witness if isinstance(error.witness, int) else reader.column
        message = error.message.removesuffix(f" in {text!r}")
        raise _pointing(
            text, column, f"{message}; {error.hint}" if error.hint else message
        ) from error
    except LayoutError as error:
        raise _pointing(text, reader.refused_at or 0, str(error)) from error
    except RecursionError as error:
        raise _pointing(text, reader.column, "nested too deeply") from error
    except (ValueError, LookupError, ArithmeticError) as error:
        column = reader.column if reader.refused_at is None else reader.refused_at
        raise _pointing(text, column, f"this has no value: {error}") from error
    return value


def _pointing(text: str, column: int, message: str) -> NotationError:
    # One character for each, so that the caret stands under the right one.
    line = "".join(symbol if symbol.isprintable() else " " for symbol in text)
    return NotationError(f"{message}\n  {line}\n  {' ' * column}^")
