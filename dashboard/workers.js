// Queues, and the workers that empty them.
import { getJson, send } from "./api.js";
import { gauge } from "./chart.js";
import { button, fill, h } from "./dom.js";
import { count, duration, relative } from "./format.js";
import { chip, code, confirmed, empty, heading, kindName, troubled } from "./parts.js";
import { everyWhile } from "./stream.js";
import { guarded, toast } from "./toast.js";

const kLookMs = 3000;
const kActs = "machine";  // the store's own acts on machines: nobody asked for them by name

function slots(used, all, name) {
  return h("span", { class: "slots" }, gauge(used, all, `${name}: ${used} of ${all} slots in use`), ` ${used} of ${all}`);
}

// Tokens that wait in Kafka, and in which partitions.
function lag(kind, partitions, opened) {
  if (!partitions) return null;
  const all = partitions.reduce((sum, p) => sum + p.lag, 0);
  return h("details", { class: "lags", open: opened.has(kind), data: { kind } }, h("summary", { data: { act: `partitions ${kind}` } }, count(all), " in ", count(partitions.length), " partitions"),
    h("ul", {}, partitions.map((p) => h("li", {}, h("span", { class: "faint" }, `partition ${p.partition}`), " ", count(p.lag)))));
}

function switchOf(queue, again) {
  const verb = queue.paused ? "resume" : "pause";
  const name = kindName(queue.kind);
  const control = button(queue.paused ? "Resume" : "Pause", () => guarded(control, async () => {
    await send("POST", `/v1/admin/queues/${queue.kind}/${verb}`);
    toast(queue.paused ? `${name} goes on` : `${name} is paused: jobs are taken in and wait`);
    await again();
  }), { kind: queue.paused ? "small primary" : "small", "aria-label": `${queue.paused ? "Resume" : "Pause"} ${name}`, data: { act: `queue ${queue.kind}` } });
  return control;
}

function queueState(queue) {
  if (queue.paused) return [chip("paused"), h("small", { class: "faint" }, ` since ${relative(queue.paused_at)}`)];
  if (queue.queued > 0 && queue.slots === 0) return chip("no worker", "failed");
  return chip("open", "ok");
}

function queueRow(queue, again) {
  const name = kindName(queue.kind);
  return h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, queueState(queue)), h("td", { "data-label": "Queued", class: "number" }, count(queue.queued)),
    h("td", { "data-label": "Running", class: "number" }, count(queue.running + queue.waiting)),
    h("td", { "data-label": "Oldest" }, queue.oldest_queued_seconds === undefined ? "–" : duration(queue.oldest_queued_seconds * 1000)),
    h("td", { "data-label": "Slots" }, slots(queue.used, queue.slots, name)),
    queue.withLag ? h("td", { "data-label": "In Kafka" }, lag(queue.kind, queue.partitions, queue.opened) ?? "–") : null,
    h("td", { class: "act" }, switchOf(queue, again)));
}

function drainOf(worker, again) {
  const control = button("Drain", async () => {
    const sure = await confirmed(`Drain ${worker.name}?`, "It finishes what it runs and takes nothing new, until its process is started again. Jobs that wait go to other workers.", "Drain it");
    if (!sure) return;
    await guarded(control, async () => {
      await send("POST", `/v1/admin/workers/${encodeURIComponent(worker.name)}/drain`);
      toast(`${worker.name} takes nothing new within one heartbeat`);
      await again();
    });
  }, { kind: "small", "aria-label": `Drain ${worker.name}`, data: { act: `worker ${worker.name}` } });
  return control;
}

function workerState(worker) {
  if (!worker.live) return chip("lost");
  if (!worker.draining) return chip("live");
  return chip(worker.slots.some((s) => s.used) ? "draining" : "drained");
}

function workerRow(worker, again) {
  return h("tr", {}, h("th", { scope: "row", class: "breaks" }, worker.name), h("td", {}, workerState(worker)),
    h("td", { "data-label": "Host", class: "breaks" }, worker.host), h("td", { "data-label": "Version" }, worker.version),
    h("td", { "data-label": "Heard of" }, `${duration(worker.heartbeat_age_seconds * 1000)} ago`),
    h("td", { "data-label": "Slots" }, h("div", { class: "slot-list" }, worker.slots.filter((s) => s.kind !== kActs).map((s) => h("div", {}, h("span", { class: "faint" }, kindName(s.kind)), slots(s.used, s.slots, `${worker.name}, ${s.kind}`))))),
    h("td", { class: "act" }, worker.live && !worker.draining ? drainOf(worker, again) : null));
}

function table(caption, heads, rows) {
  return h("div", { class: "wide" }, h("table", { class: "cards" }, h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, heads.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows)));
}

function draw(place, queues, workers, again) {
  const opened = new Set([...place.querySelectorAll("details[open]")].map((details) => details.dataset.kind));
  const withLag = queues.some((queue) => queue.partitions);
  const heads = ["Kind", "State", "Queued", "Running", "Oldest", "Slots", ...(withLag ? ["In Kafka"] : []), h("span", { class: "unseen" }, "Acts")];
  fill(place, h("h2", {}, "Queues"), table("Queues", heads, queues.map((queue) => queueRow({ ...queue, withLag, opened }, again))),
    h("h2", { class: "spaced" }, "Workers"),
    workers.length ? table("Workers", ["Name", "State", "Host", "Version", "Heard of", "Slots", h("span", { class: "unseen" }, "Acts")], workers.map((worker) => workerRow(worker, again)))
      : empty("No worker has reported", "Jobs wait in their queues until one does. Start one on the same store, or with the same Kafka:",
        code("millrace worker --kinds ocr,stt,chat,exec", "Start a worker")));
}

export const title = "Workers";
export async function show(place, { signal }) {
  const body = h("div", {});
  fill(place, heading("Queues and workers", "What waits, and who works on it."), body);
  const look = async () => {
    const [queues, workers] = await Promise.all([getJson("/v1/admin/queues", { signal }), getJson("/v1/admin/workers", { signal })]);
    const held = body.contains(document.activeElement) ? document.activeElement.dataset.act : null;
    draw(body, queues.items.filter((q) => q.kind !== kActs), workers.items, look);
    if (held) [...body.querySelectorAll("[data-act]")].find((b) => b.dataset.act === held)?.focus({ preventScroll: true });
  };
  try {
    await look();
  } catch (error) {
    if (error.name !== "AbortError") fill(body, troubled(error));
  }
  everyWhile(kLookMs, () => look(), signal);
}
