"""site.py URL TOKEN...: what `serve` answers, down to its headers. TOKEN: as with --actions."""

import http.client
import re
import resource
import select
import socket
import sys
import time
import urllib.parse

url = urllib.parse.urlsplit(sys.argv[1])
token = sys.argv[2] if len(sys.argv) > 2 else ""
failures = []


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read().decode()


def ask(path, method="GET", host=url.netloc, form=None, **headers):
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    if host:
        connection.putheader("Host", host)
    body = urllib.parse.urlencode(form).encode() if form is not None else b""
    if form is not None:
        connection.putheader("Content-Type", "application/x-www-form-urlencoded")
    if method != "GET":
        connection.putheader("Content-Length", str(len(body)))
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders(body)
    answer = Answer(connection.getresponse())
    connection.close()
    return answer


def expect(what, found, wanted):
    if found != wanted:
        failures.append(f"{what}: {found!r}, not {wanted!r}")


def expect_in(what, part, whole):
    if part not in whole:
        failures.append(f"{what}: no {part!r} in {whole[:3000]!r}")


def the_page():
    page = ask("/")
    expect("page", page.status, 200)
    expect("type", page.headers["Content-Type"], "text/html; charset=utf-8")
    policy = page.headers["Content-Security-Policy"]
    expect_in("policy", "default-src 'none'", policy)
    expect_in("policy", "frame-ancestors 'none'", policy)
    expect("no inline", "unsafe" in policy, False)
    expect("sniffing", page.headers["X-Content-Type-Options"], "nosniff")
    expect("referrer", page.headers["Referrer-Policy"], "same-origin")
    expect("no others", page.headers["Access-Control-Allow-Origin"], None)
    expect("kept nowhere", page.headers["Cache-Control"], "no-store")
    expect("inline style", re.search(r"\sstyle=|<style|\son[a-z]+=", page.body), None)
    expect("scripts", re.findall(r"<script[^>]*>", page.body), ['<script src="/script.js" defer>'])
    expect_in("key", "evil/&lt;script&gt;document.title=&quot;bad&quot;&lt;/script&gt;", page.body)
    expect_in("words of a holder", "&lt;script&gt;document.title=bad&lt;/script&gt;", page.body)
    last = "&lt;/script&gt;: no such number (exit status 1)"
    expect_in("the last line of a job's words", last, page.body)
    expect_in("a run", "reports/nightly", page.body)
    expect_in("a schedule", "30 2 * * *", page.body)
    expect_in("who waits", "<ol><li>", page.body)
    for path, kind in (
        ("/style.css", "text/css"),
        ("/script.js", "text/javascript"),
        ("/icon.svg", "image/svg+xml"),
    ):
        file = ask(path)
        expect(path, (file.status, file.headers["Content-Type"].split(";")[0]), (200, kind))
    expect("elsewhere", ask("/elsewhere").status, 404)
    expect("elsewhere", ask("/../etc/passwd").status, 404)
    filtered = ask("/?prefix=images%2F")
    expect("filter", filtered.body.count('data-label="Key"'), 1)
    expect_in("filter", 'value="images/"', filtered.body)
    odd = ask("/?prefix=" + urllib.parse.quote('"><script>'))
    expect_in("odd filter", 'value="&quot;&gt;&lt;script&gt;"', odd.body)
    wrong = ask("/?prefix=%ff")
    expect_in("a filter that is no text", "UTF-8", wrong.body)
    part = ask("/?part=1")
    expect("a part", part.body.startswith('<div id="state">'), True)


def the_names():
    for name in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "[::2]"):
        expect(f"under the name {name!r}", ask("/", host=name).status, 403)
    for name in ("localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80"):
        expect(f"under the name {name!r}", ask("/", host=name).status, 200)
    port = url.port
    for name in (f"127.0.0.1:{port}@evil.example", "127.0.0.1:evil.example", "localhost:1 evil"):
        expect("no port behind it", ask("/", host=name).status, 403)
    expect("metrics under another", ask("/metrics", host="evil.example").status, 403)


