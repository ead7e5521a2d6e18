// The pages of studies. Data of the service is inserted as text, never as HTML.
"use strict";

const $ = (id) => document.getElementById(id);
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function number(x, digits = 5) {
  if (x === null || x === undefined) return "–";
  if (typeof x !== "number") return String(x);
  return Number(x.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
}
const mean = (total, n) => (n > 0 ? total / n : null);
// Knobs have names, that of rho first; if all are choices, rho has no name. Other parameters are ρ and α.
const rhoName = () => view.names[0] || "ρ";
function valuesText({ rho, alpha }, names) {
  const others = [].concat(alpha ?? []);
  if (!names.length) return number(rho) + (others.length ? ", α = " + others.map((a) => number(a)).join(", ") : "");
  const values = [rho, ...others].slice(-names.length);
  return values.map((value, i) => (i ? ", " + names[i] + " = " : "") + number(value)).join("");
}
const hasInterval = (alpha) => !view.names.length || [].concat(alpha ?? []).length < view.names.length;
function ago(seconds) {
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (Math.abs(seconds) >= size) return (seconds / size).toFixed(1) + " " + unit;
  }
  return seconds.toFixed(0) + " s";
}
function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
function fill(body, rows, none) {
  const made = rows.map((cells) => {
    const row = element("tr");
    row.append(...cells.map((cell) => (cell instanceof Node ? cell : element("td", cell))));
    return row;
  });
  if (made.length === 0 && none) {
    const row = element("tr");
    row.append(element("td", none, { colspan: "9" }));
    made.push(row);
  }
  body.replaceChildren(...made);
}
function status(text, live) {
  const shown = $("status");
  if (shown.textContent !== text) shown.textContent = text;
  shown.dataset.live = live ? "yes" : "no";
}
async function get(path) {
  const answer = await fetch(path, { headers: { Accept: "application/json" } });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return body;
}

// -- the list ---------------------------------------------------------------------------------------

async function showList() {
  try {
    const search = $("search").value;
    const studies = await get("api/studies?limit=200&search=" + encodeURIComponent(search));
    const labels = [...document.querySelectorAll("#studies thead th")].map((th) => th.textContent);
    fill($("studies").tBodies[0], studies.map((study) => {
      const name = element("th", undefined, { scope: "row" });
      name.append(element("a", study.name, { href: "studies/" + study.id }));
      const values = Object.entries(study.values ?? {}).map(([name, value]) => name + " = " + number(value));
      const cells = [
        study.told.toLocaleString("en"), study.failed.toLocaleString("en"), number(study.mean, 4),
        values.join(", ") || "–", ago(Date.now() / 1000 - study.at) + " ago",
      ];
      return [name, ...cells.map((cell, i) => element("td", cell, { "data-label": labels[i + 1] }))];
    }));
    $("empty").hidden = studies.length > 0 || search !== "";
    $("studies").hidden = studies.length === 0;
    const most = studies.length === 200 ? "the first " : "";
    status(most + studies.length + (studies.length === 1 ? " study" : " studies"), true);
  } catch (error) {
    status("no answer from the service: " + error.message, false);
  }
  setTimeout(showList, 2000);
}

// -- a study ----------------------------------------------------------------------------------------

const id = location.pathname.split("/").pop();
const api = "../api/studies/" + id;
let view = null; // state of the study, last answer of the service
let saved = []; // saved summaries, oldest first
let recent = []; // last rounds
let moment = null; // column of the past event that the slider selects
let asked = 0; // number of requested moments: late answers are dropped

// A column shows a summary, with means over the rounds since the column before and over all rounds.
function column(summary, before) {
  const { counts, event, rho, alpha, interval, place } = summary;
  const past = before ? before.counts : { loss: 0, n_losses: 0, widths: 0, n_widths: 0 };
  const bytes = Uint8Array.from(atob(summary.cells), (character) => character.charCodeAt(0));
  return {
    event, rho, alpha, interval, place, at: counts.at, told: counts.told, masses: Array.from(new Float32Array(bytes.buffer)),
    moving: mean(counts.loss - past.loss, counts.n_losses - past.n_losses), mean: mean(counts.loss, counts.n_losses),
    default: mean(counts.defaults, counts.n_defaults), width: mean(counts.widths - past.widths, counts.n_widths - past.n_widths),
  };
}
function columns() {
  const newest = view.summary;
  const earlier = saved.filter((s, i) => s.event < newest.event && s.counts.told < (saved[i + 1] ?? newest).counts.told);
  const most = 199; // evenly spread, the last one included
  const kept = earlier.length <= most ? earlier
    : Array.from({ length: most }, (_, i) => earlier[Math.floor(((i + 1) * earlier.length) / most) - 1]);
  return [...kept, newest].map((summary, i) => column(summary, kept[i - 1]));
}

