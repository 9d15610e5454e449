"""links.py FOLDER: every link within the site leads somewhere, and to a place that is there."""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links = []
        self.places = set()

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append((self.getpos()[0], value))
            elif name in ("id", "name") and value:
                self.places.add(value)


def read(path):
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    pages = {path.name: read(path) for path in folder.glob("*.html")}
    wrong = 0
    for name, page in sorted(pages.items()):
        for line, link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = urllib.parse.unquote(parts.path) or name
            place = urllib.parse.unquote(parts.fragment)
            if not (folder / target).is_file():
                problem = "there is no such file"
            elif place and target in pages and place not in pages[target].places:
                problem = "there is no such place"
            else:
                continue
            print(f"{name}:{line}: {link}: {problem}")
            wrong += 1
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links")
    if wrong or len(pages) < 100:
        sys.exit(1)


main()
