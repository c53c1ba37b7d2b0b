// The models, their capabilities, and the state of their providers.
import { getJson } from "./api.js";
import { fill, h } from "./dom.js";
import { duration } from "./format.js";
import { live } from "./live.js";
import { heading, linkMark, showLink, troubled } from "./parts.js";
import { settle } from "./settle.js";
import { steadyTable } from "./tables.js";

const kLookMs = 5000;
const kColumns = [["Name", 18], ["Provider", 6], ["Capabilities", 14]];
const kProviderColumns = [["Circuit", 11], ["Latency", 6], ["Price per million tokens, in / out", 10]];
// The display names of the capabilities.
const kAbilities = { chat: "chat", embeddings: "embeddings", images: "images", transcription: "transcription", speech: "speech", ocr: "OCR" };

function abilities({ capabilities }) {
  return Object.entries(kAbilities).filter(([name]) => capabilities[name]).map(([name, words]) => h("span", { class: "tag", title: `capabilities.${name}` }, words));
}

// Each capability of a model has a separate circuit breaker. The API reports the worst one.
function circuit(state) {
  return state.circuit === "closed" ? "closed" : `${state.circuit.replace("_", " ")}: ${state.circuit_of}`;
}

function circuitChip(state) {
  const words = circuit(state);
  return h("span", { class: `chip ${state.circuit === "closed" ? "ok" : state.circuit}`, title: words }, h("span", { class: "dot", "aria-hidden": "true" }), words);
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
  return h("tr", { data: { key: model.id } }, h("th", { scope: "row", class: "mono breaks" }, name), h("td", { "data-label": "Provider" }, model.provider),
    h("td", { "data-label": "Capabilities", class: "tags" }, abilities(model)), states && providerCells(states.get(model.id)));
}

// Shows the models whose name or provider contains `text`. `search` is called with a new text.
function draw(body, { models, states }, text, search) {
  const wanted = text.toLowerCase();
  const shown = models.filter((m) => `${m.id} ${m.provider}`.toLowerCase().includes(wanted));
  settle(body,
    h("div", { class: "filters" }, h("input", { type: "search", placeholder: "Name or provider", "aria-label": "Name or provider", on: { input: (e) => search(e.target.value.trim()) } })),
    steadyTable("Models", [...kColumns, ...(states ? kProviderColumns : [])], shown.map((m) => row(m, states))),
    states && h("p", { class: "faint legend" }, "A circuit is closed while its provider responds. After consecutive failures it opens for some time: requests go to the model's fallbacks, or are refused at once. A half-open circuit lets one request through as a test."));
}

async function askStates(signal) {
  const { items } = await getJson("/v1/admin/providers", { signal });
  return new Map(items.map((p) => [p.model, p]));
}

export const title = "Models";
export async function show(place, { signal, isAdmin }) {
  const body = h("div", {}, h("p", { class: "faint", role: "status" }, "Loading …"));
  const link = isAdmin ? linkMark() : null;
  const seen = { models: [], states: null };
  let text = "";
  const search = (wanted) => draw(body, seen, (text = wanted), search);
  const look = async () => {
    if (isAdmin) seen.states = await askStates(signal);
    search(text);
  };
  const begin = async () => {
    seen.models = (await getJson("/v1/models", { signal })).data;
    await look();
    if (isAdmin) live({ signal, ms: kLookMs, look, stream: false, onLink: (state) => showLink(link, state) });
  };
  const tryIt = () => begin().catch((error) => error.name !== "AbortError" && fill(body, troubled(error, tryIt)));
  fill(place, heading("Models", "Model names that clients can use. Set a provider's key to enable its models.", link), body);
  await tryIt();
}
