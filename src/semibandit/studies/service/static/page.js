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
  return values.map((value, i) => names[i] + " = " + number(value)).join(", ");
}
const hasInterval = (alpha) => !view.names.length || [].concat(alpha ?? []).length < view.names.length;
function ago(seconds) {
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (Math.abs(seconds) >= size) return (seconds / size).toFixed(1) + " " + unit;
  }
  return seconds.toFixed(0) + " s";
}
// Plotly reads markup in its texts; ours is data.
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
// Cells of a row whose first cell is given; narrow screens show the label of a cell beside it.
function labelled(table, first, texts) {
  const labels = [...table.tHead.rows[0].cells].map((th) => th.textContent);
  return [first, ...texts.map((text, i) => element("td", text, { "data-label": labels[i + 1], class: text.length > 16 ? "" : "short" }))];
}
function fill(body, rows, none) {
  const made = rows.map((cells) => {
    const row = element("tr");
    row.append(...cells.map((cell) => {
      if (cell instanceof Node) return cell;
      return element("td", cell, cell.length > 16 ? { title: cell } : { class: "short" });
    }));
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
async function get(path, sent) {
  const post = sent && { method: "POST", body: JSON.stringify(sent) };
  const answer = await fetch(path, { headers: { Accept: "application/json", "Content-Type": "application/json" }, ...post });
  if (answer.status === 401) location.reload(); // to the login page
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return body;
}

// -- the list ---------------------------------------------------------------------------------------

async function showList() {
  try {
    const search = $("search").value;
    const away = $("archived").checked ? "archived&" : "";
    const studies = await get("api/studies?limit=200&" + away + "search=" + encodeURIComponent(search));
    fill($("studies").tBodies[0], studies.map((study) => {
      const name = element("th", undefined, { scope: "row" });
      name.append(element("a", study.name, { href: "studies/" + study.id }));
      const values = Object.entries(study.values ?? {}).map(([name, value]) => name + " = " + number(value));
      const cells = [
        study.told.toLocaleString("en"), study.failed.toLocaleString("en"), number(study.mean, 4),
        values.join(", ") || "–", ago(Date.now() / 1000 - study.at) + " ago",
      ];
      return labelled($("studies"), name, cells);
    }));
    $("empty").hidden = studies.length > 0 || search !== "" || away !== "";
    $("studies").hidden = studies.length === 0;
    const most = studies.length === 200 ? "the first " : "";
    status(most + studies.length + (studies.length === 1 ? " study" : " studies"), true);
  } catch (error) {
    status("no answer from the service: " + error.message, false);
  }
  setTimeout(showList, 2000);
}

function startList() {
  const form = $("begin");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { name, lo, hi } = Object.fromEntries(new FormData(form));
    try {
      const settings = { space: { lo: Number(lo), hi: Number(hi) } };
      const made = await get("api/studies", { name, settings });
      location.href = "studies/" + made.id;
    } catch (error) {
      form.querySelector(".problem").textContent = error.message;
    }
  });
  showList();
}

// -- a study ----------------------------------------------------------------------------------------

const id = location.pathname.split("/").pop();
const api = "../api/studies/" + id;
let first = 1; // event of the log: those before it were folded
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
const shortened = (text) => (text.length > 24 ? text.slice(0, 23) + "…" : text);
const rowText = (alpha) => plain(shortened([].concat(alpha).map((a) => number(a, 3)).join(", ")));
function rows() {
  // Several rows on the line: a tick in the middle of each, labelled by its alpha.
  const n = view.alphas.length;
  const others = view.names.slice(-[].concat(view.alphas[0] ?? []).length).join(", ") || "α";
  if (n < 2) return { title: { text: plain(n ? others : rhoName()) } };
  const [lo, hi] = view.summary.line;
  const labelled = view.alphas.map((_, i) => i).filter((i) => i % Math.ceil(n / 12) === 0);
  return {
    title: { text: plain(others) }, tickvals: labelled.map((i) => lo + ((hi - lo) * (i + 0.5)) / n),
    ticktext: labelled.map((i) => rowText(view.alphas[i])),
  };
}
// A row without an interval is marked in its middle.
const marked = ({ place, alpha }) => {
  const [lo, hi] = view.summary.line;
  return hasInterval(alpha) ? place : place + (hi - lo) / (2 * Math.max(view.alphas.length, 1));
};

function drawHeat(columns) {
  if (!reveal("heat", columns.some((c) => c.told > 0))) return;
  const x = [0, ...columns.map((c) => c.told)];
  const n = columns[0].masses.length;
  // The square root keeps small densities visible.
  const z = Array.from({ length: n }, (_, i) => columns.map((c) => Math.sqrt(c.masses[i] * n)));
  const shown = moment || columns[columns.length - 1];
  draw("heat", [
    { type: "heatmap", x, y: cells(n), z, zmin: 0, zsmooth: false, showscale: false, hoverinfo: "skip",
      colorscale: [[0, style("--card")], [0.15, style("--faint")], [1, style("--accent")]] },
    { ...line(columns.map((c) => c.told), columns.map((c) => (c.told ? marked(c) : null)), "recommended", "--warm", { shape: "hv" }),
      customdata: columns.map((c) => [plain(valuesText(c, view.names)), c.event]), hovertemplate: "round %{x}: %{customdata[0]}<extra></extra>" },
  ], {
    xaxis: { title: { text: "round" }, range: [0, Math.max(1, x[x.length - 1])], showgrid: false },
    yaxis: { ...rows(), title: { ...rows().title, standoff: 8 }, range: view.summary.line, showgrid: false, automargin: true },
    annotations: view.alphas.length < 2 ? [] : [{ x: 1, xref: "paper", xanchor: "right", y: marked(shown), yanchor: "bottom", showarrow: false,
      text: rowText(shown.alpha), font: { color: style("--warm") }, bgcolor: style("--card") }],
    shapes: moment ? [{ type: "line", x0: shown.told, x1: shown.told, yref: "paper", y0: 0, y1: 1, line: { color: style("--text"), width: 2, dash: "dot" } }] : [],
  });
}
function drawDensity({ masses, place, told, ...column }) {
  const n = masses.length;
  place = marked({ place, alpha: column.alpha });
  const edges = cells(n);
  const [lo, hi] = view.summary.line;
  const values = masses.map((mass) => (mass * n) / (hi - lo));
  draw("density", [{ ...line(edges, [...values, values[n - 1]], "density", "--accent", { shape: "hv" }), fill: "tozeroy", hovertemplate: "%{x:.4g}: %{y:.4g}<extra></extra>" }], {
    xaxis: { ...rows(), range: view.summary.line }, yaxis: { title: { text: "density" }, rangemode: "tozero" },
    shapes: told ? [{ type: "line", x0: place, x1: place, yref: "paper", y0: 0, y1: 1, line: { color: style("--warm"), width: 2 } }] : [],
    annotations: told && view.alphas.length > 1 ? [{ x: place, y: 1, yref: "paper", yanchor: "bottom", xanchor: place > (lo + hi) / 2 ? "right" : "left", showarrow: false,
      text: rowText(column.alpha), font: { color: style("--warm") } }] : [],
    margin: { l: 48, r: 12, t: 22, b: 40 },
  });
}
// Lines over all rounds, and a measure of each of the last rounds.
function drawRounds(where, measure, lines, yaxis) {
  const shown = recent.slice(-200).filter((r) => r.loss !== undefined);
  const first = view.summary.counts.told - shown.length + 1;
  const points = { x: shown.map((_, i) => first + i), y: shown.map(measure), name: "last rounds", type: "scatter", mode: "markers",
    marker: { color: style("--quiet"), size: 4, opacity: 0.5 } };
  draw(where, [points, ...lines], { xaxis: { title: { text: "round" }, rangemode: "tozero" }, yaxis, ...legend });
}
function drawLosses(columns) {
  if (!reveal("losses", columns.some((c) => c.mean !== null))) return;
  const told = columns.map((c) => c.told);
  const lines = [
    line(told, columns.map((c) => c.moving), "recent", "--accent"),
    line(told, columns.map((c) => c.mean), "all rounds", "--warm"),
  ];
  if (columns.some((c) => c.default !== null)) lines.push(line(told, columns.map((c) => c.default), "default", "--third", { dash: "dash" }));
  drawRounds("losses", (r) => r.loss, lines, {});
}
// Failures: when they happened, and for which parameter.
function drawFailed() {
  const failed = recent.filter((r) => r.failure !== undefined && !r.forgotten);
  if (!reveal("failed", failed.length > 0)) return;
  const along = hasInterval(failed[0].alpha);
  draw("failed", [
    { x: failed.map((r) => new Date(1000 * r.at)), y: failed.map((r) => (along ? r.rho : plain(shortened(valuesText(r, view.names))))), type: "scatter", mode: "markers",
      marker: { color: style("--warm"), size: 7 }, customdata: failed.map((r) => plain(shortened(r.failure))), hovertemplate: "%{y}: %{customdata}<extra></extra>" },
  ], { yaxis: { title: { text: along ? plain(rhoName()) : "" } } });
}
// Show the panel around an element, or hide it if there is nothing to show.
function reveal(id, known) {
  const panel = $(id).closest("figure, section");
  panel.hidden = !known;
  return known;
}
function drawWidths(columns) {
  if (!reveal("widths", columns.some((c) => c.width !== null) || recent.slice(-200).some((r) => r.width !== undefined))) return;
  const lines = [line(columns.map((c) => c.told), columns.map((c) => c.width), "recent mean", "--accent")];
  drawRounds("widths", (r) => r.width ?? null, lines, { rangemode: "tozero" });
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
    tile(view.names.length ? "Recommended" : "Recommended ρ", told ? valuesText(column, view.names) : "–", told ? range : "no rounds yet"),
    tile("Rounds", told.toLocaleString("en")),
    tile($("losses-title").textContent, number(column.mean, 4)),
    tile("Per minute", number(view.per_minute, 3), "now"),
    tile("Pending", String(view.pending), "now"),
    tile("Failed", String(view.summary.counts.failed), view.forgotten + " forgotten"),
  );
}
// Range of a knob or a feature, or its values.
function rangeText({ kind, values, lo, hi, margin, log, step }) {
  if (kind === "label") return "any label";
  if (values) return values.join(", ");
  return number(lo) + " to " + number(hi) + (log ? ", logarithmic" : "") +
    (step ? ", steps of " + number(step) : "") + (margin ? ", margin " + number(margin) : "");
}
function spaceRows(space) {
  if (space.knobs) return space.knobs.map((knob) => [knob.name, rangeText(knob)]);
  if (space.interval) return [["ρ", rangeText(space.interval)], ["rows", [].concat(space.n_rows).join(" × ")]];
  return [[rhoName(), rangeText(space)]];
}
function showWorkers() {
  const workers = new Map();
  const note = (name, at, told, failed) => {
    const known = workers.get(name) ?? { rounds: 0, failed: 0, at: 0 };
    workers.set(name, { rounds: known.rounds + told, failed: known.failed + failed, at: Math.max(known.at, at) });
  };
  for (const r of recent) if (!r.forgotten) note(r.worker, r.at, r.failure === undefined ? 1 : 0, r.failure === undefined ? 0 : 1);
  for (const lease of view.leases) note(lease.worker, lease.at, 0, 0);
  const sorted = [...workers].sort((a, b) => b[1].at - a[1].at).slice(0, 50);
  fill($("workers").tBodies[0], sorted.map(([name, w]) => [name, String(w.rounds), String(w.failed), ago(view.now - w.at) + " ago"]));
  reveal("workers", sorted.length > 0);
  const chosen = $("by-worker").value;
  const names = ["", ...[...workers.keys()].sort()];
  if (names.length !== $("by-worker").options.length) {
    $("by-worker").replaceChildren(...names.map((name) => element("option", name || "all", { value: name })));
    $("by-worker").value = names.includes(chosen) ? chosen : "";
  }
}
function infoText(info) {
  return Object.entries(info ?? {}).map(([name, value]) => name + " = " + (typeof value === "number" ? number(value) : value)).join(", ");
}
function showRounds() {
  const [worker, words, failed] = [$("by-worker").value, $("by-info").value.toLowerCase(), $("by-failed").checked];
  const found = recent.filter((r) => (!worker || r.worker === worker) && (!failed || r.failure !== undefined) && infoText(r.info).toLowerCase().includes(words)).reverse();
  fill($("rounds").tBodies[0], found.slice(0, 50).map((r) => [
    String(r.trial), valuesText(r, view.names), number(r.loss, 4), r.failure ?? "", r.worker, new Date(1000 * r.at).toLocaleString(), infoText(r.info),
  ]), "no round matches");
  $("matches").textContent = found.length + " of the last " + recent.length + " rounds" + (found.length > 50 ? ", 50 shown" : "");
  reveal("rounds", recent.length > 0);
}
// Whether less than a tenth of the density is within a tenth of the line around the recommended value.
function playsElsewhere({ masses, place, told }) {
  if (told < 200 || view.settings.options.drift != null) return false;
  const [lo, hi] = view.summary.line;
  const n = masses.length;
  const middle = ((place - lo) / (hi - lo)) * n;
  return masses.filter((_, i) => Math.abs(i + 0.5 - middle) <= n / 10).reduce((a, b) => a + b, 0) < 0.1;
}
function showTables() {
  const left = (lease) => (lease.until == null ? "forever" : lease.until < view.now ? "overdue" : ago(lease.until - view.now));
  fill($("leases").tBodies[0], view.leases.map((lease) => [
    String(lease.trial), valuesText(lease, view.names), lease.worker, ago(view.now - lease.at), left(lease),
  ]), "");
  reveal("leases", view.leases.length > 0);
  const { failures: kinds, began } = view.summary.counts;
  const failures = Object.entries(kinds).sort((a, b) => b[1] - a[1]);
  fill($("failures").tBodies[0], failures.map(([kind, count]) => [kind, String(count)]), "");
  reveal("failures", failures.length > 0);
  $("certificate").textContent = view.certificate;
  reveal("certificate", view.summary.counts.told > 0);
  const { space, learner, seed, options: { context, ...options } } = view.settings;
  const settings = [["learner", learner], ...spaceRows(space), ["seed", String(seed)]];
  settings.push(...Object.entries(context ?? {}).map(([name, feature]) => ["context: " + name, rangeText(feature)]));
  settings.push(...Object.entries(options).map(([name, value]) => [name, typeof value === "object" ? shortened(JSON.stringify(value)) : String(value)]));
  settings.push(["lease", ago(view.summary.counts.lease)]);
  settings.push(["created", new Date(1000 * began).toLocaleString()], ["events", view.summary.event.toLocaleString("en")]);
  fill($("settings").tBodies[0], settings.map(([name, value]) => [element("th", name, { scope: "row" }), value]));
}

