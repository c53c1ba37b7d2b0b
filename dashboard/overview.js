// The state of the gateway: queued, running, completed and failed jobs.
import { getJson } from "./api.js";
import { bars, scaleFor } from "./chart.js";
import { fill, h } from "./dom.js";
import { bytes, clockTime, count, duration, fullTime, minuteTime } from "./format.js";
import { chip, connectionStatus, descriptionList, errorState, heading, kindName, showConnection } from "./components.js";
import { startLiveUpdates } from "./live_updates.js";
import { noJobsState } from "./empty_states.js";
import { ThroughputCharts } from "./throughput.js";
import { updateInPlace } from "./update_in_place.js";

const kPollMs = 4000;
const kMinutes = 60;
const kMinuteMs = 60000;

function seconds(value) {
  return value === undefined ? "–" : duration(value * 1000);
}

function stat(name, value, note, className = "") {
  return h("div", { class: `stat ${className}` }, h("dt", {}, name), h("dd", {}, h("strong", {}, value), note && h("span", { class: "muted" }, note)));
}

function total(kinds, pick) {
  return kinds.reduce((sum, kind) => sum + (pick(kind) ?? 0), 0);
}

// The period of the hourly statistics. It is shorter than an hour if too many jobs ended to count all of them.
function hourTexts({ at, counted_since: since }) {
  const isShortened = since && new Date(at) - new Date(since) < kMinutes * kMinuteMs;
  return isShortened ? { during: `since ${clockTime(since)}`, of: `since ${clockTime(since)}` } : { during: "in the last hour", of: "of the last hour" };
}

function stats(overview) {
  const { kinds } = overview;
  const hour = hourTexts(overview);
  const failed = total(kinds, (k) => k.hour.failed + k.hour.expired);
  const ended = total(kinds, (k) => k.hour.succeeded) + failed;
  const oldest = Math.max(...kinds.map((k) => k.oldest_queued_seconds ?? 0));
  return h("dl", { class: "stats" },
    stat("Queued", count(total(kinds, (k) => k.queued)), oldest ? `oldest: ${seconds(oldest)}` : "the queues are empty", oldest > 60 ? "warn" : ""),
    stat("Running", count(total(kinds, (k) => k.running ?? 0)), "now"),
    stat("Done", count(total(kinds, (k) => k.hour.succeeded)), hour.during),
    stat("Failed", count(failed), ended ? `${((failed / ended) * 100).toFixed(failed && failed / ended < 0.1 ? 1 : 0)} % ${hour.of}` : hour.during, failed ? "bad" : ""));
}

// Returns a function that names a bar. Each bar is a minute of the clock. The last bar is the minute of `at`.
function makeBarName(at) {
  const currentMinute = Math.floor(new Date(at).getTime() / kMinuteMs);
  return (bar) => (bar === kMinutes - 1 ? "the current minute" : minuteTime((currentMinute - (kMinutes - 1 - bar)) * kMinuteMs));
}

// The label of the vertical axis.
function scaleText(rows) {
  const sums = rows[0].values.map((_, at) => rows.reduce((sum, row) => sum + row.values[at], 0));
  const maximum = Math.max(...sums);
  return maximum ? `scale: ${count(scaleFor(maximum))} per minute` : "no jobs ended in the last hour";
}

