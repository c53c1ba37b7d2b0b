// API keys: who may do what, and until when.
import { getJson, send } from "./api.js";
import { add, button, fill, h } from "./dom.js";
import { live } from "./live.js";
import { plural } from "./format.js";
import { chip, code, confirmed, field, heading, linkMark, select, showLink, troubled, when } from "./parts.js";
import { Places, settle } from "./settle.js";
import { steadyTable } from "./tables.js";
import { guarded, toast } from "./toast.js";

const kScopes = ["models", "chat", "embeddings", "images", "audio", "ocr", "exec:run", "exec:read", "ssh:issue", "machines:write", "jobs:read", "jobs:write", "metrics", "admin"];
const kLives = [["", "Never ends"], ["30", "Ends in 30 days"], ["90", "Ends in 90 days"], ["365", "Ends in a year"]];
const kDayMs = 86400000;
const kLookMs = 5000;
const kColumns = [["Name", 14], ["State", 7], ["Tenant", 8], ["May", 10], ["Used", 8], ["Ends", 7], ["-Acts", 12]];

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

// The one time that a key is seen.
function showMade(made) {
  const dialog = h("dialog", { "aria-label": "The new key" });
  add(dialog, h("h2", {}, `The key of ${made.name}`), h("p", {}, "It is shown now and never again: put it where it is needed."),
    code(made.key, "The key"), h("div", { class: "actions" }, button("I have it", () => dialog.close(), { kind: "primary" })));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function scopesText(key) {
  if (key.scopes.length === kScopes.length) return "everything";
  const all = key.scopes.join(", ");
  return h("span", { title: all }, key.scopes.length > 4 ? plural(key.scopes.length, "scope") : all);
}

function row(key, again) {
  const rotate = async (event) => {
    const control = event.currentTarget;
    if (!(await confirmed(`Rotate ${key.name}?`, "A new key with the same rights is made. The old one goes on for a day, so that its users can change over.", "Rotate it"))) return;
    await guarded(control, async () => {
      showMade(await send("POST", `/v1/admin/keys/${key.id}/rotate`, {}));
      await again();
    });
  };
  const revoke = async (event) => {
    const control = event.currentTarget;
    if (!(await confirmed(`Revoke ${key.name}?`, "Whoever uses it is refused from within a second on. There is no way back.", "Revoke it"))) return;
    await guarded(control, async () => {
      await send("DELETE", `/v1/admin/keys/${key.id}`);
      toast(`${key.name} is revoked`);
      await again();
    });
  };
  return h("tr", { data: { key: key.id } }, h("th", { scope: "row", class: "breaks" }, key.name, " ", h("span", { class: "mono faint" }, key.id)), h("td", {}, stateOf(key)),
    h("td", { "data-label": "Tenant" }, key.tenant), h("td", { "data-label": "May" }, scopesText(key)),
    h("td", { "data-label": "Used" }, key.last_used_at ? when(key.last_used_at) : "never"), h("td", { "data-label": "Ends" }, key.expires_at ? when(key.expires_at) : "–"),
    h("td", { class: "act" }, isLive(key) ? h("div", { class: "actions" }, button("Rotate", rotate, { kind: "small", "aria-label": `Rotate ${key.name}` }),
      button("Revoke", revoke, { kind: "small danger", "aria-label": `Revoke ${key.name}` })) : null));
}

function newKeyForm(again) {
  const name = h("input", { name: "name", required: true, maxlength: "64", pattern: "[A-Za-z0-9._\\-]+", placeholder: "ci", autocomplete: "off" });
  const tenant = h("input", { name: "tenant", value: "default", required: true, maxlength: "64", pattern: "[A-Za-z0-9._\\-]+", autocomplete: "off" });
  let days = "";
  const boxes = kScopes.map((scope) => h("input", { type: "checkbox", name: "scope", value: scope, checked: scope !== "admin" && scope !== "metrics" }));
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
  } } }, h("div", { class: "inline" }, field("Name", name), field("Tenant", tenant), field("Until", select(kLives, "", (value) => {
    days = value;
  }))),
  h("fieldset", { class: "scopes" }, h("legend", {}, "It may"), kScopes.map((scope, at) => h("label", { class: "check" }, boxes[at], h("span", { class: "mono" }, scope)))),
  h("button", { type: "submit", class: "button primary" }, "Make the key"));
  return h("details", { class: "card" }, h("summary", {}, "New key"), form);
}

// The live ones first as they are first shown; then each stays where it is.
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
  fill(place, heading("Keys", "A key belongs to a tenant and may do what its scopes say. Only a hash of it is stored: copy a key when it is made. The first one is also in admin.key of the data directory.", link), newKeyForm(look), body);
  try {
    await look();
  } catch (error) {
    if (error.name !== "AbortError") fill(body, troubled(error, look));
  }
  live({ signal, ms: kLookMs, look, stream: false, onLink: (state) => showLink(link, state) });
}
