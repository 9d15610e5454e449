"""Locks, elections and runs by `leasehold agent`. Python 3.9 or later, nothing else.

    agent = Agent("/run/leasehold/agent")
    with agent.lock("invoices/closing", wait=10) as held:    # raises Busy after 10 s
        close_next(held.owner, held.token)                   # prove each write by these
        if held.lost.is_set(): ...                           # somebody else may have it: stop

    async with agent.lock_async("invoices/closing", wait=10) as held: ...

Each hold has a connection of its own, and ends with it: also when this process dies.
"""
import asyncio, json, queue, socket, threading
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from operator import itemgetter

GRACE = 60  # seconds that the agent may take beyond `wait`: it waits for a database that is away


class Busy(Exception):  # answer["holder"] has the key; or the tick has run, runs, or is closed
    def __init__(self, answer):
        super().__init__(f"{answer['answer']}: {answer.get('holder')}")
        self.answer = answer


class AgentError(Exception):  # refused, or the agent is gone; `name`: as `--json` names errors
    def __init__(self, name, message):
        super().__init__(f"{name}: {message}")
        self.name = name


def line_of(request):
    return (json.dumps(request) + "\n").encode()


def taken(answer):
    if answer is None:
        raise AgentError("agent_gone", "the agent has closed the connection")
    if "error" in answer:
        raise AgentError(answer["error"], answer["message"])
    return answer


def granted(answer):
    if answer["answer"] != "held":
        raise Busy(answer)
    return answer


class Held:
    """A hold. The calls return the agent's answer, as "held"; of lock_async() they are awaited."""

    def __init__(self, ask, lost, answer):
        self._ask, self.lost = ask, lost  # lost.is_set(): it may be somebody else's
        self.hold, self.key = answer["hold"], answer["key"]
        self.token, self.owner = answer["token"], answer["owner"]
        self.tick = answer.get("tick")  # of a run

    def ask(self, do, **more):  # also "proclaim" with a text, "keep" for keep_alive
        return self._ask({"do": do, "hold": self.hold, **more})

    def verify(self):  # asks the database: "held" or "lost"
        return self.ask("verify")

    def finish(self, success=True, text=""):  # of a run: "recorded" or "not_held"
        return self.ask("finish", success=success, text=text)


class Connection:  # one thread reads, so that a loss is noticed while nobody asks
    def __init__(self, path):
        self.lost, self._answers = threading.Event(), queue.Queue()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with suppress(OSError):
            for line in self._socket.makefile(encoding="utf-8"):
                said = json.loads(line)
                self.lost.set() if "event" in said else self._answers.put(said)
        self.lost.set()
        self._answers.put(None)

    def ask(self, request, timeout=GRACE):
        self._socket.sendall(line_of(request))
        try:
            return taken(self._answers.get(timeout=timeout))
        except queue.Empty:
            raise AgentError("agent_gone", f"no answer for {timeout} s") from None

    def close(self):
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # or the thread that reads keeps it open
        self._socket.close()


class Agent:
    def __init__(self, path):
        self.path = path

    def lock(self, key, wait=0, **more):  # more: note, keep_alive
        return self._hold({"do": "lock", "key": key, "wait": wait, **more})

    def elect(self, key, wait="forever", **more):
        return self._hold({"do": "elect", "key": key, "wait": wait, **more})

    def once(self, key, **when):  # cron and zone, or every
        return self._hold({"do": "once", "key": key, **when})

    def leader(self, key):
        with closing(Connection(self.path)) as connection:
            return connection.ask({"do": "leader", "key": key})

    @contextmanager
    def _hold(self, request):
        wait = request.get("wait", 0)
        with closing(Connection(self.path)) as connection:
            answer = connection.ask(request, None if wait == "forever" else wait + 2 * GRACE)
            ask = lambda asked: connection.ask(asked)["answer"]
            held = Held(ask, connection.lost, granted(answer))
            yield held
            held.ask("unlock")

    @asynccontextmanager
    async def lock_async(self, key, wait=0, **more):
        reader, writer = await asyncio.open_unix_connection(self.path)
        lost, answers = asyncio.Event(), asyncio.Queue()

        async def read():
            async for line in reader:
                said = json.loads(line)
                lost.set() if "event" in said else answers.put_nowait(said)
            lost.set()
            answers.put_nowait(None)

        async def ask(request, wanted=itemgetter("answer")):
            writer.write(line_of(request))
            return wanted(taken(await answers.get()))

        reading = asyncio.create_task(read())
        try:
            asked = {"do": "lock", "key": key, "wait": wait, **more}
            held = Held(ask, lost, await ask(asked, granted))
            yield held
            await held.ask("unlock")
        finally:
            reading.cancel()
            writer.close()  # a wait ends, too