function layout(extra) {
  const axis = { gridcolor: style("--line"), linecolor: style("--line"), zerolinecolor: style("--line"), automargin: true };
  const { xaxis, yaxis, ...rest } = extra;
  return {
    margin: { l: 48, r: 12, t: 8, b: 40 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: style("--text"), size: 12, family: "system-ui, sans-serif" }, showlegend: false,
    hoverlabel: { bgcolor: style("--card"), bordercolor: style("--line"), font: { color: style("--text") } },
    xaxis: { ...axis, ...xaxis }, yaxis: { ...axis, ...yaxis }, ...rest,
  };
}
function draw(where, traces, extra) {
  Plotly.react(where, traces, layout(extra), { responsive: true, displayModeBar: false });
}
const line = (x, y, name, color, more = {}) => ({ x, y, name, type: "scatter", mode: "lines", line: { color: style(color), width: 2, ...more } });
const legend = { showlegend: true, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 11 } }, margin: { l: 48, r: 12, t: 44, b: 40 } };

function cells(count) {
  const [lo, hi] = view.summary.line;
  return Array.from({ length: count + 1 }, (_, i) => lo + ((hi - lo) * i) / count);
}
function rows() {
  // Several rows on the line: a tick in the middle of each, labelled by its alpha.
  const n = view.alphas.length;
  const others = view.names.slice(-[].concat(view.alphas[0] ?? []).length).join(", ") || "α";
  if (n < 2 || n > 12) return { title: { text: n ? "rows of " + others : rhoName() } };
  const [lo, hi] = view.summary.line;
  return {
    title: { text: others }, tickvals: view.alphas.map((_, i) => lo + ((hi - lo) * (i + 0.5)) / n),
    ticktext: view.alphas.map((alpha) => [].concat(alpha).map((a) => number(a, 3)).join(", ")),
  };
}

function drawHeat(columns) {
  const x = [0, ...columns.map((c) => c.told)];
  const n = columns[0].masses.length;
  // The square root keeps small densities visible.
  const z = Array.from({ length: n }, (_, i) => columns.map((c) => Math.sqrt(c.masses[i] * n)));
  const shown = moment || columns[columns.length - 1];
  draw("heat", [
    { type: "heatmap", x, y: cells(n), z, zmin: 0, zsmooth: false, showscale: false, hoverinfo: "skip",
      colorscale: [[0, style("--card")], [0.15, style("--faint")], [1, style("--accent")]] },
    { ...line(columns.map((c) => c.told), columns.map((c) => c.place), "recommended", "--warm", { shape: "hv" }),
      customdata: columns.map((c) => [valuesText(c, view.names), c.event]), hovertemplate: "round %{x}: " + rhoName() + " = %{customdata[0]}<extra></extra>" },
  ], {
    xaxis: { title: { text: "round" }, range: [0, Math.max(1, x[x.length - 1])], showgrid: false },
    yaxis: { ...rows(), range: view.summary.line, showgrid: false },
    shapes: moment ? [{ type: "line", x0: shown.told, x1: shown.told, yref: "paper", y0: 0, y1: 1, line: { color: style("--text"), width: 2, dash: "dot" } }] : [],
  });
}
function drawDensity({ masses, place }) {
  const n = masses.length;
  const edges = cells(n);
  const [lo, hi] = view.summary.line;
  const values = masses.map((mass) => (mass * n) / (hi - lo));
  draw("density", [{ ...line(edges, [...values, values[n - 1]], "density", "--accent", { shape: "hv" }), fill: "tozeroy", hovertemplate: "%{x:.4g}: %{y:.4g}<extra></extra>" }], {
    xaxis: { ...rows(), range: view.summary.line }, yaxis: { title: { text: "density" }, rangemode: "tozero" },
    shapes: [{ type: "line", x0: place, x1: place, yref: "paper", y0: 0, y1: 1, line: { color: style("--warm"), width: 2 } }],
  });
}
function drawLosses(columns) {
  const told = columns.map((c) => c.told);
  const shown = recent.filter((r) => r.loss !== undefined);
  const first = view.summary.counts.told - shown.length + 1;
  const traces = [
    { x: shown.map((_, i) => first + i), y: shown.map((r) => r.loss), name: "last rounds", type: "scatter", mode: "markers",
      marker: { color: style("--quiet"), size: 4, opacity: 0.5 } },
    line(told, columns.map((c) => c.moving), "recent", "--accent"),
    line(told, columns.map((c) => c.mean), "all rounds", "--warm"),
  ];
  if (columns.some((c) => c.default !== null)) traces.push(line(told, columns.map((c) => c.default), "default", "--third", { dash: "dash" }));
  draw("losses", traces, { xaxis: { title: { text: "round" }, rangemode: "tozero" }, yaxis: {}, ...legend });
}
function drawWidths(columns) {
  const shown = recent.filter((r) => r.loss !== undefined);
  const first = view.summary.counts.told - shown.length + 1;
  draw("widths", [
    { x: shown.map((_, i) => first + i), y: shown.map((r) => r.width ?? null), name: "last rounds", type: "scatter", mode: "markers",
      marker: { color: style("--quiet"), size: 4, opacity: 0.5 } },
    line(columns.map((c) => c.told), columns.map((c) => c.width), "recent mean", "--accent"),
  ], { xaxis: { title: { text: "round" }, rangemode: "tozero" }, yaxis: { rangemode: "tozero" }, ...legend });
}

