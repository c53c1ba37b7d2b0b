// API keys with their scopes and expiry.
import { getJson, send } from "./api.js";
import { add, button, fill, h } from "./dom.js";
import { live } from "./live.js";
import { plural } from "./format.js";
import { chip, code, confirmed, field, heading, linkMark, select, showLink, troubled, when } from "./parts.js";
import { Places, settle } from "./settle.js";
import { steadyTable } from "./tables.js";
import { guarded, toast } from "./toast.js";

const kScopes = ["models", "chat", "embeddings", "images", "audio", "ocr", "exec:run", "exec:read", "ssh:issue", "machines:write", "jobs:read", "jobs:write", "metrics", "admin"];
// Selected by default for a new key: the scopes of an ordinary client. All others, for example those for commands, SSH,
// machines and administration, must be selected explicitly.
const kOrdinaryScopes = new Set(["models", "chat", "embeddings", "images", "audio", "ocr", "jobs:read", "jobs:write"]);
const kLives = [["", "Never expires"], ["30", "Expires in 30 days"], ["90", "Expires in 90 days"], ["365", "Expires in a year"]];
const kDayMs = 86400000;
const kLookMs = 5000;
const kColumns = [["Name", 14], ["State", 7], ["Tenant", 8], ["Scopes", 10], ["Last used", 8], ["Expires", 7], ["-Actions", 12]];

function stateOf(key) {
  const now = Date.now();
  if (key.revoked_at) return chip("revoked", "cancelled");
  if (key.expires_at && new Date(key.expires_at) <= now) return chip("expired");
  if (key.expires_at && new Date(key.expires_at) - now < 7 * kDayMs) return chip("expiring");
  return chip("live");
}

function isLive(key) {
  return !key.revoked_at && !(key.expires_at && new Date(key.expires_at) <= Date.now());
}

// Shows a new key. This is the only time that the key is shown.
function showMade(made) {
  const dialog = h("dialog", { "aria-label": "The new key" });
  add(dialog, h("h2", {}, `The key of ${made.name}`), h("p", {}, "It is shown only once. Copy it now."),
    code(made.key, "The key"), h("div", { class: "actions" }, button("Done", () => dialog.close(), { kind: "primary" })));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function scopesText(key) {
  if (key.scopes.length === kScopes.length) return "all scopes";
  const all = key.scopes.join(", ");
  return h("span", { title: all }, key.scopes.length > 4 ? plural(key.scopes.length, "scope") : all);
}

function row(key, again) {
  const rotate = async (event) => {
    const control = event.currentTarget;
    if (!(await confirmed(`Rotate ${key.name}?`, "A new key with the same scopes is created. The old one stays valid for a day.", "Rotate it"))) return;
    await guarded(control, async () => {
      showMade(await send("POST", `/v1/admin/keys/${key.id}/rotate`, {}));
      await again();
    });
  };
  const revoke = async (event) => {
    const control = event.currentTarget;
    if (!(await confirmed(`Revoke ${key.name}?`, "Requests with this key are refused within a second. This cannot be undone.", "Revoke it"))) return;
    await guarded(control, async () => {
      await send("DELETE", `/v1/admin/keys/${key.id}`);
      toast(`${key.name} is revoked`);
      await again();
    });
  };
  return h("tr", { data: { key: key.id } }, h("th", { scope: "row", class: "breaks" }, key.name, " ", h("span", { class: "mono faint" }, key.id)), h("td", {}, stateOf(key)),
    h("td", { "data-label": "Tenant" }, key.tenant), h("td", { "data-label": "Scopes" }, scopesText(key)),
    h("td", { "data-label": "Last used" }, key.last_used_at ? when(key.last_used_at) : "never"), h("td", { "data-label": "Expires" }, key.expires_at ? when(key.expires_at) : "–"),
    h("td", { class: "act" }, isLive(key) ? h("div", { class: "actions" }, button("Rotate", rotate, { kind: "small", "aria-label": `Rotate ${key.name}` }),
      button("Revoke", revoke, { kind: "small danger", "aria-label": `Revoke ${key.name}` })) : null));
}

function newKeyForm(again) {
  const name = h("input", { name: "name", required: true, maxlength: "64", pattern: "[A-Za-z0-9._\\-]+", placeholder: "ci", autocomplete: "off" });
  const tenant = h("input", { name: "tenant", value: "default", required: true, maxlength: "64", pattern: "[A-Za-z0-9._\\-]+", autocomplete: "off" });
  let days = "";
  const boxes = kScopes.map((scope) => h("input", { type: "checkbox", name: "scope", value: scope, checked: kOrdinaryScopes.has(scope) }));
  const form = h("form", { on: { submit: (event) => {
    event.preventDefault();
    guarded(form.querySelector("button"), async () => {
      const wanted = { name: name.value, tenant: tenant.value, scopes: boxes.filter((b) => b.checked).map((b) => b.value),
        ...(days ? { expires_at: new Date(Date.now() + Number(days) * kDayMs).toISOString() } : {}) };
      const made = await send("POST", "/v1/admin/keys", wanted);
      form.reset();
      showMade(made);
      await again();
    });
  } } }, h("div", { class: "inline" }, field("Name", name), field("Tenant", tenant), field("Expires", select(kLives, "", (value) => {
    days = value;
  }))),
  h("fieldset", { class: "scopes" }, h("legend", {}, "Scopes"), kScopes.map((scope, at) => h("label", { class: "check" }, boxes[at], h("span", { class: "mono" }, scope)))),
  h("button", { type: "submit", class: "button primary" }, "Create key"));
  return h("details", { class: "card" }, h("summary", {}, "New key"), form);
}

// The first display sorts live keys first. Later updates keep the order.
function table(keys, places, again) {
  const sorted = [...keys].sort((a, b) => isLive(b) - isLive(a) || b.created_at.localeCompare(a.created_at));
  return steadyTable("API keys", kColumns, places.order(sorted, (key) => key.id).map((key) => row(key, again)));
}

export const title = "Keys";
export async function show(place, { signal }) {
  const body = h("div", {}, h("p", { class: "faint", role: "status" }, "Loading …"));
  const link = linkMark();
  const places = new Places({ newFirst: true });
  const look = async () => {
    const { items } = await getJson("/v1/admin/keys", { signal });
    settle(body, table(items, places, look));
  };
  fill(place, heading("Keys", "A key belongs to a tenant, and its scopes define what it can do. Only a hash is stored, so copy a key when you create it. The first key is also in admin.key in the data directory.", link), newKeyForm(look), body);
  try {
    await look();
  } catch (error) {
    if (error.name !== "AbortError") fill(body, troubled(error, look));
  }
  live({ signal, ms: kLookMs, look, stream: false, onLink: (state) => showLink(link, state) });
}
