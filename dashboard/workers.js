// Queues, and the workers that run their jobs.
import { getJson, send } from "./api.js";
import { gauge } from "./chart.js";
import { button, fill, h } from "./dom.js";
import { count, duration, relative } from "./format.js";
import { LeaseLines, leaseList, startLeaseCountdown } from "./leases.js";
import { startLiveUpdates } from "./live_updates.js";
import { chip, code, confirmDialog, connectionStatus, emptyState, errorState, heading, kindName, showConnection } from "./components.js";
import { updateInPlace } from "./update_in_place.js";
import { fixedColumnTable } from "./tables.js";
import { runAction, toast } from "./toast.js";

const kPollMs = 3000;
const kMachineKind = "machine";  // the internal kind for operations on machines; it is not shown
const kQueueColumns = [["Kind", 8], ["State", 12], ["Queued", 6], ["Running", 6], ["Oldest", 8], ["Slots", 10]];
const kHostColumns = [["Name", 10], ["State", 12], ["Roles", 14], ["Version", 6], ["Machines", 6], ["Last report", 8]];
const kWorkerColumns = [["Name", 10], ["State", 8], ["Host", 8], ["Version", 6], ["Last heartbeat", 8], ["Slots", 18], ["-Actions", 7]];

function slots(used, total, name) {
  return h("span", { class: "slots" }, gauge(used, total, `${name}: ${used} of ${total} slots in use`), ` ${used} of ${total}`);
}

// The number of tokens that wait in Kafka, by partition.
function lag(kind, partitions) {
  if (!partitions) return null;
  const total = partitions.reduce((sum, p) => sum + p.lag, 0);
  return h("details", { class: "lags" }, h("summary", { data: { action: `partitions ${kind}` } }, count(total), " in ", count(partitions.length), " partitions"),
    h("ul", {}, partitions.map((p) => h("li", {}, h("span", { class: "muted" }, `partition ${p.partition}`), " ", count(p.lag)))));
}

function pauseButton(queue, refresh) {
  const verb = queue.paused ? "resume" : "pause";
  const name = kindName(queue.kind);
  return button(queue.paused ? "Resume" : "Pause", (event) => runAction(event.currentTarget, async () => {
    await send("POST", `/v1/admin/queues/${queue.kind}/${verb}`);
    toast(queue.paused ? `${name} is resumed` : `${name} is paused: new jobs are queued`);
    await refresh();
  }), { kind: queue.paused ? "small primary" : "small", "aria-label": `${queue.paused ? "Resume" : "Pause"} ${name}`, data: { action: `queue ${queue.kind}` } });
}

function queueState(queue) {
  if (queue.paused) return [chip("paused"), h("small", { class: "muted" }, ` since ${relative(queue.paused_at)}`)];
  if (queue.queued > 0 && queue.slots === 0) return chip("no worker", "failed");
  return chip("active", "ok");
}

function queueRow(queue, refresh) {
  const name = kindName(queue.kind);
  return h("tr", { data: { key: queue.kind } }, h("th", { scope: "row" }, name), h("td", {}, queueState(queue)), h("td", { "data-label": "Queued", class: "number" }, count(queue.queued)),
    h("td", { "data-label": "Running", class: "number" }, count(queue.running)),
    h("td", { "data-label": "Oldest" }, queue.oldest_queued_seconds === undefined ? "–" : duration(queue.oldest_queued_seconds * 1000)),
    h("td", { "data-label": "Slots" }, slots(queue.used, queue.slots, name)),
    queue.withLag ? h("td", { "data-label": "In Kafka" }, lag(queue.kind, queue.partitions) ?? "–") : null,
    h("td", { class: "actions-cell" }, pauseButton(queue, refresh)));
}

function drainButton(worker, refresh) {
  const drain = async (event) => {
    const control = event.currentTarget;
    const isConfirmed = await confirmDialog(`Drain ${worker.name}?`,
      "It finishes its running jobs and accepts no new ones until its process is restarted. Queued jobs go to other workers.", "Drain it");
    if (!isConfirmed) return;
    await runAction(control, async () => {
      await send("POST", `/v1/admin/workers/${encodeURIComponent(worker.name)}/drain`);
      toast(`${worker.name} accepts no new jobs after its next heartbeat`);
      await refresh();
    });
  };
  return button("Drain", drain, { kind: "small", "aria-label": `Drain ${worker.name}`, disabled: !worker.live || worker.draining, data: { action: `worker ${worker.name}` } });
}

function workerState(worker) {
  if (!worker.live) return chip("lost");
  if (!worker.draining) return chip("live");
  return chip(worker.slots.some((s) => s.used) ? "draining" : "drained");
}

