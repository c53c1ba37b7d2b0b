// API keys with their scopes, expiry and limits.
import { getJson, send } from "./api.js";
import { add, button, fill, h } from "./dom.js";
import { startLiveUpdates } from "./live_updates.js";
import { plural } from "./format.js";
import { chip, code, confirmDialog, connectionStatus, errorState, field, heading, select, showConnection, timeElement } from "./components.js";
import { StableOrder, updateInPlace } from "./update_in_place.js";
import { fixedColumnTable } from "./tables.js";
import { runAction, toast } from "./toast.js";

const kScopes = ["models", "chat", "embeddings", "images", "audio", "ocr", "exec:run", "exec:read", "ssh:issue", "machines:write", "jobs:read", "jobs:write", "files:read", "files:write", "webhooks:read", "webhooks:write", "metrics", "tenant:admin", "admin"];
// Selected by default for a new key: the scopes of an ordinary client. All others, for example those for commands, SSH,
// machines and administration, must be selected explicitly.
const kOrdinaryScopes = new Set(["models", "chat", "embeddings", "images", "audio", "ocr", "jobs:read", "jobs:write", "files:read", "files:write", "webhooks:read", "webhooks:write"]);
const kLifetimes = [["", "Never expires"], ["30", "Expires in 30 days"], ["90", "Expires in 90 days"], ["365", "Expires in a year"]];
const kDayMs = 86400000;
const kPollMs = 5000;
const kColumns = [["Name", 10], ["State", 7], ["Tenant", 6], ["Scopes", 11], ["Last used", 7], ["Expires", 6], ["-Actions", 18]];

function stateChip(key) {
  const now = Date.now();
  if (key.revoked_at) return chip("revoked", "cancelled");
  if (key.expires_at && new Date(key.expires_at) <= now) return chip("expired");
  if (key.expires_at && new Date(key.expires_at) - now < 7 * kDayMs) return chip("expiring");
  return chip("live");
}

// The lists that limit what a key may use: [field, label, placeholder, hint].
const kLists = [
  ["ip_ranges", "Addresses", "10.0.0.0/8, 2001:db8::1", "Where it may be used"],
  ["models", "Models", "gpt-5, openai/*", "Also for fallbacks"],
  ["mcp_servers", "MCP servers", "search, https://mcp.example/*", "Slugs or URLs"],
];

// The entries of a list, separated by commas or spaces; null: no limit.
function entries(text) {
  const list = text.split(/[\s,]+/).filter(Boolean);
  return list.length ? list : null;
}

function listInputs(key = {}) {
  return kLists.map(([name, , placeholder]) => h("input", { name, value: (key[name] ?? []).join(", "), placeholder, autocomplete: "off" }));
}

function listFields(inputs) {
  return h("div", { class: "inline" }, kLists.map(([, label, , hint], index) => field(label, inputs[index], `${hint}; empty: all`)));
}

function scopeBoxes(isSelected) {
  const boxes = kScopes.map((scope) => h("input", { type: "checkbox", name: "scope", value: scope, checked: isSelected(scope) }));
  const element = h("fieldset", { class: "scopes" }, h("legend", {}, "Scopes"),
    kScopes.map((scope, index) => h("label", { class: "checkbox-label" }, boxes[index], h("span", { class: "mono" }, scope))));
  return { element, selected: () => boxes.filter((b) => b.checked).map((b) => b.value) };
}

function expiryIn(days) {
  return new Date(Date.now() + Number(days) * kDayMs).toISOString();
}

