#!/usr/bin/python3
"""latency.py SECONDS KEYS BYTES get|set NAME=PORT...: one client that waits for each reply.

Takes the servers in turns, 50 requests each, of uniformly random keys (key:000000000042).
Prints the median latency of each server in us, as JSON. Fails if a GET finds no value of BYTES.
"""
import json
import random
import socket
import statistics
import sys
import time

TURN = 50


class Server:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.latencies = []

    def ask(self, request, expected):
        begin = time.perf_counter_ns()
        self.socket.sendall(request)
        reply = b""
        while len(reply) < len(expected) and expected.startswith(reply):
            part = self.socket.recv(65536)
            if not part:
                break
            reply += part
        self.latencies.append(time.perf_counter_ns() - begin)
        if reply != expected:
            sys.exit(f"latency.py: a reply is {reply[:80]!r}, not {expected[:80]!r}")


def request_of(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def main(seconds, keys, size, command, servers):
    value = b"x" * size
    expected = b"$%d\r\n%s\r\n" % (size, value) if command == "get" else b"+OK\r\n"
    tail = [] if command == "get" else [value]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for server in servers.values():
            for _ in range(TURN):
                key = b"key:%012d" % random.randrange(keys)
                server.ask(request_of(command.upper().encode(), key, *tail), expected)
    print(json.dumps({name: statistics.median(server.latencies) / 1000
                      for name, server in servers.items()}))


if __name__ == "__main__":
    names = (argument.split("=") for argument in sys.argv[5:])
    main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4],
         {name: Server(int(port)) for name, port in names})
