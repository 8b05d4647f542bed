#!/usr/bin/env python3
"""send_blocks.py RATE FILE: sends a file over a connection, again and again, at RATE bytes a second, as a
server does for the repair of a code. Ends on SIGTERM, and prints the bytes a second that it sent. The other
end, which elsewhere is on another machine, runs at the lowest priority, and drops what it receives."""
import os
import signal
import socket
import sys
import time

BLOCK = 1 << 18

rate, path = float(sys.argv[1]), sys.argv[2]
listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    os.nice(19)
    peer = socket.create_connection(listener.getsockname())
    listener.close()
    buffer = bytearray(BLOCK)
    while peer.recv_into(buffer):
        pass
    os._exit(0)

peer, _ = listener.accept()
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
size, sent, begin = os.path.getsize(path), 0, time.monotonic()
try:
    with open(path, "rb") as file:
        while True:
            sent += os.sendfile(peer.fileno(), file.fileno(), sent % size, BLOCK)
            time.sleep(max(0, begin + sent / rate - time.monotonic()))
finally:
    print(round(sent / (time.monotonic() - begin)))
