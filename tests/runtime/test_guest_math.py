"""All of Math against the mathematics: by how many units of the last place it may miss the true value.

What is compared: every function of Math but `random`. Those that round are compared with math_reference.py,
which works with decimals; those that are exact with Python. Arguments are edge cases (zeros, subnormals, the
largest, neighbours of round numbers, powers of two and ten) and random ones: any bits, any size, and where
the function bends.
"""

from __future__ import annotations

import functools
import math
import random
import re
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal

import pytest
from codemode_runtime.shapes import Limits

from tests.harness.guests import always, run
from tests.runtime import math_reference
from tests.runtime.math_reference import REFERENCE

SAMPLE = 150  # random arguments of each kind
NAN, INF, LEAST, LARGEST = math.nan, math.inf, 5e-324, 1.7976931348623157e308
LIMITS = Limits(memory_bytes=256 << 20, output_bytes=16 << 20)

# the bits of the arguments, as text, in; the bits of the results out: nothing is rounded on the way
PROGRAM = """const text = await tools.call("arguments");
const byte = (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 16);
const given = new Float64Array(Uint8Array.from({ length: text.length / 2 }, byte).buffer);
const results = new Float64Array(given.length / ARITY);
for (let i = 0; i < given.length; i += ARITY) results[i / ARITY] = Math.NAME(...given.subarray(i, i + ARITY));
return Array.from(new Uint8Array(results.buffer), (byte) => (256 + byte).toString(16).slice(1)).join("")"""

# Units of the last place, and where arguments are drawn from beside the whole range. 0.5 is perfect.
TOLERANCES: dict[str, tuple[float, Sequence[tuple[float, float]]]] = {
    "sqrt": (0.5, [(0, 1e6)]),
    "cbrt": (0.7, [(-1e6, 1e6)]),
    "exp": (0.52, [(-745, 710), (-2, 2)]),
    "expm1": (0.85, [(-50, 710), (-1, 1)]),
    "log": (0.52, [(0, 10), (0.5, 2)]),
    "log1p": (0.85, [(-1, 10), (-0.5, 0.5)]),
    "log2": (0.85, [(0, 10), (0.5, 2)]),
    "log10": (0.75, [(0, 10), (0.5, 2)]),
    "sin": (0.8, [(-10, 10), (-1e6, 1e6)]),
    "cos": (0.8, [(-10, 10), (-1e6, 1e6)]),
    "tan": (0.8, [(-10, 10), (-1e6, 1e6)]),
    "asin": (0.85, [(-1, 1)]),
    "acos": (0.85, [(-1, 1)]),
    "atan": (0.8, [(-10, 10)]),
    "sinh": (1.8, [(-2, 2), (-711, 711)]),
    "cosh": (1.3, [(-20, 20), (-711, 711)]),
    "tanh": (2.0, [(-20, 20), (-1, 1)]),
    "asinh": (1.5, [(-10, 10), (-1, 1)]),
    "acosh": (1.4, [(1, 10), (1, 1e6)]),
    "atanh": (1.5, [(-1, 1), (-0.1, 0.1)]),
}
TOLERANCES_OF_TWO = {"pow": 0.52, "atan2": 1.5, "hypot": 1.5}

INSIDE: dict[str, Callable[[float], bool]] = {
    "sqrt": lambda x: x >= 0,
    "log": lambda x: x >= 0,
    "log2": lambda x: x >= 0,
    "log10": lambda x: x >= 0,
    "log1p": lambda x: x >= -1,
    "asin": lambda x: abs(x) <= 1,
    "acos": lambda x: abs(x) <= 1,
    "acosh": lambda x: x >= 1,
    "atanh": lambda x: abs(x) <= 1,
}