function kindCard(kind, overview) {
  const name = kindName(kind.kind);
  const failed = kind.hour.failed + kind.hour.expired;
  const rows = [{ values: kind.succeeded_by_minute, className: "good", name: "job done" }, { values: kind.failed_by_minute, className: "bad", name: "job failed" }];
  const barName = makeBarName(overview.at);
  const [doneCount, failedCount] = rows.map(({ values }) => count(values.reduce((sum, value) => sum + value, 0)));
  const age = kind.oldest_queued_seconds;
  return h("section", { class: "card kind", "aria-label": name, data: { key: kind.kind } },
    h("header", {}, h("h2", {}, h("a", { href: `#/jobs?kind=${kind.kind}` }, name)),
      h("span", { class: "muted" }, `${count(kind.queued ?? 0)} queued · ${count(kind.running ?? 0)} running${kind.scheduled ? ` · ${count(kind.scheduled)} scheduled` : ""}`)),
    bars(rows, { label: `${name}, minute by minute since ${barName(0)}: ${doneCount} done, ${failedCount} failed`, barName }),
    h("p", { class: "axis-labels muted", "aria-hidden": "true" }, h("span", {}, barName(0)), h("span", {}, scaleText(rows)), h("span", {}, "this minute")),
    descriptionList([["Last minute", `${count(kind.minute.succeeded)} done, ${count(kind.minute.failed + kind.minute.expired)} failed`],
      ["Last hour", `${count(kind.hour.succeeded)} done, ${count(failed)} failed`],
      ["Last day", `${count(kind.day.succeeded)} done, ${count(kind.day.failed + kind.day.expired)} failed`],
      ...(kind.kind === "exec" ? [["Exited with an error", `${count(kind.hour.commands_failed)} in the last hour, ${count(kind.day.commands_failed)} in the last day`]] : []),
      ["Wait p50 / p95", `${seconds(kind.wait_seconds.p50)} / ${seconds(kind.wait_seconds.p95)}`],
      ["Run p50 / p95", `${seconds(kind.run_seconds.p50)} / ${seconds(kind.run_seconds.p95)}`],
      ["Oldest queued", age === undefined ? "none" : seconds(age)]]),
    h("p", { class: failed ? "" : "muted" }, failed ? h("a", { href: `#/jobs?kind=${kind.kind}&status=failed&all=1` }, "Show failed jobs") : "No failures in the last hour"));
}

// Advice is shown only for a component that is degraded.
function healthState({ ok, detail, means, what_to_do: advice }) {
  return h("div", {}, chip(ok ? "ok" : "degraded"), h("small", {}, means), ok ? null : h("strong", {}, advice), detail && h("small", {}, detail));
}

function healthCard({ health, store, at }) {
  const list = descriptionList([["Store", healthState(health.store)], ["Dispatch", healthState(health.dispatch)], ["Disk", healthState(health.disk)],
    ["Free disk", bytes(store.disk_free_bytes)], ["Database", `${bytes(store.db_bytes)}, write-ahead log ${bytes(store.wal_bytes)}`],
    ["Queued writes", count(store.queue_depth)], ["As of", clockTime(at)]]);
  return h("section", { class: "card health" }, h("h2", {}, "Health"), list);
}

// Kept while other screens are shown, until the page is left.
const throughput = new ThroughputCharts();

function render(container, overview) {
  const idle = overview.kinds.every((k) => !k.queued && !k.running && !k.waiting && !Object.values(k.day).some(Boolean));
  updateInPlace(container, stats(overview),
    idle ? noJobsState() : [throughput.element(), h("div", { class: "grid kinds" }, overview.kinds.map((kind) => kindCard(kind, overview)))],
    healthCard(overview),
    overview.counted_since ? h("p", { class: "muted" }, `Too many jobs ended to count all of them. Only jobs that ended after ${fullTime(overview.counted_since)} are counted.`) : null);
}

export const title = "Overview";
export async function show(container, { signal }) {
  const body = h("div", {});
  const connection = connectionStatus();
  fill(container, heading("Overview", "Jobs of all tenants, live.", connection), body);
  const show = (overview) => {
    throughput.addOverview(overview);
    render(body, overview);
  };
  const refresh = async () => show(await getJson("/v1/admin/overview", { signal }));
  try {
    await refresh();
  } catch (error) {
    if (error.name !== "AbortError") fill(body, errorState(error));
  }
  startLiveUpdates({ signal, pollMs: kPollMs, refresh, onOverview: show, onConnection: (state) => showConnection(connection, state) });
}
