// Queues, and the workers that run their jobs.
import { getJson, send } from "./api.js";
import { gauge } from "./chart.js";
import { button, fill, h } from "./dom.js";
import { count, duration, relative } from "./format.js";
import { LeaseLines, countLeases, leaseList } from "./leases.js";
import { live } from "./live.js";
import { chip, code, confirmed, empty, heading, kindName, linkMark, showLink, troubled } from "./parts.js";
import { settle } from "./settle.js";
import { steadyTable } from "./tables.js";
import { guarded, toast } from "./toast.js";

const kLookMs = 3000;
const kActs = "machine";  // the internal kind for operations on machines; it is not shown
const kQueueColumns = [["Kind", 8], ["State", 12], ["Queued", 6], ["Running", 6], ["Oldest", 8], ["Slots", 10]];
const kWorkerColumns = [["Name", 10], ["State", 8], ["Host", 8], ["Version", 6], ["Last heartbeat", 8], ["Slots", 18], ["-Actions", 7]];

function slots(used, all, name) {
  return h("span", { class: "slots" }, gauge(used, all, `${name}: ${used} of ${all} slots in use`), ` ${used} of ${all}`);
}

// The number of tokens that wait in Kafka, by partition.
function lag(kind, partitions) {
  if (!partitions) return null;
  const all = partitions.reduce((sum, p) => sum + p.lag, 0);
  return h("details", { class: "lags" }, h("summary", { data: { act: `partitions ${kind}` } }, count(all), " in ", count(partitions.length), " partitions"),
    h("ul", {}, partitions.map((p) => h("li", {}, h("span", { class: "faint" }, `partition ${p.partition}`), " ", count(p.lag)))));
}

function switchOf(queue, again) {
  const verb = queue.paused ? "resume" : "pause";
  const name = kindName(queue.kind);
  return button(queue.paused ? "Resume" : "Pause", (event) => guarded(event.currentTarget, async () => {
    await send("POST", `/v1/admin/queues/${queue.kind}/${verb}`);
    toast(queue.paused ? `${name} is resumed` : `${name} is paused: new jobs are queued`);
    await again();
  }), { kind: queue.paused ? "small primary" : "small", "aria-label": `${queue.paused ? "Resume" : "Pause"} ${name}`, data: { act: `queue ${queue.kind}` } });
}

function queueState(queue) {
  if (queue.paused) return [chip("paused"), h("small", { class: "faint" }, ` since ${relative(queue.paused_at)}`)];
  if (queue.queued > 0 && queue.slots === 0) return chip("no worker", "failed");
  return chip("active", "ok");
}

function queueRow(queue, again) {
  const name = kindName(queue.kind);
  return h("tr", { data: { key: queue.kind } }, h("th", { scope: "row" }, name), h("td", {}, queueState(queue)), h("td", { "data-label": "Queued", class: "number" }, count(queue.queued)),
    h("td", { "data-label": "Running", class: "number" }, count(queue.running)),
    h("td", { "data-label": "Oldest" }, queue.oldest_queued_seconds === undefined ? "–" : duration(queue.oldest_queued_seconds * 1000)),
    h("td", { "data-label": "Slots" }, slots(queue.used, queue.slots, name)),
    queue.withLag ? h("td", { "data-label": "In Kafka" }, lag(queue.kind, queue.partitions) ?? "–") : null,
    h("td", { class: "act" }, switchOf(queue, again)));
}

function drainOf(worker, again) {
  const drain = async (event) => {
    const control = event.currentTarget;
    const sure = await confirmed(`Drain ${worker.name}?`, "It finishes its running jobs and accepts no new ones until its process is restarted. Queued jobs go to other workers.", "Drain it");
    if (!sure) return;
    await guarded(control, async () => {
      await send("POST", `/v1/admin/workers/${encodeURIComponent(worker.name)}/drain`);
      toast(`${worker.name} accepts no new jobs after its next heartbeat`);
      await again();
    });
  };
  return button("Drain", drain, { kind: "small", "aria-label": `Drain ${worker.name}`, disabled: !worker.live || worker.draining, data: { act: `worker ${worker.name}` } });
}

function workerState(worker) {
  if (!worker.live) return chip("lost");
  if (!worker.draining) return chip("live");
  return chip(worker.slots.some((s) => s.used) ? "draining" : "drained");
}

// One row for the worker, and one below it for its leases.
function workerRows(worker, lines, again) {
  const own = worker.slots.filter((s) => s.kind !== kActs);
  const leases = worker.leases.filter((lease) => lease.kind !== kActs);
  const placed = lines.place(leases, own.reduce((sum, s) => sum + s.slots, 0));
  return [h("tr", { class: "has-more", data: { key: worker.name } }, h("th", { scope: "row", class: "breaks" }, worker.name), h("td", {}, workerState(worker)),
    h("td", { "data-label": "Host", class: "breaks" }, worker.host), h("td", { "data-label": "Version" }, worker.version),
    h("td", { "data-label": "Last heartbeat" }, `${duration(worker.heartbeat_age_seconds * 1000)} ago`),
    h("td", { "data-label": "Slots" }, h("div", { class: "slot-list" }, own.map((s) => h("div", {}, h("span", { class: "faint" }, kindName(s.kind)), slots(s.used, s.slots, `${worker.name}, ${s.kind}`))))),
    h("td", { class: "act" }, drainOf(worker, again))),
  h("tr", { class: "more", data: { key: `${worker.name} holds` } }, h("td", { class: "whole", colspan: kWorkerColumns.length },
    leaseList(worker.name, placed, worker.leases_held - (worker.leases.length - leases.length))))];
}

function workerTable(workers, linesOf, again) {
  if (!workers.length)
    return empty("No workers", "Jobs stay queued until a worker runs. Start a worker on the same store, or with the same Kafka brokers:",
      code("millrace worker --kinds ocr,stt,chat,exec", "Start a worker"));
  return steadyTable("Workers", kWorkerColumns, workers.map((worker) => workerRows(worker, linesOf(worker.name), again)));
}

// `linesOf(name)`: the LeaseLines of a worker.
function draw(place, queues, workers, { linesOf, again }) {
  const withLag = queues.some((queue) => queue.partitions);
  settle(place, h("h2", {}, "Queues"),
    steadyTable("Queues", [...kQueueColumns, ...(withLag ? [["In Kafka", 11]] : []), ["-Actions", 7]], queues.map((queue) => queueRow({ ...queue, withLag }, again))),
    h("h2", { class: "spaced" }, "Workers"),
    h("p", { class: "faint" }, "A lease is the right to run one attempt of a job. Heartbeats renew it. When a lease expires, the job goes to another worker."),
    workerTable(workers, linesOf, again));
}

export const title = "Workers";
export async function show(place, { signal }) {
  const body = h("div", {});
  const link = linkMark();
  const lines = new Map();
  const linesOf = (name) => lines.get(name) ?? lines.set(name, new LeaseLines()).get(name);
  fill(place, heading("Queues and workers", "Queued jobs by kind, and the workers that run them.", link), body);
  const look = async () => {
    const [queues, workers] = await Promise.all([getJson("/v1/admin/queues", { signal }), getJson("/v1/admin/workers", { signal })]);
    draw(body, queues.items.filter((q) => q.kind !== kActs), workers.items, { linesOf, again: look });
  };
  try {
    await look();
  } catch (error) {
    if (error.name !== "AbortError") fill(body, troubled(error));
  }
  countLeases(body, signal);
  live({ signal, ms: kLookMs, look, stream: false, onLink: (state) => showLink(link, state) });
}
