"""Shared expenses: who paid, who owes, and how to settle."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Expense:
    """Cents that one person paid for several people."""

    payer: str
    cents: int
    people: tuple[str, ...]


def shares(cents: int, people: int) -> list[int]:
    """Split cents among people. The first ones pay the cents that are left over."""
    share, left = divmod(cents, people)
    return [share + 1] * left + [share] * (people - left)


def balances(expenses: Iterable[Expense]) -> dict[str, int]:
    """Return the cents that each person gets (above zero) or owes (below zero)."""
    balance = Counter[str]()
    for expense in expenses:
        balance[expense.payer] += expense.cents
        balance.subtract(dict(zip(expense.people, shares(expense.cents, len(expense.people)), strict=True)))
    return dict(balance)


def payments(balance: dict[str, int]) -> list[tuple[str, str, int]]:
    """Return payments (from, to, cents) after which everybody is even. The largest debts come first."""
    left = dict(balance)
    found = []
    while any(left.values()):
        debtor, creditor = min(left, key=left.__getitem__), max(left, key=left.__getitem__)
        cents = min(-left[debtor], left[creditor])
        left[debtor] += cents
        left[creditor] -= cents
        found.append((debtor, creditor, cents))
    return found
