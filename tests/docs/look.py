"""look.py SITE AXE FOLDER: pages of the manual's site in Chromium; with AXE, by its rules, too;
with a FOLDER, screenshots in it."""

import os
import pathlib
import sys

from chromium import Chromium, Tab
from faint import FAINT

site, axe, folder = sys.argv[1:]
PAGES = [
    "index", "headers", "docs_guides_jobs_md", "docs_guides_fencing_md", "docs_metrics_md",
    "DESIGN_md", "lease_8hpp", "classleasehold_1_1lease", "structleasehold_1_1new__job",
]  # fmt: skip
failures = []


def expect(what, found, wanted):
    if found != wanted:
        failures.append(f"{what}: {found!r}, not {wanted!r}")


def go(tab, page):
    tab.go(f"file://{site}/{page}.html")


# Only code and tables, which scroll, may be wider than the window.
def look_at(tab, name):
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    expect(f"{name}: wider than the screen", tab.evaluate(wider), 0)
    expect(f"{name}: too faint", tab.evaluate(FAINT), [])
    if axe:
        tab.evaluate(pathlib.Path(axe).read_text(encoding="utf-8") + ";0")
        found = "axe.run({preload: false}).then((all) => all.violations.map((each) => each.id + "
        found += "': ' + each.nodes[0].html.slice(0, 200)))"
        expect(f"{name}: axe", tab.evaluate(found), [])
    if folder:
        tab.screenshot(os.path.join(folder, name + ".png"), whole=False)
    tab.collect()
    expect(f"{name}: complaints of the console", tab.complaints, [])


def all_views(browser):
    for width, height in ((390, 844), (1440, 900)):
        for scheme in ("light", "dark"):
            tab = Tab(browser, width, height, scheme)
            for page in PAGES:
                go(tab, page)
                look_at(tab, f"{page}-{width}-{scheme}")
            tab.close()


def with_scripts(browser):
    tab = Tab(browser, 390, 844)
    go(tab, "docs_guides_jobs_md")
    marked = "document.querySelector('nav a[aria-current]')?.getAttribute('href')"
    expect("the page in the contents", tab.evaluate(marked), "docs_guides_jobs_md.html")
    expect("buttons", tab.evaluate("document.querySelectorAll('button.copy').length > 5"), True)
    type_in = "(() => { const field = document.querySelector('#search input'); field.focus();"
    type_in += " field.value = 'lease.hpp'; field.dispatchEvent(new Event('input')); })()"
    tab.evaluate(type_in)
    tab.until("document.querySelector('#found a') !== null")
    look_at(tab, "search-390")
    tab.evaluate("document.querySelector('#found a').click()")
    tab.until("document.title.startsWith('leasehold/lease.hpp')")
    tab.close()


def without_scripts(browser):
    tab = Tab(browser, 390, 844, scripts=False)
    go(tab, "docs_guides_jobs_md")
    # No field that does nothing, and the contents can be reached.
    shown = "getComputedStyle(document.querySelector('#search')).display"
    expect("the search", tab.evaluate(shown), "none")
    links = "document.querySelectorAll('nav#contents a').length > 50"
    expect("the contents", tab.evaluate(links), True)
    wide = "document.documentElement.scrollWidth"
    expect("without scripts: wide", tab.evaluate(wide), 390)
    tab.close()


with Chromium() as chromium:
    all_views(chromium)
    with_scripts(chromium)
    without_scripts(chromium)
for each in failures:
    print("FAILED: " + each, file=sys.stderr)
sys.exit(1 if failures else 0)
