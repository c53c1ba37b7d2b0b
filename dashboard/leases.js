// The leases of a worker: one line for each running attempt, with the remaining time of its lease.
import { h, setText } from "./dom.js";
import { duration, plural } from "./format.js";
import { shortId } from "./job_rows.js";
import { chip, kindName } from "./parts.js";

const kLinesMost = 8;      // without scrolling
const kTrustMs = 10000;    // after this time without an update the remaining time is unknown
const kTickMs = 1000;

function keyOf(lease) {
  return `${lease.job} ${lease.part ?? ""} ${lease.attempt}`;
}

function whole(ms) {
  return ms < 60000 ? `${Math.max(0, Math.floor(ms / 1000))} s` : duration(ms);
}

// Assigns leases to lines. A lease keeps its line while it is held; then another lease can use the line.
export class LeaseLines {
  constructor() {
    this.keys = [];
  }

  place(leases, slots) {
    const held = new Map(leases.map((lease) => [keyOf(lease), lease]));
    this.keys = this.keys.map((key) => (held.has(key) ? key : null));
    const placed = new Set(this.keys);
    for (const key of held.keys()) {
      if (placed.has(key)) continue;
      const free = this.keys.indexOf(null);
      this.keys[free < 0 ? this.keys.length : free] = key;
    }
    while (this.keys.length && this.keys.at(-1) === null) this.keys.pop();
    const lines = this.keys.map((key) => held.get(key) ?? null);
    while (lines.length < Math.min(slots, kLinesMost)) lines.push(null);
    return lines;
  }
}

function leftText(ends, now, at) {
  if (now - at > kTrustMs) return "unknown";
  return ends >= now ? `${whole(ends - now)} left` : `expired ${whole(now - ends)} ago`;
}

function tick(place, now) {
  for (const element of place.querySelectorAll("[data-ends]")) {
    const ends = Number(element.dataset.ends);
    setText(element, leftText(ends, now, Number(element.dataset.at)));
    element.classList.toggle("is-over", ends < now && now - Number(element.dataset.at) <= kTrustMs);
  }
  for (const element of place.querySelectorAll("[data-begun]")) setText(element, `for ${whole(now - Number(element.dataset.begun))}`);
}

// Updates the times below `place` every second until `signal` is aborted.
export function countLeases(place, signal) {
  const timer = setInterval(() => tick(place, performance.now()), kTickMs);
  signal.addEventListener("abort", () => clearInterval(timer));
}

// Uses the monotonic clock of this page, because the gateway's clock may differ.
function lineOf(lease, now) {
  const left = lease.expires_in_seconds === undefined ? null : lease.expires_in_seconds * 1000;
  const there = left === null ? Date.now() : new Date(lease.expires_at).getTime() - left;
  const begun = lease.since && now - Math.max(0, there - new Date(lease.since).getTime());
  return h("li", {}, h("a", { href: `#/jobs/${lease.job}`, class: "mono", title: `${lease.job}, tenant ${lease.tenant}` }, shortId(lease.job)),
    h("span", {}, kindName(lease.kind)), h("span", { class: "faint" }, lease.part === undefined ? "" : `part ${lease.part + 1}`),
    h("span", { class: "faint" }, `attempt ${lease.attempt}`),
    h("span", { class: "faint", data: begun === undefined ? {} : { begun } }, begun === undefined ? "" : `for ${whole(now - begun)}`),
    left === null ? h("span", { class: "is-over", title: "The host was restarted after the lease began" }, "expired")
      : h("span", { class: lease.over ? "is-over" : "", data: { ends: now + left, at: now } }, leftText(now + left, now, now)));
}

// `lines`: from LeaseLines.place. `held`: the total number of leases.
export function leaseList(worker, lines, held) {
  const now = performance.now();
  const shown = lines.filter(Boolean);
  const over = shown.filter((lease) => lease.over).length;
  return h("details", { class: "leases" },
    h("summary", { data: { act: `leases ${worker}` } }, held ? plural(held, "lease") : "No leases", over ? [" ", chip(`${over} expired`, "lost")] : null,
      held > shown.length ? h("span", { class: "faint" }, `, showing the ${shown.length} that expire first`) : null),
    h("ul", { tabindex: "0", "aria-label": `Leases of ${worker}` }, lines.map((lease) => (lease ? lineOf(lease, now) : h("li", { class: "none" }, "\u00a0")))));
}
