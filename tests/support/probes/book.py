"""The pages of the probe book whose APIs are offered. What is recorded and not offered yet waits for its time."""

from barnabas.broker.api.api_table import API_TABLE, TELEMETRY_TABLE
from tests.support.probes.page import pages

OFFERED = {
    (row.key.api_name, version)
    for row in (*API_TABLE, *TELEMETRY_TABLE)
    for version in range(row.min_version, row.max_version + 1)
}
_APIS = {api for api, _ in OFFERED}
BOOK = [page for page in pages() if {api for api, _ in page.asked} <= _APIS]
SHORT = [page for page in BOOK if not page.is_long]
