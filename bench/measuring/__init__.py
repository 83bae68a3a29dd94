"""How a load is measured on several brokers: warmed, in alternating rounds, reported with medians and spreads."""
