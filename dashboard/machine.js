// The screen of one machine: run a command, list executions, copy the SSH command.
import { getJson, newIdempotencyKey, send } from "./api.js";
import { cli, curl, quoted } from "./curl.js";
import { fill, h } from "./dom.js";
import { duration, runMs } from "./format.js";
import { card, chip, code, descriptionList, emptyState, errorState, heading, timeElement } from "./components.js";
import { machineActions, phaseChip, sizeText } from "./machines.js";
import { pollWhileVisible } from "./stream.js";
import { runAction } from "./toast.js";
import { updateInPlace } from "./update_in_place.js";

const kPollMs = 3000;

function executionRow(execution) {
  return h("tr", { data: { key: execution.execution_id } }, h("td", { class: "state" }, chip(execution.status)),
    h("td", { class: "truncate" }, h("a", { href: `#/jobs/${execution.execution_id}`, class: "mono" }, execution.command.join(" "))),
    h("td", { "data-label": "Exit status" }, execution.exit_code !== undefined ? `exit ${execution.exit_code}` : execution.signal ?? "–"),
    h("td", { "data-label": "Created" }, timeElement(execution.created_at)), h("td", { class: "number", "data-label": "Duration" }, duration(runMs(execution))));
}

function executionTable(items) {
  if (!items.length) return emptyState("No executions yet", "Run the first command with the form above.");
  return h("div", { class: "table-container" }, h("table", { class: "jobs" }, h("caption", { class: "visually-hidden" }, "Executions"),
    h("thead", {}, h("tr", {}, ["State", "Command", "Exit status", "Created", "Duration"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, items.map(executionRow))));
}

// The line is passed to `sh -c` unchanged.
function runForm(path) {
  const commandInput = h("input", { name: "line", required: true, spellcheck: "false", autocomplete: "off", autocapitalize: "off",
    class: "mono", placeholder: "ls -la", "aria-label": "Command for sh -c" });
  const form = h("form", { class: "inline", on: { submit: (event) => {
    event.preventDefault();
    runAction(form.querySelector("button"), async () => {
      const execution = await send("POST", `${path}/executions`, { command: ["sh", "-c", commandInput.value] }, { headers: { "Idempotency-Key": newIdempotencyKey() } });
      location.hash = `#/jobs/${execution.execution_id}`;
    });
  } } }, commandInput, h("button", { type: "submit", class: "button primary" }, "Run"));
  return form;
}

function commands(machine) {
  const path = `/v1/machines/${machine.machine_id}`;
  return [code(cli(`ssh ${quoted(machine.name)}`), "Log in"), code(cli(`exec run -m ${quoted(machine.name)}`, "uname -a"), "Run a command"),
    code(curl("POST", `${path}/executions`, { json: { command: ["uname", "-a"] }, newIdempotencyKey: true }), "API")];
}

function machineDetails(machine) {
  const { status = {} } = machine;
  return descriptionList([["State", phaseChip(machine.phase)], ["Desired state", machine.desired_state], ["Reason", status.reason], ["Last error", status.last_error], ["Disk", status.disk_problem],
    ["Size", sizeText(machine)], ["Driver", machine.driver], ["Sleeps after", machine.autosleep_seconds ? `${machine.autosleep_seconds} s` : "never"],
    ["Created", timeElement(machine.created_at)], ["Id", h("span", { class: "mono wrap-anywhere" }, machine.machine_id)]]);
}

export const title = "Machine";
export async function show(container, { id, signal }) {
  const path = `/v1/machines/${encodeURIComponent(id)}`;
  const state = h("div", {});
  const actions = h("div", { class: "actions" });
  const history = h("div", {});
  let shownData = "";
  const refresh = async () => {
    const [machine, executions] = await Promise.all([getJson(path, { signal }), getJson(`${path}/executions?limit=20`, { signal })]);
    const text = JSON.stringify([machine, executions]);
    if (text === shownData) return machine;
    shownData = text;
    updateInPlace(state, machineDetails(machine));
    updateInPlace(actions, machineActions(machine, onAction));
    updateInPlace(history, executionTable(executions.items));
    return machine;
  };
  const onAction = async (outcome) => {
    if (outcome === "destroyed") location.hash = "#/machines";
    else await refresh();
  };
  let machine = null;
  try {
    machine = await refresh();
  } catch (error) {
    return fill(container, h("p", {}, h("a", { href: "#/machines" }, "← Machines")), errorState(error));
  }
  fill(container, h("p", {}, h("a", { href: "#/machines" }, "← Machines")), heading(machine.name, "", actions),
    h("div", { class: "columns" }, h("div", { class: "main-column" }, card("Run a command", runForm(path)), card("Executions", history)),
      h("div", { class: "side-column" }, card("Details", state), card("Command line and API", commands(machine)))));
  return void pollWhileVisible(kPollMs, refresh, signal);
}
