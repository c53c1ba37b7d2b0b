// Server-Sent Events with fetch, because EventSource cannot send an API key.
import { ApiError, call } from "./api.js";

const kRetryMs = 1500;
const kRetryMostMs = 15000;
const kSilenceMs = 40000;  // the gateway sends an event at least every 15 s

function parseBlock(block) {
  const event = { id: null, type: "message", data: [] };
  for (const line of block.split(/\r\n|\r|\n/)) {
    if (line.startsWith(":")) continue;
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") event.data.push(value);
    else if (name === "event") event.type = value;
    else if (name === "id") event.id = value;
  }
  return { ...event, data: event.data.join("\n") };
}

// Yields the events of a response as they arrive.
export async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (true) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split(/\r\n\r\n|\n\n|\r\r/);
    rest = blocks.pop();
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event.data) yield event;
    }
  }
}

export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("left", "AbortError"));
    }, { once: true });
  });
}

// A signal that is aborted together with `signal`, or if `heard()` is not called for `ms`.
class Silence {
  constructor(signal, ms) {
    Object.assign(this, { signal, ms, own: new AbortController() });
    this.end = () => this.own.abort();
    signal.addEventListener("abort", this.end);
    this.heard();
  }

  heard() {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.end, this.ms);
  }

  over() {
    clearTimeout(this.timer);
    this.signal.removeEventListener("abort", this.end);
  }
}

async function followOnce(path, state, onEvent, { silence, onLink }) {
  const headers = { Accept: "text/event-stream" };
  if (state.last) headers["Last-Event-ID"] = state.last;
  const response = await call("GET", path, { headers, signal: silence.own.signal });
  if (response.status === 204) return "over";
  state.wait = kRetryMs;
  onLink(true);
  for await (const event of eventsOf(response)) {
    silence.heard();
    if (event.id) state.last = event.id;
    if (event.type !== "ping" && onEvent(event) === "over") return "over";
  }
  return "cut";
}

// Follows a resumable stream until `onEvent` returns "over", the response is 204, or `signal` is aborted. `onLink(up)`
// reports whether it is connected. A connection on which nothing arrives for `silenceMs` counts as lost.
export async function follow(path, onEvent, { signal, silenceMs = kSilenceMs, onLink = () => {} }) {
  const state = { last: null, wait: kRetryMs };
  while (!signal.aborted) {
    const silence = new Silence(signal, silenceMs);
    try {
      if ((await followOnce(path, state, onEvent, { silence, onLink })) === "over") return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
    } finally {
      silence.over();
    }
    if (signal.aborted) return;
    onLink(false);
    try {
      await pause(state.wait, signal);
    } catch {
      return;
    }
    state.wait = Math.min(state.wait * 2, kRetryMostMs);
  }
}

// Calls `look` at once and then every `ms` while the page is visible, until `signal` is aborted. Calls do not overlap.
export async function everyWhile(ms, look, signal) {
  while (!signal.aborted) {
    if (document.visibilityState === "visible") {
      try {
        await look();
      } catch (error) {
        if (error.name === "AbortError") return;
      }
    }
    try {
      await pause(ms, signal);
    } catch {
      return;
    }
  }
}
