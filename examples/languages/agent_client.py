"""Locks, elections and runs by `leasehold agent`. Python 3.9 or later, nothing else.

    agent = Agent("/run/leasehold/agent")
    with agent.lock("invoices/closing", wait=10) as held:    # raises Busy after 10 s
        close_next(held.owner, held.token)                   # prove each write by these
        if held.lost.is_set(): ...                           # somebody else may have it: stop
    async with agent.lock_async("invoices/closing", wait=10) as held: ...

Each hold ends with its connection: when this process dies, but not while a fork of it lives.
"""
import asyncio, json, queue, socket, threading
from contextlib import asynccontextmanager, closing, contextmanager, suppress

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
        self.hold, self.key, self.token = answer["hold"], answer["key"], answer["token"]
        self.owner, self.tick = answer["owner"], answer.get("tick")  # tick: of a run

    # "verify"; "finish" of a run, "proclaim" of an election, both with text=; "keep".
    def ask(self, do, **more):
        return self._ask({"do": do, "hold": self.hold, **more})


class Connection:  # one thread reads, so that a loss is noticed while nobody asks
    def __init__(self, path):
        self.lost, self._answers, self._asking = threading.Event(), queue.Queue(), threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with suppress(OSError, ValueError):
            for line in self._socket.makefile(encoding="utf-8"):
                said = json.loads(line)
                self.lost.set() if "event" in said else self._answers.put(said)
        self.lost.set()
        self._answers.put(None)

    def ask(self, request, timeout=GRACE):
        with self._asking:
            try:
                self._socket.sendall(line_of(request))
                answer = self._answers.get(timeout=timeout)
            except (OSError, queue.Empty):
                answer = self.close()  # or the next request would take the answer
            return taken(answer)

    def close(self):
        self.lost.set()
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
            yield (held := Held(ask, connection.lost, granted(answer)))
            held.ask("unlock")

    @asynccontextmanager
    async def lock_async(self, key, wait=0, **more):
        reader, writer = await asyncio.open_unix_connection(self.path)
        lost, asking, answers = asyncio.Event(), asyncio.Lock(), asyncio.Queue()

        async def read():
            with suppress(OSError, ValueError):
                async for line in reader:
                    said = json.loads(line)
                    lost.set() if "event" in said else answers.put_nowait(said)
            lost.set()
            answers.put_nowait(None)

        async def ask(request, wanted=lambda of: of["answer"]):
            async with asking:
                answer = None
                try:
                    if not writer.is_closing() and not reading.done():
                        writer.write(line_of(request))
                        answer = await answers.get()
                finally:
                    if answer is None:
                        writer.close()  # after a cancel, too: the answer would come too late
                return wanted(taken(answer))

        reading = asyncio.create_task(read())
        try:
            answer = await ask({"do": "lock", "key": key, "wait": wait, **more}, granted)
            yield (held := Held(ask, lost, answer))
            await held.ask("unlock")
        finally:
            reading.cancel()
            writer.close()  # a wait ends, too
