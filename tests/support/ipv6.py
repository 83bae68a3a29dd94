"""Whether this machine's loopback speaks IPv6, which some machines do not have."""

import socket


def speaks_ipv6() -> bool:
    """Whether ::1 can be listened on."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True
