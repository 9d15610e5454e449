// Keeps the page up to date in place, and filters while one types. Without it the page does the
// same by loading anew.
"use strict";

(() => {
  const every = 5000;
  const content = document.getElementById("content");
  if (!content) return;
  let timer = 0;
  let asked = 0;

  const query = () => new URLSearchParams(location.search);

  // What somebody is about to press, or writes in, stays as it is.
  const isInUse = (part) =>
    part.contains(document.activeElement) && document.activeElement.matches("input, button");

  const openOnes = (part) =>
    new Set([...part.querySelectorAll("details[open][data-key]")].map((each) => each.dataset.key));

  const put = (fresh, old) => {
    const open = openOnes(old);
    for (const each of fresh.querySelectorAll("details[data-key]")) {
      if (open.has(each.dataset.key)) each.open = true;
    }
    if (fresh.innerHTML === old.innerHTML) return;
    const focused = old.contains(document.activeElement) && document.activeElement;
    old.replaceWith(fresh);
    if (!focused) return;
    const key = focused.matches("summary") && focused.parentNode.dataset.key;
    const again = key
      ? fresh.querySelector(`details[data-key="${CSS.escape(key)}"] > summary`)
      : focused.id && document.getElementById(focused.id);
    if (again) again.focus({ preventScroll: true });
  };

  // Of the locks all but the form, in which somebody may be writing.
  const putLocks = (fresh, old) => {
    const form = old.querySelector("form.filter");
    const freshForm = fresh.querySelector("form.filter");
    if (!form || !freshForm || !form.contains(document.activeElement)) {
      put(fresh, old);
      return;
    }
    const open = openOnes(old);
    while (form.nextSibling) form.nextSibling.remove();
    while (freshForm.nextSibling) {
      const next = freshForm.nextSibling;
      next.remove();
      form.parentNode.append(next);
    }
    for (const each of old.querySelectorAll("details[data-key]")) {
      if (open.has(each.dataset.key)) each.open = true;
    }
  };

  const show = (html) => {
    const fresh = new DOMParser().parseFromString(html, "text/html").body;
    const parts = [...fresh.children];
    const isSame =
      parts.length === content.children.length &&
      parts.every((part, at) => part.id === content.children[at].id);
    if (!isSame) {
      content.replaceChildren(...parts);
      return;
    }
    for (const part of parts) {
      const old = document.getElementById(part.id);
      const said = old.querySelector(".said");
      if (said && part.id === "state") part.querySelector("header").after(said);
      if (part.id === "locks") {
        if (!isInUse(old) || old.querySelector("form.filter").contains(document.activeElement)) {
          putLocks(part, old);
        }
      } else if (!isInUse(old)) {
        put(part, old);
      }
    }
  };

  const unreachable = () => {
    const state = document.getElementById("state");
    if (!state || state.querySelector(".unreachable")) return;
    const words = document.createElement("div");
    words.className = "banner error unreachable";
    words.setAttribute("role", "alert");
    words.textContent = "leasehold serve does not answer; what follows is what it said last.";
    state.append(words);
  };

  const refresh = async () => {
    clearTimeout(timer);
    const number = ++asked;
    try {
      const wanted = query();
      wanted.set("part", "1");
      const answer = await fetch("/?" + wanted, { cache: "no-store", credentials: "same-origin" });
      const html = await answer.text();
      // Of several that are under way the last one counts.
      if (number === asked && answer.ok) show(html);
    } catch {
      if (number === asked) unreachable();
    }
    if (number === asked) timer = setTimeout(refresh, every);
  };

  let typing = 0;
  content.addEventListener("input", (event) => {
    if (event.target.id !== "prefix") return;
    clearTimeout(typing);
    typing = setTimeout(() => {
      const wanted = query();
      wanted.delete("after");
      if (event.target.value) wanted.set("prefix", event.target.value);
      else wanted.delete("prefix");
      history.replaceState(null, "", wanted.size ? "/?" + wanted : "/");
      refresh();
    }, 250);
  });
  content.addEventListener("submit", (event) => {
    if (!event.target.matches("form.filter")) return;
    event.preventDefault();
  });
  content.addEventListener("click", (event) => {
    if (event.target.id !== "refresh") return;
    event.preventDefault();
    event.target.blur();
    refresh();
  });
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.visibilityState === "visible") refresh();
  });
  timer = setTimeout(refresh, every);
})();
