"""interrupt_at_terminal.py PORT CONTROL TOOL...: commands that watch and have shown the lock `shown`,
each at a terminal of its own. Ctrl-C and SIGINT end them at once with 0, and the terminal is as it was:
between two looks and, if CONTROL pauses the server at PORT, while a look gets no answer. Without a
server PORT and CONTROL are empty. Prints what did not."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

COMMANDS = ("top --interval 100ms", "locks --watch --every 100ms")
NEW = termios.tcgetattr(pty.openpty()[0])
port, control, *tool = sys.argv[1:]


def is_asked():
    """Whether a request waits for the server to read it."""
    with open("/proc/net/tcp", encoding="ascii") as sockets:
        rows = [line.split() for line in sockets][1:]
    ours = f":{int(port):04X}"
    return any(row[1].endswith(ours) and int(row[4].split(":")[1], 16) for row in rows)


class Watch:
    def __init__(self, command):
        self.process, self.master = pty.fork()
        if self.process == 0:
            os.environ["TERM"] = "xterm"
            os.execvp(tool[0], tool + command.split())
        self.said = b""
        self.status = None

    def until(self, is_so, timeout=20):
        """Reads meanwhile what the command writes."""
        deadline = time.monotonic() + timeout
        while not is_so():
            if time.monotonic() > deadline:
                return False
            if select.select([self.master], [], [], 0.01)[0]:
                with contextlib.suppress(OSError):  # nobody is at the terminal any more
                    self.said += os.read(self.master, 65536)
        return True

    def has_ended(self):
        ended, status = os.waitpid(self.process, os.WNOHANG)
        if ended:
            self.status = os.waitstatus_to_exitcode(status)
        return ended != 0

    def interrupt(self, by_key):
        """Whether it has ended at once, and as it has to."""
        began = time.monotonic()
        if by_key:
            os.write(self.master, b"\x03")
        else:
            os.kill(self.process, signal.SIGINT)
        if not self.until(self.has_ended):
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        took = time.monotonic() - began
        self.until(lambda: not select.select([self.master], [], [], 0)[0], 0.1)
        is_back = termios.tcgetattr(self.master) == NEW
        is_back = is_back and self.said.rfind(b"\x1b[?1049h") <= self.said.rfind(b"\x1b[?1049l")
        os.close(self.master)
        if took <= 1 and self.status == 0 and is_back:
            return True
        print(f"{took:.2f} s, status {self.status}, the terminal is as it was: {is_back}")
        return False


def interrupts(command, by_key, is_away):
    """A machine that stands still does so once; a command that does not end at once, each time."""
    return any(interrupts_once(command, by_key, is_away) for _ in range(3))


def interrupts_once(command, by_key, is_away):
    watch = Watch(command)
    is_ready = watch.until(lambda: b"shown" in watch.said)
    if is_away:
        subprocess.run([control, "pause"], check=True)
        is_ready = watch.until(is_asked) and is_ready
    is_right = watch.interrupt(by_key)
    if is_away:
        subprocess.run([control, "resume"], check=True)
    if is_ready and is_right:
        return True
    print(f"{command}: by key: {by_key}, away: {is_away}, was ready: {is_ready}")
    print(watch.said.decode(errors="replace"))
    return False


results = [
    interrupts(command, by_key, is_away)
    for command in COMMANDS
    for by_key in (True, False)
    for is_away in ((False, True) if control else (False,))
]
sys.exit(not all(results))