// Contexts: features of the chosen one, [name, kind, input] each; an empty input is unknown.
let features = [];
let wanted = 0; // number of requested contexts: late answers are dropped
const intervalText = ({ interval, alpha }) => (hasInterval(alpha) ? interval.map((x) => number(x)).join(" to ") : "–");

function startContexts() {
  features = Object.entries(view.settings.options.context).map(([name, kind]) => {
    if (!kind.values) {
      const hint = kind.kind === "label" ? "unknown" : number(kind.lo) + " to " + number(kind.hi);
      return [name, kind, element("input", undefined, { type: kind.kind === "label" ? "text" : "number", step: "any", placeholder: hint, autocomplete: "off" })];
    }
    const input = element("select");
    input.append(element("option", "unknown", { value: "" }), ...kind.values.map((value, i) => element("option", String(value), { value: i })));
    return [name, kind, input];
  });
  $("context").replaceChildren(...features.map(([name, , input]) => {
    const label = element("label", name + " ");
    label.append(input);
    return label;
  }));
  reveal("context", true);
}
async function showChosen() {
  const ticket = ++wanted;
  const context = {};
  for (const [name, kind, { value }] of features) {
    if (value !== "") context[name] = kind.values ? kind.values[value] : kind.kind === "label" ? value : Number(value);
  }
  let [text, problem] = ["–", ""];
  try {
    const best = await get(api + "/recommend?context=" + encodeURIComponent(JSON.stringify(context)));
    const loss = best.mean === null ? "" : ", " + $("losses-title").textContent.toLowerCase() + " " + number(best.mean, 3);
    text = (view.names.length ? "" : "ρ = ") + valuesText(best, view.names) + " (" + intervalText(best) + loss + ")";
  } catch (error) {
    problem = error.message;
  }
  if (ticket !== wanted) return;
  $("chosen").textContent = text;
  $("wrong").textContent = problem;
}
// Conditions of a cell: a range, values or labels, or null if the feature is unknown there.
function whereText(where) {
  const conditions = Object.entries(where).map(([name, given]) => {
    const kind = view.settings.options.context[name];
    if (given === null) return name + " unknown";
    if (!kind.values && kind.kind !== "label") return name + " from " + number(given[0]) + " to " + number(given[1]);
    const more = given.length - 8;
    return name + ": " + given.slice(0, 8).map((value) => shortened(String(value ?? "unknown"))).join(", ") + (more > 0 ? " and " + more + " more" : "");
  });
  return conditions.join("; ") || "everywhere";
}
async function showContexts() {
  if (view.settings.options.context == null) return;
  if (!features.length) startContexts();
  const [cells] = await Promise.all([get(api + "/contexts?limit=50"), showChosen()]);
  fill($("contexts").tBodies[0], cells.map(({ where, recommended, rounds }) => labelled(
    $("contexts"), element("th", whereText(where), { scope: "row" }),
    [valuesText(recommended, view.names), intervalText(recommended), rounds.toLocaleString("en")],
  )));
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
  showWorkers();
  showRounds();
  $("hint").hidden = !playsElsewhere(shown);
  $("pause").textContent = view.summary.counts.paused ? "Continue" : "Pause";
  drawHeat(all);
  drawDensity(shown);
  drawLosses(all);
  drawWidths(all);
  drawFailed();
  const slider = $("slider");
  slider.min = first;
  slider.max = events;
  slider.step = Math.ceil(events / 500); // a key press moves it visibly
  if (moment === null) slider.value = events;
  $("now").disabled = moment === null;
  $("moment").textContent = moment === null ? "now: event " + events.toLocaleString("en")
    : "event " + moment.event.toLocaleString("en") + " of " + events.toLocaleString("en") + ", " + new Date(1000 * moment.at).toLocaleString();
}

