"""supervisor.py UNIT: runs the service of a unit as systemd would, as far as the guides' units ask:
Environment, Restart, RestartSec, the limit of starts, and SIGTERM to the main process alone. Says
each start and each end in one line; ends with 1 where systemd would leave the unit dead.
"""

import collections
import configparser
import os
import shlex
import signal
import subprocess
import sys
import time

unit = configparser.ConfigParser(strict=False, interpolation=None)
unit.optionxform = str
unit.read(sys.argv[1])
service = unit["Service"]
rest = float(service.get("RestartSec", "0.1").removesuffix("s"))
interval = float(unit["Unit"].get("StartLimitIntervalSec", "10").removesuffix("s"))
environment = {"PATH": "/usr/bin:/bin", "HOME": "/"}
environment.update(each.split("=", 1) for each in shlex.split(service.get("Environment", "")))
starts = collections.deque(maxlen=int(unit["Unit"].get("StartLimitBurst", "5")))
is_asked_to_stop = False
process = None


def stop(*_):
    global is_asked_to_stop
    is_asked_to_stop = True
    if process:
        process.terminate()


signal.signal(signal.SIGTERM, stop)
while not is_asked_to_stop:
    now = time.monotonic()
    if len(starts) == starts.maxlen and now - starts[0] < interval:
        sys.exit("start request repeated too quickly")
    starts.append(now)
    print("started", flush=True)
    process = subprocess.Popen(shlex.split(service["ExecStart"]), env=environment)
    if is_asked_to_stop:
        process.terminate()
    status = process.wait()
    print("ended with", status, flush=True)
    restarts = service.get("Restart", "no")
    if restarts != "always" and not (restarts == "on-failure" and status != 0):
        break
    if not is_asked_to_stop:
        time.sleep(rest)
