"""supervisor.py UNIT: runs the service of a unit as systemd would, as far as the guides' units ask:
Environment, LoadCredential, Restart, RestartSec, the limit of starts, KillMode and TimeoutStopSec.
Says each start and each end in one line; ends with 1 where systemd would leave the unit dead.

It stops the service by SIGTERM: to the main process alone with KillMode=mixed, otherwise to all
processes. SIGKILL ends what is left after TimeoutStopSec or, with KillMode=mixed, behind the main
process.
"""

import collections
import configparser
import contextlib
import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

unit = configparser.ConfigParser(strict=False, interpolation=None)
unit.optionxform = str
unit.read(sys.argv[1])
service = unit["Service"]


def seconds(section, name, default):
    return float(unit[section].get(name, default).removesuffix("s"))


rest = seconds("Service", "RestartSec", "0.1")
stop_within = seconds("Service", "TimeoutStopSec", "90")
interval = seconds("Unit", "StartLimitIntervalSec", "10")
is_mixed = service.get("KillMode", "control-group") == "mixed"
credentials = tempfile.TemporaryDirectory()
for each in service.get("LoadCredential", "").split():
    name, path = each.split(":", 1)
    shutil.copy(path, os.path.join(credentials.name, name))
environment = {"PATH": "/usr/bin:/bin", "HOME": "/"}
settings = service.get("Environment", "").replace("%d", credentials.name)
environment.update(each.split("=", 1) for each in shlex.split(settings))
starts = collections.deque(maxlen=int(unit["Unit"].get("StartLimitBurst", "5")))
is_asked_to_stop = False
process = None
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans of the service are ours


def processes():
    """Those of the service: all that have come from this process, and have not ended."""
    parents = {}
    for each in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{each}/stat", encoding="ascii") as stat:
            state, parent = stat.read().rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(each)] = int(parent)
    found = {os.getpid()}
    while more := {each for each in parents if parents[each] in found} - found:
        found |= more
    return found - {os.getpid()}


def send(number, to):
    for each in to:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, number)


def kill_all(*_):
    while left := processes():
        send(signal.SIGKILL, left)
        time.sleep(0.01)


def ask_to_stop():
    send(signal.SIGTERM, [process.pid] if is_mixed else processes())
    os.write(1, b"asked to stop\n")
    signal.setitimer(signal.ITIMER_REAL, stop_within)


def stop(*_):
    global is_asked_to_stop
    is_asked_to_stop = True
    if process and process.returncode is None:
        ask_to_stop()


def clear_up():
    """What the main process has left."""
    deadline = time.monotonic() + stop_within
    if not is_mixed:
        send(signal.SIGTERM, processes())
        while processes() and time.monotonic() < deadline:
            time.sleep(0.01)
    kill_all()


signal.signal(signal.SIGALRM, kill_all)
signal.signal(signal.SIGTERM, stop)
while not is_asked_to_stop:
    now = time.monotonic()
    if len(starts) == starts.maxlen and now - starts[0] < interval:
        sys.exit("start request repeated too quickly")
    starts.append(now)
    print("started", flush=True)
    process = subprocess.Popen(shlex.split(service["ExecStart"]), env=environment)
    if is_asked_to_stop:
        ask_to_stop()
    status = process.wait()
    signal.setitimer(signal.ITIMER_REAL, 0)
    clear_up()
    print("ended with", status, flush=True)
    restarts = service.get("Restart", "no")
    if restarts != "always" and not (restarts == "on-failure" and status != 0):
        break
    if not is_asked_to_stop:
        time.sleep(rest)
