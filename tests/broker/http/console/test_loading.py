"""What a broker with --http loads of the console: nothing, before somebody asks for it."""

import subprocess
import sys

from tests.support.source_tree import ROOT

_PROGRAM = """
import asyncio, socket, sys

before = set(sys.modules)  # what measures coverage has imported something, too


def loaded():
    wanted = ("barnabas.broker.http.console", "starlette", "jinja2")
    return [name for name in wanted if name in set(sys.modules) - before]


async def turning(turns):
    while True:
        turns.append(None)
        await asyncio.sleep(0)  # one turn of the loop


async def main():
    from tests.support.worlds.broker import BrokerWorld
    from barnabas.broker.network.network import LoopNetwork

    world = BrokerWorld(network=LoopNetwork())
    with socket.create_server(("127.0.0.1", 0)) as bound:
        address = bound.getsockname()
        await world.broker.open_http([bound], None)
        print(loaded())
        for path in ("/live", "/metrics", "/console/health"):
            turns = []
            task = asyncio.ensure_future(turning(turns))
            reader, writer = await asyncio.open_connection(*address)
            writer.write(f"GET {path} HTTP/1.1\\r\\nhost: localhost\\r\\nconnection: close\\r\\n\\r\\n".encode())
            print((await reader.readline()).decode().strip(), loaded())
            task.cancel()
            if "console" in path:
                print("others have their turns:", len(turns) > 200)
            writer.close()
        await world.close()


asyncio.run(main())
"""


def test_nothing_of_the_console_is_loaded_before_it_is_requested() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[]",
        "HTTP/1.1 200 OK []",
        "HTTP/1.1 200 OK []",
        "HTTP/1.1 200 OK ['barnabas.broker.http.console', 'starlette', 'jinja2']",
        "others have their turns: True",
    ]
