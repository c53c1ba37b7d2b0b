// What can be asked, of whom, and how its provider does.
import { getJson } from "./api.js";
import { fill, h } from "./dom.js";
import { duration } from "./format.js";
import { heading, loaded } from "./parts.js";

function abilities(model) {
  return Object.entries(model.capabilities).filter(([, has]) => has).map(([name]) => h("span", { class: "tag" }, name));
}

// Each thing that a model does has a circuit of its own; this is the one that goes worst.
function circuit(state) {
  return state.circuit === "closed" ? "closed" : `${state.circuit.replace("_", " ")}: ${state.circuit_of}`;
}

function providerCells(state) {
  if (!state) return [h("td", { "data-label": "Circuit" }, "–"), h("td", { "data-label": "Latency" }, "–"), h("td", { "data-label": "Price" }, "–")];
  const price = state.price ? `$${state.price.prompt} / $${state.price.completion}` : "–";
  return [h("td", { "data-label": "Circuit" }, h("span", { class: `chip ${state.circuit === "closed" ? "ok" : state.circuit}` }, h("span", { class: "dot", "aria-hidden": "true" }), circuit(state))),
    h("td", { "data-label": "Latency" }, state.latency_seconds === undefined ? "–" : duration(state.latency_seconds * 1000)),
    h("td", { "data-label": "Price" }, price)];
}

function row(model, states) {
  const name = model.capabilities.chat ? h("a", { href: `#/playground?model=${encodeURIComponent(model.id)}`, title: "Try it in the playground" }, model.id) : model.id;
  return h("tr", {}, h("th", { scope: "row", class: "mono breaks" }, name), h("td", { "data-label": "Provider" }, model.provider),
    h("td", { "data-label": "Can" }, abilities(model)), states && providerCells(states.get(model.id)));
}

async function load(signal, isAdmin) {
  const [models, providers] = await Promise.all([getJson("/v1/models", { signal }), isAdmin ? getJson("/v1/admin/providers", { signal }) : null]);
  return { models: models.data, states: providers && new Map(providers.items.map((p) => [p.model, p])) };
}

function table({ models, states }) {
  const heads = ["Name", "Provider", "Can", ...(states ? ["Circuit", "Latency", "Price of a million tokens, in / out"] : [])];
  const body = h("tbody", {});
  const show = (text) => fill(body, models.filter((m) => `${m.id} ${m.provider}`.toLowerCase().includes(text.toLowerCase())).map((m) => row(m, states)));
  show("");
  return h("div", {}, h("div", { class: "filters" }, h("input", { type: "search", placeholder: "Name or provider", "aria-label": "Name or provider", on: { input: (e) => show(e.target.value.trim()) } })),
    h("div", { class: "wide" }, h("table", { class: "cards" }, h("caption", { class: "unseen" }, "Models"), h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text)))), body)));
}

export const title = "Models";
export function show(place, { signal, isAdmin }) {
  const body = h("div", {});
  fill(place, heading("Models", "Names that clients ask for. A provider's key in the environment makes its models reachable."), body);
  return loaded(body, () => load(signal, isAdmin), table);
}