// One row for the worker, and one below it for its leases.
function workerRows(worker, lines, refresh) {
  const visibleSlots = worker.slots.filter((s) => s.kind !== kMachineKind);
  const leases = worker.leases.filter((lease) => lease.kind !== kMachineKind);
  const leaseLines = lines.assign(leases, visibleSlots.reduce((sum, s) => sum + s.slots, 0));
  return [h("tr", { class: "has-details", data: { key: worker.name } }, h("th", { scope: "row", class: "wrap-anywhere" }, worker.name), h("td", {}, workerState(worker)),
    h("td", { "data-label": "Host", class: "wrap-anywhere" }, worker.host), h("td", { "data-label": "Version" }, worker.version),
    h("td", { "data-label": "Last heartbeat" }, `${duration(worker.heartbeat_age_seconds * 1000)} ago`),
    h("td", { "data-label": "Slots" }, h("div", { class: "slot-list" }, visibleSlots.map((s) =>
      h("div", {}, h("span", { class: "muted" }, kindName(s.kind)), slots(s.used, s.slots, `${worker.name}, ${s.kind}`))))),
    h("td", { class: "actions-cell" }, drainButton(worker, refresh))),
  h("tr", { class: "details-row", data: { key: `${worker.name} leases` } }, h("td", { class: "all-columns", colspan: kWorkerColumns.length },
    leaseList(worker.name, leaseLines, worker.leases_held - (worker.leases.length - leases.length))))];
}

function workerTable(workers, linesOf, refresh) {
  if (!workers.length)
    return emptyState("No workers", "Jobs stay queued until a worker runs. Start a worker on the same store, or with the same Kafka brokers:",
      code("millrace worker --kinds ocr,stt,chat,exec", "Start a worker"));
  return fixedColumnTable("Workers", kWorkerColumns, workers.map((worker) => workerRows(worker, linesOf(worker.name), refresh)));
}

function hostState(host) {
  if (!host.live) return chip("lost");
  return host.maintains ? [chip("live"), h("small", { class: "muted" }, " maintains the store")] : chip("live");
}

// What the processes of a host do: "api, models ×2".
function roles(host) {
  const counted = new Map();
  for (const process of host.processes.filter((each) => each.live)) {
    for (const role of process.roles.length ? process.roles : ["worker"]) counted.set(role, (counted.get(role) ?? 0) + 1);
  }
  return [...counted].map(([role, times]) => (times > 1 ? `${role} ×${times}` : role)).join(", ") || "–";
}

function hostRow(host) {
  const age = Math.min(...host.processes.map((process) => process.report_age_seconds));
  const versions = [...new Set(host.processes.map((process) => process.version))].join(", ");
  return h("tr", { data: { key: `host ${host.name}` } }, h("th", { scope: "row", class: "wrap-anywhere" }, host.name), h("td", {}, hostState(host)),
    h("td", { "data-label": "Roles" }, roles(host)), h("td", { "data-label": "Version" }, versions),
    h("td", { "data-label": "Machines", class: "number" }, count(host.machines)), h("td", { "data-label": "Last report" }, `${duration(age * 1000)} ago`));
}

// A gateway with one host lists none.
function hostSection(hosts) {
  if (!hosts.length) return [];
  return [h("h2", { class: "spaced" }, "Hosts"), fixedColumnTable("Hosts", kHostColumns, hosts.map(hostRow))];
}

// `linesOf(name)`: the LeaseLines of a worker.
function render(container, { queues, workers, hosts }, { linesOf, refresh }) {
  const withLag = queues.some((queue) => queue.partitions);
  updateInPlace(container, h("h2", {}, "Queues"),
    fixedColumnTable("Queues", [...kQueueColumns, ...(withLag ? [["In Kafka", 11]] : []), ["-Actions", 7]], queues.map((queue) => queueRow({ ...queue, withLag }, refresh))),
    ...hostSection(hosts),
    h("h2", { class: "spaced" }, "Workers"),
    h("p", { class: "muted" }, "A lease is the right to run one attempt of a job. Heartbeats renew it. When a lease expires, the job goes to another worker."),
    workerTable(workers, linesOf, refresh));
}

export const title = "Workers";
export async function show(container, { signal }) {
  const body = h("div", {});
  const connection = connectionStatus();
  const lines = new Map();
  const linesOf = (name) => lines.get(name) ?? lines.set(name, new LeaseLines()).get(name);
  fill(container, heading("Queues and workers", "Queued jobs by kind, and the workers that run them.", connection), body);
  const refresh = async () => {
    const [queues, workers, hosts] = await Promise.all(["queues", "workers", "hosts"].map((list) => getJson(`/v1/admin/${list}`, { signal })));
    render(body, { queues: queues.items.filter((q) => q.kind !== kMachineKind), workers: workers.items, hosts: hosts.items }, { linesOf, refresh });
  };
  try {
    await refresh();
  } catch (error) {
    if (error.name !== "AbortError") fill(body, errorState(error));
  }
  startLeaseCountdown(body, signal);
  startLiveUpdates({ signal, pollMs: kPollMs, refresh, stream: false, onConnection: (state) => showConnection(connection, state) });
}
