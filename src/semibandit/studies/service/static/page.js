// The pages of studies. Data of the service is inserted as text, never as HTML.
"use strict";

const $ = (id) => document.getElementById(id);
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function number(x, digits = 5) {
  if (x === null || x === undefined) return "–";
  if (typeof x !== "number") return String(x);
  return Number(x.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
}
// Knobs have names, that of rho first; other parameters are ρ and α.
const rhoName = () => (view && view.names && view.names[0]) || "ρ";
function alphaText(alpha) {
  if (alpha === null || alpha === undefined) return "";
  const names = (view && view.names && view.names.slice(1)) || [];
  if (!names.length) return ", α = " + [].concat(alpha).map((a) => number(a)).join(", ");
  return names.map((name, i) => ", " + name + " = " + number(alpha[i])).join("");
}
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
    const { studies } = await get("/api/studies");
    const labels = [...document.querySelectorAll("#studies thead th")].map((th) => th.textContent);
    fill($("studies").tBodies[0], studies.map((study) => {
      const name = element("th", undefined, { scope: "row" });
      name.append(element("a", study.name, { href: "/studies/" + study.id }));
      const cells = [
        study.told.toLocaleString("en"), number(study.per_minute, 3), String(study.pending), String(study.failed),
        number(study.mean_loss, 4), study.told ? number(study.rho) + alphaText(study.alpha) : "–",
        ago(Date.now() / 1000 - study.at) + " ago",
      ];
      return [name, ...cells.map((cell, i) => element("td", cell, { "data-label": labels[i + 1] }))];
    }));
    $("empty").hidden = studies.length > 0;
    $("studies").hidden = studies.length === 0;
    status(studies.length + (studies.length === 1 ? " study" : " studies"), true);
  } catch (error) {
    status("no answer from the service: " + error.message, false);
  }
  setTimeout(showList, 2000);
}

// -- a study ----------------------------------------------------------------------------------------

