"""links.py FOLDER: every link within the site, and what its search finds, leads to a place that is
there; every page is well formed, and has a text and a title without a path."""

import html.parser
import pathlib
import re
import sys
import urllib.parse

WITHOUT_END = {"meta", "link", "img", "br", "hr", "input", "col", "wbr"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links = []
        self.places = set()
        self.problems = []
        self.open = []
        self.title = self.text = ""

    def wrong(self, what):
        self.problems.append((self.getpos()[0], what))

    def handle_starttag(self, tag, attributes):
        if tag not in WITHOUT_END:
            self.open.append(tag)
        if tag == "img" and not dict(attributes).get("alt"):
            self.wrong("a picture without words")
        for name, value in attributes:
            if name in ("href", "src"):
                if not value:
                    self.wrong("a link without a place")
                    continue
                self.links.append((self.getpos()[0], value))
            elif name == "id":
                if value in self.places:
                    self.wrong(f"{value} is there twice")
                self.places.add(value)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in WITHOUT_END:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong(f"</{tag}> ends nothing")

    def handle_data(self, data):
        if "title" in self.open:
            self.title += data
        elif "main" in self.open and "h1" not in self.open:
            self.text += data


def read(path):
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    if page.open:
        page.wrong(f"<{page.open[-1]}> has no end")
    if not page.text.split():
        page.wrong("a page without a text")
    if not page.title.strip() or re.search(r"(^|\s)/|_8md", page.title):
        page.wrong(f"its title is {page.title!r}")
    return page


# The names of the search are a list of JavaScript.
def found(path):
    text = path.read_text(encoding="utf-8")
    hits = re.findall(r"\['((?:\.\./)?[^']*\.html[^']*)',1,'", text)
    return [(0, each.removeprefix("../")) for each in hits]


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    pages = {path.name: read(path) for path in folder.glob("*.html")}
    links = {name: page.links for name, page in pages.items()}
    links["names.js"] = found(folder / "names.js")
    wrong = 0
    for name, of_page in sorted(links.items()):
        problems = list(pages[name].problems) if name in pages else []
        for line, link in of_page:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = urllib.parse.unquote(parts.path) or name
            place = urllib.parse.unquote(parts.fragment)
            if not (folder / target).is_file():
                problems.append((line, f"{link}: there is no such file"))
            elif place and target in pages and place not in pages[target].places:
                problems.append((line, f"{link}: there is no such place"))
        for line, problem in problems:
            print(f"{name}:{line}: {problem}")
        wrong += len(problems)
    print(f"{len(pages)} pages, {sum(len(each) for each in links.values())} links")
    if wrong or len(pages) < 100 or len(links["names.js"]) < 1000:
        sys.exit(1)


main()