function tile(name, value, small) {
  const made = element("div");
  const shown = element("dd", value);
  if (small) shown.append(element("small", small));
  made.append(element("dt", name), shown);
  return made;
}
function showTiles(column) {
  const { told, interval } = column;
  const range = hasInterval(column.alpha) ? number(interval[0]) + " to " + number(interval[1]) : "";
  $("tiles").replaceChildren(
    tile("Recommended " + rhoName(), told ? valuesText(column, view.names) : "–", told ? range : "no rounds yet"),
    tile("Rounds", told.toLocaleString("en")),
    tile($("losses-title").textContent, number(column.mean, 4)),
    tile("Per minute", number(view.per_minute, 3), "now"),
    tile("Pending", String(view.pending), "now"),
    tile("Failed", String(view.summary.counts.failed), view.forgotten + " forgotten"),
  );
}
function showTables() {
  const left = (lease) => (lease.until == null ? "forever" : lease.until < view.now ? "overdue" : ago(lease.until - view.now));
  fill($("leases").tBodies[0], view.leases.map((lease) => [
    String(lease.trial), valuesText(lease, view.names), lease.worker, ago(view.now - lease.at), left(lease),
  ]), "no pending trials");
  const { failures: kinds, began } = view.summary.counts;
  const failures = Object.entries(kinds).sort((a, b) => b[1] - a[1]);
  fill($("failures").tBodies[0], failures.map(([kind, count]) => [kind, String(count)]), "no failures");
  $("certificate").textContent = view.certificate;
  const { space, learner, seed, options } = view.settings;
  const settings = [["learner", learner], ["space", JSON.stringify(space)], ["seed", String(seed)]];
  settings.push(...Object.entries(options).map(([name, value]) => [name, JSON.stringify(value)]));
  settings.push(["created", new Date(1000 * began).toLocaleString()], ["events", view.summary.event.toLocaleString("en")]);
  fill($("settings").tBodies[0], settings.map(([name, value]) => [element("th", name, { scope: "row" }), value]));
}
function show() {
  if (view === null) return;
  document.title = view.name;
  $("name").textContent = view.name;
  $("note").textContent = view.summary.counts.note;
  $("losses-title").textContent = view.settings.options.maximize ? "Mean value" : "Mean loss";
  const all = columns();
  const shown = moment || all[all.length - 1];
  const events = view.summary.event;
  showTiles(shown);
  showTables();
  drawHeat(all);
  drawDensity(shown);
  drawLosses(all);
  drawWidths(all);
  const slider = $("slider");
  slider.max = events;
  slider.step = Math.ceil(events / 500); // a key press moves it visibly
  if (moment === null) slider.value = events;
  $("now").disabled = moment === null;
  $("moment").textContent = moment === null ? "now: event " + events.toLocaleString("en")
    : "event " + moment.event.toLocaleString("en") + " of " + events.toLocaleString("en") + ", " + new Date(1000 * moment.at).toLocaleString();
}

async function update() {
  const next = saved.length ? saved[saved.length - 1].event + 1 : 1;
  view = await get(api);
  const since = Math.max(1, view.summary.event - 600);
  const [more, rounds] = await Promise.all([get(api + "/summaries?since=" + next), get(api + "/rounds?since=" + since)]);
  saved = saved.concat(more);
  recent = rounds.slice(-200);
  show();
}
// Every second: update the page if there are new events, and every 5 seconds if there are leases to count down.
async function watch(tick) {
  try {
    const old = view === null || (tick % 5 === 0 && view.leases.length > 0);
    if (old || (await get(api + "/log?limit=1&since=" + (view.summary.event + 1))).length) await update();
    status(moment === null ? "live" : "showing a past event", true);
  } catch (error) {
    status(error.message + "; retrying", false);
  }
  setTimeout(watch, 1000, tick + 1);
}
async function moveTo(event) {
  const ticket = ++asked;
  if (event > view.summary.event - Number($("slider").step)) {
    moment = null;
  } else {
    try {
      const summary = await get(api + "/summary?event=" + event);
      if (ticket !== asked) return;
      moment = column(summary, null);
    } catch (error) {
      status(error.message, false);
      return;
    }
  }
  status(moment === null ? "live" : "showing a past event", true);
  show();
}
function startStudy() {
  let waiting = null;
  $("slider").addEventListener("input", () => {
    clearTimeout(waiting);
    const event = Number($("slider").value);
    waiting = setTimeout(() => moveTo(event), 80);
  });
  $("now").addEventListener("click", () => { $("slider").focus(); moveTo(view.summary.event); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  watch(0);
}

if (document.body.dataset.page === "list") showList();
else startStudy();
