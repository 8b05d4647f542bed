"""A proxy that loses writes: the negative control of the judges.

usage: lossy_proxy.py PORT_OF_SERVER PORT_FILE

Each 20th SET goes to another key, so the client gets its OK in order but the value is lost. The proxy
writes its own port to PORT_FILE.
"""

import socket
import sys
import threading

server_port, port_file = int(sys.argv[1]), sys.argv[2]
sets = 0
lock = threading.Lock()


def read_command(stream):
    """Returns the arguments of the next command, or None at the end of the stream."""
    header = stream.readline()
    if not header.startswith(b"*"):
        return None
    arguments = []
    for _ in range(int(header[1:])):
        size = int(stream.readline()[1:])
        arguments.append(stream.read(size + 2)[:-2])
    return arguments


def encode(arguments):
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        parts.append(b"$%d\r\n%b\r\n" % (len(argument), argument))
    return b"".join(parts)


def lose_some(command):
    global sets
    if command[0].upper() == b"SET":
        with lock:
            sets += 1
            if sets % 20 == 0:
                command[1] = b"lost"
    return command


def forward_requests(client, server):
    try:
        stream = client.makefile("rb")
        while (command := read_command(stream)) is not None:
            server.sendall(encode(lose_some(command)))
    except OSError:
        pass
    shut(server)


def forward_replies(server, client):
    try:
        while data := server.recv(1 << 16):
            client.sendall(data)
    except OSError:
        pass
    shut(client)


def shut(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def main():
    listener = socket.create_server(("127.0.0.1", 0), backlog=200)
    with open(port_file, "w") as out:
        out.write("%d\n" % listener.getsockname()[1])
    while True:
        client, _ = listener.accept()
        try:
            server = socket.create_connection(("127.0.0.1", server_port))
        except OSError:
            client.close()
            continue
        for target, ends in ((forward_requests, (client, server)), (forward_replies, (server, client))):
            threading.Thread(target=target, args=ends, daemon=True).start()


main()
