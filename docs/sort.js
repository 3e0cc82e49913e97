// Tables sort: the heads of those with numbers are buttons. The first press sorts upwards, the
// second downwards, and the third restores the page's order.

// What a number is multiplied by, in seconds and in bytes.
const UNITS = {
  ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, kB: 1e3, MB: 1e6, GB: 1e9,
};
const QUANTITY = /^([<>≤≥≈] ?)?([−-]?[\d,]*\.?\d+(?:e[+-]?\d+)?)(?: ?([a-zµ]+))?/i;

// `1.8e-03 (6e-04 – 8e-03)` as 0.0018, `2.52 ms` as 0.00252; null if no number stands first.
function quantity(text) {
  const found = QUANTITY.exec(text.trim());
  if (found === null) return null;
  const number = Number(found[2].replaceAll(",", "").replace("−", "-"));
  const sign = (found[1] || "").trim();
  const beyond = sign === "<" ? -1 : sign === ">" ? 1 : 0; // just below 1e-12, or just above
  return number * (UNITS[found[3]] ?? 1) + beyond * Math.abs(number) * 1e-9;
}

// The order of two cells: numbers by size, texts after them by letters, empty ones last.
function compared(a, b) {
  const [first, second] = [quantity(a), quantity(b)];
  if (first !== null && second !== null) return first - second;
  if (first !== null || second !== null) return first !== null ? -1 : 1;
  if (!a.trim() || !b.trim()) return !a.trim() - !b.trim();
  return a.localeCompare(b, "en", { numeric: true });
}

// The indices of rows in the order of their texts; rows without a number stay behind.
function ordered(texts, direction) {
  const last = (text) => quantity(text) === null && texts.some((each) => quantity(each) !== null);
  return texts
    .map((_, index) => index)
    .sort((i, j) => {
      const ends = last(texts[i]) - last(texts[j]);
      return ends || direction * compared(texts[i], texts[j]) || i - j;
    });
}

function makeSortable(table) {
  const body = table.tBodies[0];
  const rows = body ? [...body.rows] : [];
  const texts = (column) => rows.map((row) => row.cells[column]?.innerText ?? "");
  const heads = table.tHead ? [...table.tHead.rows[0].cells] : [];
  const isNumeric = (_, column) => texts(column).some((text) => quantity(text) !== null);
  const belongTogether = texts(0).some((text) => !text.trim()); // a row continues the one above
  if (rows.length < 3 || belongTogether || !heads.some(isNumeric)) return;
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const next = { null: "ascending", ascending: "descending" }[head.getAttribute("aria-sort")];
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      if (next) head.setAttribute("aria-sort", next);
      const places = next ? ordered(texts(column), next === "ascending" ? 1 : -1) : rows.keys();
      body.append(...[...places].map((place) => rows[place]));
    });
  });
}

if (typeof document === "undefined") {
  module.exports = { quantity, ordered };
} else {
  document.querySelectorAll("article table:not([class])").forEach(makeSortable);
}