# results at the ends of what a function is defined for, by the language's own text
ENDS = """
sqrt(-0) = -0; sqrt(Infinity) = Infinity
cbrt(-0) = -0; cbrt(0) = 0; cbrt(Infinity) = Infinity; cbrt(-Infinity) = -Infinity
exp(-0) = 1; exp(1) = 2.718281828459045; exp(Infinity) = Infinity; exp(-Infinity) = 0
exp(709.782712893384) = 1.7976931348622732e308; exp(709.7827128933841) = Infinity
exp(-745.1332191019411) = 5e-324; exp(-745.1332191019412) = 0
expm1(-0) = -0; expm1(Infinity) = Infinity; expm1(-Infinity) = -1
log(0) = -Infinity; log(-0) = -Infinity; log(1) = 0; log(Infinity) = Infinity
log1p(-1) = -Infinity; log1p(-0) = -0; log1p(Infinity) = Infinity
log2(0) = -Infinity; log2(-0) = -Infinity; log2(1) = 0; log2(Infinity) = Infinity
log10(0) = -Infinity; log10(-0) = -Infinity; log10(1) = 0; log10(Infinity) = Infinity
sin(-0) = -0; sin(Infinity) = NaN; sin(-Infinity) = NaN
cos(-0) = 1; cos(Infinity) = NaN; cos(-Infinity) = NaN
tan(-0) = -0; tan(Infinity) = NaN; tan(-Infinity) = NaN
asin(-0) = -0; acos(1) = 0; acos(-1) = 3.141592653589793
atan(-0) = -0; atan(Infinity) = 1.5707963267948966; atan(-Infinity) = -1.5707963267948966
sinh(-0) = -0; sinh(Infinity) = Infinity; sinh(-Infinity) = -Infinity
cosh(-0) = 1; cosh(Infinity) = Infinity; cosh(-Infinity) = Infinity
tanh(-0) = -0; tanh(Infinity) = 1; tanh(-Infinity) = -1
asinh(-0) = -0; asinh(Infinity) = Infinity; asinh(-Infinity) = -Infinity
acosh(1) = 0; acosh(Infinity) = Infinity; acosh(-Infinity) = NaN; acosh(-6540) = NaN
atanh(-0) = -0; atanh(1) = Infinity; atanh(-1) = -Infinity
pow(NaN, 0) = 1; pow(1, Infinity) = NaN; pow(-1, -Infinity) = NaN; pow(1, NaN) = NaN; pow(-2, 0.5) = NaN
pow(0, -3) = Infinity; pow(-0, -3) = -Infinity; pow(-0, -2) = Infinity; pow(-0, 3) = -0
pow(-Infinity, 3) = -Infinity; pow(-Infinity, -3) = -0; pow(2, -Infinity) = 0; pow(0.5, -Infinity) = Infinity
atan2(0, -0) = 3.141592653589793; atan2(-0, -0) = -3.141592653589793; atan2(-0, 0) = -0; atan2(0, 1) = 0
atan2(-0, -1) = -3.141592653589793; atan2(Infinity, Infinity) = 0.7853981633974483
atan2(Infinity, -Infinity) = 2.356194490192345; atan2(-Infinity, 1) = -1.5707963267948966
hypot(NaN, Infinity) = Infinity; hypot(-Infinity, NaN) = Infinity; hypot(-0, -0) = 0; hypot(NaN, 1) = NaN
hypot(3, 4) = 5; hypot(1e308, 1e308) = 1.4142135623730951e308; hypot(1.7e308, 1.7e308) = Infinity
"""


def ends(name: str) -> list[tuple[tuple[float, ...], float]]:
    found = re.findall(rf"\b{name}\((.*?)\) = ([^;\n]+)", ENDS)
    return [(tuple(map(float, given.split(","))), float(result)) for given, result in found]


def bits(x: float) -> bytes:
    return struct.pack("<d", x)


def in_guest(name: str, cases: Sequence[tuple[float, ...]]) -> list[float]:
    program = PROGRAM.replace("ARITY", str(len(cases[0]))).replace("NAME", name)
    given = b"".join(bits(x) for case in cases for x in case).hex()
    found = bytes.fromhex(run(program, {"arguments": always(given)}, limits=LIMITS).value)
    return [x for (x,) in struct.iter_unpack("<d", found)]


@functools.cache
def edges() -> list[float]:
    found = [0.0, -0.0, NAN, INF, -INF, LEAST, -LEAST, 2.2250738585072014e-308, LARGEST, -LARGEST]
    round_numbers = (
        1,
        2,
        0.5,
        0.25,
        3,
        10,
        1000,
        6540,
        1e22,
        math.e,
        math.pi,
        math.pi / 2,
        math.log(2),
        709.78,
        745.1,
        2**52,
        2**53,
    )
    for x in (sign * number for number in round_numbers for sign in (1.0, -1.0)):
        found += [x, math.nextafter(x, INF), math.nextafter(x, -INF)]
    found += [float(f"1e{n}") for n in range(-323, 309, 7)]
    return found + [math.ldexp(1.0, n) for n in range(-1074, 1024, 31)]


