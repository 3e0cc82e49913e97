"""Derivatives with as many digits as one likes: Taylor series of Python's decimal numbers."""

import functools
import math
from decimal import Decimal, localcontext

ORDER = 6
DIGITS = (
    400  # of the series of sin z at 100 π cancel 136 of them, in the tail of tanh at 100 cancel 87
)


def plus(a, b):
    return [p + q for p, q in zip(a, b, strict=True)]


def scaled(a, number):
    return [number * p for p in a]


def shifted(a, number):
    return [a[0] + number, *a[1:]]


def product(a, b):
    return [sum(a[i] * b[k - i] for i in range(k + 1)) for k in range(len(a))]


def quotient(a, b):
    found = []
    for k, each in enumerate(a):
        found.append((each - sum(found[i] * b[k - i] for i in range(k))) / b[0])
    return found


def integral(value, slopes, x):
    """The series of y with y′ = p x′."""
    found = [value]
    for k in range(1, len(x)):
        found.append(sum(j * x[j] * slopes[k - j] for j in range(1, k + 1)) / k)
    return found


def exp(x):
    found = [x[0].exp()]
    for k in range(1, len(x)):
        found.append(sum(j * x[j] * found[k - j] for j in range(1, k + 1)) / k)
    return found


def log(x):
    one = [Decimal(1), *[Decimal(0)] * (len(x) - 1)]
    return integral(x[0].ln(), quotient(one, x), x)


def logistic(x):
    decay = exp(scaled(x, -1))
    one = [Decimal(1), *[Decimal(0)] * (len(x) - 1)]
    return quotient(one, shifted(decay, 1))


def tanh(x):
    return shifted(scaled(logistic(scaled(x, 2)), 2), -1)


def softplus(x):
    return log(shifted(exp(x), 1))


def gelu(x):
    """By tanh, as `jax.nn.gelu` is by default."""
    cubic = scaled(product(x, product(x, x)), Decimal("0.044715"))
    argument = scaled(plus(x, cubic), (2 / pi()).sqrt())
    return scaled(product(x, shifted(tanh(argument), 1)), Decimal("0.5"))


def of_power_series(terms, x):
    """Σ_n a_n zⁿ at z = x_0 + t from all the a_n that count: Horner's scheme, of series."""
    found = scaled(x, 0)
    for a in reversed(terms):
        found = shifted(product(found, x), a)
    return found


def derivatives(function, points, digits=DIGITS):
    """f, f′, … f⁽⁶⁾ of a function of series, as numbers of double precision."""
    with localcontext() as context:
        context.prec = digits
        context.Emin, context.Emax = -(10**9), 10**9
        rows = []
        for point in points:
            line = [Decimal(float(point)), Decimal(1), *[Decimal(0)] * (ORDER - 1)]
            rows.append([float(c * math.factorial(k)) for k, c in enumerate(function(line))])
        return list(map(list, zip(*rows, strict=True)))


@functools.cache
def pi():
    """By Machin's formula."""

    def arctan_of_inverse(n):
        power, total, k = Decimal(1) / n, Decimal(0), 0
        while abs(power) > Decimal(10) ** -(DIGITS + 20):
            total += power / (2 * k + 1) * (-1) ** k
            power /= n * n
            k += 1
        return total

    with localcontext() as context:
        context.prec = DIGITS + 30
        return 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)
