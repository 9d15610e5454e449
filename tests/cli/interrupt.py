"""interrupt.py TOOL SCHEME|FILE: a server that takes connections and says nothing, or a file of SQLite
that another writer keeps to itself; each command that talks to it is interrupted, and has to end at
once. Prints what did not."""

import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time

COMMANDS = """
lock k -- true
lock k --wait 60s -- true
lock k --wait forever -- true
lock k --permits 1 --of 3 -- true
elect k -- true
once k --per 1h -- true
once k --per 1h --wait 60s -- true
once k --per 1h --dry-run -- true
work --queue q -- true
work --queue q --drain -- true
locks
locks --watch
sessions
runs
runs --forget k
history
unlock k --force
unlock k --ask
job enqueue --queue q x
job list
job show 1
job cancel 1
job retry 1
queue
queue stats
queue stats q
queue pause q
queue resume q
queue limit q
queue limit q --running 4
schedule list
schedule add s --queue q --per 1h
schedule remove s
schedule pause s
schedule resume s
history on
history off
history status
reap
doctor
doctor k
top
top --once
serve
migrate
migrate status
migrate sql --grants u
migrate down --to 0
"""


@contextlib.contextmanager
def silent_server(scheme):
    """Its URL, and what waits until a process has connected."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        silent.settimeout(0.1)
        held = []

        def has_connected(process):
            deadline = time.monotonic() + 20
            while not held and process.poll() is None and time.monotonic() < deadline:
                with contextlib.suppress(TimeoutError):
                    held.append(silent.accept()[0])
            return bool(held) or process.poll() == 0  # it asks nothing of the server

        yield f"{scheme}://u:p@127.0.0.1:{silent.getsockname()[1]}/d", has_connected
        for each in held:
            each.close()


@contextlib.contextmanager
def locked_file(file):
    """The same of a file that nobody else can read or write, and of a process that naps for it."""
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("PRAGMA locking_mode = EXCLUSIVE")
    writer.execute("BEGIN IMMEDIATE")

    def naps(process):
        deadline = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                for thread in os.listdir(f"/proc/{process.pid}/task"):
                    with open(f"/proc/{process.pid}/task/{thread}/wchan", encoding="ascii") as at:
                        if "nanosleep" in at.read():
                            return True
            time.sleep(0.002)
        return process.poll() == 0  # it asks nothing of the file

    yield f"sqlite:{file}", naps
    writer.close()


def interrupt(command, url, is_waiting):
    """Whether it has ended at once."""
    process = subprocess.Popen(
        [tool, "--url", url] + command.split(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    waited = is_waiting(process)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        said, _ = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
    took = time.monotonic() - began
    if waited and took <= 1 and process.returncode in (0, 130, -signal.SIGINT):
        return True
    print(f"{command}: {took:.2f} s, status {process.returncode}, has waited: {waited}")
    print(said.decode(errors="replace"))
    return False


tool, where = sys.argv[1:]
away = locked_file if where.startswith("/") else silent_server
failures = 0
for line in COMMANDS.strip().splitlines():
    # A machine that stands still does so once; a command that does not end at once, each time.
    for _ in range(3):
        with away(where) as (address, waits):
            if interrupt(line, address, waits):
                break
    else:
        failures += 1
sys.exit(failures > 0)
