// Chat with a model: a streamed conversation with a stop button and the equivalent API request.
import { call, getJson } from "./api.js";
import { curl } from "./curl.js";
import { add, button, fill, h, setText } from "./dom.js";
import { duration } from "./format.js";
import { markdown } from "./markdown.js";
import { code, field, heading, select } from "./components.js";
import { bubble, toolCall, toolResult } from "./messages.js";
import { readEvents } from "./stream.js";
import { kProviderCommand, noChatModelsState } from "./empty_states.js";

const kNearEndPx = 120;  // new text scrolls into view only if the reader is this close to the end

// Accumulates the chunks of a streamed chat completion.
class Completion {
  constructor() {
    Object.assign(this, { text: "", calls: [], usage: null, finish: "", model: "", dropped: "", results: [], serverErrors: {} });
  }

  addChunk(chunk) {
    if (chunk.usage) this.usage = chunk.usage;
    if (chunk.model) this.model = chunk.model;
    this.dropped = chunk.dropped_params ?? this.dropped;
    this.results = chunk.mcp_tool_results ?? this.results;
    this.serverErrors = chunk.mcp_server_errors ?? this.serverErrors;
    for (const choice of chunk.choices ?? []) {
      this.text += choice.delta?.content ?? choice.delta?.refusal ?? "";
      for (const piece of choice.delta?.tool_calls ?? []) this.addToolCall(piece);
      this.finish = choice.finish_reason ?? this.finish;
    }
  }

  addToolCall({ index = 0, id, type = "function", function: f = {} }) {
    const known = (this.calls[index] ??= { id, type, function: { name: "", arguments: "" } });
    known.function.name += f.name ?? "";
    known.function.arguments += f.arguments ?? "";
  }
}

// The conversation and its settings. Kept while other screens are shown, until the page is left.
const chat = { messages: [], system: "", model: "", temperature: "", top_p: "", max_completion_tokens: "", stop: "", tools: "", servers: new Set() };
const kNumbers = ["temperature", "top_p", "max_completion_tokens"];
const kSuggestions = ["Why is the sky blue?", "A limerick about a mill", "A table of three rivers and their lengths"];
const kToolExample = '[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]';

// The tools from the text field. Throws an error if the text is invalid.
function parseTools() {
  if (!chat.tools.trim()) return [];
  const tools = JSON.parse(chat.tools);
  if (!Array.isArray(tools)) throw new Error("write a JSON array of tools, in [ ]");
  return tools;
}

class Playground {
  // `prices`: the known prices, by model.
  constructor(container, models, { servers, prices }, signal) {
    Object.assign(this, { container, models, servers, prices });
    signal.addEventListener("abort", () => this.stop());
    chat.model ||= (models.find((m) => m.id === "mock/chat") ?? models[0]).id;
    this.createLayout();
    this.showAll();
  }

