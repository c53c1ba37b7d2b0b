// Machines: their state and the operations on them.
import { getJson, newKey, query, send } from "./api.js";
import { button, fill, h } from "./dom.js";
import { firstMachine } from "./lessons.js";
import { live } from "./live.js";
import { chip, confirmed, field, heading, linkMark, showLink, troubled, when } from "./parts.js";
import { settle } from "./settle.js";
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
    const sure = await confirmed(`Destroy ${machine.name}?`, "Its disk is deleted and its running commands are cancelled. This cannot be undone.", "Destroy it");
    if (!sure) return;
    await guarded(control, async () => {
      await send("DELETE", path, undefined, { headers: { "Idempotency-Key": newKey() } });
      toast(`${machine.name} is being destroyed`);
      await after("destroyed");
    });
  };
  const runs = machine.phase === "running";
  return [machine.phase === "sleeping" ? button("Wake", act("wake", "is waking up"), { kind: "small" })
    : button("Sleep", act("sleep", "is going to sleep"), { kind: "small", disabled: !runs }),
    button("Reboot", act("reboot", "is rebooting"), { kind: "small", disabled: !runs }),
    button("Destroy", destroy, { kind: "small danger", disabled: machine.phase.startsWith("destroy") })];
}

// A running machine has the colour of `ok`, not the colour of a running job.
export function phaseChip(phase) {
  return chip(phase, phase === "running" ? "ok" : ["stopping", "destroying", "accepted", "placement_pending"].includes(phase) ? "starting" : phase);
}

export function sizeOf(machine) {
  return `${machine.vcpu} vCPU · ${machine.memory_mib} MiB · ${machine.storage_gib} GiB`;
}

function machineCard(machine, again) {
  return h("section", { class: "card machine", "aria-label": machine.name, data: { key: machine.machine_id } },
    h("header", {}, h("h2", {}, h("a", { href: `#/machines/${machine.machine_id}` }, machine.name)), phaseChip(machine.phase)),
    h("p", { class: "faint" }, machine.driver, " · ", sizeOf(machine)),
    h("p", { class: "faint" }, machine.autosleep_seconds ? `sleeps after ${machine.autosleep_seconds} s` : "no autosleep", " · created ", when(machine.created_at)),
    h("div", { class: "actions machine-acts" }, actsOn(machine, again)));
}

function newMachine(again) {
  const name = h("input", { name: "name", required: true, maxlength: "64", pattern: "[A-Za-z0-9._\\-]+", placeholder: "build-1", autocomplete: "off" });
  const rest = h("input", { name: "autosleep", placeholder: "15m, or never", autocomplete: "off" });
  const form = h("form", { class: "inline", on: { submit: (event) => {
    event.preventDefault();
    guarded(form.querySelector("button"), async () => {
      const wanted = { name: name.value, ...(rest.value ? { autosleep: rest.value } : {}) };
      await send("POST", "/v1/machines", wanted, { headers: { "Idempotency-Key": newKey() } });
      toast(`${name.value} is being created`);
      form.reset();
      await again();
    });
  } } }, field("Name", name), field("Sleeps after", rest), h("button", { type: "submit", class: "button primary" }, "Create machine"));
  return h("details", { class: "card" }, h("summary", {}, "New machine"), form);
}

export const title = "Machines";
export async function show(place, { signal }) {
  const list = h("div", { class: "grid" });
  let cursors = [""];
  const link = linkMark();
  const pager = h("nav", { class: "pager", "aria-label": "Pages of machines" });
  const look = async () => {
    const page = await getJson(`/v1/machines${query({ cursor: cursors.at(-1) })}`, { signal });
    settle(list, page.items.length ? page.items.map((m) => machineCard(m, look)) : firstMachine());
    const turn = (to) => () => {
      cursors = to;
      look();
    };
    settle(pager, cursors.length > 1 ? button("Newer", turn(cursors.slice(0, -1)), { data: { key: "newer" } }) : null,
      page.next_cursor ? button("Older", turn([...cursors, page.next_cursor]), { data: { key: "older" } }) : null);
  };
  fill(place, heading("Machines", "Commands run on machines. A machine keeps its disk between commands and while it sleeps.", link), newMachine(look), list, pager);
  try {
    await look();
  } catch (error) {
    fill(list, troubled(error, look));
  }
  live({ signal, ms: kLookMs, look, stream: false, onLink: (state) => showLink(link, state) });
}
