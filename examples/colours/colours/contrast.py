"""The contrast of two colours, as the Web Content Accessibility Guidelines define it."""

from colours.names import parsed


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour: 0 for black, 1 for white.

    >>> luminance("#000")
    0.0
    >>> round(luminance("#1e90ff"), 3)
    0.274
    """
    shares = [channel / 255 for channel in parsed(colour)]
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21. Their order does not matter.

    >>> contrast("#000", "#fff")
    21.0
    >>> contrast("#767676", "#fff") == contrast("#fff", "#767676")
    True
    >>> round(contrast("#767676", "#fff"), 2)
    4.54
    """
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


def is_readable(text: str, background: str, *, large: bool = False) -> bool:
    """Return whether a text has enough contrast (level AA). Large text needs less.

    >>> is_readable("#767676", "#fff")
    True
    >>> is_readable("#777", "#fff")
    False
    >>> is_readable("#777", "#fff", large=True)
    True
    """
    return contrast(text, background) >= (3 if large else 4.5)