def arguments(name: str, ranges: Sequence[tuple[float, float]]) -> list[float]:
    draw = random.Random(name)
    found = list(edges())
    found += [struct.unpack("<d", draw.randbytes(8))[0] for _ in range(SAMPLE)]
    found += [draw.choice((1, -1)) * 10 ** draw.uniform(-20, 20) for _ in range(SAMPLE)]
    found += [draw.choice((1, -1)) * draw.getrandbits(52) * LEAST for _ in range(20)]
    for low, high in ranges:
        found += [draw.uniform(low, high) for _ in range(SAMPLE)]
    return found


def pairs(name: str) -> list[tuple[float, float]]:
    draw = random.Random(name)
    found = [(x, y) for x in edges()[:40] for y in edges()[:40]]
    found += [(draw.uniform(-100, 100), draw.uniform(-100, 100)) for _ in range(SAMPLE)]
    found += [(10 ** draw.uniform(-5, 5), draw.uniform(-30, 30)) for _ in range(SAMPLE)]
    found += [(draw.uniform(0.9, 1.1), draw.uniform(-5000, 5000)) for _ in range(SAMPLE)]
    return found + [(float(draw.randint(-9, 9)), float(draw.randint(-9, 9))) for _ in range(SAMPLE)]


def error(found: float, true: Decimal) -> float:
    """In units of the last place of the true value; an infinity is the number after the largest."""
    size = math.frexp(float(abs(true)))[1] if abs(true) < Decimal(LARGEST) else 1024
    unit = Decimal(2) ** max(size - 53, -1074)
    infinity = Decimal(2) ** 1024
    if math.isinf(found):
        there = infinity.copy_sign(Decimal(found))
        return 0.0 if abs(true) >= infinity and true * there > 0 else float(abs(true - there) / unit)
    return float(abs(Decimal(found) - true) / unit)


def worst(name: str, cases: Sequence[tuple[float, ...]]) -> tuple[float, tuple[float, ...]]:
    errors = [
        (error(found, REFERENCE[name](*map(Decimal, case))), case)
        for case, found in zip(cases, in_guest(name, cases), strict=True)
    ]
    return max(errors)


def overflows(name: str, x: float) -> bool:
    return (
        name in ("exp", "expm1", "sinh", "cosh", "tanh") and abs(x) > 800
    )  # their decimals have as many digits


@pytest.mark.parametrize("name", TOLERANCES)
def test_a_function_of_one_number_is_near_the_true_value(name: str) -> None:
    tolerance, ranges = TOLERANCES[name]
    inside = INSIDE.get(name, lambda _: True)
    apart = {case[0] for case, _ in ends(name)}
    cases = [
        (x,)
        for x in arguments(name, ranges)
        if math.isfinite(x) and inside(x) and x != 0 and x not in apart and not overflows(name, x)
    ]
    assert len(cases) >= 300
    farthest, _ = found = worst(name, cases)
    assert farthest <= tolerance, found


@pytest.mark.parametrize("name", TOLERANCES_OF_TWO)
def test_a_function_of_two_numbers_is_near_the_true_value(name: str) -> None:
    def is_told(x: float, y: float) -> bool:
        if not (math.isfinite(x) and math.isfinite(y) and x and y):
            return False
        return name != "pow" or (abs(y * math.log(abs(x))) < 1500 and (x > 0 or y == int(y)))

    cases = [case for case in pairs(name) if is_told(*case)]
    assert len(cases) >= 500
    farthest, _ = found = worst(name, cases)
    assert farthest <= TOLERANCES_OF_TWO[name], found


@pytest.mark.parametrize("name", INSIDE)
def test_a_number_outside_of_what_a_function_is_defined_for_gives_nan(name: str) -> None:
    cases = [(x,) for x in arguments(name, [(-1e6, 1e6), (-2, 2)]) if not INSIDE[name](x)]
    assert len(cases) >= 100
    assert [
        case for case, found in zip(cases, in_guest(name, cases), strict=True) if not math.isnan(found)
    ] == []


@pytest.mark.parametrize("name", [*TOLERANCES, *TOLERANCES_OF_TWO])
def test_the_ends_of_a_function_are_those_of_the_language(name: str) -> None:
    cases = [*ends(name), *([((NAN,), NAN)] if name in TOLERANCES else [])]
    found = in_guest(name, [case for case, _ in cases])
    assert [repr(x) for x in found] == [repr(float(expected)) for _, expected in cases]


