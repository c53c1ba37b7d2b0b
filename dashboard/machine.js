// The screen of one machine: run a command, list executions, copy the SSH command.
import { getJson, newKey, send } from "./api.js";
import { cli, curl, quoted } from "./curl.js";
import { fill, h } from "./dom.js";
import { duration, ran } from "./format.js";
import { card, chip, code, empty, facts, heading, troubled, when } from "./parts.js";
import { actsOn, phaseChip, sizeOf } from "./machines.js";
import { everyWhile } from "./stream.js";
import { guarded } from "./toast.js";

const kLookMs = 3000;

function executionRow(execution) {
  return h("tr", {}, h("td", { class: "state" }, chip(execution.status)),
    h("td", { class: "clip" }, h("a", { href: `#/jobs/${execution.execution_id}`, class: "mono" }, execution.command.join(" "))),
    h("td", { "data-label": "Exit status" }, execution.exit_code !== undefined ? `exit ${execution.exit_code}` : execution.signal ?? "–"),
    h("td", { "data-label": "Created" }, when(execution.created_at)), h("td", { class: "number", "data-label": "Duration" }, duration(ran(execution))));
}

function executionTable(items) {
  if (!items.length) return empty("No executions yet", "Run the first command with the form above.");
  return h("div", { class: "wide" }, h("table", { class: "jobs" }, h("caption", { class: "unseen" }, "Executions"),
    h("thead", {}, h("tr", {}, ["State", "Command", "Exit status", "Created", "Duration"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, items.map(executionRow))));
}

// The line is passed to `sh -c` unchanged.
function runForm(path) {
  const line = h("input", { name: "line", required: true, spellcheck: "false", autocomplete: "off", autocapitalize: "off", class: "mono", placeholder: "ls -la", "aria-label": "Command for sh -c" });
  const form = h("form", { class: "inline", on: { submit: (event) => {
    event.preventDefault();
    guarded(form.querySelector("button"), async () => {
      const execution = await send("POST", `${path}/executions`, { command: ["sh", "-c", line.value] }, { headers: { "Idempotency-Key": newKey() } });
      location.hash = `#/jobs/${execution.execution_id}`;
    });
  } } }, line, h("button", { type: "submit", class: "button primary" }, "Run"));
  return form;
}

function commands(machine) {
  const path = `/v1/machines/${machine.machine_id}`;
  return [code(cli(`ssh ${quoted(machine.name)}`), "Log in"), code(cli(`exec run -m ${quoted(machine.name)}`, "uname -a"), "Run a command"),
    code(curl("POST", `${path}/executions`, { json: { command: ["uname", "-a"] }, fresh: true }), "API")];
}

function statusFacts(machine) {
  const { status = {} } = machine;
  return facts([["State", phaseChip(machine.phase)], ["Desired state", machine.desired_state], ["Reason", status.reason], ["Last error", status.last_error],
    ["Size", sizeOf(machine)], ["Driver", machine.driver], ["Sleeps after", machine.autosleep_seconds ? `${machine.autosleep_seconds} s` : "never"],
    ["Created", when(machine.created_at)], ["Id", h("span", { class: "mono breaks" }, machine.machine_id)]]);
}

export const title = "Machine";
export async function show(place, { id, signal }) {
  const path = `/v1/machines/${encodeURIComponent(id)}`;
  const state = h("div", {});
  const actions = h("div", { class: "actions" });
  const history = h("div", {});
  let shown = "";
  const look = async () => {
    const [machine, executions] = await Promise.all([getJson(path, { signal }), getJson(`${path}/executions?limit=20`, { signal })]);
    const text = JSON.stringify([machine, executions]);
    if (text === shown) return machine;
    shown = text;
    fill(state, statusFacts(machine));
    if (!actions.contains(document.activeElement)) fill(actions, actsOn(machine, after));
    if (!history.contains(document.activeElement)) fill(history, executionTable(executions.items));
    return machine;
  };
  const after = async (what) => {
    if (what === "destroyed") location.hash = "#/machines";
    else await look();
  };
  let machine = null;
  try {
    machine = await look();
  } catch (error) {
    return fill(place, h("p", {}, h("a", { href: "#/machines" }, "← Machines")), troubled(error));
  }
  fill(place, h("p", {}, h("a", { href: "#/machines" }, "← Machines")), heading(machine.name, "", actions),
    h("div", { class: "columns" }, h("div", { class: "main-column" }, card("Run a command", runForm(path)), card("Executions", history)),
      h("div", { class: "side-column" }, card("Details", state), card("Command line and API", commands(machine)))));
  return void everyWhile(kLookMs, look, signal);
}
