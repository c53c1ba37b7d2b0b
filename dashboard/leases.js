// The leases of a worker: one line for each running attempt, with the remaining time of its lease.
import { h, setText } from "./dom.js";
import { duration, plural } from "./format.js";
import { shortId } from "./job_rows.js";
import { chip, kindName } from "./components.js";

const kLinesMax = 8;      // without scrolling
const kStaleMs = 10000;    // after this time without an update the remaining time is unknown
const kTickMs = 1000;

function keyOf(lease) {
  return `${lease.job} ${lease.part ?? ""} ${lease.attempt}`;
}

function wholeSeconds(ms) {
  return ms < 60000 ? `${Math.max(0, Math.floor(ms / 1000))} s` : duration(ms);
}

// Assigns leases to lines. A lease keeps its line while it is held; then another lease can use the line.
export class LeaseLines {
  constructor() {
    this.keys = [];
  }

  assign(leases, slots) {
    const held = new Map(leases.map((lease) => [keyOf(lease), lease]));
    this.keys = this.keys.map((key) => (held.has(key) ? key : null));
    const assigned = new Set(this.keys);
    for (const key of held.keys()) {
      if (assigned.has(key)) continue;
      const free = this.keys.indexOf(null);
      this.keys[free < 0 ? this.keys.length : free] = key;
    }
    while (this.keys.length && this.keys.at(-1) === null) this.keys.pop();
    const lines = this.keys.map((key) => held.get(key) ?? null);
    while (lines.length < Math.min(slots, kLinesMax)) lines.push(null);
    return lines;
  }
}

function remainingText(expiresAt, now, updatedAt) {
  if (now - updatedAt > kStaleMs) return "unknown";
  return expiresAt >= now ? `${wholeSeconds(expiresAt - now)} left` : `expired ${wholeSeconds(now - expiresAt)} ago`;
}

function tick(container, now) {
  for (const element of container.querySelectorAll("[data-expires-at]")) {
    const expiresAt = Number(element.dataset.expiresAt);
    setText(element, remainingText(expiresAt, now, Number(element.dataset.updatedAt)));
    element.classList.toggle("is-expired", expiresAt < now && now - Number(element.dataset.updatedAt) <= kStaleMs);
  }
  for (const element of container.querySelectorAll("[data-started-at]")) setText(element, `for ${wholeSeconds(now - Number(element.dataset.startedAt))}`);
}

// Updates the times below `container` every second until `signal` is aborted.
export function startLeaseCountdown(container, signal) {
  const timer = setInterval(() => tick(container, performance.now()), kTickMs);
  signal.addEventListener("abort", () => clearInterval(timer));
}

// Uses the monotonic clock of this page, because the gateway's clock may differ.
function leaseLine(lease, now) {
  const remainingMs = lease.expires_in_seconds === undefined ? null : lease.expires_in_seconds * 1000;
  const gatewayNow = remainingMs === null ? Date.now() : new Date(lease.expires_at).getTime() - remainingMs;
  const startedAt = lease.since && now - Math.max(0, gatewayNow - new Date(lease.since).getTime());
  return h("li", {}, h("a", { href: `#/jobs/${lease.job}`, class: "mono", title: `${lease.job}, tenant ${lease.tenant}` }, shortId(lease.job)),
    h("span", {}, kindName(lease.kind)), h("span", { class: "muted" }, lease.part === undefined ? "" : `part ${lease.part + 1}`),
    h("span", { class: "muted" }, `attempt ${lease.attempt}`),
    h("span", { class: "muted", data: startedAt === undefined ? {} : { startedAt } }, startedAt === undefined ? "" : `for ${wholeSeconds(now - startedAt)}`),
    remainingMs === null ? h("span", { class: "is-expired", title: "The host was restarted after the lease began" }, "expired")
      : h("span", { class: lease.over ? "is-expired" : "", data: { expiresAt: now + remainingMs, updatedAt: now } }, remainingText(now + remainingMs, now, now)));
}

// `lines`: from LeaseLines.assign. `held`: the total number of leases.
export function leaseList(worker, lines, held) {
  const now = performance.now();
  const shown = lines.filter(Boolean);
  const expired = shown.filter((lease) => lease.over).length;
  return h("details", { class: "leases" },
    h("summary", { data: { action: `leases ${worker}` } }, held ? plural(held, "lease") : "No leases", expired ? [" ", chip(`${expired} expired`, "lost")] : null,
      held > shown.length ? h("span", { class: "muted" }, `, showing the ${shown.length} that expire first`) : null),
    h("ul", { tabindex: "0", "aria-label": `Leases of ${worker}` }, lines.map((lease) => (lease ? leaseLine(lease, now) : h("li", { class: "is-empty" }, "\u00a0")))));
}
