"""The functions of Math worked out with decimals, to more digits than a double has. Pure.

Each takes and gives Decimals and is right to about 40 digits. Slow and plain: series, halving of arguments,
and the logarithms and exponentials of the decimal module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from decimal import Decimal, localcontext

DIGITS = 60
Real = Callable[..., Decimal]
ONE, TWO = Decimal(1), Decimal(2)


def precise(function: Real) -> Real:
    """With as many digits as it takes that neither tiny nor huge arguments lose any: differences from one
    need the digits of a tiny argument, turns of a circle those of a huge one."""

    @functools.wraps(function)
    def worked_out(*arguments: Decimal) -> Decimal:
        sizes = [abs(x.adjusted()) for x in arguments if x]
        with localcontext() as context:
            context.prec = DIGITS + 2 * max(sizes, default=0)
            context.Emax, context.Emin = 10**9, -(10**9)
            return function(*arguments)

    return worked_out


@functools.cache
def _pi(digits: int) -> Decimal:
    """Machin's formula: 16 atan(1/5) - 4 atan(1/239)."""
    with localcontext() as context:
        context.prec = digits + 10
        return 16 * _atan_series(ONE / 5) - 4 * _atan_series(ONE / 239)


def pi() -> Decimal:
    with localcontext() as context:
        return _pi(context.prec)


def _sum(first: Decimal, following: Callable[[Decimal, int], Decimal]) -> Decimal:
    """A series whose terms shrink: `following(term, n)` is the one after the n-th."""
    total, term, n = Decimal(0), first, 1
    while total + term != total:
        total, term, n = total + term, following(term, n), n + 1
    return total


def _atan_series(x: Decimal) -> Decimal:
    square, power = -x * x, x

    def following(_: Decimal, n: int) -> Decimal:
        nonlocal power
        power *= square
        return power / (2 * n + 1)

    return _sum(x, following)


def _atan(x: Decimal) -> Decimal:
    halvings = 0
    while abs(x) > Decimal("0.01"):
        x = x / (1 + (1 + x * x).sqrt())
        halvings += 1
    return _atan_series(x) * 2**halvings


def _sin(x: Decimal) -> Decimal:
    x %= 2 * pi()
    return _sum(x, lambda term, n: -term * x * x / (2 * n * (2 * n + 1)))


def _cos(x: Decimal) -> Decimal:
    return _sin(x + pi() / 2)


def _sinh(x: Decimal) -> Decimal:
    return (x.exp() - (-x).exp()) / 2


def _cosh(x: Decimal) -> Decimal:
    return (x.exp() + (-x).exp()) / 2


def _pow(x: Decimal, y: Decimal) -> Decimal:
    size = (abs(x).ln() * y).exp()
    return -size if x < 0 and y % 2 else size


def _atan2(y: Decimal, x: Decimal) -> Decimal:
    if x > 0:
        return _atan(y / x)
    if x == 0:
        return (pi() / 2).copy_sign(y)
    return _atan(y / x) + pi().copy_sign(y)


def _asinh(x: Decimal) -> Decimal:
    return (abs(x) + (x * x + 1).sqrt()).ln().copy_sign(x)


_OF_ONE: dict[str, Callable[[Decimal], Decimal]] = {
    "sqrt": lambda x: x.sqrt(),
    "cbrt": lambda x: (abs(x).ln() / 3).exp().copy_sign(x),
    "exp": lambda x: x.exp(),
    "expm1": lambda x: x.exp() - 1,
    "log": lambda x: x.ln(),
    "log1p": lambda x: (1 + x).ln(),
    "log2": lambda x: x.ln() / TWO.ln(),
    "log10": lambda x: x.log10(),
    "sin": _sin,
    "cos": _cos,
    "tan": lambda x: _sin(x) / _cos(x),
    "asin": lambda x: _atan2(x, (1 - x * x).sqrt()),
    "acos": lambda x: _atan2((1 - x * x).sqrt(), x),
    "atan": _atan,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": lambda x: _sinh(x) / _cosh(x),
    "asinh": _asinh,
    "acosh": lambda x: (x + (x * x - 1).sqrt()).ln(),
    "atanh": lambda x: ((1 + x) / (1 - x)).ln() / 2,
}
_OF_TWO: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "pow": _pow,
    "atan2": _atan2,
    "hypot": lambda x, y: (x * x + y * y).sqrt(),
}
REFERENCE: dict[str, Real] = {
    **{name: precise(function) for name, function in _OF_ONE.items()},
    **{name: precise(function) for name, function in _OF_TWO.items()},
}
