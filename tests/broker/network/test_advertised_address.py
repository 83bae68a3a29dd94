"""What is advertised to a peer, by how it came in."""

import pytest

from barnabas.broker.config import BrokerConfig, Listener
from barnabas.broker.metadata.cluster.node_view import Node
from barnabas.broker.network.advertised_address import AdvertisedAddress, gateways_of, plain_host
from barnabas.broker.network.bound_sockets import bind_nodes, close_sockets

OWN, PEER, GATEWAY, LOOPBACK = "172.18.0.2", "172.18.0.7", "172.18.0.1", "127.0.0.1"
NODE = Node(1, "cluster", "unused", 1)


def address(host: str = "", configured: Listener | None = None, *, in_container: bool = False) -> AdvertisedAddress:
    gateways = (lambda: {GATEWAY, "fd00::1"}) if in_container else None
    return AdvertisedAddress(NODE, Listener("PLAINTEXT", host, 9092, "PLAINTEXT"), configured, 9092, gateways)


@pytest.mark.parametrize("local", [LOOPBACK, OWN, "::1", "fd00::2"])
def test_a_peer_is_given_the_address_by_which_it_came_in(local: str) -> None:
    assert address().to(local, PEER) == Node(1, "cluster", local, 9092)


def test_the_configured_address_is_advertised_on_every_listener() -> None:
    configured = Listener("PLAINTEXT", "kafka.example", 29092, "PLAINTEXT")
    for in_container in (False, True):
        assert address("", configured, in_container=in_container).to(OWN, GATEWAY)[2:4] == ("kafka.example", 29092)


def test_an_advertised_port_0_is_the_one_that_is_bound() -> None:
    assert address("", Listener("PLAINTEXT", "here", 0, "PLAINTEXT")).to(OWN, PEER)[2:4] == ("here", 9092)


@pytest.mark.parametrize(
    ("local", "peer", "advertised"),
    [
        (OWN, GATEWAY, "localhost"),  # a mapped port
        (OWN, PEER, OWN),  # the container's own network
        (LOOPBACK, LOOPBACK, LOOPBACK),  # a process in the container
        (OWN, OWN, "localhost"),  # a port forwarded without root, or the container itself
        ("fd00::2", "fd00::1", "localhost"),
        ("fd00::2", "fd00::7", "fd00::2"),
    ],
)
def test_in_a_container_who_comes_from_the_gateway_is_given_localhost(local: str, peer: str, advertised: str) -> None:
    assert address(in_container=True).to(local, peer)[2:4] == (advertised, 9092)


def test_a_listener_on_one_address_of_the_container_tells_that_one() -> None:
    assert address(OWN, in_container=True).to(OWN, OWN).host == OWN


def test_outside_a_container_the_gateway_is_a_peer_like_any_other() -> None:
    assert address().to(OWN, GATEWAY).host == OWN


def test_ipv4_over_an_ipv6_socket_is_written_as_ipv4() -> None:
    hosts = ["::ffff:172.18.0.2", "::1", "fe80::ffff:1", "10.0.0.1"]
    assert [plain_host(host) for host in hosts] == ["172.18.0.2", "::1", "fe80::ffff:1", "10.0.0.1"]


def test_default_gateways_are_read_from_the_kernels_tables() -> None:
    ipv4 = (
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        "eth0\t00000000\t010012AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
        "eth0\t000012AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
        "eth1\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n"
    )
    nowhere, gateway = "0" * 32, "fd000000000000000000000000000001"
    ipv6 = (
        f"{nowhere} 00 {nowhere} 00 {gateway} 00000400 00000001 00000000 00000003 eth0\n"
        f"fd000000000000000000000000000000 40 {nowhere} 00 {nowhere} 00000100 00000001 00000000 00000001 eth0\n"
        f"{nowhere} 00 {nowhere} 00 {nowhere} ffffffff 00000001 00000000 00200200 lo\n"
    )
    assert gateways_of(ipv4, ipv6) == {"172.18.0.1", "fd00::1"}
    assert gateways_of("", "") == set()


def test_advertised_ports_of_nodes_follow_each_other_wherever_the_nodes_have_been_before() -> None:
    static = {"listeners": "PLAINTEXT://127.0.0.1:0", "advertised.listeners": "PLAINTEXT://h:65533"}
    bound = [each for node in bind_nodes(BrokerConfig(static), 3, [0, 700, -8]) for each in node]
    for each in bound:
        close_sockets(each)
    assert [each.client_port for each in bound] == [65533, 65534, 65535]
