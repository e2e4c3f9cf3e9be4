"use strict";
// The page reads well without any of this: hiding methods, sorting, values under the pointer and the theme are extras.

const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Theme: as the system, light, dark. Storage may be refused for a file opened from disk.
const themes = ["", "light", "dark"];
const words = { "": "as the system", light: "light", dark: "dark" };
const remember = (value) => { try { localStorage.setItem("callup-theme", value); } catch { /* not kept */ } };
const recall = () => { try { return localStorage.getItem("callup-theme") || ""; } catch { return ""; } };
const themeButton = document.getElementById("theme");
let theme = themes.includes(recall()) ? recall() : "";
function showTheme() {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  themeButton.querySelector("span").textContent = words[theme];
}
themeButton.hidden = false;
themeButton.addEventListener("click", () => {
  theme = themes[(themes.indexOf(theme) + 1) % themes.length];
  remember(theme);
  showTheme();
});
showTheme();

// Methods: a button hides and shows one everywhere in its scenario; double-click shows it alone, again shows all.
for (const scenario of all(".scenario")) {
  const buttons = all("[data-toggle]", scenario);
  const pressed = (button) => button.getAttribute("aria-pressed") === "true";
  const press = (button, on) => button.setAttribute("aria-pressed", String(on));
  const apply = () => {
    for (const button of buttons)
      for (const mark of all(`[data-method="${button.dataset.toggle}"]`, scenario)) mark.classList.toggle("off", !pressed(button));
  };
  for (const button of buttons) {
    button.addEventListener("click", (event) => {
      if (event.detail > 1) return; // the second half of a double-click
      press(button, !pressed(button));
      apply();
    });
    button.addEventListener("dblclick", () => {
      const others = buttons.filter((other) => other !== button);
      const alone = others.every((other) => !pressed(other));
      for (const other of others) press(other, alone);
      press(button, true);
      apply();
    });
    const point = (on) => {
      for (const mark of all("svg [data-method]", scenario)) mark.classList.toggle("dim", on && pressed(button) && mark.dataset.method !== button.dataset.toggle);
    };
    button.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") point(true); });
    button.addEventListener("pointerleave", () => point(false));
    button.addEventListener("focus", () => { if (button.matches(":focus-visible")) point(true); });
    button.addEventListener("blur", () => point(false));
  }
}

// Values under the pointer, or under the arrow keys.
for (const chart of all(".chart")) {
  const source = chart.querySelector('script[type="application/json"]');
  if (!source) continue;
  const data = JSON.parse(source.textContent);
  const tip = chart.querySelector(".tip");
  for (const svg of all("svg", chart)) {
    const cross = svg.querySelector(".cross");
    const { left, right, first, last } = Object.fromEntries(Object.entries(svg.dataset).map(([k, v]) => [k, Number(v)]));
    let current = data.rounds.length - 1;
    const hide = () => { tip.hidden = true; cross.classList.remove("on"); };
    const show = (n) => {
      current = Math.max(0, Math.min(data.rounds.length - 1, n));
      const round = data.rounds[current];
      const x = left + (right - left) * (last > first ? (round - first) / (last - first) : 0.5);
      cross.setAttribute("x1", x);
      cross.setAttribute("x2", x);
      cross.classList.add("on");
      const rows = data.methods
        .map((method, i) => ({ mark: svg.querySelector(`.series[data-method="${method}"]`), name: data.names[i], value: data.values[i][current] }))
        .filter((row) => row.value !== null && !row.mark.classList.contains("off"))
        .sort((a, b) => b.value - a.value);
      const title = document.createElement("b");
      title.textContent = `round ${round}`;
      const grid = document.createElement("div");
      for (const row of rows) {
        const name = document.createElement("i");
        name.className = row.mark.classList[1];
        name.textContent = row.name;
        const value = document.createElement("span");
        value.textContent = `${(100 * row.value).toFixed(1)} %`;
        grid.append(name, value);
      }
      tip.replaceChildren(title, grid);
      tip.hidden = false;
      const scale = svg.clientWidth / svg.viewBox.baseVal.width;
      const room = chart.clientWidth - tip.offsetWidth;
      const beside = x * scale + 14;
      tip.style.left = `${Math.max(0, beside <= room ? beside : x * scale - 14 - tip.offsetWidth)}px`;
    };
    const nearest = (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      const round = first + ((x - left) / (right - left)) * (last - first);
      let best = 0;
      data.rounds.forEach((r, n) => { if (Math.abs(r - round) < Math.abs(data.rounds[best] - round)) best = n; });
      return best;
    };
    svg.addEventListener("pointermove", (event) => show(nearest(event)));
    svg.addEventListener("pointerdown", (event) => show(nearest(event)));
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (step === undefined) { if (event.key === "Escape") hide(); return; }
      event.preventDefault();
      show(tip.hidden ? current : current + step);
    });
  }
}

// Tables that sort by a click on a heading; a second click turns the order round.
for (const table of all(".sortable")) {
  const heads = all("thead th", table);
  const body = table.tBodies[0];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[column].dataset.sort;
      const compare = (a, b) => (column ? Number(key(a)) - Number(key(b)) : key(a).localeCompare(key(b)));
      body.append(...[...body.rows].sort((a, b) => (up ? compare(a, b) : compare(b, a))));
    });
  });
}

for (const button of all("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}
