// Machines: their state, and what to do with them.
import { getJson, newKey, query, send } from "./api.js";
import { button, fill, h } from "./dom.js";
import { firstMachine } from "./lessons.js";
import { chip, confirmed, field, heading, troubled, when } from "./parts.js";
import { everyWhile } from "./stream.js";
import { guarded, toast } from "./toast.js";

const kLookMs = 4000;

export function actsOn(machine, after) {
  const path = `/v1/machines/${machine.machine_id}`;
  const act = (verb, told) => (event) => guarded(event.currentTarget, async () => {
    await send("POST", `${path}/${verb}`, {}, { headers: { "Idempotency-Key": newKey() } });
    toast(`${machine.name} ${told}`);
    await after();
  });
  const destroy = async (event) => {
    const control = event.currentTarget;
    const sure = await confirmed(`Destroy ${machine.name}?`, "Its disk goes with it, and what runs on it is cancelled. There is no way back.", "Destroy it");
    if (!sure) return;
    await guarded(control, async () => {
      await send("DELETE", path, undefined, { headers: { "Idempotency-Key": newKey() } });
      toast(`${machine.name} is being destroyed`);
      await after("destroyed");
    });
  };
  const asleep = machine.phase === "sleeping";
  return [asleep ? button("Wake", act("wake", "wakes"), { kind: "small" }) : null,
    machine.phase === "running" ? button("Sleep", act("sleep", "goes to sleep"), { kind: "small" }) : null,
    machine.phase === "running" ? button("Reboot", act("reboot", "reboots"), { kind: "small" }) : null,
    button("Destroy", destroy, { kind: "small danger" })];
}

// A machine that runs is well; a job that runs is at work.
export function phaseChip(phase) {
  return chip(phase, phase === "running" ? "ok" : ["stopping", "destroying", "accepted", "placement_pending"].includes(phase) ? "starting" : phase);
}

export function sizeOf(machine) {
  return `${machine.vcpu} vCPU · ${machine.memory_mib} MiB · ${machine.storage_gib} GiB`;
}

function machineCard(machine, again) {
  return h("section", { class: "card", "aria-label": machine.name },
    h("header", {}, h("h2", {}, h("a", { href: `#/machines/${machine.machine_id}` }, machine.name)), phaseChip(machine.phase)),
    h("p", { class: "faint" }, machine.driver, " · ", sizeOf(machine)),
    h("p", { class: "faint" }, "made ", when(machine.created_at), machine.autosleep_seconds ? ` · sleeps after ${machine.autosleep_seconds} s` : " · never sleeps by itself"),
    h("div", { class: "actions" }, actsOn(machine, again)));
}

function newMachine(again) {
  const name = h("input", { name: "name", required: true, maxlength: "64", pattern: "[A-Za-z0-9._\\-]+", placeholder: "build-1", autocomplete: "off" });
  const rest = h("input", { name: "autosleep", placeholder: "15m, or never", autocomplete: "off" });
  const form = h("form", { class: "inline", on: { submit: (event) => {
    event.preventDefault();
    guarded(form.querySelector("button"), async () => {
      const wanted = { name: name.value, ...(rest.value ? { autosleep: rest.value } : {}) };
      await send("POST", "/v1/machines", wanted, { headers: { "Idempotency-Key": newKey() } });
      toast(`${name.value} is being made`);
      form.reset();
      await again();
    });
  } } }, field("Name", name), field("Sleeps after", rest), h("button", { type: "submit", class: "button primary" }, "Make the machine"));
  return h("details", { class: "card" }, h("summary", {}, "New machine"), form);
}

export const title = "Machines";
export async function show(place, { signal }) {
  const list = h("div", { class: "grid" });
  let cursors = [""];
  let shown = "";
  const pager = h("nav", { class: "pager", "aria-label": "Pages of machines" });
  const look = async () => {
    const page = await getJson(`/v1/machines${query({ cursor: cursors.at(-1) })}`, { signal });
    const text = JSON.stringify(page);
    if (text === shown || list.contains(document.activeElement)) return;
    shown = text;
    fill(list, page.items.length ? page.items.map((m) => machineCard(m, again)) : firstMachine());
    const turn = (to) => () => {
      cursors = to;
      again();
    };
    fill(pager, cursors.length > 1 ? button("Newer", turn(cursors.slice(0, -1))) : null, page.next_cursor ? button("Older", turn([...cursors, page.next_cursor])) : null);
  };
  const again = () => {
    document.activeElement?.blur();
    return look();
  };
  fill(place, heading("Machines", "Where commands run. A machine's disk outlives its commands and its sleep."), newMachine(again), list, pager);
  try {
    await look();
  } catch (error) {
    fill(list, troubled(error, again));
  }
  everyWhile(kLookMs, look, signal);
}
