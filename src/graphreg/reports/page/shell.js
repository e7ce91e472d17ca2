"use strict";

/* What every page can do: light and dark, tables that are sorted by a column, and all that is folded on paper too. */

(() => {
  /* Light and dark; what draws with colours of its own hears of it by "dressed" */

  const theme = document.getElementById("theme"), root = document.documentElement;
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  function dress(name) {
    root.dataset.theme = name;
    theme.setAttribute("aria-pressed", String(name === "dark"));
    document.dispatchEvent(new Event("dressed"));
  }
  theme.addEventListener("click", () => dress(root.dataset.theme === "dark" ? "light" : "dark"));
  preferred.addEventListener("change", () => dress(preferred.matches ? "dark" : "light"));
  dress(root.dataset.theme);

  /* Tables: columns of numbers by these, others by the alphabet; what is missing comes last */

  const MISSING = "-";

  function sort(table, column, descending) {
    const rows = [...table.tBodies[0].rows].map((row) => ({ row, text: row.cells[column].textContent }));
    const numbers = rows.every(({ text }) => text === MISSING || !isNaN(parseFloat(text)));
    rows.sort(({ text: a }, { text: b }) => {
      if (a === MISSING || b === MISSING) return (a === MISSING) - (b === MISSING);
      return (descending ? -1 : 1) * (numbers ? parseFloat(a) - parseFloat(b) : a.localeCompare(b));
    });
    table.tBodies[0].append(...rows.map(({ row }) => row));
  }

  for (const table of document.querySelectorAll(".records table")) {
    [...table.tHead.rows[0].cells].forEach((head, column, heads) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        sort(table, column, descending);
      });
    });
  }

  /* On paper nobody can unfold anything */

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((details) => { details.open = false; }));
})();
