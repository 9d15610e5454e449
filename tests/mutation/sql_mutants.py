"""Changes a block of SQL in one place at a time.

A block is the text below a `-- name:` or `-- fragment:` of a file src/<room>/<engine>/<file>.sql.
Words are not parsed into a tree: parentheses and CASE … END give each word its depth, and the
keywords of one depth tell where a condition, an assignment or an item of a list begins and ends.
"""

import re
from dataclasses import dataclass

# A {fragment} may have other fragments in the text behind its name.
WORDS = re.compile(
    r"""\s+|/\*.*?\*/|--[^\n]*|'(?:[^']|'')*'|"[^"]*"|`[^`]*`|\{(?:[^{}]|\{[^{}]*\})*\}\w*
    |\$\d+|@@?\w+|\w+|<=>|->>|->|::|<<|>>|<=|>=|<>|!=|\|\||.""",
    re.VERBOSE | re.DOTALL,
)
ENDS_CONDITION = {
    "WHERE", "ON", "HAVING", "WHEN", "THEN", "ELSE", "SELECT", "SET", "FROM", "JOIN", "LEFT",
    "INNER", "CROSS", "STRAIGHT_JOIN", "GROUP", "ORDER", "LIMIT", "RETURNING", "FOR", "UNION",
    "DO", "VALUES", "USING", "RETURN", "WINDOW", "IF", "FILTER", ",", ";", "AS", "SKIP", "LOCK",
}  # fmt: skip
ENDS_ITEM = {
    "WHERE", "FROM", "ORDER", "LIMIT", "RETURNING", "GROUP", "UNION", "ON", "HAVING", "FOR", ";",
    "SET", "DO", "WINDOW", "LOCK", "OFFSET", "ROWS", "SEPARATOR", "NULLS", "{ALL}",
}  # fmt: skip
# A single statement that begins so has no rows of ours to choose or change.
LEFT_ALONE = {"CREATE", "ALTER", "DROP", "GRANT", "REVOKE", "SET", "BEGIN"}
FUNCTIONS = {"LEFT", "RIGHT", "IF", "VALUES"}  # words of statements, too
CLOCKS = {"CLOCK_TIMESTAMP", "STATEMENT_TIMESTAMP", "NOW", "SYSDATE", "UTC_TIMESTAMP"}
# Tests age rows by up to 1,000 hours.
LONG = {
    "sqlite": "86400000000000",
    "postgres": "interval '1000 days'",
    "mysql": "INTERVAL 1000 DAY",
}


@dataclass(frozen=True)
class Mutant:
    what: str  # for a person: what was changed, in the words of the block
    text: str  # the whole block


class Block:
    def __init__(self, text, engine):
        self.text = text
        self.engine = engine
        self.words = []  # (text, depth), without white space and comments
        self.places = []  # where each begins
        self.keys = []  # the words as the rules name them
        self.of_between = set()  # the ANDs that belong to a BETWEEN
        depth, between = 0, set()
        for found in WORDS.finditer(text):
            word = found.group()
            if word.isspace() or word.startswith(("/*", "--")):
                continue
            if word == ")" or word.upper() == "END":
                depth -= 1
            if word.upper() == "BETWEEN":
                between.add(depth)
            elif word.upper() == "AND" and depth in between:
                between.remove(depth)
                self.of_between.add(len(self.words))
            self.words.append((word, depth))
            self.places.append(found.start())
            if word == "(" or word.upper() == "CASE":
                depth += 1
        self.keys = [self.key_of(at) for at in range(len(self.words))]

    def key_of(self, at):
        word = self.words[at][0].upper()
        before = self.words[at - 1][0].upper() if at > 0 else ""
        behind = self.words[at + 1][0] if at + 1 < len(self.words) else ""
        if word in FUNCTIONS and behind == "(":
            is_function = word != "VALUES" or before in ("=", "+", "-", ",", "THEN", "ELSE")
            return "a function" if is_function else word
        return "an operator" if word == "FROM" and before == "DISTINCT" else word

    def key(self, at):
        return self.keys[at]

    def depth(self, at):
        return self.words[at][1]

    def end(self, at):
        """Behind the word."""
        return self.places[at] + len(self.words[at][0])

    def said(self, first, last):
        text = self.text[self.places[first] : self.end(last)]
        return " ".join(text.split())

    def with_change(self, first, last, by):
        """The words from first to last replaced."""
        text = self.text[: self.places[first]] + by + self.text[self.end(last) :]
        return re.sub(r"\s+\Z", "", text)

    def run_back(self, at, ends):
        """The first word of the run that ends before `at`."""
        depth = self.depth(at)
        while at > 0 and self.depth(at - 1) >= depth:
            is_end = self.key(at - 1) in ends and at - 1 not in self.of_between
            if self.depth(at - 1) == depth and is_end:
                break
            at -= 1
        return at

    def run_on(self, at, ends):
        """The last word of the run that begins at `at`."""
        depth = self.depth(at)
        while at + 1 < len(self.words) and self.depth(at + 1) >= depth:
            is_end = self.key(at + 1) in ends and at + 1 not in self.of_between
            if self.depth(at + 1) == depth and is_end:
                break
            at += 1
        return at

    def items(self, first):
        """The items of a list that begins at `first`, each as (first, last)."""
        found, depth, begin = [], self.depth(first), first
        at = first
        while at < len(self.words) and self.depth(at) >= depth:
            if self.depth(at) == depth and self.key(at) in ENDS_ITEM:
                break
            if self.depth(at) == depth and self.key(at) == ",":
                found.append((begin, at - 1))
                begin = at + 1
            at += 1
        found.append((begin, at - 1))
        return [each for each in found if each[0] <= each[1]]


