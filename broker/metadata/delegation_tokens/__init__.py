"""Delegation tokens (KIP-48): created, renewed, expired, stored in the catalogue, and used to log in.

Imported only if `delegation.token.secret.key` is set, or when a client asks about tokens. How a client logs in with a
token is in `broker/security/sasl/scram.py`; who may request a token, and about whose, in the handlers of the four APIs.

Invariant: the secret key and the values computed from it are in no log, no error, no event and no repr.
"""
