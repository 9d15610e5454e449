"""FAINT: a script for a page, which answers with the text that is hard to read."""

# Text whose colour is too near to what is behind it (WCAG 2.1, 1.4.3: 4.5 to 1).
FAINT = """(() => {
  const channels = (text) => {
    const found = text.match(/[\\d.]+/g).map(Number);
    const is_share = text.startsWith("color(");
    const [r, g, b] = found.slice(0, 3).map((each) => (is_share ? each * 255 : each));
    return [r, g, b, found.length > 3 ? found[3] : 1];
  };
  const luminance = ([r, g, b]) => {
    const part = (each) => {
      each /= 255;
      return each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (each) => {
    for (; each; each = each.parentElement) {
      const colour = channels(getComputedStyle(each).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return [255, 255, 255, 1];
  };
  const faint = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    const parent = text.parentElement;
    if (!text.data.trim() || !parent.checkVisibility() || parent.closest("svg, noscript")) continue;
    const [one, other] = [channels(getComputedStyle(parent).color), behind(parent)].map(luminance);
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) faint.push(`${ratio.toFixed(2)}: ${text.data.trim().slice(0, 40)}`);
  }
  return faint.slice(0, 5);
})()"""
