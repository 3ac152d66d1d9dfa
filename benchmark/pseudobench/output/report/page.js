"use strict";
// Sort a summary by the column that is clicked: numbers downwards first, text upwards; what has no value stays last.
for (const head of document.querySelectorAll(".summary thead th")) {
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
for (const input of document.querySelectorAll("input[data-table]")) {
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