# Every line as the format has it, each gauge with its help and type before it, none twice.
def the_metrics():
    answer = ask("/metrics")
    expect("type", answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
    values, typed = {}, set()
    label = r'[a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
    line_form = re.compile(
        r"(leasehold_[a-z_]+)((?:\{" + label + r"(?:," + label + r")*\})?) (-?[0-9.e+]+)"
    )
    for line in answer.body.split("\n")[:-1]:
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:]
            expect(f"type of {name}", (kind, name in typed), ("gauge", False))
            typed.add(name)
            continue
        found = line_form.fullmatch(line)
        if not found:
            failures.append("no line of the format: " + line)
            continue
        expect("type before " + line, found[1] in typed, True)
        expect("twice: " + line, found[1] + found[2] in values, False)
        values[found[1] + found[2]] = float(found[3])
    evil = r'queue="<script>document.title=\"bad\"</script>"'
    for name, wanted in (
        ("leasehold_up", 1),
        ("leasehold_locks_held", 4),
        ("leasehold_lock_holders", 4),
        ("leasehold_lock_waiters", 1),
        ('leasehold_sessions{state="live"}', 5),
        ('leasehold_sessions{state="dead"}', 0),
        ('leasehold_runs{state="succeeded"}', 1),
        ('leasehold_runs{state="failed"}', 1),
        ("leasehold_schedules", 1),
        ("leasehold_schedules_overdue", 0),
        ('leasehold_jobs{queue="mail",state="available"}', 1),
        ('leasehold_jobs{queue="mail",state="scheduled"}', 1),
        ('leasehold_jobs{queue="calls",state="discarded"}', 1),
        ('leasehold_jobs{queue="calls",state="retryable"}', 1),
        ("leasehold_queue_paused{" + evil + "}", 1),
        ('leasehold_queue_paused{queue="mail"}', 0),
    ):
        expect(name, values.get(name), wanted)
    waits = values.get('leasehold_oldest_available_job_seconds{queue="mail"}', 0)
    expect("the oldest waits", 0 < waits < 600, True)
    expect("health", (ask("/healthz").status, ask("/healthz").body), (200, "ok\n"))


def only_looking():
    page = ask("/").body
    expect("forms", re.findall(r'<form method="([a-z]+)" action="([^"]*)"', page), [("get", "/#locks")])
    for path in ("/ask", "/force", "/retry", "/cancel", "/sign-in", "/sign-out", "/elsewhere"):
        expect("POST " + path, ask(path, "POST", form={"job": "1"}).status, 404)
        expect("GET " + path, ask(path).status, 404)
    expect("POST /", ask("/", "POST", form={}).status, 405)
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        expect(method, ask("/", method, form={}).status, 405)


def hidden(page, action, part=""):
    for form in re.findall(r'<form method="post" action="%s".*?</form>' % action, page):
        fields = dict(re.findall(r'name="([a-z_]+)" value="([^"]*)"', form))
        if part in str(fields):
            return fields
    failures.append(f"no button of {action} with {part}")
    return {}


def key_field(name):
    return name.encode().hex()


