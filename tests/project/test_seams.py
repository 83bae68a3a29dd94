"""Where the machine is reached: its time, chance, files, sockets, threads and processes.

Everything else in the broker, the storage and the client is given them, so a simulated world (docs/testing-barnabas.md)
is the whole world. A place may be added here if no simulated broker comes by it, or if what it gets can change nothing.
"""

import functools

import pytest

from tests.support import source_tree as tree

COMMAND_LINE = ("broker/cli/", "broker/cli/doctor/", "broker/cli/serving/ephemeral.py")
"""Programs of their own, which run in no world."""
WORLD = ("broker/", "storage/", "client/")
PRODUCT = (*WORLD, "barnabas/", "protocol/", "logfiles/", "pyspark_barnabas/")
SEAMS = {
    "time": (
        (*PRODUCT, "pipeline/", "docs/", "examples/"),
        ("time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.perf_counter", "time.sleep"),
        (
            "broker/cli/terminal/output.py",  # how long a command has been running
            "broker/runtime/clock.py",
            "client/clock.py",
        ),
    ),
    "chance": (
        PRODUCT,
        ("os.urandom", "secrets.", "random.", "uuid.uuid1", "uuid.uuid4"),
        (
            "broker/http/console/sign_in.py",  # the secret of browsers' sessions, over HTTP
            "broker/server/seeding/applying.py",  # the salt of a password, before the first client
            "broker/control/faults/matching.py",  # dice of the plan's own seed
            "client/consume/consumer_membership.py",  # unless an id is passed in
            "client/consume/share/share_consumer.py",  # likewise
            "client/security/sasl.py",  # nonces, unless they are passed in
            "pyspark_barnabas/spark_sink/",  # the id of a write, which Spark gives to all its tasks
            "storage/cleaner/offset_map.py",  # where a key lies in a table that nobody sees
        ),
    ),
    "files": (
        WORLD,
        ("open", "os.open", "os.fsync", "os.listdir", "os.remove", "os.rename", "os.replace", "os.scandir", "os.stat"),
        (
            "broker/network/advertised_address.py",  # the machine's routes, for `Network.default_gateways`
            "broker/server/secure/directory.py",  # made before there is a broker
            "broker/server/seeding/",  # the files of a seed, read before the first client
            "broker/security/oauth_keys/files.py",  # keys of tokens, which no simulated broker has
            "broker/runtime/workers/",  # processes beside the loop, which a broker may be told to do without
            "client/security/client_properties.py",  # the file of --command-config, which commands read
            "storage/disk/",
        ),
    ),
    "sockets": (
        WORLD,
        ("socket.socket", "socket.create_connection", "socket.getaddrinfo", "socket.create_server"),
        ("broker/network/bound_sockets.py", "client/network.py"),
    ),
    "threads and processes": (
        WORLD,
        ("threading.Thread", "subprocess.", "os.fork", "multiprocessing."),
        ("broker/runtime/workers/",),
    ),
}


@functools.cache
def _calls(what: str) -> list[tuple[str, int, str]]:
    """(file, line, call) of what is a seam's matter."""
    tops, calls, _ = SEAMS[what]
    modules = tuple(name for name in calls if name.endswith("."))
    return [
        (str(path), line, call)
        for path in tree.python_files()
        if str(path).startswith(tops)
        for line, call in tree.calls(path)
        if call in calls or call.startswith(modules)
    ]


@pytest.mark.parametrize("what", SEAMS)
def test_the_machine_is_reached_at_its_seams_only(what: str) -> None:
    places = SEAMS[what][2] if what == "time" else (*COMMAND_LINE, *SEAMS[what][2])
    found = [f"{path}:{line} calls {call}" for path, line, call in _calls(what) if not path.startswith(places)]
    assert found == []


@pytest.mark.parametrize("what", SEAMS)
def test_every_seam_is_needed(what: str) -> None:
    places = SEAMS[what][2]
    used = {place for place in places for path, _, _ in _calls(what) if path.startswith(place)}
    assert used == set(places)
