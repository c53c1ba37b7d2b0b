// Chat with a model: a streamed conversation with a stop button and the equivalent API request.
import { call, getJson } from "./api.js";
import { curl } from "./curl.js";
import { add, button, fill, h, setText } from "./dom.js";
import { duration } from "./format.js";
import { markdown } from "./markdown.js";
import { code, field, heading, select } from "./parts.js";
import { bubble, toolCall, toolResult } from "./said.js";
import { eventsOf } from "./stream.js";
import { firstModel, kWithProvider } from "./lessons.js";

const kNearEnd = 120;  // px; new text scrolls into view only if the reader is this close to the end

// Accumulates the chunks of a streamed chat completion.
class Answer {
  constructor() {
    Object.assign(this, { text: "", calls: [], usage: null, finish: "", model: "", dropped: "", results: [], troubles: {} });
  }

  take(chunk) {
    if (chunk.usage) this.usage = chunk.usage;
    if (chunk.model) this.model = chunk.model;
    this.dropped = chunk.dropped_params ?? this.dropped;
    this.results = chunk.mcp_tool_results ?? this.results;
    this.troubles = chunk.mcp_server_errors ?? this.troubles;
    for (const choice of chunk.choices ?? []) {
      this.text += choice.delta?.content ?? choice.delta?.refusal ?? "";
      for (const piece of choice.delta?.tool_calls ?? []) this.takeCall(piece);
      this.finish = choice.finish_reason ?? this.finish;
    }
  }

  takeCall({ index = 0, id, type = "function", function: f = {} }) {
    const known = (this.calls[index] ??= { id, type, function: { name: "", arguments: "" } });
    known.function.name += f.name ?? "";
    known.function.arguments += f.arguments ?? "";
  }
}

// Kept while other screens are shown, until the page is left.
const talk = { messages: [], system: "", model: "", temperature: "", top_p: "", max_completion_tokens: "", stop: "", tools: "", servers: new Set() };
const kNumbers = ["temperature", "top_p", "max_completion_tokens"];
const kBeginnings = ["Why is the sky blue?", "A limerick about a mill", "A table of three rivers and their lengths"];
const kToolExample = '[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]';

// The tools from the text field. Throws an error if the text is invalid.
function writtenTools() {
  if (!talk.tools.trim()) return [];
  const tools = JSON.parse(talk.tools);
  if (!Array.isArray(tools)) throw new Error("write a JSON array of tools, in [ ]");
  return tools;
}

class Playground {
  // `prices`: the known prices, by model.
  constructor(place, models, { servers, prices }, signal) {
    Object.assign(this, { place, models, servers, prices });
    signal.addEventListener("abort", () => this.stop());
    talk.model ||= (models.find((m) => m.id === "mock/chat") ?? models[0]).id;
    this.layOut();
    this.showAll();
  }

