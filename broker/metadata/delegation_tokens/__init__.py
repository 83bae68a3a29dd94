"""Delegation tokens (KIP-48): made, prolonged, taken back, kept in the catalogue, and logged in with.

Imported only where `delegation.token.secret.key` is set, or when somebody asks about tokens. How a client logs in with
one is in `broker/security/sasl/scram.py`; who may ask for one, and about whose, in the handlers of the four APIs.

Invariant: the secret key and what is computed from it are in no log, no error, no event and no repr.
"""
