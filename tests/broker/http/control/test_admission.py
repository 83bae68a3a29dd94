"""Who may ask for changes."""

import pytest

from barnabas.broker.http.control.admission import Admission

TOKEN = {"authorization": "Bearer secret"}


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:49153", "127.0.0.1:9404", "[::1]:9404", "192.168.1.5:80", "b.localhost:1"]
)
def test_peers_on_this_machine_may_by_address_or_localhost(host: str) -> None:
    assert Admission().refusal({"host": host}, True) is None


@pytest.mark.parametrize("host", ["evil.example", "evil.example:9404", "localhost.evil.example", "[::1", "@", "1.2.3"])
def test_a_name_that_leads_here_is_refused_without_a_token(host: str) -> None:
    refusal = Admission().refusal({"host": host}, True)
    assert refusal is not None
    assert refusal.status == 403
    assert "neither an address nor localhost" in refusal.why
    assert Admission("secret").refusal({"host": host, **TOKEN}, False) is None


def test_a_request_without_a_host_is_refused() -> None:
    refusal = Admission().refusal({}, True)
    assert refusal is not None
    assert refusal.status == 403


def test_a_guarded_request_needs_no_token_and_cross_site_requests_are_refused() -> None:
    guarded = Admission("secret", is_guarded=True)
    assert guarded.refusal({"host": "broker.example"}, False) is None
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        refusal = guarded.refusal({"host": "broker.example", **headers}, True)
        assert refusal is not None
        assert refusal.why == "a page of another site may not send requests"


def test_another_machine_needs_the_token() -> None:
    refusal = Admission().refusal({"host": "192.168.1.5"}, False)
    assert refusal is not None
    assert refusal.why == "allowed only from this machine, unless the broker has a --control-token"
    assert Admission("secret").refusal({"host": "192.168.1.5", **TOKEN}, False) is None


@pytest.mark.parametrize("given", [None, "", "Bearer", "Bearer wrong", "Basic secret", "secret", "Bearer sécret"])
def test_where_there_is_a_token_this_machine_needs_it_too(given: str | None) -> None:
    headers = {"host": "localhost", **({} if given is None else {"authorization": given})}
    refusal = Admission("secret").refusal(headers, True)
    assert refusal is not None
    assert refusal.status == 401
    assert "secret" not in refusal.why


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:3000"},
        {"origin": "http://[::1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_page_of_another_site_is_refused_even_with_the_token(headers: dict[str, str]) -> None:
    for admission in (Admission(), Admission("secret")):
        refusal = admission.refusal({"host": "localhost:9404", **TOKEN, **headers}, True)
        assert refusal is not None
        assert refusal.why == "a page of another site may not send requests"


def test_a_page_of_our_own_may() -> None:
    headers = {"host": "localhost:9404", "origin": "http://localhost:9404", "sec-fetch-site": "same-origin"}
    assert Admission().refusal(headers, True) is None
