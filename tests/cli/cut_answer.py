"""A relay before a server that loses one answer: that of the statement which ends a job.

    cut_answer.py PORT_FILE HOST PORT WORDS CHECK

It listens on a free port, which it writes into PORT_FILE. Once a connection has sent something that
the pattern WORDS is found in, each answer on it is kept back until `sh CHECK` has said whether the
job is over. Where it is, that answer is dropped with its connection, once, and PORT_FILE.cut tells.
"""
import os
import re
import socket
import subprocess
import sys
import threading

port_file, host, port, words, check = sys.argv[1:]
pattern = re.compile(words.encode(), re.DOTALL)
lock = threading.Lock()


class Connection:
    def __init__(self, client):
        self.client = client
        self.server = socket.create_connection((host, int(port)))
        self.is_marked = False
        for one, other, is_answer in (
            (self.client, self.server, False),
            (self.server, self.client, True),
        ):
            threading.Thread(target=self.pass_on, args=(one, other, is_answer), daemon=True).start()

    def pass_on(self, one, other, is_answer):
        seen = b""
        try:
            while piece := one.recv(65536):
                if is_answer and self.is_marked and cuts():
                    break
                if not is_answer:
                    seen = (seen + piece)[-100000:]
                    self.is_marked = self.is_marked or pattern.search(seen) is not None
                other.sendall(piece)
        except OSError:
            pass
        for each in (one, other):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def cuts():
    with lock:
        told = port_file + ".cut"
        if os.path.exists(told) or subprocess.run(["sh", check], check=False).returncode != 0:
            return False
        with open(told, "x", encoding="ascii"):
            return True


listener = socket.create_server(("127.0.0.1", 0))
with open(port_file + ".new", "w", encoding="ascii") as to:
    to.write(str(listener.getsockname()[1]))
os.rename(port_file + ".new", port_file)
while True:
    Connection(listener.accept()[0])
