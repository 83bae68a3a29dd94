"""The common part of ShareFetch and ShareAcknowledge (KIP-932): their sessions, acknowledgements and refusals."""
