"""Which APIs are fuzzed: all that a broker offers with SETTINGS, which include APIs that are off by default."""

from barnabas.broker.api.api_table import API_TABLE, TELEMETRY_TABLE

SETTINGS = {"barnabas.client.telemetry.enable": "true"}
TABLE = (*API_TABLE, *TELEMETRY_TABLE)
