// The state of the gateway: queued, running, completed and failed jobs.
import { getJson } from "./api.js";
import { bars, scaleFor } from "./chart.js";
import { fill, h } from "./dom.js";
import { bytes, clockTime, count, duration, fullTime, minuteTime } from "./format.js";
import { chip, facts, heading, kindName, linkMark, showLink, troubled } from "./parts.js";
import { live } from "./live.js";
import { firstJobs } from "./lessons.js";
import { Pulse } from "./pulse.js";
import { settle } from "./settle.js";

const kLookMs = 4000;
const kMinutes = 60;
const kMinuteMs = 60000;

function seconds(value) {
  return value === undefined ? "–" : duration(value * 1000);
}

function figure(name, value, note, look = "") {
  return h("div", { class: `figure ${look}` }, h("dt", {}, name), h("dd", {}, h("strong", {}, value), note && h("span", { class: "faint" }, note)));
}

function total(kinds, pick) {
  return kinds.reduce((sum, kind) => sum + (pick(kind) ?? 0), 0);
}

// The period of the hourly figures. It is shorter than an hour if too many jobs ended to count all of them.
function hourWords({ at, counted_since: since }) {
  const cut = since && new Date(at) - new Date(since) < kMinutes * kMinuteMs;
  return cut ? { during: `since ${clockTime(since)}`, of: `since ${clockTime(since)}` } : { during: "in the last hour", of: "of the last hour" };
}

function figures(overview) {
  const { kinds } = overview;
  const hour = hourWords(overview);
  const bad = total(kinds, (k) => k.hour.failed + k.hour.expired);
  const over = total(kinds, (k) => k.hour.succeeded) + bad;
  const oldest = Math.max(...kinds.map((k) => k.oldest_queued_seconds ?? 0));
  return h("dl", { class: "figures" },
    figure("Queued", count(total(kinds, (k) => k.queued)), oldest ? `oldest: ${seconds(oldest)}` : "the queues are empty", oldest > 60 ? "warn" : ""),
    figure("Running", count(total(kinds, (k) => k.running ?? 0)), "now"),
    figure("Done", count(total(kinds, (k) => k.hour.succeeded)), hour.during),
    figure("Failed", count(bad), over ? `${((bad / over) * 100).toFixed(bad && bad / over < 0.1 ? 1 : 0)} % ${hour.of}` : hour.during, bad ? "bad" : ""));
}

// Each bar is a minute of the clock. The last bar is the minute of `at`.
function minuteNames(at) {
  const present = Math.floor(new Date(at).getTime() / kMinuteMs);
  return (bar) => (bar === kMinutes - 1 ? "the current minute" : minuteTime((present - (kMinutes - 1 - bar)) * kMinuteMs));
}

// The label of the vertical axis.
function scaleText(rows) {
  const sums = rows[0].values.map((_, at) => rows.reduce((sum, row) => sum + row.values[at], 0));
  const most = Math.max(...sums);
  return most ? `scale: ${count(scaleFor(most))} per minute` : "no jobs ended in the last hour";
}

function kindCard(kind, overview) {
  const name = kindName(kind.kind);
  const bad = kind.hour.failed + kind.hour.expired;
  const rows = [{ values: kind.succeeded_by_minute, look: "good", name: "job done" }, { values: kind.failed_by_minute, look: "bad", name: "job failed" }];
  const names = minuteNames(overview.at);
  const [good, worse] = rows.map(({ values }) => count(values.reduce((sum, value) => sum + value, 0)));
  const age = kind.oldest_queued_seconds;
  return h("section", { class: "card kind", "aria-label": name, data: { key: kind.kind } },
    h("header", {}, h("h2", {}, h("a", { href: `#/jobs?kind=${kind.kind}` }, name)),
      h("span", { class: "faint" }, `${count(kind.queued ?? 0)} queued · ${count(kind.running ?? 0)} running`)),
    bars(rows, { label: `${name}, minute by minute since ${names(0)}: ${good} done, ${worse} failed`, names }),
    h("p", { class: "axis-names faint", "aria-hidden": "true" }, h("span", {}, names(0)), h("span", {}, scaleText(rows)), h("span", {}, "this minute")),
    facts([["Last minute", `${count(kind.minute.succeeded)} done, ${count(kind.minute.failed + kind.minute.expired)} failed`],
      ["Last hour", `${count(kind.hour.succeeded)} done, ${count(bad)} failed`],
      ["Last day", `${count(kind.day.succeeded)} done, ${count(kind.day.failed + kind.day.expired)} failed`],
      ["Wait p50 / p95", `${seconds(kind.wait_seconds.p50)} / ${seconds(kind.wait_seconds.p95)}`],
      ["Run p50 / p95", `${seconds(kind.run_seconds.p50)} / ${seconds(kind.run_seconds.p95)}`],
      ["Oldest queued", age === undefined ? "none" : seconds(age)]]),
    h("p", { class: bad ? "" : "faint" }, bad ? h("a", { href: `#/jobs?kind=${kind.kind}&status=failed&all=1` }, "Show failed jobs") : "No failures in the last hour"));
}

// Advice is shown only for a part that is degraded.
function healthPart({ ok, detail, means, what_to_do: advice }) {
  return h("div", {}, chip(ok ? "ok" : "degraded"), h("small", {}, means), ok ? null : h("strong", {}, advice), detail && h("small", {}, detail));
}

function healthCard({ health, store, at }) {
  const list = facts([["Store", healthPart(health.store)], ["Dispatch", healthPart(health.dispatch)], ["Disk", healthPart(health.disk)],
    ["Free disk", bytes(store.disk_free_bytes)], ["Database", `${bytes(store.db_bytes)}, write-ahead log ${bytes(store.wal_bytes)}`],
    ["Queued writes", count(store.queue_depth)], ["As of", clockTime(at)]]);
  return h("section", { class: "card health" }, h("h2", {}, "Health"), list);
}

// Kept while other screens are shown, until the page is left.
const pulse = new Pulse();

function draw(place, overview) {
  const idle = overview.kinds.every((k) => !k.queued && !k.running && !k.waiting && !Object.values(k.day).some(Boolean));
  settle(place, figures(overview),
    idle ? firstJobs() : [pulse.element(), h("div", { class: "grid kinds" }, overview.kinds.map((kind) => kindCard(kind, overview)))],
    healthCard(overview),
    overview.counted_since ? h("p", { class: "faint" }, `Too many jobs ended to count all of them. Only jobs that ended after ${fullTime(overview.counted_since)} are counted.`) : null);
}

export const title = "Overview";
export async function show(place, { signal }) {
  const body = h("div", {});
  const link = linkMark();
  fill(place, heading("Overview", "Jobs of all tenants, live.", link), body);
  const show = (overview) => {
    pulse.take(overview);
    draw(body, overview);
  };
  const look = async () => show(await getJson("/v1/admin/overview", { signal }));
  try {
    await look();
  } catch (error) {
    if (error.name !== "AbortError") fill(body, troubled(error));
  }
  live({ signal, ms: kLookMs, look, onOverview: show, onLink: (state) => showLink(link, state) });
}
