"""Checks numbers given by users before anything is done with them."""

from __future__ import annotations

import operator
from typing import Any, Type


def whole(value: Any, rule: str, least: int, error: Type[ValueError] = ValueError) -> int:
    """The number, which may be numpy's; ``rule`` says in words what it must be.

    Raises:
        TypeError: It is not a whole number.
        ValueError: It is below ``least``; or an error of that kind.
    """
    wrong = f"{rule}, not {value!r}"
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(wrong) from None
    # True stands for a forgotten number.
    if isinstance(value, bool):
        raise TypeError(wrong)
    if number < least:
        raise error(wrong)
    return number