// Changes a key. What the change takes away ends the requests that need it.
function changeDialog(key, refresh) {
  const name = h("input", { name: "name", required: true, maxlength: "64", pattern: "[A-Za-z0-9._\\-]+", value: key.name, autocomplete: "off" });
  const scopes = scopeBoxes((scope) => key.scopes.includes(scope));
  const lists = listInputs(key);
  let days = "unchanged";
  const dialog = h("dialog", { "aria-label": `Change ${key.name}`, class: "wide" });
  const form = h("form", { on: { submit: (event) => {
    event.preventDefault();
    runAction(form.querySelector("button[type=submit]"), async () => {
      const body = { name: name.value, scopes: scopes.selected() };
      kLists.forEach(([list], index) => {
        body[list] = entries(lists[index].value);
      });
      if (days !== "unchanged") body.expires_at = days ? expiryIn(days) : null;
      await send("PATCH", `/v1/admin/keys/${key.id}`, body);
      dialog.close();
      toast(`${name.value} is changed`);
      await refresh();
    });
  } } }, h("h2", {}, `Change ${key.name}`),
  h("div", { class: "inline" }, field("Name", name), field("Expires", select([["unchanged", "Unchanged"], ...kLifetimes], "unchanged", (value) => {
    days = value;
  }))), listFields(lists), scopes.element,
  h("div", { class: "actions" }, button("Back", () => dialog.close()), h("button", { type: "submit", class: "button primary" }, "Change it")));
  add(dialog, form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function isActive(key) {
  return !key.revoked_at && !(key.expires_at && new Date(key.expires_at) <= Date.now());
}

// Shows a new key. This is the only time that the key is shown.
function showNewKey(created) {
  const dialog = h("dialog", { "aria-label": "The new key" });
  add(dialog, h("h2", {}, `The key of ${created.name}`), h("p", {}, "It is shown only once. Copy it now."),
    code(created.key, "The key"), h("div", { class: "actions" }, button("Done", () => dialog.close(), { kind: "primary" })));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function scopesText(key) {
  if (key.scopes.length === kScopes.length) return "all scopes";
  const all = key.scopes.join(", ");
  return h("span", { title: all }, key.scopes.length > 4 ? plural(key.scopes.length, "scope") : all);
}

// The limits of a key, as one line each.
function limitsText(key) {
  return kLists.filter(([name]) => key[name]).map(([name, label]) => h("div", { class: "muted" }, `${label}: ${key[name].join(", ") || "none"}`));
}

function row(key, refresh) {
  const rotate = async (event) => {
    const control = event.currentTarget;
    if (!(await confirmDialog(`Rotate ${key.name}?`, "A new key with the same scopes is created. The old one stays valid for a day.", "Rotate it"))) return;
    await runAction(control, async () => {
      showNewKey(await send("POST", `/v1/admin/keys/${key.id}/rotate`, {}));
      await refresh();
    });
  };
  const revoke = async (event) => {
    const control = event.currentTarget;
    if (!(await confirmDialog(`Revoke ${key.name}?`, "Requests with this key are refused within a second. This cannot be undone.", "Revoke it"))) return;
    await runAction(control, async () => {
      await send("DELETE", `/v1/admin/keys/${key.id}`);
      toast(`${key.name} is revoked`);
      await refresh();
    });
  };
  return h("tr", { data: { key: key.id } }, h("th", { scope: "row", class: "wrap-anywhere" }, key.name, " ", h("span", { class: "mono muted" }, key.id)), h("td", {}, stateChip(key)),
    h("td", { "data-label": "Tenant" }, key.tenant), h("td", { "data-label": "Scopes", class: "tags wrap-anywhere" }, scopesText(key), limitsText(key)),
    h("td", { "data-label": "Last used" }, key.last_used_at ? timeElement(key.last_used_at) : "never"), h("td", { "data-label": "Expires" }, key.expires_at ? timeElement(key.expires_at) : "–"),
    h("td", { class: "actions-cell" }, isActive(key) ? h("div", { class: "actions" }, button("Change", () => changeDialog(key, refresh), { kind: "small", "aria-label": `Change ${key.name}` }),
      button("Rotate", rotate, { kind: "small", "aria-label": `Rotate ${key.name}` }),
      button("Revoke", revoke, { kind: "small danger", "aria-label": `Revoke ${key.name}` })) : null));
}

function newKeyForm(refresh) {
  const name = h("input", { name: "name", required: true, maxlength: "64", pattern: "[A-Za-z0-9._\\-]+", placeholder: "ci", autocomplete: "off" });
  const tenant = h("input", { name: "tenant", value: "default", required: true, maxlength: "64", pattern: "[A-Za-z0-9._\\-]+", autocomplete: "off" });
  let days = "";
  const scopes = scopeBoxes((scope) => kOrdinaryScopes.has(scope));
  const lists = listInputs();
  const form = h("form", { on: { submit: (event) => {
    event.preventDefault();
    runAction(form.querySelector("button"), async () => {
      const body = { name: name.value, tenant: tenant.value, scopes: scopes.selected(), ...(days ? { expires_at: expiryIn(days) } : {}) };
      kLists.forEach(([list], index) => {
        body[list] = entries(lists[index].value);
      });
      const created = await send("POST", "/v1/admin/keys", body);
      form.reset();
      showNewKey(created);
      await refresh();
    });
  } } }, h("div", { class: "inline" }, field("Name", name), field("Tenant", tenant), field("Expires", select(kLifetimes, "", (value) => {
    days = value;
  }))), listFields(lists), scopes.element,
  h("button", { type: "submit", class: "button primary" }, "Create key"));
  return h("details", { class: "card" }, h("summary", {}, "New key"), form);
}

// The first display sorts live keys first. Later updates keep the order.
function table(keys, order, refresh) {
  const sorted = [...keys].sort((a, b) => isActive(b) - isActive(a) || b.created_at.localeCompare(a.created_at));
  return fixedColumnTable("API keys", kColumns, order.apply(sorted, (key) => key.id).map((key) => row(key, refresh)));
}

export const title = "Keys";
export async function show(container, { signal }) {
  const body = h("div", {}, h("p", { class: "muted", role: "status" }, "Loading …"));
  const connection = connectionStatus();
  const order = new StableOrder({ newFirst: true });
  const refresh = async () => {
    const { items } = await getJson("/v1/admin/keys", { signal });
    updateInPlace(body, table(items, order, refresh));
  };
  fill(container, heading("Keys", "A key belongs to a tenant, and its scopes define what it can do. Only a hash is stored, so copy a key when you create it. The first key is also in admin.key in the data directory.", connection), newKeyForm(refresh), body);
  try {
    await refresh();
  } catch (error) {
    if (error.name !== "AbortError") fill(body, errorState(error, refresh));
  }
  startLiveUpdates({ signal, pollMs: kPollMs, refresh, stream: false, onConnection: (state) => showConnection(connection, state) });
}
