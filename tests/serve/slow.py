"""slow.py HOST:PORT: passes connections on to there, and each answer a second after it has come.
Prints its own port."""

import socket
import sys
import threading
import time

host, port = sys.argv[1].rsplit(":", 1)


def pass_on(source, target, seconds):
    try:
        while piece := source.recv(65536):
            time.sleep(seconds)
            target.sendall(piece)
    except OSError:
        pass
    for each in (source, target):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    client, _ = listener.accept()
    server = socket.create_connection((host, int(port)))
    for source, target, seconds in ((client, server, 0), (server, client, 1)):
        threading.Thread(target=pass_on, args=(source, target, seconds), daemon=True).start()
