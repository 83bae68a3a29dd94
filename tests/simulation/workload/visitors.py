"""The programs of clients that die in the middle: of a request that waits, or of a frame."""

from tests.simulation.clients.reader import Reader
from tests.simulation.world.network import Network
from tests.simulation.world.process import Process

_FOR_LONG_MS = 60_000
_HALF_A_FRAME = b"\x00\x01\x00\x00" + bytes(1_000)  # of 64 KiB


async def waiting_for_more(reader: Reader) -> None:
    """A Fetch at the end of the log, where nothing comes any more."""
    await reader.poll(wait_ms=_FOR_LONG_MS)


async def sending_half(network: Network, process: Process, port: int) -> None:
    """A frame that does not end."""
    end = await network.connect(process, port, lambda: None)
    end.send(_HALF_A_FRAME)