def test_powers_of_ten_and_two_have_whole_logarithms_and_cubes_whole_roots() -> None:
    tens = [(float(f"1e{n}"),) for n in range(-307, 309)]
    assert in_guest("log10", tens) == [float(n) for n in range(-307, 309)]
    twos = [(math.ldexp(1.0, n),) for n in range(-1074, 1024)]
    assert in_guest("log2", twos) == [float(n) for n in range(-1074, 1024)]
    assert in_guest("cbrt", [(float(n**3),) for n in range(-200, 200)]) == [
        float(n) for n in range(-200, 200)
    ]


def half(x: float) -> float:
    try:
        return struct.unpack("<e", struct.pack("<e", x))[0]
    except OverflowError:
        return math.copysign(INF, x)


def single(x: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(INF, x)


def rounded(x: float) -> float:
    """Ties go up, and a zero keeps the sign of what it came from."""
    if not math.isfinite(x) or abs(x) >= 2**52:
        return x
    below = math.floor(x)
    return math.copysign(float(below + 1 if Decimal(x) - below >= Decimal("0.5") else below), x)


def whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: math.copysign(float(function(x)), x) if math.isfinite(x) else x


EXACT: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "floor": whole(math.floor),
    "ceil": whole(math.ceil),
    "trunc": whole(math.trunc),
    "round": rounded,
    "sign": lambda x: x if x == 0 or math.isnan(x) else math.copysign(1.0, x),
    "fround": single,
    "f16round": half,
    "clz32": lambda x: float(32 - (int(x) % 2**32 if math.isfinite(x) else 0).bit_length()),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_function_that_need_not_round_is_exact(name: str) -> None:
    given = arguments(name, [(-1e6, 1e6), (-2, 2)]) + [n / 2 for n in range(-41, 41)]
    cases = [(math.copysign(x, 1) if math.isnan(x) else x,) for x in given]
    found = in_guest(name, cases)
    assert [repr(x) for x in found] == [repr(EXACT[name](x)) for (x,) in cases]


def least(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y):
        return NAN
    return min(x, y) if x != y else x if math.copysign(1, x) < 0 else y


def multiplied(x: float, y: float) -> float:
    a, b = (int(z) % 2**32 if math.isfinite(z) else 0 for z in (x, y))
    return float((a * b + 2**31) % 2**32 - 2**31)


EXACT_OF_TWO: dict[str, Callable[[float, float], float]] = {
    "min": least,
    "max": lambda x, y: -least(-x, -y),
    "imul": multiplied,
}


@pytest.mark.parametrize("name", EXACT_OF_TWO)
def test_a_function_of_two_that_need_not_round_is_exact(name: str) -> None:
    cases = pairs(name)
    expected = [EXACT_OF_TWO[name](x, y) for x, y in cases]
    found = in_guest(name, cases)
    assert [repr(x) for x in found] == [
        repr(x).removeprefix("-") if math.isnan(x) else repr(x) for x in expected
    ]


def test_a_sum_is_as_if_it_were_rounded_once() -> None:
    draw = random.Random("sum")
    lists = [[10 ** draw.uniform(-30, 30) * draw.choice((1, -1)) for _ in range(40)] for _ in range(100)]
    text = "[" + ",".join("[" + ",".join(map(repr, numbers)) + "]" for numbers in lists) + "]"
    assert run(f"return {text}.map((numbers) => Math.sumPrecise(numbers))").value == [
        math.fsum(x) for x in lists
    ]


def test_every_function_of_math_is_compared_but_random() -> None:
    names = run("return Object.getOwnPropertyNames(Math).filter((n) => typeof Math[n] === 'function')").value
    compared = {*TOLERANCES, *TOLERANCES_OF_TWO, *EXACT, *EXACT_OF_TWO, "sumPrecise"}
    assert set(names) - compared == {"random"}


def test_the_constants_of_math_are_the_nearest_doubles() -> None:
    two, ten = Decimal(2), Decimal(10)
    constants = {
        "E": Decimal(1).exp(),
        "LN10": ten.ln(),
        "LN2": two.ln(),
        "LOG2E": 1 / two.ln(),
        "LOG10E": 1 / ten.ln(),
        "PI": math_reference.pi(),
        "SQRT1_2": (1 / two).sqrt(),
        "SQRT2": two.sqrt(),
    }
    found = run(f"return {list(constants)}.map((name) => Math[name])").value
    assert found == [float(constant) for constant in constants.values()]