const id = location.pathname.split("/").pop();
const api = "/api/studies/" + id;
let view = null; // last answer of the service
let moment = null; // column of the past event that the slider selects
let asked = 0; // number of requested moments: late answers are dropped

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
  const [lo, hi] = view.line;
  return Array.from({ length: count + 1 }, (_, i) => lo + ((hi - lo) * i) / count);
}
function rows() {
  // Several rows on the line: a tick in the middle of each, labelled by its alpha.
  const n = view.alphas.length;
  const others = view.names.slice(1).join(", ") || "α";
  if (n < 2 || n > 12) return { title: { text: n ? "rows of " + others : rhoName() } };
  const [lo, hi] = view.line;
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
      customdata: columns.map((c) => [c.rho, c.event]), hovertemplate: "round %{x}: " + rhoName() + " = %{customdata[0]:.5g}<extra></extra>" },
  ], {
    xaxis: { title: { text: "round" }, range: [0, Math.max(1, x[x.length - 1])], showgrid: false },
    yaxis: { ...rows(), range: view.line, showgrid: false },
    shapes: moment ? [{ type: "line", x0: shown.told, x1: shown.told, yref: "paper", y0: 0, y1: 1, line: { color: style("--text"), width: 2, dash: "dot" } }] : [],
  });
}
function drawDensity(column) {
  const n = column.masses.length;
  const edges = cells(n);
  const [lo, hi] = view.line;
  const values = column.masses.map((mass) => (mass * n) / (hi - lo));
  draw("density", [{ ...line(edges, [...values, values[n - 1]], "density", "--accent", { shape: "hv" }), fill: "tozeroy", hovertemplate: "%{x:.4g}: %{y:.4g}<extra></extra>" }], {
    xaxis: { ...rows(), range: view.line }, yaxis: { title: { text: "density" }, rangemode: "tozero" },
    shapes: [{ type: "line", x0: column.place, x1: column.place, yref: "paper", y0: 0, y1: 1, line: { color: style("--warm"), width: 2 } }],
  });
}
function drawLosses(columns) {
  const told = columns.map((c) => c.told);
  const recent = view.recent.filter((r) => r.loss !== undefined);
  const first = view.told - recent.length + 1;
  const traces = [
    { x: recent.map((_, i) => first + i), y: recent.map((r) => r.loss), name: "last rounds", type: "scatter", mode: "markers",
      marker: { color: style("--quiet"), size: 4, opacity: 0.5 } },
    line(told, columns.map((c) => c.moving), "recent", "--accent"),
    line(told, columns.map((c) => c.mean), "all rounds", "--warm"),
  ];
  if (columns.some((c) => c.default !== null)) traces.push(line(told, columns.map((c) => c.default), "default", "--third", { dash: "dash" }));
  draw("losses", traces, { xaxis: { title: { text: "round" }, rangemode: "tozero" }, yaxis: {}, ...legend });
}
function drawWidths(columns) {
  const recent = view.recent.filter((r) => r.loss !== undefined);
  const first = view.told - recent.length + 1;
  draw("widths", [
    { x: recent.map((_, i) => first + i), y: recent.map((r) => r.width ?? null), name: "last rounds", type: "scatter", mode: "markers",
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
function showTiles() {
  const at = moment || view;
  const interval = moment ? [moment.lo, moment.hi] : view.interval;
  const told = moment ? moment.told : view.told;
  const word = view.settings.options.maximize ? "Mean value" : "Mean loss";
  $("tiles").replaceChildren(
    tile("Recommended " + rhoName(), told ? number(at.rho) + alphaText(at.alpha) : "–", told ? number(interval[0]) + " to " + number(interval[1]) : "no rounds yet"),
    tile("Rounds", told.toLocaleString("en")),
    tile(word, number(moment ? moment.mean : view.mean_loss, 4)),
    tile("Per minute", number(view.per_minute, 3), "now"),
    tile("Pending", String(view.pending), "now"),
    tile("Failed", String(view.failed), view.forgotten + " forgotten"),
  );
}
function showTables() {
  const left = (lease) => (lease.until == null ? "forever" : lease.until < view.now ? "overdue" : ago(lease.until - view.now));
  fill($("leases").tBodies[0], view.leases.map((lease) => [
    String(lease.trial), number(lease.rho) + alphaText(lease.alpha), lease.worker, ago(view.now - lease.since), left(lease),
  ]), "no pending trials");
  const failures = Object.entries(view.failures).sort((a, b) => b[1] - a[1]);
  fill($("failures").tBodies[0], failures.map(([kind, count]) => [kind, String(count)]), "no failures");
  $("certificate").textContent = view.certificate ?? view.guarantee;
  const { space, learner, seed, options } = view.settings;
  const settings = [["learner", learner], ["space", JSON.stringify(space)], ["seed", String(seed)]];
  settings.push(...Object.entries(options).map(([name, value]) => [name, JSON.stringify(value)]));
  settings.push(["created", new Date(1000 * view.began).toLocaleString()], ["events", view.events.toLocaleString("en")]);
  fill($("settings").tBodies[0], settings.map(([name, value]) => [element("th", name, { scope: "row" }), value]));
}
function show() {
  if (view === null) return;
  document.title = view.name;
  $("name").textContent = view.name;
  $("note").textContent = view.note;
  $("losses-title").textContent = view.settings.options.maximize ? "Mean value" : "Mean loss";
  const columns = view.columns.filter((c, i, all) => i === all.length - 1 || c.told < all[i + 1].told);
  showTiles();
  showTables();
  drawHeat(columns);
  drawDensity(moment || columns[columns.length - 1]);
  drawLosses(columns);
  drawWidths(columns);
  const slider = $("slider");
  slider.max = view.events;
  slider.step = Math.ceil(view.events / 500); // a key press moves it visibly
  if (moment === null) slider.value = view.events;
  $("now").disabled = moment === null;
  $("moment").textContent = moment === null ? "now: event " + view.events.toLocaleString("en")
    : "event " + moment.event.toLocaleString("en") + " of " + view.events.toLocaleString("en") + ", " + new Date(1000 * moment.at).toLocaleString();
}

let updating = false;
let again = false;
async function update() {
  // One request at a time; changes meanwhile cause one more request.
  if (updating) { again = true; return; }
  updating = true;
  try {
    view = await get(api + "/view");
    show();
    status(moment === null ? "live" : "showing a past event", true);
  } catch (error) {
    status(error.message, false);
  }
  updating = false;
  if (again) { again = false; update(); }
}
async function moveTo(event) {
  const ticket = ++asked;
  if (event > view.events - Number($("slider").step)) {
    moment = null;
  } else {
    try {
      const column = await get(api + "/moment?event=" + event);
      if (ticket !== asked) return;
      moment = column;
    } catch (error) {
      status(error.message, false);
      return;
    }
  }
  status(moment === null ? "live" : "showing a past event", true);
  show();
}
function watch() {
  const stream = new EventSource(api + "/live");
  stream.onmessage = update;
  stream.onerror = () => status("no answer from the service; retrying", false);
}
function startStudy() {
  let waiting = null;
  $("slider").addEventListener("input", () => {
    clearTimeout(waiting);
    const event = Number($("slider").value);
    waiting = setTimeout(() => moveTo(event), 80);
  });
  $("now").addEventListener("click", () => { $("slider").focus(); moveTo(view.events); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  setInterval(() => { if (view && view.leases.length) update(); }, 5000); // updates ages and leases
  update().then(watch);
}

if (document.body.dataset.page === "list") showList();
else startStudy();
