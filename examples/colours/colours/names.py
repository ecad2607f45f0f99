"""Colours as style sheets write them."""


def parsed(colour: str) -> tuple[int, int, int]:
    """Return the red, green and blue of a colour, from 0 to 255.

    >>> parsed("#1e90ff")
    (30, 144, 255)
    >>> parsed("#fa0")
    (255, 170, 0)
    >>> parsed("tomato")
    Traceback (most recent call last):
        ...
    ValueError: 'tomato' is not a colour such as #fa0 or #1e90ff
    """
    digits = colour.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    if not colour.startswith("#") or len(digits) != 6:
        raise ValueError(f"{colour!r} is not a colour such as #fa0 or #1e90ff")
    red, green, blue = bytes.fromhex(digits)
    return red, green, blue


def written(red: int, green: int, blue: int) -> str:
    """Return a colour as a style sheet writes it.

    >>> written(30, 144, 255)
    '#1e90ff'
    """
    return f"#{red:02x}{green:02x}{blue:02x}"
