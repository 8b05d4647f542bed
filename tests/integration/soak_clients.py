#!/usr/bin/env python3
"""Clients that try to make a docstore-server hold more memory than its limits allow.

Usage: soak_clients.py PORT SECONDS [SEED]

Each thread plays one role after another, at random. At the end the answers are printed by role and
status, and the exit status is 1 if a role was never answered: then the server was not tested.
"""

import collections
import os
import random
import socket
import sys
import threading
import time

MIB = 1 << 20
THREADS = 24
BODY = os.urandom(2 * MIB)  # no store compresses it

lock = threading.Lock()
answers = collections.Counter()


def count(role, what):
    with lock:
        answers[role, what] += 1


class Connection:
    """One connection. Its requests are sent by this thread while its answers are read, or not."""

    def __init__(self, port, role, receive_buffer=None):
        self.role = role
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(20)
        self.socket.connect(("127.0.0.1", port))
        self.input = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def receive_answer(self):
        while b"\r\n\r\n" not in self.input:
            self.fill()
        head, self.input = self.input.split(b"\r\n\r\n", 1)
        lines = head.split(b"\r\n")
        status = int(lines[0].split()[1])
        count(self.role, status)
        if status in (204, 304):
            return status
        length = 0
        for line in lines[1:]:
            name, value = line.split(b":", 1)
            if name.lower() == b"content-length":
                length = int(value)
        while len(self.input) < length:
            self.fill()
        self.input = self.input[length:]
        return status

    def fill(self):
        got = self.socket.recv(1 << 16)
        if not got:
            raise ConnectionError("closed")
        self.input += got

    def exchange(self, requests):
        """Pipelines the requests, and reads their answers meanwhile."""

        def send():
            try:
                for request in requests:
                    self.socket.sendall(request)
            except OSError:
                pass

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        try:
            for _ in requests:
                if self.receive_answer() in (400, 408, 413):
                    break
        finally:
            try:
                self.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sender.join()


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: t\r\n\r\n".encode()


def put(path, size, chunked=False):
    start = random.randrange(len(BODY) - size + 1)
    body = BODY[start : start + size]
    head = f"PUT {path} HTTP/1.1\r\nHost: t\r\n"
    if not chunked:
        return (head + f"Content-Length: {size}\r\n\r\n").encode() + body
    parts = [(head + "Transfer-Encoding: chunked\r\n\r\n").encode()]
    for at in range(0, size, 50_000):
        part = body[at : at + 50_000]
        parts += [f"{len(part):x}\r\n".encode(), part, b"\r\n"]
    return b"".join(parts + [b"0\r\n\r\n"])


def large(i=None):
    return f"/docs/large{random.randrange(150) if i is None else i}/sections/s"


# --- Roles ----------------------------------------------------------------------------------------


def missing(port):
    """Asks for many documents that do not exist, by long names."""
    with Connection(port, "missing") as c:
        name = "%032x" % random.getrandbits(128) * 3
        c.exchange([get(f"/docs/{name}{i}/sections/{name}") for i in range(200)])


def large_bodies(port):
    with Connection(port, "large bodies") as c:
        chunked = random.random() < 0.3
        c.exchange([put(large(), MIB, chunked) for _ in range(random.randrange(1, 24))])


def mixed(port):
    with Connection(port, "mixed") as c:
        requests = []
        for _ in range(100):
            path = f"/docs/mixed{random.randrange(5000)}/sections/s"
            size = int(64 ** random.uniform(0, 2.8))
            requests.append(put(path, size) if random.random() < 0.5 else get(path))
        c.exchange(requests)


def lists(port):
    """Fills documents with sections, and asks for the lists."""
    with Connection(port, "lists") as c:
        document = f"/docs/list{random.randrange(4)}"
        requests = [
            put(f"{document}/sections/{random.randrange(1000):0100d}", 10) for _ in range(50)
        ]
        c.exchange(requests + [get(document)] * 100)


def cold_reads(port):
    with Connection(port, "cold reads") as c:
        c.exchange([get(large(i)) for i in random.sample(range(150), 64)])


def slow_reader(port):
    with Connection(port, "slow reader", receive_buffer=4096) as c:
        c.socket.sendall(b"".join(get(large()) for _ in range(128)))
        for _ in range(20):
            c.socket.recv(4096)
            time.sleep(0.2)
        count("slow reader", "left")


def slow_writer(port):
    with Connection(port, "slow writer") as c:
        c.socket.sendall(put(large(), MIB)[:100])
        for _ in range(20):
            c.socket.sendall(BODY[:1000])
            time.sleep(0.1)
        count("slow writer", "left")


def churn(port):
    for _ in range(20):
        with Connection(port, "churn") as c:
            kind = random.randrange(4)
            if kind == 0:
                c.socket.sendall(get("/healthz")[:20])
            elif kind == 1:
                c.socket.sendall(b"GET / HTTP/1.1\r\nHost: t\r\nX: " + b"x" * 10_000)
                c.receive_answer()
            elif kind == 2:
                c.socket.sendall(put(large(), MIB)[:300_000])
            else:
                c.socket.sendall(get("/stats"))
                c.receive_answer()


def endless_line(port):
    """Sends the line of a chunk, or a trailer, that does not end."""
    with Connection(port, "endless line") as c:
        c.socket.sendall(b"PUT /docs/d/sections/s HTTP/1.1\r\nHost: t\r\n")
        c.socket.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
        c.socket.sendall(random.choice([b"1;a=", b"0\r\nX: "]))
        try:
            for _ in range(32):
                c.socket.sendall(b"a" * MIB)
        except OSError:
            pass  # the server need not read all of it
        count("endless line", "left")


ROLES = {
    "missing": missing,
    "large bodies": large_bodies,
    "mixed": mixed,
    "lists": lists,
    "cold reads": cold_reads,
    "slow reader": slow_reader,
    "slow writer": slow_writer,
    "churn": churn,
    "endless line": endless_line,
}


def play(port, until):
    while time.monotonic() < until:
        role = random.choice(list(ROLES))
        try:
            ROLES[role](port)
        except OSError as error:  # the server may close, and refuse
            count(role, type(error).__name__)
            time.sleep(0.01)


def main():
    port, seconds = int(sys.argv[1]), float(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)
    print(f"soak_clients: seed {seed}", flush=True)
    random.seed(seed)
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=play, args=(port, until)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for role in ROLES:
        got = {what: n for (who, what), n in sorted(answers.items(), key=str) if who == role}
        print(f"soak_clients: {role}: {got}")
    silent = [
        role
        for role in ROLES
        if not any(who == role and what in (200, 201, 204, 404, "left") for who, what in answers)
    ]
    if silent:
        print(f"soak_clients: never answered with success: {silent}")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
