// What a worker holds: one line for each attempt that it runs, and how long its lease still lasts.
import { h, setText } from "./dom.js";
import { duration, plural } from "./format.js";
import { shortId } from "./job_rows.js";
import { chip, kindName } from "./parts.js";

const kLinesMost = 8;      // without scrolling
const kTrustMs = 10000;    // a lease that was renewed is told sooner: after it nobody knows
const kTickMs = 1000;

function keyOf(lease) {
  return `${lease.job} ${lease.part ?? ""} ${lease.attempt}`;
}

function whole(ms) {
  return ms < 60000 ? `${Math.max(0, Math.floor(ms / 1000))} s` : duration(ms);
}

// Leases on lines: one stays on its line while it is held, another takes the line later.
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
  if (now - at > kTrustMs) return "not known";
  return ends >= now ? `${whole(ends - now)} left` : `over for ${whole(now - ends)}`;
}

function tick(place, now) {
  for (const element of place.querySelectorAll("[data-ends]")) {
    const ends = Number(element.dataset.ends);
    setText(element, leftText(ends, now, Number(element.dataset.at)));
    element.classList.toggle("is-over", ends < now && now - Number(element.dataset.at) <= kTrustMs);
  }
  for (const element of place.querySelectorAll("[data-begun]")) setText(element, `for ${whole(now - Number(element.dataset.begun))}`);
}

// Counts on below `place`, until `signal` is aborted.
export function countLeases(place, signal) {
  const timer = setInterval(() => tick(place, performance.now()), kTickMs);
  signal.addEventListener("abort", () => clearInterval(timer));
}

// By this page's own steady clock: the gateway's may be another one.
function lineOf(lease, now) {
  const left = lease.expires_in_seconds === undefined ? null : lease.expires_in_seconds * 1000;
  const there = left === null ? Date.now() : new Date(lease.expires_at).getTime() - left;
  const begun = lease.since && now - Math.max(0, there - new Date(lease.since).getTime());
  return h("li", {}, h("a", { href: `#/jobs/${lease.job}`, class: "mono", title: `${lease.job}, of tenant ${lease.tenant}` }, shortId(lease.job)),
    h("span", {}, kindName(lease.kind)), h("span", { class: "faint" }, lease.part === undefined ? "" : `part ${lease.part + 1}`),
    h("span", { class: "faint" }, `attempt ${lease.attempt}`),
    h("span", { class: "faint", data: begun === undefined ? {} : { begun } }, begun === undefined ? "" : `for ${whole(now - begun)}`),
    left === null ? h("span", { class: "is-over", title: "The host has started anew since" }, "over")
      : h("span", { class: lease.over ? "is-over" : "", data: { ends: now + left, at: now } }, leftText(now + left, now, now)));
}

// `lines`: as LeaseLines places them. `held`: how many there are in all.
export function leaseList(worker, lines, held) {
  const now = performance.now();
  const shown = lines.filter(Boolean);
  const over = shown.filter((lease) => lease.over).length;
  return h("details", { class: "leases" },
    h("summary", { data: { act: `leases ${worker}` } }, held ? plural(held, "lease") : "No leases", over ? [" ", chip(`${over} over`, "lost")] : null,
      held > shown.length ? h("span", { class: "faint" }, `: the ${shown.length} that end first`) : null),
    h("ul", { tabindex: "0", "aria-label": `Leases of ${worker}` }, lines.map((lease) => (lease ? lineOf(lease, now) : h("li", { class: "none" }, "\u00a0")))));
}
