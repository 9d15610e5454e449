// The site searches, copies code and marks the page in the contents.
"use strict";
const make = (parent, tag, attributes, text) => {
  const made = Object.assign(document.createElement(tag), attributes);
  if (text) made.textContent = text;
  parent.append(made);
  return made;
};
const page = location.pathname.split("/").pop() || "index.html";
for (const each of document.querySelectorAll("nav a")) {
  if (each.getAttribute("href") !== page) continue;
  each.setAttribute("aria-current", "page");
  if (each.closest("details")) each.closest("details").open = true;
}
for (const code of document.querySelectorAll("pre")) {
  const box = make(code.parentNode, "div", { className: "code-box" });
  code.replaceWith(box);
  box.append(code);
  if (!navigator.clipboard) continue;
  const button = make(box, "button", { className: "copy", type: "button" }, "Copy");
  button.onclick = async () => {
    await navigator.clipboard.writeText(code.textContent.trimEnd());
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  };
}
const form = document.getElementById("search");
const field = form.querySelector("input");
const found = document.getElementById("found");
const plain = (html) => new DOMParser().parseFromString(html, "text/html").body.textContent;
// Whole pages come before places in them, and names that begin so before those that have it.
const rank = ([name, href], wanted) =>
  (href.includes("#") ? 3 : 0) +
  (name.toLowerCase() === wanted ? 0 : name.toLowerCase().startsWith(wanted) ? 1 : 2);
const show = () => {
  const wanted = field.value.trim().toLowerCase();
  found.replaceChildren();
  if (!wanted || !window.found_names) return;
  const rows = found_names
    .flatMap(([, [name, ...places]]) => places.map((place) => [plain(name), ...place]))
    .filter(([name]) => name.toLowerCase().includes(wanted))
    .sort((a, b) => rank(a, wanted) - rank(b, wanted));
  for (const [name, href, , scope] of rows.slice(0, 40)) {
    const link = make(make(found, "li"), "a", { href: href.replace("../", "") }, name + " ");
    make(link, "small", {}, plain(scope));
  }
  if (!rows.length) make(make(found, "li"), "p", {}, "No page, heading or name has this.");
};
form.hidden = false;
form.onsubmit = (event) => {
  event.preventDefault();
  found.querySelector("a")?.click();
};
field.onfocus = () => {
  if (!window.found_names) make(document.head, "script", { src: "names.js", onload: show });
};
if (document.activeElement === field) field.onfocus();
field.oninput = show;
document.onkeydown = (event) => event.key === "Escape" && found.replaceChildren();
