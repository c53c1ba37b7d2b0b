// Machines: their state and the operations on them.
import { getJson, newIdempotencyKey, query, send } from "./api.js";
import { button, fill, h } from "./dom.js";
import { noMachinesState } from "./empty_states.js";
import { startLiveUpdates } from "./live_updates.js";
import { chip, confirmDialog, connectionStatus, errorState, field, heading, showConnection, timeElement } from "./components.js";
import { updateInPlace } from "./update_in_place.js";
import { runAction, toast } from "./toast.js";

const kPollMs = 4000;

export function machineActions(machine, onAction) {
  const path = `/v1/machines/${machine.machine_id}`;
  const actionHandler = (verb, message) => (event) => runAction(event.currentTarget, async () => {
    await send("POST", `${path}/${verb}`, {}, { headers: { "Idempotency-Key": newIdempotencyKey() } });
    toast(`${machine.name} ${message}`);
    await onAction();
  });
  const destroy = async (event) => {
    const control = event.currentTarget;
    const isConfirmed = await confirmDialog(`Destroy ${machine.name}?`, "Its disk is deleted and its running commands are cancelled. This cannot be undone.", "Destroy it");
    if (!isConfirmed) return;
    await runAction(control, async () => {
      await send("DELETE", path, undefined, { headers: { "Idempotency-Key": newIdempotencyKey() } });
      toast(`${machine.name} is being destroyed`);
      await onAction("destroyed");
    });
  };
  const isRunning = machine.phase === "running";
  return [machine.phase === "sleeping" ? button("Wake", actionHandler("wake", "is waking up"), { kind: "small", data: { key: "wake" } })
    : button("Sleep", actionHandler("sleep", "is going to sleep"), { kind: "small", disabled: !isRunning, data: { key: "sleep" } }),
    button("Reboot", actionHandler("reboot", "is rebooting"), { kind: "small", disabled: !isRunning }),
    button("Destroy", destroy, { kind: "small danger", disabled: machine.phase.startsWith("destroy") })];
}

// A running machine has the colour of `ok`, not the colour of a running job.
export function phaseChip(phase) {
  return chip(phase, phase === "running" ? "ok" : ["stopping", "destroying", "accepted", "placement_pending"].includes(phase) ? "starting" : phase);
}

export function sizeText(machine) {
  return `${machine.vcpu} vCPU · ${machine.memory_mib} MiB · ${machine.storage_gib} GiB`;
}

function machineCard(machine, refresh) {
  return h("section", { class: "card machine", "aria-label": machine.name, data: { key: machine.machine_id } },
    h("header", {}, h("h2", {}, h("a", { href: `#/machines/${machine.machine_id}` }, machine.name)), phaseChip(machine.phase)),
    h("p", { class: "muted" }, machine.driver, " · ", sizeText(machine)),
    h("p", { class: "muted" }, machine.autosleep_seconds ? `sleeps after ${machine.autosleep_seconds} s` : "no autosleep", " · created ", timeElement(machine.created_at)),
    h("div", { class: "actions machine-actions" }, machineActions(machine, refresh)));
}

function newMachineForm(refresh) {
  const name = h("input", { name: "name", required: true, maxlength: "64", pattern: "[A-Za-z0-9._\\-]+", placeholder: "build-1", autocomplete: "off" });
  const autosleep = h("input", { name: "autosleep", placeholder: "15m, or never", autocomplete: "off" });
  const form = h("form", { class: "inline", on: { submit: (event) => {
    event.preventDefault();
    runAction(form.querySelector("button"), async () => {
      const body = { name: name.value, ...(autosleep.value ? { autosleep: autosleep.value } : {}) };
      await send("POST", "/v1/machines", body, { headers: { "Idempotency-Key": newIdempotencyKey() } });
      toast(`${name.value} is being created`);
      form.reset();
      await refresh();
    });
  } } }, field("Name", name), field("Sleeps after", autosleep), h("button", { type: "submit", class: "button primary" }, "Create machine"));
  return h("details", { class: "card" }, h("summary", {}, "New machine"), form);
}

export const title = "Machines";
export async function show(container, { signal }) {
  const list = h("div", { class: "grid" });
  let cursors = [""];
  const connection = connectionStatus();
  const pager = h("nav", { class: "pager", "aria-label": "Pages of machines" });
  const refresh = async () => {
    const page = await getJson(`/v1/machines${query({ cursor: cursors.at(-1) })}`, { signal });
    updateInPlace(list, page.items.length ? page.items.map((m) => machineCard(m, refresh)) : noMachinesState());
    const goTo = (to) => () => {
      cursors = to;
      refresh();
    };
    updateInPlace(pager, cursors.length > 1 ? button("Newer", goTo(cursors.slice(0, -1)), { data: { key: "newer" } }) : null,
      page.next_cursor ? button("Older", goTo([...cursors, page.next_cursor]), { data: { key: "older" } }) : null);
  };
  fill(container, heading("Machines", "Commands run on machines. A machine keeps its disk between commands and while it sleeps.", connection), newMachineForm(refresh), list, pager);
  try {
    await refresh();
  } catch (error) {
    fill(list, errorState(error, refresh));
  }
  startLiveUpdates({ signal, pollMs: kPollMs, refresh, stream: false, onConnection: (state) => showConnection(connection, state) });
}