async function update() {
  const next = saved.length ? saved[saved.length - 1].event + 1 : 1;
  if (view === null) first = (await get(api + "/log?limit=1"))[0][0];
  view = await get(api);
  const known = recent.length ? recent[recent.length - 1].event + 1 : 1;
  const since = Math.max(known, view.summary.event - 2000);
  const [more, rounds] = await Promise.all([get(api + "/summaries?since=" + next), get(api + "/rounds?limit=2000&since=" + since)]);
  saved = saved.concat(more);
  recent = recent.concat(rounds).slice(-1000);
  show();
  await showContexts();
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
async function act(path, sent) {
  try {
    await get(api + path, sent);
    $("refusal").textContent = "";
    await update();
  } catch (error) {
    $("refusal").textContent = error.message;
  }
}
function startStudy() {
  $("export").href = api + "/export";
  $("pause").addEventListener("click", () => act("/change", { paused: !view.summary.counts.paused }));
  let archived = false;
  get("../api/studies?archived&limit=1" + (id > 1 ? "&after=" + (id - 1) : "")).then(([found]) => {
    archived = found?.id === Number(id);
    $("archive").textContent = archived ? "Undo archive" : "Archive";
  });
  $("archive").addEventListener("click", async () => {
    await act("/archive", { archived: !archived });
    if (!$("refusal").textContent) archived = !archived;
    $("archive").textContent = archived ? "Undo archive" : "Archive";
  });
  $("context").addEventListener("input", showChosen);
  $("context").addEventListener("submit", (event) => event.preventDefault());
  for (const filter of ["by-worker", "by-info", "by-failed"]) $(filter).addEventListener("input", showRounds);
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

if (document.body.dataset.page === "list") startList();
else startStudy();
