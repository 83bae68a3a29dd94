"""The pages, and what can be done on them. Each module has what its templates show, in plain values."""

from barnabas.broker.console.pages import transactions

PAGES = (*transactions.PAGES,)
ACTIONS = (*transactions.ACTIONS,)
