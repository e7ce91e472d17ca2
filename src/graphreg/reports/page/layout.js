"use strict";

/* Scripts of every page: light and dark, sortable tables, and folded sections in print. */

(() => {
  /* Light and dark; scripts that draw in colours of the theme listen to "themechange" */

  const theme = document.getElementById("theme"), root = document.documentElement;
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  function setTheme(name) {
    root.dataset.theme = name;
    theme.setAttribute("aria-pressed", String(name === "dark"));
    document.dispatchEvent(new Event("themechange"));
  }
  theme.addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));
  preferred.addEventListener("change", () => setTheme(preferred.matches ? "dark" : "light"));
  setTheme(root.dataset.theme);

  /* Sortable tables: columns of numbers numerically, others alphabetically, missing values last */

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

  /* Folded sections are open in print */

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((details) => { details.open = false; }));
})();