def conditions(block):
    """Each operand of AND, OR and each whole condition is taken away."""
    for at in range(len(block.words)):
        key = block.key(at)
        if key in ("AND", "OR") and at not in block.of_between:
            ends = ENDS_CONDITION | ({"AND", "OR"} if key == "AND" else {"OR"})
            first = block.run_back(at, ends)
            last = block.run_on(at + 1, ends)
            yield "without " + block.said(at, last), block.with_change(at, last, "")
            before = block.key(first - 1) if first > 0 else ""
            if before != key and first < at:
                yield "without " + block.said(first, at), block.with_change(first, at, "")
        elif key in ("WHERE", "ON", "HAVING", "WHEN") and at + 1 < len(block.words):
            if key == "ON" and block.key(at + 1) in ("CONFLICT", "DUPLICATE"):
                continue
            last = block.run_on(at + 1, ENDS_CONDITION)
            inside = range(at + 1, last + 1)
            is_one = not any(
                block.key(each) in ("AND", "OR")
                and block.depth(each) == block.depth(at + 1)
                and each not in block.of_between
                for each in inside
            )
            if is_one and last > at:
                yield "without " + block.said(at, last), block.with_change(at + 1, last, "1 = 1")


def is_clock(block, at):
    word = block.words[at][0] if 0 <= at < len(block.words) else ""
    return word.upper() in CLOCKS or word in ("{now}", "{wall}", "{utc}")


def comparisons(block):
    """No test can meet the instant at which a bound of time lies: such bounds stay."""
    other = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
    for at, (word, _) in enumerate(block.words):
        if word in other and not is_clock(block, at - 1) and not is_clock(block, at + 1):
            said = block.said(max(at - 1, 0), min(at + 1, len(block.words) - 1))
            yield f"{other[word]} in {said}", block.with_change(at, at, other[word])
        if word.upper() == "NOT" and block.key(min(at + 1, len(block.words) - 1)) != "NULL":
            if at == 0 or block.key(at - 1) not in ("IS", "IF"):
                last = min(at + 3, len(block.words) - 1)
                yield "without the NOT of " + block.said(at, last), block.with_change(at, at, "")


def arithmetic(block):
    for at in range(len(block.words) - 1):
        if block.words[at][0] in "+-" and re.match(r"\$?\d+$", block.words[at + 1][0]) and at > 0:
            said = block.said(at - 1, at + 1)
            if block.key(at - 1) not in ("THEN", "ELSE", "(", ",", "LIMIT", "=", "RETURN"):
                yield f"without the number in {said}", block.with_change(at, at + 1, "")
    functions = {"MAX", "MIN", "GREATEST", "LEAST", "COALESCE"}
    for at in range(len(block.words) - 2):
        if block.key(at) in functions and block.words[at + 1][0] == "(":
            items = block.items(at + 2)
            if len(items) < 2:
                continue
            last = items[-1][1] + 1
            for first, end in items:
                by = "(" + block.text[block.places[first] : block.end(end)] + ")"
                yield (
                    f"{block.said(first, end)} for {block.said(at, last)}",
                    block.with_change(at, last, by),
                )


def table_before(block, at):
    """The name behind INTO with a dot, for the SET of an ON CONFLICT at `at`; else nothing."""
    if at < 2 or block.key(at - 2) != "DO":
        return ""
    names = [each for each in range(at) if block.key(each) == "INTO"]
    name = names[-1] + 1
    return block.words[name + 2 if block.key(name + 1) == "AS" else name][0] + "."


def assignments(block):
    for at in range(len(block.words) - 1):
        is_of_update = block.key(at) == "SET" or (
            block.key(at) == "UPDATE" and at > 1 and block.key(at - 1) == "KEY"
        )
        if not is_of_update:
            continue
        items = block.items(at + 1)
        for number, (first, last) in enumerate(items):
            if len(items) == 1:
                column = block.words[first][0]
                if first + 1 > last or block.words[first + 1][0] != "=":
                    continue
                kept = f"{table_before(block, at)}{column}"
                changed = block.with_change(first, last, f"{column} = {kept}")
            elif number == 0:
                changed = block.with_change(first, items[1][0] - 1, "")
            else:
                changed = block.with_change(items[number - 1][1] + 1, last, "")
            yield "does not set " + block.said(first, last), changed


