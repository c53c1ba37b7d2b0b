// How the gateway does, at a glance: what waits, what runs, what went through, what failed.
import { getJson } from "./api.js";
import { bars } from "./chart.js";
import { fill, h } from "./dom.js";
import { bytes, count, duration, fullTime, plural, relative } from "./format.js";
import { card, chip, facts, heading, kindName, showLink, troubled } from "./parts.js";
import { live } from "./live.js";
import { firstJobs } from "./lessons.js";
import { Pulse } from "./pulse.js";

const kLookMs = 4000;
const kMinutes = 60;

function seconds(value) {
  return value === undefined ? "–" : duration(value * 1000);
}

function figure(name, value, note, look = "") {
  return h("div", { class: `figure ${look}` }, h("dt", {}, name), h("dd", {}, h("strong", {}, value), note && h("span", { class: "faint" }, note)));
}

function total(kinds, pick) {
  return kinds.reduce((sum, kind) => sum + (pick(kind) ?? 0), 0);
}

function figures({ kinds }) {
  const bad = total(kinds, (k) => k.hour.failed + k.hour.expired);
  const over = total(kinds, (k) => k.hour.succeeded) + bad;
  const oldest = Math.max(...kinds.map((k) => k.oldest_queued_seconds ?? 0));
  return h("dl", { class: "figures" },
    figure("Queued", count(total(kinds, (k) => k.queued)), oldest ? `the oldest for ${seconds(oldest)}` : "nothing waits", oldest > 60 ? "warn" : ""),
    figure("Running", count(total(kinds, (k) => (k.running ?? 0) + (k.waiting ?? 0))), "now"),
    figure("Done", count(total(kinds, (k) => k.hour.succeeded)), "in the last hour"),
    figure("Failed", count(bad), over ? `${((bad / over) * 100).toFixed(bad && bad / over < 0.1 ? 1 : 0)} % of the last hour` : "in the last hour", bad ? "bad" : ""));
}

function minuteName(at) {
  const ago = kMinutes - 1 - at;
  return ago === 0 ? "this minute" : `${plural(ago, "minute")} ago`;
}

// What the highest bar stands for.
function peakText(rows) {
  const peak = Math.max(...rows[0].values.map((_, at) => rows.reduce((sum, row) => sum + row.values[at], 0)));
  return peak ? `at most ${count(peak)} a minute` : "nothing ended in this hour";
}

function kindCard(kind) {
  const name = kindName(kind.kind);
  const done = kind.hour.succeeded;
  const bad = kind.hour.failed + kind.hour.expired;
  const rows = [{ values: kind.succeeded_by_minute, look: "good", name: "job done" }, { values: kind.failed_by_minute, look: "bad", name: "job failed" }];
  return h("section", { class: "card kind", "aria-label": name },
    h("header", {}, h("h2", {}, h("a", { href: `#/jobs?kind=${kind.kind}` }, name)),
      h("span", { class: "faint" }, `${count(kind.queued ?? 0)} queued · ${count((kind.running ?? 0) + (kind.waiting ?? 0))} running`)),
    bars(rows, { label: `${name}, last hour by minute: ${done} done, ${bad} failed`, names: minuteName }),
    h("p", { class: "axis-names faint", "aria-hidden": "true" }, h("span", {}, "60 min ago"), h("span", {}, peakText(rows)), h("span", {}, "now")),
    facts([["Last minute", `${count(kind.minute.succeeded)} done, ${count(kind.minute.failed + kind.minute.expired)} failed`],
      ["Last hour", `${count(done)} done, ${count(bad)} failed`],
      ["Last day", `${count(kind.day.succeeded)} done, ${count(kind.day.failed + kind.day.expired)} failed`],
      ["Wait p50 / p95", `${seconds(kind.wait_seconds.p50)} / ${seconds(kind.wait_seconds.p95)}`],
      ["Run p50 / p95", `${seconds(kind.run_seconds.p50)} / ${seconds(kind.run_seconds.p95)}`],
      ["Oldest waiting", kind.oldest_queued_seconds !== undefined && seconds(kind.oldest_queued_seconds)]]),
    bad ? h("p", {}, h("a", { href: `#/jobs?kind=${kind.kind}&status=failed&all=1` }, "See what failed")) : null);
}

function healthCard({ health, store, at }) {
  const part = (name, { ok, detail }) => [name, h("span", {}, chip(ok ? "ok" : "degraded"), " ", h("span", { class: "faint" }, detail))];
  return card("Health", facts([part("Store", health.store), part("Dispatch", health.dispatch), part("Disk", health.disk),
    ["Free disk", bytes(store.disk_free_bytes)], ["Database", `${bytes(store.db_bytes)} and ${bytes(store.wal_bytes)} of log`],
    ["Writes waiting", count(store.queue_depth)], ["Seen", relative(at)]]));
}

// Outlives the screen, not the page.
const pulse = new Pulse();

function draw(place, overview) {
  const idle = overview.kinds.every((k) => !k.queued && !k.running && !k.waiting && !Object.values(k.day).some(Boolean));
  fill(place, figures(overview),
    overview.counted_since ? h("p", { class: "faint" }, `So much ended that only what ended since ${fullTime(overview.counted_since)} is counted.`) : null,
    idle ? firstJobs() : [pulse.element(), h("div", { class: "grid kinds" }, overview.kinds.map(kindCard))],
    healthCard(overview));
}

export const title = "Overview";
export async function show(place, { signal }) {
  const body = h("div", {});
  const link = h("span", { class: "link", role: "status" });
  fill(place, heading("Overview", "All tenants, as it happens.", link), body);
  const show = (overview) => {
    pulse.take(overview);
    if (!body.contains(document.activeElement)) draw(body, overview);
  };
  const look = async () => show(await getJson("/v1/admin/overview", { signal }));
  try {
    await look();
  } catch (error) {
    if (error.name !== "AbortError") fill(body, troubled(error));
  }
  live({ signal, ms: kLookMs, look, onOverview: show, onLink: (up) => showLink(link, up) });
}