  layOut() {
    this.log = h("div", { class: "conversation", role: "log", "aria-label": "Conversation", tabindex: "0" });
    this.status = h("p", { class: "faint", role: "status" });
    this.text = h("textarea", { rows: "3", placeholder: "Type a message … (Enter sends, Shift+Enter starts a new line)", "aria-label": "Message",
      on: { keydown: (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && (event.preventDefault(), this.send()) } });
    this.go = button("Send", () => this.send(), { kind: "primary", iconName: "send" });
    this.halt = button("Stop", () => this.stop(), { kind: "danger", iconName: "stop", hidden: true });
    this.command = h("div", {});
    const clear = button("New conversation", () => {
      this.stop();
      talk.messages = [];
      this.showAll();
      this.text.focus();
    }, { kind: "small" });
    fill(this.place, heading("Playground", "Chat with a model through the API that clients use.", clear),
      h("div", { class: "columns" }, h("div", { class: "main-column card talk" }, this.log, this.status, h("div", { class: "compose" }, this.text, h("div", { class: "actions" }, this.halt, this.go))),
        h("div", { class: "side-column" }, this.settings(), h("section", { class: "card" }, h("h2", {}, "API"), this.command))));
  }

  settings() {
    const set = (name) => (event) => {
      talk[name] = event.target.value;
      this.showCommand();
    };
    const number = (label, name, properties, hint) => field(label, h("input", { type: "number", value: talk[name], placeholder: "model default", ...properties, on: { input: set(name) } }), hint);
    this.note = h("p", { class: "faint", id: "model-note" });
    this.showNote();
    return h("section", { class: "card" }, h("h2", {}, "Settings"),
      field("Model", select(this.models.map((m) => [m.id, m.id]), talk.model, (value) => {
        talk.model = value;
        this.showNote();
        this.showCommand();
      }, { "aria-describedby": "model-note" })),
      this.note,
      field("System message", h("textarea", { rows: "3", value: talk.system, placeholder: "You are …", on: { input: set("system") } })),
      number("Temperature", "temperature", { min: "0", max: "2", step: "0.1" }, "0 to 2"),
      h("details", {}, h("summary", {}, "More parameters"),
        number("Top p", "top_p", { min: "0", max: "1", step: "0.05" }, "0 to 1"),
        number("Maximum tokens", "max_completion_tokens", { min: "1", step: "1" }),
        field("Stop sequence", h("input", { type: "text", value: talk.stop, on: { input: set("stop") } }), "a text that ends the response")),
      this.tools(set));
  }

  isEcho(name) {
    return this.models.some((m) => m.id === name && m.provider === "mock");
  }

  hasModels() {
    return this.models.some((m) => m.provider !== "mock");
  }

  showNote() {
    this.note.hidden = !this.isEcho(talk.model);
    fill(this.note, `${talk.model} is an echo: it returns your message. `,
      "To use a real model, ", this.hasModels() ? "choose another one." : "set a provider's key: ",
      this.hasModels() ? null : h("code", {}, kWithProvider));
  }

  tools(set) {
    this.toolProblem = h("small", { class: "problem", role: "status" });
    const written = h("textarea", { rows: "4", class: "mono", value: talk.tools, placeholder: kToolExample, spellcheck: "false", on: { input: set("tools") } });
    const server = ({ slug }) => {
      const box = h("input", { type: "checkbox", checked: talk.servers.has(slug), on: { change: () => {
        if (box.checked) talk.servers.add(slug);
        else talk.servers.delete(slug);
        this.showCommand();
      } } });
      return h("label", { class: "check" }, box, h("span", {}, slug));
    };
    return h("details", { open: Boolean(talk.tools || talk.servers.size) }, h("summary", {}, "Tools"),
      this.servers.length ? h("fieldset", { class: "scopes" }, h("legend", {}, "MCP servers, called by the gateway"), this.servers.map(server)) : null,
      field("Your tools, called by you", written, "JSON, as in `tools` of a request"), this.toolProblem);
  }

  request(stream) {
    const messages = talk.messages.map(({ role, content, calls, tool_call_id: id }) =>
      ({ role, content, ...(calls?.length ? { tool_calls: calls } : {}), ...(id ? { tool_call_id: id } : {}) }));
    const system = talk.system.trim() ? [{ role: "system", content: talk.system.trim() }] : [];
    const numbers = kNumbers.filter((name) => talk[name] !== "").map((name) => [name, Number(talk[name])]);
    const tools = writtenTools();
    const servers = this.servers.map((s) => s.slug).filter((slug) => talk.servers.has(slug));
    return { model: talk.model, messages: [...system, ...messages], ...Object.fromEntries(numbers), ...(talk.stop ? { stop: talk.stop } : {}),
      ...(tools.length ? { tools } : {}), ...(servers.length ? { mcp_servers: servers } : {}),
      ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}) };
  }

  showCommand() {
    let json;
    try {
      json = this.request(true);
      setText(this.toolProblem, "");
    } catch (error) {
      return setText(this.toolProblem, `This is not a list of tools: ${error.message}`);
    }
    if (!json.messages.length) json.messages = [{ role: "user", content: "Hello" }];
    return fill(this.command, code(curl("POST", "/v1/chat/completions", { json, more: ["--no-buffer"] }), "This conversation"));
  }

  showAll() {
    const lines = talk.messages.map((m) => {
      const line = bubble(m.role, m.content, m);
      return add(line, (m.results ?? []).map(toolResult));
    });
    const asked = talk.messages.at(-1)?.calls;
    if (asked?.length) lines.push(this.answers(asked));
    fill(this.log, lines.length ? lines : this.beginnings());
    setText(this.status, "");
    this.showCommand();
  }

  // Suggestions for a first message.
  beginnings() {
    const beginning = (text) => button(text, () => {
      this.text.value = text;
      this.send();
    }, { kind: "small" });
    return h("div", { class: "empty" }, h("h2", {}, "No messages yet"), h("p", {}, "The response is streamed. Type a message below, or start with one of these:"),
      h("div", { class: "actions" }, kBeginnings.map(beginning)));
  }

  // A model that calls tools of the client waits for their results. Here, the user enters the results.
  answers(calls) {
    const inputs = calls.map(() => h("textarea", { rows: "2", class: "mono" }));
    const form = h("form", { class: "tool-answers", on: { submit: (event) => {
      event.preventDefault();
      calls.forEach((asked, i) => talk.messages.push({ role: "tool", content: inputs[i].value, tool_call_id: asked.id }));
      this.showAll();
      this.ask();
    } } }, calls.map((asked, i) => field(`Result of ${asked.function.name}`, inputs[i])), h("button", { type: "submit", class: "button small primary" }, "Send the result"));
    return form;
  }

  stop() {
    this.under?.abort();
  }

  setBusy(busy) {
    this.go.disabled = busy;
    this.halt.hidden = !busy;
    this.log.setAttribute("aria-busy", String(busy));
  }

  async send() {
    const said = this.text.value.trim();
    if (!said || this.under) return;
    this.text.value = "";
    talk.messages.push({ role: "user", content: said });
    this.showAll();
    return this.ask();
  }

  async ask() {
    if (this.under) return;
    this.under = new AbortController();
    this.setBusy(true);
    const answer = new Answer();
    const shown = bubble("assistant", "", { model: talk.model });
    add(this.log, shown);
    await this.stream(answer, shown);
    this.under = null;
    this.setBusy(false);
    if (answer.text || answer.calls.length) this.keep(answer, shown);
    else shown.remove();
    this.showCommand();
    (this.log.querySelector(".tool-answers textarea") ?? this.text).focus();
  }

  keep(answer, shown) {
    talk.messages.push({ role: "assistant", content: answer.text, calls: answer.calls, results: answer.results, model: answer.model || talk.model });
    add(shown, answer.calls.map(toolCall), answer.results.map(toolResult),
      Object.entries(answer.troubles).map(([server, trouble]) => h("p", { class: "notice bad" }, `${server}: ${trouble.message}`)));
    if (answer.calls.length) add(this.log, this.answers(answer.calls));
  }

  async stream(answer, shown) {
    const begun = performance.now();
    let first = 0;
    let painting = false;
    const paint = () => {
      painting = false;
      this.paint(shown, answer);
    };
    try {
      const response = await call("POST", "/v1/chat/completions", { json: this.request(true), signal: this.under.signal });
      answer.dropped = response.headers.get("x-millrace-dropped-params") ?? "";
      for await (const event of eventsOf(response)) {
        if (event.data === "[DONE]") break;
        const chunk = JSON.parse(event.data);
        if (event.type === "error") throw new Error(chunk.error?.message ?? "The response ended with an error");
        first ||= performance.now();
        answer.take(chunk);
        if (!painting) requestAnimationFrame(paint);
        painting = true;
      }
      this.tell(answer, first - begun, performance.now() - begun);
    } catch (error) {
      setText(this.status, error.name === "AbortError" ? "Stopped." : `${error.message}${error.requestId ? ` (request ${error.requestId})` : ""}`);
    }
    this.paint(shown, answer);
  }

  paint(shown, answer) {
    const follows = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < kNearEnd;
    fill(shown.querySelector(".said"), markdown(answer.text, { headingsFrom: 3 }));
    if (follows) this.log.scrollTop = this.log.scrollHeight;
  }

  // The cost, by the price of the requested model.
  cost(usage) {
    const price = this.prices.get(talk.model);
    if (!usage || !price) return "";
    return `about $${((usage.prompt_tokens * price.prompt + usage.completion_tokens * price.completion) / 1e6).toPrecision(2)} · `;
  }

  tell(answer, firstMs, allMs) {
    const tokens = answer.usage ? `${answer.usage.prompt_tokens} tokens in, ${answer.usage.completion_tokens} out · ` : "";
    const ends = answer.finish && answer.finish !== "stop" ? ` · finish reason: ${answer.finish}` : "";
    const echo = this.isEcho(talk.model) ? ` · an echo; to use a real model: ${this.hasModels() ? "choose another one" : kWithProvider}` : "";
    setText(this.status, `${tokens}${this.cost(answer.usage)}first token after ${duration(firstMs)}, complete after ${duration(allMs)}${ends}${answer.dropped ? ` · dropped: ${answer.dropped}` : ""}${echo}`);
  }
}

export const title = "Playground";
export async function show(place, { signal, search, isAdmin }) {
  const { data } = await getJson("/v1/models", { signal });
  const models = data.filter((m) => m.capabilities.chat);
  if (!models.length) return fill(place, heading("Playground"), firstModel());
  if (models.some((m) => m.id === search.get("model"))) talk.model = search.get("model");
  const known = isAdmin ? await getJson("/v1/admin/providers", { signal }).catch(() => ({})) : {};
  const prices = new Map((known.items ?? []).map((each) => [each.model, each.price]));
  return new Playground(place, models, { servers: known.mcp_servers ?? [], prices }, signal);
}