def inserted(block):
    """Each value of an INSERT is NULL."""
    at = 0
    while at < len(block.words):
        if block.key(at) != "INSERT":
            at += 1
            continue
        depth = block.depth(at)
        while at < len(block.words) and not (
            block.depth(at) == depth and block.key(at) in ("VALUES", "SELECT")
        ):
            at += 1
        first = at + 2 if at < len(block.words) and block.key(at) == "VALUES" else at + 1
        if first >= len(block.words):
            return
        for begin, end in block.items(first):
            if block.said(begin, end).upper() not in ("NULL", "DISTINCT"):
                changed = block.with_change(begin, end, "NULL")
                yield "inserts NULL for " + block.said(begin, end), changed
        at += 1


def answers(block):
    for at in range(len(block.words) - 1):
        if block.key(at) != "RETURNING":
            continue
        for first, last in block.items(at + 1):
            if not block.words[first][0].isdigit():
                name = block.words[last][0]
                by = f"NULL AS {name}" if re.match(r"\w+$", name) else "NULL"
                yield "returns NULL for " + block.said(first, last), block.with_change(
                    first, last, by
                )


def order(block):
    for at in range(len(block.words) - 2):
        if block.key(at) == "ORDER" and block.key(at + 1) == "BY":
            for first, last in block.items(at + 2):
                if block.key(last) == "DESC":
                    changed = block.with_change(last, last, "")
                elif block.key(last) == "ASC":
                    changed = block.with_change(last, last, "DESC")
                else:
                    text = block.text[block.places[first] : block.end(last)]
                    changed = block.with_change(first, last, text + " DESC")
                yield "orders in reverse by " + block.said(first, last), changed
    for at in range(len(block.words) - 1):
        if block.key(at) == "LIMIT" and block.said(at, at + 1) != "LIMIT -":
            last = block.run_on(at + 1, ENDS_CONDITION)
            yield "without " + block.said(at, last), block.with_change(at, last, "")


def locks(block):
    for at in range(len(block.words) - 1):
        pair = (block.key(at), block.key(at + 1))
        if pair in (("FOR", "UPDATE"), ("FOR", "SHARE"), ("FOR", "NO"), ("LOCK", "IN")):
            ends = (ENDS_CONDITION - {"FOR", "SKIP", "LOCK", ","}) | {"SKIP", "NOWAIT"}
            last = block.run_on(at + 1, ends)
            if block.key(min(last + 1, len(block.words) - 1)) in ("SKIP", "NOWAIT"):
                last += 2 if block.key(last + 1) == "SKIP" else 1
            yield "without " + block.said(at, last), block.with_change(at, last, "")
        if pair == ("SKIP", "LOCKED"):
            yield "without SKIP LOCKED", block.with_change(at, at + 1, "")
        if pair[0] == "NOWAIT":
            yield "without NOWAIT", block.with_change(at, at, "")


def clocks(block):
    """Each time that is asked for is 1,000 days later, and 1,000 days earlier."""
    for at, (word, depth) in enumerate(block.words):
        last = at
        if word.upper() in CLOCKS:
            if at + 2 >= len(block.words) or block.words[at + 1][0] != "(":
                continue
            last += 2
            while block.depth(last) > depth and last + 1 < len(block.words):
                last += 1
        elif not is_clock(block, at):
            continue
        said = block.said(max(at - 2, 0), min(last + 2, len(block.words) - 1))
        text = block.said(at, last)
        # The fragments are numbers of microseconds but for PostgreSQL's.
        engine = "sqlite" if text.startswith("{") and block.engine == "mysql" else block.engine
        for sign, name in (("+", "later"), ("-", "earlier")):
            by = f"({text} {sign} {LONG[engine]})"
            yield f"{text} 1,000 days {name} in {said}", block.with_change(at, last, by)


def mutants(text, engine):
    """All mutants of a block, each text once."""
    block = Block(text, engine)
    seen = {text}
    is_one = ";" not in block.keys
    if not block.words or (is_one and block.key(0) in LEFT_ALONE):
        return
    for kind in (
        conditions, comparisons, arithmetic, assignments, inserted, answers, order, locks, clocks
    ):  # fmt: skip
        for what, changed in kind(block):
            if changed not in seen:
                seen.add(changed)
                yield Mutant(what, changed)


def blocks_of(path):
    """(name, text, line) of each block of a file, as src/cmake/embed_sql.cmake takes it apart."""
    name, begun, kept = None, 0, []

    def text():
        body = "\n".join(kept).strip(" \n")
        return body[:-1] if body.endswith(";") else body

    for number, line in enumerate(path.read_text().split("\n"), 1):
        if line.startswith("--"):
            if line.startswith("-- gives:") and name and not kept:
                continue
            if name and text():
                yield name, text(), begun
            found = re.match(r"-- (name|fragment): (.*)", line)
            name, begun, kept = (found.group(2) if found else None), number, []
        elif name:
            kept.append(line)
    if name and text():
        yield name, text(), begun
