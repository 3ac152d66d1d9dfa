"use strict";
{ // names of its own: the library that draws has many
const $ = (selector, from = document) => [...from.querySelectorAll(selector)];
const say = JSON.parse(document.getElementById("page").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const hidden = new Set();

// The rows of a table that came column by column, texts as places in a list.
function* unpacked(columns) {
  const values = columns.map(([, held]) => (Array.isArray(held) ? held : held.at.map((place) => held.of[place])));
  for (let row = 0; row < (values[0]?.length ?? 0); row++) yield values.map((column) => column[row]);
}

// Charts: drawn when they come into view, again when a method is hidden, a baseline chosen, or the colours change.
function draw(figure) {
  figure.dataset.drawn = "yes";
  const data = figure.querySelector("script").textContent;
  const coloured = dark.matches ? data.replace(/#[0-9a-f]{6}/g, (colour) => say.dark[colour] ?? colour) : data;
  const { spec } = JSON.parse(coloured);
  for (const [name, table] of Object.entries(spec.datasets ?? {}))
    spec.datasets[name] = [...unpacked(table)].map((row) =>
      Object.fromEntries(row.map((value, at) => [table[at][0], value])),
    );
  const chosen = choices($("select", figure), Object.values(spec.datasets ?? {}).flat());
  for (const [name, rows] of Object.entries(spec.datasets ?? {}))
    spec.datasets[name] = rows.filter((row) => !hidden.has(row.series) && fits(row, chosen));
  const options = {
    mode: "vega-lite",
    renderer: "svg",
    actions: false,
    ast: true, // no code is made from text
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true, sanitize: text },
    config: dark.matches ? say.configs[1] : say.configs[0],
  };
  const chart = figure.querySelector(".chart");
  return vegaEmbed(chart, spec, options).catch((error) => (chart.textContent = String(error)));
}
const fits = (row, chosen) => chosen.every(([key, value]) => row[key] === undefined || row[key] === value);
// What is chosen. Of each choice only the values are left that there are rows for, given the choices before it.
function choices(selects, rows) {
  const chosen = [];
  for (const select of selects) {
    const there = new Set(rows.filter((row) => fits(row, chosen)).map((row) => row[select.name]));
    for (const option of select.options) option.disabled = option.hidden = !there.has(option.value);
    if (select.selectedOptions[0]?.disabled ?? true) select.value = $("option:enabled", select)[0]?.value;
    chosen.push([select.name, select.value]);
  }
  return chosen;
}
function text(value) {
  const node = document.createElement("span");
  node.textContent = String(value);
  return node.innerHTML;
}
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries)
    if (entry.isIntersecting && !entry.target.dataset.drawn) draw(entry.target);
});
const figures = $("figure");
for (const figure of figures) {
  seen.observe(figure);
  for (const select of $("select", figure)) select.addEventListener("change", () => draw(figure));
  figure.querySelector("details").addEventListener("toggle", numbers);
}
const again = () => Promise.all(figures.filter((figure) => figure.dataset.drawn).map(draw));
dark.addEventListener("change", again);

// The numbers of a figure, when they are asked for.
function numbers() {
  const place = this.querySelector(".wide");
  if (place.firstChild) return;
  const { numbers: held } = JSON.parse(this.closest("figure").querySelector("script").textContent);
  const table = place.appendChild(document.createElement("table"));
  const line = (parent, kind, texts) => {
    const row = parent.insertRow();
    for (const each of texts) row.appendChild(document.createElement(kind)).textContent = each ?? "";
  };
  line(table.createTHead(), "th", held.map(([name]) => name));
  const body = table.createTBody();
  for (const row of unpacked(held)) line(body, "td", row);
}

// The legend of all charts: a method that is switched off is in none of them, nor in the matrix.
for (const box of $(".legend input")) {
  box.closest(".legend").hidden = false;
  box.addEventListener("change", () => {
    for (const name of JSON.parse(box.dataset.series)) box.checked ? hidden.delete(name) : hidden.add(name);
    for (const row of $(".matrix tbody tr")) if (row.dataset.name === box.value) row.hidden = !box.checked;
    again();
  });
}

// On paper every section is open.
addEventListener("beforeprint", () => {
  for (const section of $("details.section")) section.open = true;
});

// Sort a table by the column that is clicked: numbers downwards first, text upwards; what has no value stays last.
for (const head of $(".sortable thead th")) {
  head.querySelector("button").addEventListener("click", () => {
    const body = head.closest("table").tBodies[0];
    const first = head.classList.contains("number") ? "descending" : "ascending";
    const other = first === "descending" ? "ascending" : "descending";
    const order = head.getAttribute("aria-sort") === first ? other : first;
    for (const each of head.parentNode.children) each.setAttribute("aria-sort", each === head ? order : "none");
    const value = (row) => row.children[head.cellIndex].dataset.value;
    const compare = (a, b) =>
      first === "descending" ? a - b : a.localeCompare(b, undefined, { numeric: true });
    const rows = [...body.rows].sort((one, two) => {
      const [a, b] = [value(one), value(two)];
      if (a === "" || b === "") return (a === "") - (b === "");
      return order === "ascending" ? compare(a, b) : compare(b, a);
    });
    body.append(...rows);
  });
}
// Keep the rows that hold every word of the filter.
for (const input of $("input[data-table]")) {
  const rows = [...document.getElementById(input.dataset.table).tBodies[0].rows];
  const shown = input.parentNode.querySelector("output");
  input.parentNode.hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    const left = rows.filter((row) => !row.hidden).length;
    shown.textContent = left < rows.length ? `${left} of ${rows.length} rows` : "";
  });
}
// A link to a section opens it.
const open = () => {
  const section = location.hash && document.getElementById(location.hash.slice(1));
  if (section instanceof HTMLDetailsElement) section.open = true;
};
addEventListener("hashchange", open);
open();
}
