"""interrupt.py TOOL SCHEME: a server that takes connections and says nothing; each command that
talks to it is interrupted, and has to end at once. Prints what did not."""

import os
import signal
import socket
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
queue pause q
queue limit q
schedule list
schedule pause s
reap
doctor
doctor k
top --once
serve
migrate
migrate status
"""

failures = 0
tool, scheme = sys.argv[1:]
for command in COMMANDS.strip().splitlines():
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen(64)
    silent.settimeout(20)
    url = f"{scheme}://u:p@127.0.0.1:{silent.getsockname()[1]}/d"
    process = subprocess.Popen(
        [tool, "--url", url] + command.split(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        held, _ = silent.accept()
    except TimeoutError:
        held = None
    began = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    try:
        said, _ = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
    took = time.monotonic() - began
    wanted = (0, 130, -signal.SIGINT)
    if held is None or took > 1 or process.returncode not in wanted:
        failures += 1
        print(f"{command}: {took:.2f} s, status {process.returncode}, connected {bool(held)}")
        print(said.decode(errors="replace"))
    silent.close()
sys.exit(failures > 0)
