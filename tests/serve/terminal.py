"""terminal.py COMMAND...: `leasehold top` at a terminal of its own, which is looked at as an
emulator would: what is written is kept in cells."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

failures = []


def expect(what, found, wanted):
    if found != wanted:
        failures.append(f"{what}: {found!r}, not {wanted!r}")


class Terminal:
    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.screen = {False: self.blank(), True: self.blank()}
        self.is_other = self.is_cursor_hidden = self.wraps_off = False
        self.row = self.column = 0
        self.beyond = []  # text written where there is no room
        # A read may end inside a character, a sequence or a frame.
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.incomplete = ""
        self.is_frame_open = False
        self.process, self.master = pty.fork()
        if self.process == 0:
            os.environ["TERM"] = "xterm"
            os.environ.pop("NO_COLOR", None)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            self.before = termios.tcgetattr(0)
            os.execvp(sys.argv[1], sys.argv[1:])
        self.modes = termios.tcgetattr(self.master)

    def blank(self):
        return [[" "] * self.columns for _ in range(self.rows)]

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.screen = {False: self.blank(), True: self.blank()}
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def put(self, letter):
        is_beyond = self.row >= self.rows or self.column >= self.columns
        if is_beyond and self.is_other:
            self.beyond.append((self.row, self.column, letter))
        elif not is_beyond:
            self.screen[self.is_other][self.row][self.column] = letter
        self.column += 1

    def control(self, parameters, letter):
        cells = self.screen[self.is_other]
        # Behind the last column there is none: the cursor stands on that.
        column = min(self.column, self.columns - 1)
        if letter == "H":
            self.row = self.column = 0
        elif letter == "K":
            if self.row < self.rows:
                cells[self.row][column:] = [" "] * (self.columns - column)
        elif letter == "J":
            if self.row < self.rows:
                cells[self.row][column:] = [" "] * (self.columns - column)
            first = self.row + 1 if parameters != "2" else 0
            for row in range(first, self.rows):
                cells[row] = [" "] * self.columns
        elif letter in "hl" and parameters == "?1049":
            self.is_other = letter == "h"
            self.screen[True] = self.blank()
        elif letter in "hl" and parameters == "?25":
            self.is_cursor_hidden = letter == "l"
        elif letter in "hl" and parameters == "?2026":
            self.is_frame_open = letter == "h"
        elif letter in "hl" and parameters == "?7":
            self.wraps_off = letter == "l"
        elif letter != "m":
            failures.append(f"not known: {parameters}{letter}")

    def take(self, text):
        text = self.incomplete + text
        self.incomplete = re.search(r"(\x1b(\[[?0-9;]*)?)?\Z", text).group()
        text = text[: len(text) - len(self.incomplete)]
        for piece in re.findall(r"\x1b\[[?0-9;]*[a-zA-Z]|.", text, re.S):
            if piece.startswith("\x1b["):
                self.control(piece[2:-1], piece[-1])
            elif piece == "\r":
                self.column = 0
            elif piece == "\n":
                self.row += 1
            else:
                self.put(piece)

    def read(self, timeout):
        if not select.select([self.master], [], [], timeout)[0]:
            return True
        try:
            piece = os.read(self.master, 65536)
        except OSError:
            return False
        self.take(self.decoder.decode(piece))
        return bool(piece)

    def lines(self):
        return ["".join(row).rstrip() for row in self.screen[self.is_other]]

    def until(self, what, found, timeout=20):
        deadline = time.monotonic() + timeout
        while self.is_frame_open or not found():
            if time.monotonic() > deadline or not self.read(0.1):
                failures.append(f"never {what}: " + "\n".join(self.lines()))
                return

    def shows(self, words):
        self.until(f"shown: {words}", lambda: words in "\n".join(self.lines()))

    def end(self, status):
        deadline = time.monotonic() + 10
        while self.read(0.05) and time.monotonic() < deadline:
            if os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
        while select.select([self.master], [], [], 0)[0] and self.read(0):
            pass
        _, ended = os.waitpid(self.process, 0)
        expect("status", os.waitstatus_to_exitcode(ended), status)
        expect("the shell's screen is back", self.is_other, False)
        expect("the cursor is back", self.is_cursor_hidden, False)
        expect("lines wrap again", self.wraps_off, False)
        expect("written beyond the edge", self.beyond[:3], [])
        os.close(self.master)


def walk():
    top = Terminal(80, 24)
    # The terminal must be as it was before, seen by way of its other end.
    echoes = termios.tcgetattr(top.master)[3]
    top.shows("deploy/shop")
    expect("on a screen of its own", top.is_other, True)
    expect("the cursor is out of the way", top.is_cursor_hidden, True)
    lines = top.lines()
    expect("the first line", lines[0].startswith("leasehold  "), True)
    expect("numbers", "keys 4, 1 waiting | sessions 5, 0 dead" in lines[1], True)
    expect("panes", lines[2].split()[:4], ["1", "locks", "2", "sessions"])
    expect("heading", lines[3].split(), ["KEY", "HOLDER", "SINCE", "LEFT", "TOKEN", "WAITERS"])
    expect("a long key is cut", "\u2026" in "\n".join(lines[4:]), True)
    expect("the last line", lines[23].startswith("q quit"), True)
    for keys, heading in (
        ("2", "PROCESS"),
        ("\t", "QUEUE"),
        ("4", "TASK"),
        ("\x1b[C", "JOB"),
        ("6", "FINDING"),
        ("\t", "KEY"),
        ("\x1b[Z", "FINDING"),
        ("5", "JOB"),
    ):
        top.press(keys)
        top.until(heading, lambda: top.lines()[3].startswith(heading))
    # The last line that a command wrote, and not its first.
    top.resize(160, 24)
    top.shows(": no such number (exit status 1)")
    expect("the first line", "dialling" in "\n".join(top.lines()), False)
    # Findings are read to their end, however many there are in a database that others use.
    top.resize(80, 100)
    top.press("6")
    top.until("the doctor", lambda: top.lines()[3].startswith("FINDING"))
    top.until("a hundred rows", lambda: top.lines()[99].startswith("q quit"))
    lines = top.lines()
    begin = lines[3].index("WHAT")
    found = " ".join(line[begin:].strip() for line in lines[4:99])
    for words in ("is paused, and jobs wait in it; the next job of queue", "leasehold queue resume"):
        expect(f"{words} in {found}", words in found, True)
    expect("cut: " + found, "\u2026" in found, False)
    top.press("1")
    top.shows("images/resize")
    first = lambda: top.lines()[4].split()[0]
    expect("the first key", first(), "deploy/shop")
    # In six rows there is room for one lock.
    top.resize(60, 6)
    top.until("six rows", lambda: top.lines()[5].startswith("q quit"))
    top.press("\x1b[B")
    top.until("scrolled", lambda: first().startswith("deploy/shop/"))
    top.press("\x1b[A\x1b[A")
    top.until("scrolled back", lambda: first() == "deploy/shop")
    top.press("G")
    top.until("at the end", lambda: first() == "images/resize")
    top.press("\x1b[B\x1b[Bg")
    top.until("at the beginning", lambda: first() == "deploy/shop")
    top.resize(100, 40)
    top.until("forty rows", lambda: top.lines()[39].startswith("q quit"))
    # The table is as wide as the screen, and nothing of it is lost.
    expect("as wide", len(top.lines()[3]), 100)
    expect("heading", top.lines()[3].split()[-1], "WAITERS")
    top.press("\x1b[99~x")  # a key that means nothing
    top.press("q")
    top.end(0)
    return echoes


def end_by(number, status):
    top = Terminal(80, 24)
    top.shows("deploy/shop")
    if number:
        os.kill(top.process, number)
    else:
        top.press("\x03")
    top.end(status)


walk()
for number in (None, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    end_by(number, 0)
for each in failures:
    print("FAILED: " + each, file=sys.stderr)
sys.exit(1 if failures else 0)