def acting():
    page = ask("/").body
    expect("forms before", page.count('method="post"'), 0)
    expect_in("a way in", "/sign-in", page)
    expect("no such token", ask("/sign-in", "POST", form={"token": token[:-1]}).status, 403)
    expect("no token", ask("/sign-in", "POST", form={}).status, 403)
    for form in ({}, {"token": token}):
        expect("in the address", ask("/sign-in?token=" + token, "POST", form=form).status, 403)
    expect(
        "from elsewhere",
        ask("/sign-in", "POST", form={"token": token}, Origin="http://evil.example").status,
        403,
    )
    entered = ask("/sign-in", "POST", form={"token": token}, Origin=f"http://{url.netloc}")
    expect("sign in", (entered.status, entered.headers["Location"]), (303, "/"))
    cookie = entered.headers["Set-Cookie"]
    for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
        expect_in("cookie", part, cookie)
    expect("not only over TLS", "Secure" in cookie, False)
    behind = ask("/sign-in", "POST", form={"token": token}, X_Forwarded_Proto="https")
    expect_in("behind a proxy with TLS", "; Secure", behind.headers["Set-Cookie"])
    signed_in = {"Cookie": "other=1; " + cookie.split(";")[0]}
    page = ask("/", **signed_in).body
    force = hidden(page, "/force", key_field("deploy/shop"))
    for what, path, form, headers in (
        ("without a cookie", "/force", force, {}),
        ("with another cookie", "/force", force, {"Cookie": "leasehold_session=" + "0" * 64}),
        ("without a form key", "/force", {**force, "form_key": ""}, signed_in),
        ("with another form key", "/force", {**force, "form_key": "0" * 64}, signed_in),
        ("of another origin", "/force", force, {**signed_in, "Origin": "http://evil.example"}),
        ("of no origin", "/force", force, {**signed_in, "Origin": "null"}),
        ("of another site", "/force", force, {**signed_in, "Sec_Fetch_Site": "cross-site"}),
        ("of a neighbour", "/force", force, {**signed_in, "Sec_Fetch_Site": "same-site"}),
    ):
        expect(what, ask(path, "POST", form=form, **headers).status, 403)
    expect("by GET", ask("/force?" + urllib.parse.urlencode(force), **signed_in).status, 405)
    expect_in("still held", "deploy/shop", ask("/").body)

    def act(path, form):
        answer = ask(path, "POST", form=form, Sec_Fetch_Site="same-origin", **signed_in)
        expect(path, (answer.status, answer.headers["Location"]), (303, "/"))
        said = re.search(r'<p class="banner said" role="status">(.*?)</p>', ask("/", **signed_in).body)
        return said[1] if said else ""

    older = {**force, "token": str(int(force["token"]) - 1)}
    expect_in("another grant", "has passed on meanwhile", act("/force", older))
    expect_in("another grant", "has passed on meanwhile", act("/ask", older))
    expect_in("asked", "was asked to let go", act("/ask", force))
    expect("said once", "banner said" in ask("/", **signed_in).body, False)
    expect_in("no number", "no number", act("/retry", {**force, "job": "1; DROP"}))
    image = {**force, "key": "zz"}
    expect_in("no key", "no key", act("/force", image))
    retried = hidden(page, "/retry")
    expect_in("retry", "job " + retried["job"], act("/retry", retried))
    cancelled = hidden(page, "/cancel")
    expect_in("cancel", "is cancelled", act("/cancel", cancelled))
    expect_in("no such job", "there is no job 999999", act("/cancel", {**cancelled, "job": "999999"}))
    evil = hidden(page, "/force", key_field('evil/<script>document.title="bad"</script>'))
    expect_in("force", "was freed from", act("/force", evil))
    ask("/sign-out", "POST", form=force, **signed_in)
    expect("signed out", ask("/force", "POST", form=force, **signed_in).status, 403)


def the_slow():
    # Each sends a byte now and then, and its headers never end.
    drips = [socket.create_connection((url.hostname, url.port)) for _ in range(20)]
    for each in drips:
        each.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        each.setblocking(False)
    until = time.monotonic() + 20
    while drips and time.monotonic() < until:
        time.sleep(0.2)
        for each in list(drips):
            try:
                each.send(b"x")
                ended = each.recv(4096) is not None
            except BlockingIOError:
                ended = False
            except OSError:
                ended = True
            if ended:
                each.close()
                drips.remove(each)
    expect("still served", len(drips), 0)
    expect("health beside the slow", ask("/healthz").status, 200)
    endless = socket.create_connection((url.hostname, url.port), timeout=20)
    endless.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
    sent = 0
    try:
        while sent < 50_000_000:
            endless.sendall(b"X: y\r\n" * 10_000)
            sent += 60_000
    except OSError:
        pass
    expect("headers without end", sent < 50_000_000, True)
    endless.close()


# A thousand clients that say nothing, one byte, or all but the end, and some that ask for the page
# and do not take it. Each comes back when it is thrown out.
def the_thousand():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))
    page = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    words = (b"", b"G", page[:-1], page)
    there = select.poll()
    clients = {}

    def come(number):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        client.connect((url.hostname, url.port))
        try:
            client.sendall(words[number % len(words)])
        except OSError:
            pass
        clients[client.fileno()] = (number, client)
        there.register(client, select.POLLRDHUP)

    def come_back():
        for descriptor, _ in there.poll(0):
            number, client = clients.pop(descriptor)
            there.unregister(client)
            client.close()
            come(number)

    for number in range(1000):
        come(number)
    longest = 0
    for _ in range(40):
        come_back()
        began = time.monotonic()
        answer = ask("/healthz")
        longest = max(longest, time.monotonic() - began)
        expect("health beside a thousand", (answer.status, answer.body), (200, "ok\n"))
    expect(f"health within a second, not {longest:.2f} s", longest < 1, True)
    for _, client in clients.values():
        client.close()


the_page()
the_names()
if token:
    acting()
else:
    the_metrics()
    the_slow()
    the_thousand()
    only_looking()
for each in failures:
    print("FAILED: " + each, file=sys.stderr)
sys.exit(1 if failures else 0)