  createLayout() {
    this.log = h("div", { class: "conversation", role: "log", "aria-label": "Conversation", tabindex: "0" });
    this.status = h("p", { class: "muted", role: "status" });
    this.messageInput = h("textarea", { rows: "3", placeholder: "Type a message … (Enter sends, Shift+Enter starts a new line)", "aria-label": "Message",
      on: { keydown: (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && (event.preventDefault(), this.send()) } });
    this.sendButton = button("Send", () => this.send(), { kind: "primary", iconName: "send" });
    this.stopButton = button("Stop", () => this.stop(), { kind: "danger", iconName: "stop", hidden: true });
    this.command = h("div", {});
    const clear = button("New conversation", () => {
      this.stop();
      chat.messages = [];
      this.showAll();
      this.messageInput.focus();
    }, { kind: "small" });
    fill(this.container, heading("Playground", "Chat with a model through the API that clients use.", clear),
      h("div", { class: "columns" }, h("div", { class: "main-column card chat-panel" }, this.log, this.status,
        h("div", { class: "compose" }, this.messageInput, h("div", { class: "actions" }, this.stopButton, this.sendButton))),
        h("div", { class: "side-column" }, this.settings(), h("section", { class: "card" }, h("h2", {}, "API"), this.command))));
  }

  settings() {
    const set = (name) => (event) => {
      chat[name] = event.target.value;
      this.showCommand();
    };
    const number = (label, name, properties, hint) => field(label, h("input", { type: "number", value: chat[name], placeholder: "model default", ...properties, on: { input: set(name) } }), hint);
    this.note = h("p", { class: "muted", id: "model-note" });
    this.showNote();
    return h("section", { class: "card" }, h("h2", {}, "Settings"),
      field("Model", select(this.models.map((m) => [m.id, m.id]), chat.model, (value) => {
        chat.model = value;
        this.showNote();
        this.showCommand();
      }, { "aria-describedby": "model-note" })),
      this.note,
      field("System message", h("textarea", { rows: "3", value: chat.system, placeholder: "You are …", on: { input: set("system") } })),
      number("Temperature", "temperature", { min: "0", max: "2", step: "0.1" }, "0 to 2"),
      h("details", {}, h("summary", {}, "More parameters"),
        number("Top p", "top_p", { min: "0", max: "1", step: "0.05" }, "0 to 1"),
        number("Maximum tokens", "max_completion_tokens", { min: "1", step: "1" }),
        field("Stop sequence", h("input", { type: "text", value: chat.stop, on: { input: set("stop") } }), "a text that ends the response")),
      this.tools(set));
  }

  isEcho(name) {
    return this.models.some((m) => m.id === name && m.provider === "mock");
  }

  hasModels() {
    return this.models.some((m) => m.provider !== "mock");
  }

  showNote() {
    this.note.hidden = !this.isEcho(chat.model);
    fill(this.note, `${chat.model} is an echo: it returns your message. `,
      "To use a real model, ", this.hasModels() ? "choose another one." : "set a provider's key: ",
      this.hasModels() ? null : h("code", {}, kProviderCommand));
  }

  tools(set) {
    this.toolProblem = h("small", { class: "problem", role: "status" });
    const toolsInput = h("textarea", { rows: "4", class: "mono", value: chat.tools, placeholder: kToolExample, spellcheck: "false", on: { input: set("tools") } });
    const server = ({ slug }) => {
      const checkbox = h("input", { type: "checkbox", checked: chat.servers.has(slug), on: { change: () => {
        if (checkbox.checked) chat.servers.add(slug);
        else chat.servers.delete(slug);
        this.showCommand();
      } } });
      return h("label", { class: "checkbox-label" }, checkbox, h("span", {}, slug));
    };
    return h("details", { open: Boolean(chat.tools || chat.servers.size) }, h("summary", {}, "Tools"),
      this.servers.length ? h("fieldset", { class: "scopes" }, h("legend", {}, "MCP servers, called by the gateway"), this.servers.map(server)) : null,
      field("Your tools; you type their results", toolsInput, "JSON, as in `tools` of a request"), this.toolProblem);
  }

  request(stream) {
    const messages = chat.messages.map(({ role, content, calls, tool_call_id: id }) =>
      ({ role, content, ...(calls?.length ? { tool_calls: calls } : {}), ...(id ? { tool_call_id: id } : {}) }));
    const system = chat.system.trim() ? [{ role: "system", content: chat.system.trim() }] : [];
    const numbers = kNumbers.filter((name) => chat[name] !== "").map((name) => [name, Number(chat[name])]);
    const tools = parseTools();
    const servers = this.servers.map((s) => s.slug).filter((slug) => chat.servers.has(slug));
    return { model: chat.model, messages: [...system, ...messages], ...Object.fromEntries(numbers), ...(chat.stop ? { stop: chat.stop } : {}),
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
    return fill(this.command, code(curl("POST", "/v1/chat/completions", { json, extraOptions: ["--no-buffer"] }), "This conversation"));
  }

  showAll() {
    const lines = chat.messages.map((m) => {
      const line = bubble(m.role, m.content, m);
      return add(line, (m.results ?? []).map(toolResult));
    });
    const pendingCalls = chat.messages.at(-1)?.calls;
    if (pendingCalls?.length) lines.push(this.toolResultForm(pendingCalls));
    fill(this.log, lines.length ? lines : this.suggestions());
    setText(this.status, "");
    this.showCommand();
  }

  // Suggestions for a first message.
  suggestions() {
    const suggestion = (text) => button(text, () => {
      this.messageInput.value = text;
      this.send();
    }, { kind: "small" });
    return h("div", { class: "empty" }, h("h2", {}, "No messages yet"), h("p", {}, "The response is streamed. Type a message below, or start with one of these:"),
      h("div", { class: "actions" }, kSuggestions.map(suggestion)));
  }

  // A model that calls tools of the client waits for their results. Here, the user enters the results.
  toolResultForm(calls) {
    const inputs = calls.map(() => h("textarea", { rows: "2", class: "mono" }));
    const form = h("form", { class: "tool-results", on: { submit: (event) => {
      event.preventDefault();
      calls.forEach((pendingCall, i) => chat.messages.push({ role: "tool", content: inputs[i].value, tool_call_id: pendingCall.id }));
      this.showAll();
      this.requestCompletion();
    } } }, calls.map((pendingCall, i) => field(`Result of ${pendingCall.function.name}`, inputs[i])), h("button", { type: "submit", class: "button small primary" }, "Send the result"));
    return form;
  }

  stop() {
    this.abortController?.abort();
  }

  setBusy(busy) {
    this.sendButton.disabled = busy;
    this.stopButton.hidden = !busy;
    this.log.setAttribute("aria-busy", String(busy));
  }

  async send() {
    const text = this.messageInput.value.trim();
    if (!text || this.abortController) return;
    this.messageInput.value = "";
    chat.messages.push({ role: "user", content: text });
    this.showAll();
    return this.requestCompletion();
  }

  async requestCompletion() {
    if (this.abortController) return;
    this.abortController = new AbortController();
    this.setBusy(true);
    const completion = new Completion();
    const bubbleElement = bubble("assistant", "", { model: chat.model });
    add(this.log, bubbleElement);
    await this.stream(completion, bubbleElement);
    this.abortController = null;
    this.setBusy(false);
    if (completion.text || completion.calls.length) this.addToConversation(completion, bubbleElement);
    else bubbleElement.remove();
    this.showCommand();
    (this.log.querySelector(".tool-results textarea") ?? this.messageInput).focus();
  }

  addToConversation(completion, bubbleElement) {
    chat.messages.push({ role: "assistant", content: completion.text, calls: completion.calls, results: completion.results, model: completion.model || chat.model });
    add(bubbleElement, completion.calls.map(toolCall), completion.results.map(toolResult),
      Object.entries(completion.serverErrors).map(([server, error]) => h("p", { class: "notice bad" }, `${server}: ${error.message}`)));
    if (completion.calls.length) add(this.log, this.toolResultForm(completion.calls));
  }

  async stream(completion, bubbleElement) {
    const startedAt = performance.now();
    let firstTokenAt = 0;
    let isPaintScheduled = false;
    const paint = () => {
      isPaintScheduled = false;
      this.paint(bubbleElement, completion);
    };
    try {
      const response = await call("POST", "/v1/chat/completions", { json: this.request(true), signal: this.abortController.signal });
      completion.dropped = response.headers.get("x-millrace-dropped-params") ?? "";
      for await (const event of readEvents(response)) {
        if (event.data === "[DONE]") break;
        const chunk = JSON.parse(event.data);
        if (event.type === "error") throw new Error(chunk.error?.message ?? "The response ended with an error");
        firstTokenAt ||= performance.now();
        completion.addChunk(chunk);
        if (!isPaintScheduled) requestAnimationFrame(paint);
        isPaintScheduled = true;
      }
      this.showUsage(completion, firstTokenAt - startedAt, performance.now() - startedAt);
    } catch (error) {
      setText(this.status, error.name === "AbortError" ? "Stopped." : `${error.message}${error.requestId ? ` (request ${error.requestId})` : ""}`);
    }
    this.paint(bubbleElement, completion);
  }

  paint(bubbleElement, completion) {
    const isAtEnd = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < kNearEndPx;
    fill(bubbleElement.querySelector(".message-content"), markdown(completion.text, { headingsFrom: 3 }));
    if (isAtEnd) this.log.scrollTop = this.log.scrollHeight;
  }

  // The cost, by the price of the requested model.
  cost(usage) {
    const price = this.prices.get(chat.model);
    if (!usage || !price) return "";
    return `about $${((usage.prompt_tokens * price.prompt + usage.completion_tokens * price.completion) / 1e6).toPrecision(2)} · `;
  }

  showUsage(completion, firstMs, allMs) {
    const tokens = completion.usage ? `${completion.usage.prompt_tokens} tokens in, ${completion.usage.completion_tokens} out · ` : "";
    const finishText = completion.finish && completion.finish !== "stop" ? ` · finish reason: ${completion.finish}` : "";
    const echo = this.isEcho(chat.model) ? ` · an echo; to use a real model: ${this.hasModels() ? "choose another one" : kProviderCommand}` : "";
    const dropped = completion.dropped ? ` · dropped: ${completion.dropped}` : "";
    setText(this.status, `${tokens}${this.cost(completion.usage)}first token after ${duration(firstMs)}, complete after ${duration(allMs)}${finishText}${dropped}${echo}`);
  }
}

export const title = "Playground";
export async function show(container, { signal, search, isAdmin }) {
  const { data } = await getJson("/v1/models", { signal });
  const models = data.filter((m) => m.capabilities.chat);
  if (!models.length) return fill(container, heading("Playground"), noChatModelsState());
  if (models.some((m) => m.id === search.get("model"))) chat.model = search.get("model");
  const known = isAdmin ? await getJson("/v1/admin/providers", { signal }).catch(() => ({})) : {};
  const prices = new Map((known.items ?? []).map((each) => [each.model, each.price]));
  return new Playground(container, models, { servers: known.mcp_servers ?? [], prices }, signal);
}
