"""look.py URL TOKEN [FOLDER]: the page of `serve` in Chromium; with a folder, screenshots in it."""

import os
import sys
import urllib.parse

from chromium import Chromium, Tab
from faint import FAINT

url, token = sys.argv[1], sys.argv[2]
folder = sys.argv[3] if len(sys.argv) > 3 else ""
failures = []

# Elements that are wider than the screen, but for those that are put out of sight on purpose.
WIDER = """(() => {
  const width = document.documentElement.clientWidth;
  const wider = [];
  if (document.documentElement.scrollWidth > width) wider.push("the page itself");
  for (const each of document.body.querySelectorAll("*")) {
    const box = each.getBoundingClientRect();
    if (box.width > 0 && box.right > width + 0.5) wider.push(each.outerHTML.slice(0, 120));
  }
  // The innermost say more.
  return wider.slice(-5);
})()"""

# Fields and buttons without a name, ids that are there twice.
UNNAMED = """(() => {
  const found = [];
  for (const each of document.querySelectorAll("input:not([type=hidden])")) {
    if (!each.labels.length) found.push(each.outerHTML);
  }
  for (const each of document.querySelectorAll("button, a, summary")) {
    if (!each.textContent.trim()) found.push(each.outerHTML);
  }
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  for (const each of ids) if (ids.filter((other) => other === each).length > 1) found.push(each);
  return found;
})()"""


def expect(what, found, wanted):
    if found != wanted:
        failures.append(f"{what}: {found!r}, not {wanted!r}")


def look_at(tab, name):
    tab.until("document.readyState === 'complete'")
    expect(f"{name}: wider than the screen", tab.evaluate(WIDER), [])
    expect(f"{name}: too faint", tab.evaluate(FAINT), [])
    expect(f"{name}: unnamed", tab.evaluate(UNNAMED), [])
    if folder:
        tab.screenshot(os.path.join(folder, name + ".png"))
    tab.collect()
    expect(f"{name}: complaints of the console", tab.complaints, [])


def text_of(tab, selector):
    return tab.evaluate(f"document.querySelector({selector!r})?.innerText ?? ''")


def all_views(browser):
    for width, height in ((390, 844), (1440, 900)):
        for scheme in ("light", "dark"):
            tab = Tab(browser, width, height, scheme)
            tab.go(url)
            expect("title", tab.evaluate("document.title"), "leasehold")
            look_at(tab, f"page-{width}-{scheme}")
            tab.close()


def with_scripts(browser):
    tab = Tab(browser, 1440, 900)
    tab.go(url)
    # A mark that goes where the page loads anew, and stays where it is renewed in place.
    tab.evaluate("window.stays = true; document.querySelector('#sessions').dataset.old = 'yes'")
    tab.evaluate("document.querySelector('#refresh').click()")
    tab.until("!document.querySelector('#sessions').dataset.old")
    expect("renewed in place", tab.evaluate("window.stays"), True)
    # Typing filters.
    tab.evaluate(
        "(() => { const box = document.querySelector('#prefix'); box.focus();"
        " box.value = 'images/'; box.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    tab.until("document.querySelectorAll('#locks tbody tr').length === 1")
    expect("focus stays", tab.evaluate("document.activeElement.id"), "prefix")
    expect("what is typed stays", tab.evaluate("document.querySelector('#prefix').value"), "images/")
    expect("the address", tab.evaluate("location.search"), "?prefix=images%2F")
    expect("no reload", tab.evaluate("window.stays"), True)
    expect("nothing evil ran", tab.evaluate("document.title"), "leasehold")
    expect("evil elements", tab.evaluate("document.querySelectorAll('main script').length"), 0)
    # The list of waiters stays open for somebody who has opened it.
    tab.go(url)
    tab.evaluate("document.querySelector('#locks details').open = true")
    tab.evaluate("document.querySelector('#refresh').click()")
    tab.evaluate("document.querySelector('#sessions').dataset.old = 'yes'")
    tab.until("!document.querySelector('#sessions').dataset.old")
    expect("it stays open", tab.evaluate("document.querySelector('#locks details').open"), True)
    tab.collect()
    expect("complaints of the console", tab.complaints, [])
    tab.close()


def without_scripts(browser):
    tab = Tab(browser, 390, 844, scripts=False)
    tab.go(url + "?prefix=" + urllib.parse.quote("images/"))
    expect("filtered", tab.evaluate("document.querySelectorAll('#locks tbody tr').length"), 1)
    refresh = tab.evaluate("document.querySelector('meta[http-equiv=refresh]')?.content ?? ''")
    expect("renews itself", refresh, "15")
    look_at(tab, "filtered-390-without-scripts")
    tab.close()


def with_buttons(browser):
    tab = Tab(browser, 390, 844)
    tab.go(url)
    expect("no button for who only looks", tab.evaluate("document.forms.length"), 1)
    tab.go(url + "sign-in")
    look_at(tab, "sign-in-390")
    tab.evaluate(f"document.querySelector('#token').value = {token!r}")
    tab.browser.events.clear()
    tab.evaluate("document.querySelector('button').click()")
    tab.until("document.querySelector('form[action=\"/sign-out\"]') !== null")
    expect("the cookie is not shown to scripts", tab.evaluate("document.cookie"), "")
    tab.evaluate("document.querySelectorAll('#locks details').forEach((each) => each.open = true)")
    look_at(tab, "signed-in-390")
    tab.call(
        "Emulation.setDeviceMetricsOverride",
        {"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    look_at(tab, "signed-in-1440")
    tab.go(url + "?prefix=" + urllib.parse.quote("evil/"))
    tab.evaluate("document.querySelector('form[action=\"/force\"] button').click()")
    tab.until("document.querySelector('.said') !== null")
    said = text_of(tab, ".said")
    if "was freed from" not in said or "<script>" not in said:
        failures.append("said after a force: " + said)
    tab.until("!document.querySelector('#locks').innerText.includes('evil/')")
    tab.collect()
    expect("complaints of the console", tab.complaints, [])
    tab.evaluate("document.querySelector('form[action=\"/sign-out\"] button').click()")
    tab.until("document.querySelector('a[href=\"/sign-in\"]') !== null")
    expect("no button afterwards", tab.evaluate("document.forms.length"), 1)
    tab.close()


with Chromium() as chromium:
    all_views(chromium)
    with_scripts(chromium)
    without_scripts(chromium)
    with_buttons(chromium)
for each in failures:
    print("FAILED: " + each, file=sys.stderr)
sys.exit(1 if failures else 0)
