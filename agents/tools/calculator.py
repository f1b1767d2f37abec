"""Exact arithmetic on fractions. The expression is parsed, never evaluated as Python."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from agents.tools.arguments import refuse_unknown, schema, text_argument
from agents.tools.base import ToolError, ToolResult

MAX_CHARACTERS = 1000
MAX_BITS = 14_000
"""Largest numerator or denominator, about 4,200 digits: below Python's limit for printing."""
MAX_DECIMALS = 30

Number = Fraction | float
"""Exact as long as it can be; a float once a function such as `sin` made it inexact."""


def calculate(expression: str) -> str:
    """The value of `expression` as text; raises `ToolError`.

    Whole numbers and finite decimals are printed in full; other fractions as `a/b = decimal...`.
    """
    text = expression.strip()
    for written, meant in (("^", "**"), ("×", "*"), ("·", "*"), ("÷", "/"), ("−", "-")):
        text = text.replace(written, meant)
    if len(text) > MAX_CHARACTERS:
        raise ToolError(f"The expression is longer than {MAX_CHARACTERS} characters.")
    try:
        tree = ast.parse(text, mode="eval")
        return _show(_Evaluation(text).value(tree.body))
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        if isinstance(error, RecursionError | MemoryError):
            raise ToolError("The expression is nested too deeply.") from None
        raise ToolError(
            f"Cannot read {expression[:200]!r}: write plain arithmetic such as (3 + 4.5) * 2**10, "
            "without units, words or thousands separators."
        ) from None


class _Evaluation:
    """Walks one syntax tree; anything not listed is refused."""

    def __init__(self, text: str) -> None:
        self.text = text

    def value(self, node: ast.expr) -> Number:
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name(id=name) if name in _CONSTANTS:
                return _CONSTANTS[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.value(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _apply(_OPERATORS[type(op)], self.value(left), self.value(right))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
                return _apply(_FUNCTIONS[name], *[self.value(argument) for argument in args])
            case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)):
                raise ToolError(
                    f"{name!r} is unknown. Constants: {', '.join(_CONSTANTS)}. "
                    f"Functions: {', '.join(_FUNCTIONS)}."
                )
            case ast.Tuple():
                raise ToolError("Write numbers without thousands separators: 1000, not 1,000.")
            case _:
                raise ToolError(
                    f"{type(node).__name__} is not arithmetic; use numbers and + - * /."
                )

    def _constant(self, node: ast.Constant) -> Fraction:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise ToolError(f"{node.value!r} is not a number.")
        if isinstance(node.value, int):
            return Fraction(node.value)
        # The text, not the parsed float: 0.1 must mean one tenth.
        try:
            written = Decimal(ast.get_source_segment(self.text, node) or "")
        except InvalidOperation:
            raise ToolError(f"{node.value!r} is not a decimal number.") from None
        if abs(written.adjusted()) > MAX_BITS // 4:
            raise ToolError(f"{written} is too large or too small a number.")
        return Fraction(written)


def _apply(function: Callable[..., Number], *values: Number) -> Number:
    """Call `function`, turning what arithmetic can do wrong into a `ToolError`."""
    try:
        return _bounded(function(*values))
    except ZeroDivisionError:
        raise ToolError("Division by zero.") from None
    except OverflowError:
        raise ToolError("The result is too large.") from None
    except (TypeError, ValueError) as error:
        raise ToolError(f"Not defined for these values: {error}.") from None


