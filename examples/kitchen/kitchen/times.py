"""Times as recipes write them, such as 45 min or 1 h 20 min."""

MINUTES = {"h": 60, "min": 1}


def minutes(text: str) -> int:
    """Return the minutes of a time.

    >>> minutes("1 h 20 min")
    80
    >>> minutes("45 min")
    45
    """
    words = text.split()
    return sum(int(number) * MINUTES[unit] for number, unit in zip(words[::2], words[1::2], strict=True))
