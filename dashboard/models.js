// The models, their capabilities, and the state of their providers.
import { getJson } from "./api.js";
import { fill, h } from "./dom.js";
import { duration } from "./format.js";
import { startLiveUpdates } from "./live_updates.js";
import { connectionStatus, errorState, heading, showConnection } from "./components.js";
import { updateInPlace } from "./update_in_place.js";
import { fixedColumnTable } from "./tables.js";

const kPollMs = 5000;
const kColumns = [["Name", 18], ["Provider", 6], ["Capabilities", 14]];
const kProviderColumns = [["Circuit", 11], ["Latency", 6], ["Price per million tokens, in / out", 10]];
// The display names of the capabilities.
const kCapabilityNames = { chat: "chat", embeddings: "embeddings", images: "images", transcription: "transcription", speech: "speech", ocr: "OCR" };

function capabilityTags({ capabilities }) {
  return Object.entries(kCapabilityNames).filter(([name]) => capabilities[name]).map(([name, label]) => h("span", { class: "tag", title: `capabilities.${name}` }, label));
}

// Each capability of a model has a separate circuit breaker. The API reports the worst one.
function circuit(state) {
  return state.circuit === "closed" ? "closed" : `${state.circuit.replace("_", " ")}: ${state.circuit_of}`;
}

function circuitChip(state) {
  const label = circuit(state);
  return h("span", { class: `chip ${state.circuit === "closed" ? "ok" : state.circuit}`, title: label }, h("span", { class: "dot", "aria-hidden": "true" }), label);
}

function providerCells(state) {
  if (!state) return [h("td", { "data-label": "Circuit" }, "–"), h("td", { "data-label": "Latency" }, "–"), h("td", { "data-label": "Price" }, "–")];
  const price = state.price ? `$${state.price.prompt} / $${state.price.completion}` : "–";
  return [h("td", { "data-label": "Circuit" }, circuitChip(state)),
    h("td", { "data-label": "Latency" }, state.latency_seconds === undefined ? "–" : duration(state.latency_seconds * 1000)),
    h("td", { "data-label": "Price" }, price)];
}

function row(model, states) {
  const name = model.capabilities.chat ? h("a", { href: `#/playground?model=${encodeURIComponent(model.id)}`, title: "Try it in the playground" }, model.id) : model.id;
  return h("tr", { data: { key: model.id } }, h("th", { scope: "row", class: "mono wrap-anywhere" }, name), h("td", { "data-label": "Provider" }, model.alias_of ? `${model.provider} (alias of ${model.alias_of})` : model.provider),
    h("td", { "data-label": "Capabilities", class: "tags" }, capabilityTags(model)), states && providerCells(states.get(model.id)));
}

// Shows the models whose name or provider contains `text`. `search` is called with a new text.
function render(body, { models, states }, text, search) {
  const query = text.toLowerCase();
  const shown = models.filter((m) => `${m.id} ${m.provider}`.toLowerCase().includes(query));
  updateInPlace(body,
    h("div", { class: "filters" }, h("input", { type: "search", placeholder: "Name or provider", "aria-label": "Name or provider", on: { input: (e) => search(e.target.value.trim()) } })),
    fixedColumnTable("Models", [...kColumns, ...(states ? kProviderColumns : [])], shown.map((m) => row(m, states))),
    states && h("p", { class: "muted legend" }, "A circuit is closed while its provider responds. After consecutive failures it opens for some time: requests go to the model's fallbacks, or are refused at once. A half-open circuit lets one request through as a test."));
}

async function loadStates(signal) {
  const { items } = await getJson("/v1/admin/providers", { signal });
  return new Map(items.map((p) => [p.model, p]));
}

export const title = "Models";
export async function show(container, { signal, isAdmin }) {
  const body = h("div", {}, h("p", { class: "muted", role: "status" }, "Loading …"));
  const connection = isAdmin ? connectionStatus() : null;
  const data = { models: [], states: null };
  let text = "";
  const search = (query) => render(body, data, (text = query), search);
  const refresh = async () => {
    if (isAdmin) data.states = await loadStates(signal);
    search(text);
  };
  const load = async () => {
    data.models = (await getJson("/v1/models", { signal })).data;
    await refresh();
    if (isAdmin) startLiveUpdates({ signal, pollMs: kPollMs, refresh, stream: false, onConnection: (state) => showConnection(connection, state) });
  };
  const loadOrShowError = () => load().catch((error) => error.name !== "AbortError" && fill(body, errorState(error, loadOrShowError)));
  fill(container, heading("Models", "Model names that clients can use. Set a provider's key to enable its models.", connection), body);
  await loadOrShowError();
}
