"""The kernel's side of a FUSE file system: /dev/fuse, mounting, and letting go. Linux; needs root."""

import ctypes
import errno
import os
from contextlib import suppress

from tests.support.lossy.messages import REQUEST_BYTES_MAX

DEVICE = "/dev/fuse"
_DETACH = 2  # MNT_DETACH
_NOSUID, _NODEV = 2, 4
_DIRECTORY_MODE = 0o40000


class MountRefused(Exception):
    """There is no FUSE here, or this process may not mount; the message says which of the two."""


class Device:
    """A mount at `place`, a directory with no other mount. MountRefused."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.descriptor = _mount(place)
        self._buffer = bytearray(REQUEST_BYTES_MAX)

    def read(self) -> bytes | None:
        """The next request; None if there is none: the sender may have died."""
        try:
            size = os.readv(self.descriptor, [self._buffer])
        except (BlockingIOError, FileNotFoundError, InterruptedError):
            return None
        return bytes(memoryview(self._buffer)[:size])

    def write(self, answer: bytes) -> None:
        """To the sender; the answer is dropped if that process has died."""
        with suppress(FileNotFoundError):  # that process is dead
            os.write(self.descriptor, answer)

    def cut(self) -> None:
        """End the mount at once: nothing that the kernel still holds gets here, and waiting processes get an error."""
        os.close(self.descriptor)  # the last descriptor: the kernel gives the connection up
        detach(self._place)


def detach(place: str) -> None:
    """Unmount what is mounted there, if anything; processes with open files can still use these."""
    if _library().umount2(os.fsencode(place), _DETACH) != 0 and ctypes.get_errno() != errno.EINVAL:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), place)


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _mount(place: str) -> int:
    try:
        descriptor = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as problem:
        raise MountRefused(f"{DEVICE} cannot be opened: {problem.strerror}") from None
    options = f"fd={descriptor},rootmode={_DIRECTORY_MODE:o},user_id={os.getuid()},group_id={os.getgid()}"
    words = (b"barnabas-lossy", os.fsencode(place), b"fuse")
    if _library().mount(*words, _NOSUID | _NODEV, options.encode()) != 0:
        why = os.strerror(ctypes.get_errno())
        os.close(descriptor)
        raise MountRefused(f"the kernel refuses to mount a FUSE file system: {why}")
    return descriptor
