"""The tests of the ledger."""

import pytest

import ledger
from ledger import Expense

TRIP = [
    Expense("ada", 9000, ("ada", "ben", "cleo")),
    Expense("ben", 1000, ("ada", "ben", "cleo")),
]


@pytest.mark.parametrize(
    ("cents", "people", "expected"),
    [(900, 3, [300, 300, 300]), (1000, 3, [334, 333, 333]), (2, 3, [1, 1, 0])],
)
def test_no_cent_is_lost(cents: int, people: int, expected: list[int]) -> None:
    assert ledger.shares(cents, people) == expected


def test_nobody_pays_for_an_empty_ledger() -> None:
    assert ledger.balances([]) == {}
    assert ledger.payments({}) == []


def test_a_person_who_paid_gets_money_back() -> None:
    assert ledger.balances(TRIP) == {"ada": 5666, "ben": -2333, "cleo": -3333}


def test_after_all_payments_everybody_is_even() -> None:
    balance = ledger.balances(TRIP)
    for debtor, creditor, cents in ledger.payments(balance):
        balance[debtor] += cents
        balance[creditor] -= cents
    assert set(balance.values()) == {0}
