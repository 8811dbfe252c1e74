"""faulty_disk.py: a file system of one file (FUSE) some pages of which cannot be read, or written to.

The kernel sends its requests through /dev/fuse; a thread of this process answers them. The file must be opened in a
child process: a thread that waits for a page with the GIL would wait for the thread that answers for ever.
"""

import ctypes
import errno
import os
import stat
import struct
import threading

import numpy as np
import pytest

PAGE = 4096
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, RELEASE, FSYNC, FLUSH, INIT = (
    1,
    2,
    3,
    4,
    14,
    15,
    16,
    18,
    20,
    25,
    26,
)
INTERRUPT, BATCH_FORGET = 36, 42
WITHOUT_ANSWER = (FORGET, INTERRUPT, BATCH_FORGET)
ROOT, FILE = 1, 2  # inode numbers
DETACH = 2  # umount2
KEPT = 1000  # seconds for which the kernel keeps attributes


class FaultyDisk:
    """Mounted at `folder` inside of a `with` block; the file is `path` and has the bytes of `content`.

    A request that touches a page whose number is in `unreadable` or `unwritable` fails with EIO.
    """

    def __init__(self, folder, content, name="x"):
        self.folder, self.name, self.path = folder, name, folder / name
        self.content = np.array(np.frombuffer(content, np.uint8))
        self.unreadable, self.unwritable = set(), set()

    def __enter__(self):
        self.folder.mkdir()
        try:
            self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            pytest.skip("a file system of one's own needs /dev/fuse")
        self.library = ctypes.CDLL(None, use_errno=True)
        options = f"fd={self.device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}".encode()
        if self.library.mount(b"faulty", os.fsencode(self.folder), b"fuse", ctypes.c_ulong(0), options):
            os.close(self.device)
            pytest.skip("mounting a file system of one's own needs root")
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.library.umount2(os.fsencode(self.folder), DETACH)
        self.thread.join(10)
        os.close(self.device)  # ends all requests, also of a thread that did not end

    def _serve(self):
        while True:
            try:
                request = os.read(self.device, (1 << 20) + PAGE)
            except OSError:  # unmounted
                return
            opcode, unique, node = struct.unpack_from("=IQQ", request, 4)
            if opcode in WITHOUT_ANSWER:
                continue
            try:
                answer, error = self._answer(opcode, node, request[40:]), 0
            except OSError as failed:
                answer, error = b"", -failed.errno
            try:
                os.write(self.device, struct.pack("=IiQ", 16 + len(answer), error, unique) + answer)
            except OSError:  # the process that asked has ended
                continue

    def _answer(self, opcode, node, body):
        if opcode == INIT:
            # Version 7.31, with reads and writes of up to 128 KiB.
            return struct.pack("=IIIIHHIIHHI28x", 7, 31, 128 << 10, 0, 12, 9, 128 << 10, 1, 0, 0, 0)
        if opcode == LOOKUP:
            if body.rstrip(b"\0") != os.fsencode(self.name):
                raise OSError(errno.ENOENT, "no such file")
            return struct.pack("=QQQQII", FILE, 0, KEPT, KEPT, 0, 0) + self._attributes(FILE)
        if opcode in (GETATTR, SETATTR):
            return struct.pack("=QII", KEPT, 0, 0) + self._attributes(node)
        if opcode == OPEN:
            return struct.pack("=QII", 0, 0, 0)
        if opcode == READ:
            offset, size = struct.unpack_from("=QI", body, 8)
            self._check(self.unreadable, offset, size)
            return self.content[offset : offset + size].tobytes()
        if opcode == WRITE:
            offset, size = struct.unpack_from("=QI", body, 8)
            self._check(self.unwritable, offset, size)
            self.content[offset : offset + size] = np.frombuffer(body, np.uint8, size, 40)
            return struct.pack("=II", size, 0)
        if opcode in (RELEASE, FLUSH, FSYNC):
            return b""
        raise OSError(errno.ENOSYS, "not served")

    def _attributes(self, node):
        size = self.content.size if node == FILE else 0
        mode = stat.S_IFREG | 0o600 if node == FILE else stat.S_IFDIR | 0o700
        return struct.pack(
            "=6Q10I", node, size, -(-size // 512), 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, PAGE, 0
        )

    @staticmethod
    def _check(pages, offset, size):
        if pages.intersection(range(offset // PAGE, -(-(offset + size) // PAGE))):
            raise OSError(errno.EIO, "this page fails")
