"""AdaCoder's first steps: change what you like, this file is yours."""


def initials(name):
    """The initials of a name, in capitals.

    >>> initials("ada lovelace")
    'AL'
    >>> initials("grace brewster hopper")
    'GBH'
    """


def circle_area(radius):
    """The area of a circle, rounded to two places.

    >>> circle_area(1)
    3.14
    >>> circle_area(2.5)
    19.63
    """
    return round(math.pi * radius**2, 2)


def grade(points):
    """The grade for some points out of 100.

    >>> grade(95)
    'A'
    >>> grade(40)
    'F'
    """
    if points >= 90:
        return "A"
    if points >= 75:
        return "B"
    return "F"
