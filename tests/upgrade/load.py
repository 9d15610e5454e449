"""Programs of two versions at work on one schema, and what they must not do to each other."""
import atexit, collections, os, pathlib, subprocess, threading, time

HERE = pathlib.Path(os.environ["PWD"])
# A command that must be alone under its key: mkdir fails where another one is there.
CRITICAL = """
mkdir "in.$1" 2>/dev/null || echo "two at once: $1, token $LEASEHOLD_TOKEN" >>overlaps
echo $(($(cat "count.$1" 2>/dev/null || echo 0) + 1)) >"count.$1"
echo "$LEASEHOLD_TOKEN" >>"tokens.$1"
rmdir "in.$1"
"""
JOB = """
read -r key rest
[ "$key" = tick ] || mkdir "in.job.$key" 2>/dev/null || echo "two jobs of one key: $key" >>overlaps
echo "$LEASEHOLD_JOB_ID $LEASEHOLD_JOB_TOKEN $key $rest" >>done
[ "$key" = tick ] || rmdir "in.job.$key"
"""
LEADER = """
mkdir in.office 2>/dev/null || echo "two leaders, term $LEASEHOLD_TOKEN" >>overlaps
echo "$LEASEHOLD_TOKEN" >>tokens.office
trap 'rmdir in.office; exit 0' TERM
while :; do sleep 0.1; done
"""
READ = """
[ ! -e in.rw ] || echo "a reader beside a writer" >>overlaps
mkdir "reading.$$" && { sleep 0.01; rmdir "reading.$$"; }
"""
WRITE = """
ls -d reading.* >/dev/null 2>&1 && echo "a writer beside a reader" >>overlaps
""" + CRITICAL
PERMIT = """
mkdir in.permit.1 2>/dev/null && { sleep 0.01; rmdir in.permit.1; echo 1 >>permits; exit 0; }
mkdir in.permit.2 2>/dev/null && { sleep 0.01; rmdir in.permit.2; echo 1 >>permits; exit 0; }
echo "three at once under two permits" >>overlaps
"""


def lines(name):
    path = HERE / name
    return path.read_text().splitlines() if path.exists() else []


class Fleet:
    """The programs of one version: some are started again and again, some stay."""

    def __init__(self, name, tool, keys=5):
        self.name, self.tool, self.failures = name, tool, []
        self.counts, self.enqueued = collections.Counter(), {}
        self._stop, self._keys = threading.Event(), keys
        wait = ["--wait", "60s", "--ttl", "10s"]
        under = lambda script, *words: ["--", "sh", "-c", script, "sh", *words]
        again = {
            "lock": ["lock", "plain", *wait, *under(CRITICAL, "plain")],
            "exclusive": ["lock", "rw", "--exclusive", *wait, *under(WRITE, "rw")],
            "shared": ["lock", "rw", "--shared", *wait, *under(READ)],
            "permits": ["lock", "pool", "--permits", "1", "--of", "2", *wait, *under(PERMIT)],
            "once": ["once", "task", "--per", "1s", "--early", "0", "--quiet",
                     *under('echo "$LEASEHOLD_TICK" >>ticks')],
        }
        twice = [*again.items(), *(each for each in again.items() if each[0] in ("shared", "permits"))]
        threads = [threading.Thread(target=self._repeat, args=each, daemon=True) for each in twice]
        threads.append(threading.Thread(target=self._enqueue, daemon=True))
        stays = [["work", "--queue", "q", "--concurrency", "2", "--ttl", "10s", "--poll", "200ms",
                  *under(JOB)], ["elect", "office", "--ttl", "10s", "--quiet", *under(LEADER)]]
        self._staying = [self._start(each) for each in stays]
        atexit.register(lambda: [each.kill() for each in self._staying])
        self._threads = threads
        for each in threads: each.start()

    def _start(self, words):
        log = open(HERE / f"err.{self.name}.{words[0]}", "ab")
        return subprocess.Popen([*self.tool, *words], cwd=HERE, stderr=log)

    def run(self, *words, statuses=(0,)):
        done = subprocess.run([*self.tool, *words], cwd=HERE, capture_output=True, text=True)
        if done.returncode not in statuses:
            self.failures.append(f"{self.name}: {words[:2]}: {done.returncode}: {done.stderr}")
        return done

    def _repeat(self, what, words):
        while not self._stop.is_set():
            statuses = (0, 75) if what == "once" else (0,)
            if self.run(*words, statuses=statuses).returncode == 0: self.counts[what] += 1

    def _enqueue(self):
        number = 0
        while not self._stop.is_set():
            number += 1
            key = f"k{number % self._keys}"
            done = self.run("job", "enqueue", "--queue", "q", "--ordering-key", key, "--unique-key",
                            f"{self.name} {number}", f"{key} {self.name} {number}")
            if done.returncode == 0:
                self.enqueued[int(done.stdout.split()[0])] = (key, number)
                self.counts["enqueue"] += 1

    def until(self, each, jobs, timeout=120):
        """Waits until it has done so many of each, and all workers so many jobs."""
        end = time.monotonic() + timeout
        while min(self.counts[what] for what in ("lock", "exclusive", "shared", "permits", "once",
                                                 "enqueue")) < each or len(lines("done")) < jobs:
            assert time.monotonic() < end, f"{self.name} did too little: {self.counts}"
            for one in self._staying:
                assert one.poll() is None, f"{self.name}: {one.args[-6:]} ended: {one.returncode}"
            time.sleep(0.05)

    def end(self):
        self._stop.set()
        for each in self._threads: each.join()
        for each in self._staying: each.terminate()
        for each in self._staying:
            if each.wait(60) not in (0, 143): self.failures.append(f"{each.args[-9:]}: failed")


def check(*fleets):
    """What was promised, of all that they did together."""
    failures = [each for fleet in fleets for each in fleet.failures] + lines("overlaps")
    for key, what in (("plain", "lock"), ("rw", "exclusive")):
        tokens = [int(each) for each in lines(f"tokens.{key}")]
        if tokens != sorted(set(tokens)): failures.append(f"tokens of {key} do not grow: {tokens}")
        count = sum(fleet.counts[what] for fleet in fleets)
        if int(lines(f"count.{key}")[0]) != count: failures.append(f"lost updates under {key}")
    for name in ("ticks", "tokens.office"):
        seen = lines(name)
        if len(seen) != len(set(seen)): failures.append(f"one of {name} came twice")
    done, last = collections.Counter(), {}
    for line in lines("done"):
        number, _, key, *rest = line.split(" ")
        done[int(number)] += 1
        if key == "tick": continue
        if last.get((key, rest[0]), 0) >= int(rest[1]): failures.append(f"out of order: {line}")
        last[key, rest[0]] = int(rest[1])
    ticks = [each.split(" ", 2)[2] for each in lines("done") if " tick " in each]
    if len(ticks) != len(set(ticks)): failures.append("one fire time was done twice")
    for fleet in fleets:
        for number in fleet.enqueued:
            if done[number] != 1: failures.append(f"job {number} was done {done[number]} times")
    return failures
