// What a tenant uses and its limits. Administrators see all tenants and can change their limits.
import { getJson, send } from "./api.js";
import { gauge } from "./chart.js";
import { fill, h } from "./dom.js";
import { bytes, count, dollars } from "./format.js";
import { startLiveUpdates } from "./live_updates.js";
import { card, connectionStatus, errorState, field, heading, select, showConnection } from "./components.js";
import { updateInPlace } from "./update_in_place.js";
import { fixedColumnTable } from "./tables.js";
import { runAction, toast } from "./toast.js";

// Name in the API, label, and where the figure is in `usage`; without the last, only the limit is shown.
const kQuotas = [
  ["running_jobs", "Running jobs", "running_jobs"],
  ["stored_jobs", "Stored jobs", "stored_jobs"],
  ["stored_bytes", "Stored bytes", "stored_bytes"],
  ["pages_per_day", "Pages of OCR today", "pages"],
  ["machines", "Machines", "machines"],
  ["vcpu", "Virtual CPUs", "vcpu"],
  ["memory_mib", "Memory of machines (MiB)", "memory_mib"],
  ["storage_gib", "Disks of machines (GiB)", "storage_gib"],
  ["ssh_sessions", "SSH sessions", "ssh_sessions"],
  ["requests_per_minute", "Requests per minute"],
  ["tokens_per_minute", "Tokens per minute"],
];
const kColumns = [["Limit", 14], ["Used", 9], ["Allowed", 9], ["Share", 12], ["Set by", 8]];
const kPollMs = 5000;

function figure(quota, value) {
  return quota === "stored_bytes" ? bytes(value) : count(value);
}

function limitText(quota, limit) {
  return typeof limit === "number" ? figure(quota, limit) : "unlimited";
}

function quotaRow([quota, label, key], { usage, limits, own }) {
  const used = key ? usage[key] : undefined, limit = limits[quota];
  const share = used !== undefined && typeof limit === "number" ? gauge(used, limit, `${label}: ${used} of ${limit}`) : "–";
  return h("tr", { data: { key: quota } }, h("th", { scope: "row" }, label),
    h("td", { "data-label": "Used", class: "number" }, used === undefined ? "–" : figure(quota, used)),
    h("td", { "data-label": "Allowed", class: "number" }, limitText(quota, limit)), h("td", { "data-label": "Share" }, share),
    h("td", { "data-label": "Set by" }, own && quota in own ? "administrator" : "default"));
}

// What the budget allows, or only what was spent today.
function moneyRow({ usage, budget, used }) {
  const limit = budget?.usd ?? budget?.soft_usd;
  const spent = budget ? used : usage.cost_usd;
  const label = budget ? `Spent on models (${budget.period})` : "Spent on models today";
  const share = limit === undefined ? "–" : gauge(spent, limit, `${label}: ${dollars(spent)} of ${dollars(limit)}`);
  const allowed = limit === undefined ? "unlimited" : budget.usd === undefined ? `${dollars(limit)}, not enforced` : dollars(limit);
  return h("tr", { data: { key: "budget" } }, h("th", { scope: "row" }, label),
    h("td", { "data-label": "Used", class: "number" }, dollars(spent)),
    h("td", { "data-label": "Allowed", class: "number" }, allowed), h("td", { "data-label": "Share" }, share),
    h("td", { "data-label": "Set by" }, budget ? "administrator" : "default"));
}

function quotaTable(name, figures) {
  return fixedColumnTable(`Limits of ${name}`, kColumns, [moneyRow(figures), ...kQuotas.map((quota) => quotaRow(quota, figures))]);
}

// A form that changes the limits or the budget of a tenant. `change` gets both as they are and returns what becomes of them;
// `what` names it.
function tenantForm(names, refresh, { title, what, button, fields, change }) {
  let tenant = names[0];
  const form = h("form", { on: { submit: (event) => {
    event.preventDefault();
    runAction(form.querySelector("button"), async () => {
      const { limits, budget } = await getJson(`/v1/admin/tenants/${tenant}`);
      await send("PUT", `/v1/admin/tenants/${tenant}`, { limits, budget, ...change({ limits, budget }) });
      toast(`The ${what} of ${tenant} is changed`);
      form.reset();
      await refresh();
    });
  } } }, h("div", { class: "inline" },
    field("Tenant", select(names.map((name) => [name, name]), tenant, (chosen) => { tenant = chosen; })), fields),
  h("button", { type: "submit", class: "button primary" }, button));
  return h("details", { class: "card" }, h("summary", {}, title), form);
}

function budgetForm(names, refresh) {
  let period = "month";
  const amount = h("input", { name: "usd", type: "number", min: "0", step: "any", placeholder: "empty: no budget", autocomplete: "off" });
  const periods = [["day", "day"], ["month", "month"], ["total", "in all"]];
  return tenantForm(names, refresh, { title: "Change a budget", what: "budget", button: "Set budget",
    fields: [field("US dollars", amount), field("Per", select(periods, period, (chosen) => { period = chosen; }))],
    change: () => ({ budget: amount.value === "" ? null : { usd: Number(amount.value), period } }) });
}

// Changes one limit; the others stay.
function limitForm(names, refresh) {
  let quota = kQuotas[0][0];
  const value = h("input", { name: "limit", required: true, pattern: "[0-9]+|unlimited|default", placeholder: "10, unlimited or default", autocomplete: "off" });
  const set = (text) => text === "default" ? null : text === "unlimited" ? text : Number(text);
  const quotas = kQuotas.map(([name, label]) => [name, label]);
  return tenantForm(names, refresh, { title: "Change a limit", what: "limit", button: "Set limit",
    fields: [field("Limit", select(quotas, quota, (chosen) => { quota = chosen; })), field("Value", value)],
    change: ({ limits }) => ({ limits: { ...limits, [quota]: set(value.value) } }) });
}

async function tenantsOrNull(signal) {
  try {
    return (await getJson("/v1/admin/tenants", { signal })).items;
  } catch (error) {
    if (error.status === 403) return null;
    throw error;
  }
}

export const title = "Usage";
export async function show(container, { signal }) {
  const body = h("div", {}, h("p", { class: "muted", role: "status" }, "Loading …"));
  const change = h("div", {});
  const connection = connectionStatus();
  const refresh = async () => {
    const tenants = await tenantsOrNull(signal);
    const shown = tenants
      ? tenants.map((t) => [t.name, { usage: t.usage, limits: t.effective_limits, own: t.limits, budget: t.budget, used: t.budget_used_usd }])
      : [await getJson("/v1/usage", { signal })].map((own) => [own.tenant, { usage: own, limits: own.limits, budget: own.budget, used: own.budget_used_usd }]);
    updateInPlace(body, h("div", {}, shown.map(([name, figures]) => card(name, quotaTable(name, figures)))));
    if (tenants && !change.firstChild) {
      const names = tenants.map((t) => t.name);
      fill(change, limitForm(names, refresh), budgetForm(names, refresh));
    }
  };
  fill(container, heading("Usage", "What each tenant uses, and its limits. A request beyond a limit is refused with the code quota_exceeded, or budget_exceeded for money.", connection), change, body);
  try {
    await refresh();
  } catch (error) {
    if (error.name !== "AbortError") fill(body, errorState(error, refresh));
  }
  startLiveUpdates({ signal, pollMs: kPollMs, refresh, stream: false, onConnection: (state) => showConnection(connection, state) });
}
