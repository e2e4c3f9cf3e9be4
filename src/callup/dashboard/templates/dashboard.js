"use strict";
// Asks for the middle of the page whenever the server says that there is news; keeps what was typed and where one was.
const place = document.getElementById("live");
const state = document.getElementById("line");
const run = document.body.dataset.run;
const where = (path) => `${path}?run=${encodeURIComponent(run)}`;

let asking = false, again = false;
async function fetchMiddle() {
  if (asking) { again = true; return; }
  asking = true;
  try {
    const answer = await fetch(where("/live"));
    const text = await answer.text();
    if (answer.ok) place.innerHTML = text;
    state.textContent = answer.ok ? "live" : text;
  } catch { state.textContent = "no answer; trying again"; }
  asking = false;
  if (again) { again = false; fetchMiddle(); }
}

const news = new EventSource(where("/news"));
news.onmessage = fetchMiddle;
news.onopen = () => { state.textContent = "live"; };
news.onerror = () => { state.textContent = "connection lost; trying again"; };

document.getElementById("runs")?.addEventListener("change", (event) => {
  location.search = `?run=${encodeURIComponent(event.target.value)}`;
});