def _bounded(value: Number) -> Number:
    if isinstance(value, float) and not math.isfinite(value):
        raise ToolError("The result is not a real number.")
    if isinstance(value, int):
        value = Fraction(value)
    if isinstance(value, Fraction) and _bits(value) > MAX_BITS:
        raise ToolError("The result is too large to write out (over 4,000 digits).")
    return value


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            # Judged before it is computed: 9**9**9 would never come back.
            if _bits(base) > 1 and _bits(base) * abs(exponent.numerator) > 2 * MAX_BITS:
                raise ToolError("The power is too large to write out (over 4,000 digits).")
            if _bits(base) == 1:
                # Only 0, 1 and -1 have one bit: the parity of the exponent decides.
                exponent = Fraction((abs(exponent.numerator) % 2 or 2) * _sign(exponent))
            power: Fraction = base**exponent.numerator
            return power
        if exponent == Fraction(1, 2):
            return _root(base)
    inexact: float | complex = float(base) ** float(exponent)
    if isinstance(inexact, complex):
        raise ToolError("The result is not a real number.")
    return inexact


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def _root(value: Number) -> Number:
    if value < 0:
        raise ToolError("The square root of a negative number is not a real number.")
    if isinstance(value, Fraction):
        above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if Fraction(above * above, below * below) == value:
            return Fraction(above, below)
    return math.sqrt(value)


def _whole(value: Number) -> int:
    if isinstance(value, float) or value.denominator != 1:
        raise ValueError(f"{value} is not a whole number")
    return value.numerator


def _factorial(value: Number) -> Number:
    if _whole(value) > 1400:
        raise OverflowError
    return Fraction(math.factorial(_whole(value)))


def _choose(n: Number, k: Number) -> Number:
    if _whole(n) > MAX_BITS:
        raise OverflowError
    return Fraction(math.comb(_whole(n), _whole(k)))


def _round(value: Number, digits: Number = Fraction(0)) -> Number:
    places = _whole(digits)
    if abs(places) > 1000:
        raise OverflowError
    if places == 0:
        return Fraction(round(value))
    # Exact also for a float: what it stands for is rounded, and a decimal comes out.
    return round(Fraction(value), places)


def _log(value: Number, base: Number = math.e) -> Number:
    return math.log(value) / math.log(base)


def _inexact(function: Callable[[float], float]) -> Callable[[Number], Number]:
    return lambda value: function(float(value))


_CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e}
_OPERATORS: dict[type[ast.operator], Callable[..., Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "sqrt": _root,
    "abs": abs,
    "round": _round,
    "floor": math.floor,
    "ceil": math.ceil,
    "min": min,
    "max": max,
    "gcd": lambda *values: Fraction(math.gcd(*map(_whole, values))),
    "lcm": lambda *values: Fraction(math.lcm(*map(_whole, values))),
    "factorial": _factorial,
    "comb": _choose,
    "exp": _inexact(math.exp),
    "ln": _inexact(math.log),
    "log": _log,
    "log10": _inexact(math.log10),
    "log2": _inexact(math.log2),
    "sin": _inexact(math.sin),
    "cos": _inexact(math.cos),
    "tan": _inexact(math.tan),
    "asin": _inexact(math.asin),
    "acos": _inexact(math.acos),
    "atan": _inexact(math.atan),
    "radians": _inexact(math.radians),
    "degrees": _inexact(math.degrees),
}


def _show(value: Number) -> str:
    if isinstance(value, float):
        return f"{value:.15g} (rounded)"
    if value.denominator == 1:
        return str(value.numerator)
    digits = _decimals(value.denominator)
    if digits is not None and digits <= MAX_DECIMALS:
        whole, rest = divmod(abs(value.numerator) * 10**digits // value.denominator, 10**digits)
        return f"{'-' if value < 0 else ''}{whole}.{rest:0{digits}d}"
    return f"{value.numerator}/{value.denominator} = {_rounded(value)} (rounded)"


def _rounded(value: Fraction) -> str:
    try:
        return f"{float(value):.15g}"
    except OverflowError:
        return "a number beyond 1e308"


def _decimals(denominator: int) -> int | None:
    """Digits after the point of a fraction with this denominator; None if they never end."""
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


class Calculator:
    """The tool around `calculate`."""

    name = "calculator"
    description = "Exact arithmetic: + - * / // % **, parentheses, sqrt, round, min, max, log, ..."
    parameters: dict[str, Any] = schema(
        ("expression",), expression=("string", "for example (17.5 - 3) * 2**10 / 3")
    )

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        """Evaluate `expression`; bounded in length and size, so it needs no time limit."""
        refuse_unknown(arguments, self.parameters)
        return ToolResult(calculate(text_argument(arguments, "expression")))
