"""many.py URL PROCESS: with a hundred thousand locks held, and a thousand queues."""

import concurrent.futures
import re
import sys
import time
import urllib.request

url, process = sys.argv[1], sys.argv[2]
failures = []


def load(path=""):
    began = time.monotonic()
    with urllib.request.urlopen(url + path, timeout=60) as answer:
        body = answer.read().decode()
    return body, time.monotonic() - began


def memory_kib():
    with open(f"/proc/{process}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1])


# The first load may wait for a doctor that reads all that is held.
deadline = time.monotonic() + 60
while "keys are held" not in load()[0]:
    if time.monotonic() > deadline:
        sys.exit("FAILED: it is never read")

page, _ = load()
if "100,001 keys are held" not in page:
    failures.append("the page does not say how many there are")
if "Here are 200, the first by name." not in page:
    failures.append("the page does not say that these are some")
rows = page.count('data-label="Key"')
if rows != 200:
    failures.append(f"{rows} rows")
if page.count('data-label="Queue"') != 200 or "Here are 200 of 1,000." not in page:
    failures.append("the page does not say that it has some of the queues")
metrics, _ = load("metrics")
for line in ("leasehold_queues 1000", "leasehold_queues_left_out 800"):
    if line + "\n" not in metrics:
        failures.append("the metrics have no line " + line)
if metrics.count("leasehold_queue_paused{") != 200:
    failures.append("the metrics do not have 200 queues")
if len(page) > 500_000:
    failures.append(f"{len(page)} bytes")

# The reader goes from page to page by the links alone.
following = re.search(r'rel="next" href="/([^"#]*)', page)[1].replace("&amp;", "&")
second, _ = load(following)
if "many/00200" not in second or "many/00199" in second:
    failures.append("the next page does not go on where the first one ends")
filtered, took = load("?prefix=many/0001")
print(f"a filter took {took:.2f} s")
if filtered.count('data-label="Key"') != 10 or "10 keys are held" not in filtered:
    failures.append("the filter")

# A hundred at once: all of the same read or the next one.
began = time.monotonic()
with concurrent.futures.ThreadPoolExecutor(100) as browsers:
    loaded = list(browsers.map(lambda _: load(), range(100)))
took = time.monotonic() - began
readings = {re.search(r"as of <time datetime=\"([^\"]+)\"", body)[1] for body, _ in loaded}
print(f"a hundred browsers took {took:.2f} s, and {len(readings)} readings; {memory_kib()} KiB")
if len(readings) > took + 2:
    failures.append(f"{len(readings)} readings in {took:.1f} s")
if took > 20:
    failures.append(f"{took:.1f} s for a hundred")
if memory_kib() > 400_000:
    failures.append(f"{memory_kib()} KiB")
for each in failures:
    print("FAILED: " + each, file=sys.stderr)
sys.exit(1 if failures else 0)
