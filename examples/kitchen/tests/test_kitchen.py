"""The tests of the kitchen."""

from fractions import Fraction

import pytest

from kitchen.amounts import amount, scaled, written
from kitchen.times import minutes


@pytest.mark.parametrize("text", ["1", "3/4", "2 2/3"])
def test_an_amount_that_was_read_is_written_alike(text: str) -> None:
    assert written(amount(text)) == text


def test_a_recipe_for_more_people_and_back() -> None:
    line = "2 1/2 cups of milk"
    assert scaled(scaled(line, 3), Fraction(1, 3)) == line


def test_a_time_has_units() -> None:
    with pytest.raises(KeyError):
        minutes("1 hour")
