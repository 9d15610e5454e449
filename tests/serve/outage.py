"""outage.py URL there|gone [never]: whether the page, health and metrics all say so, in time."""

import sys
import time
import urllib.error
import urllib.request

url, wanted = sys.argv[1:3]
is_never = "never" in sys.argv
TIMEOUT = 4.0


def load(path):
    began = time.monotonic()
    try:
        with urllib.request.urlopen(url + path, timeout=30) as answer:
            status, body = answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        status, body = refused.code, refused.read().decode()
    took = time.monotonic() - began
    if took > TIMEOUT:
        sys.exit(f"/{path} took {took:.1f} s")
    return status, body


def expect(what, whether):
    if not whether:
        sys.exit(f"{wanted}: {what}")


health, reason = load("healthz")
_, metrics = load("metrics")
status, page = load("")
filtered, of_filter = load("?prefix=a")
expect("the page stays", (status, filtered) == (200, 200))
if wanted == "there":
    expect(f"health is {health} {reason}", (health, reason) == (200, "ok\n"))
    expect("metrics", "leasehold_up 1\n" in metrics and "leasehold_locks_held" in metrics)
    expect("no banner", "could not be read" not in page and "not answered" not in page)
else:
    expect(f"health is {health} {reason}", health == 503 and len(reason) > 10)
    expect("metrics", "leasehold_up 0\n" in metrics and "leasehold_locks_held" not in metrics)
    expect("a banner", "could not be read" in page or "has not answered yet" in page)
    expect("what was read before", ("Nothing is held" in page) != is_never)
    expect("a filter says so, too", 'role="alert"' in of_filter)
