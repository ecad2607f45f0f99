"""Amounts as recipes write them, such as 2, 1/2 or 1 1/2."""

from fractions import Fraction


def amount(text: str) -> Fraction:
    """Return the amount in a text.

    >>> amount("2")
    Fraction(2, 1)
    >>> amount("1 1/2")
    Fraction(3, 2)
    """
    return sum((Fraction(part) for part in text.split()), Fraction())


def written(value: Fraction) -> str:
    """Return an amount as a recipe writes it.

    >>> written(Fraction(3, 2))
    '1 1/2'
    >>> written(Fraction(1, 3))
    '1/3'
    >>> written(Fraction(4))
    '4'
    >>> written(Fraction(0))
    '0'
    """
    whole, rest = divmod(value, 1)
    return " ".join(str(part) for part in (whole, rest) if part) or "0"


def scaled(line: str, factor: int | Fraction) -> str:
    """Return a line of a recipe for more or fewer people.

    >>> scaled("1 1/2 cups of flour", 2)
    '3 cups of flour'
    >>> scaled("3 eggs", 4)
    '12 eggs'
    >>> scaled("salt", 2)
    'salt'
    """
    words = line.split(" ")
    numbers = [word for word in words[:2] if word[0].isdigit()]
    if not numbers:
        return line
    return " ".join([written(amount(" ".join(numbers)) * factor), *words[len(numbers) :]])
