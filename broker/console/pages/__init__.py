"""The pages, and what can be done on them. Each module has what its templates show, in plain values."""

from barnabas.broker.console.pages import partition, transactions

PAGES = (*transactions.PAGES, *partition.PAGES)
ACTIONS = (*transactions.ACTIONS,)
