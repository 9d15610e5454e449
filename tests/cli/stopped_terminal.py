"""stopped_terminal.py GO COMMAND...: runs COMMAND at a terminal of its own whose output is stopped,
as by Ctrl-S, until somebody opens the FIFO GO to write. Prints what came then; ends with its status.
"""

import fcntl
import os
import pty
import subprocess
import sys
import termios

go, *command = sys.argv[1:]
master, terminal = pty.openpty()
termios.tcflow(terminal, termios.TCOOFF)


def take_terminal():
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


process = subprocess.Popen(
    command, stdin=terminal, stdout=terminal, stderr=terminal, preexec_fn=take_terminal
)
with open(go, encoding="utf-8") as until:
    until.read()
termios.tcflow(terminal, termios.TCOON)
os.close(terminal)
try:
    while said := os.read(master, 65536):
        os.write(1, said)
except OSError:
    pass  # the last one at the terminal has ended
sys.exit(process.wait())
