// Server-Sent Events with fetch, because EventSource cannot send an API key.
import { ApiError, call } from "./api.js";

const kRetryMs = 1500;
const kRetryMaxMs = 15000;
const kIdleTimeoutMs = 40000;  // the gateway sends an event at least every 15 s

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
export async function* readEvents(response) {
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

export function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("left", "AbortError"));
    }, { once: true });
  });
}

// A signal that is aborted together with `signal`, or if `reset()` is not called for `ms`.
class IdleTimeout {
  constructor(signal, ms) {
    Object.assign(this, { signal, ms, controller: new AbortController() });
    this.abort = () => this.controller.abort();
    signal.addEventListener("abort", this.abort);
    this.reset();
  }

  reset() {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.abort, this.ms);
  }

  dispose() {
    clearTimeout(this.timer);
    this.signal.removeEventListener("abort", this.abort);
  }
}

async function followOnce(path, state, onEvent, { idleTimeout, onConnection }) {
  const headers = { Accept: "text/event-stream" };
  if (state.last) headers["Last-Event-ID"] = state.last;
  const response = await call("GET", path, { headers, signal: idleTimeout.controller.signal });
  if (response.status === 204) return "done";
  state.wait = kRetryMs;
  onConnection(true);
  for await (const event of readEvents(response)) {
    idleTimeout.reset();
    if (event.id) state.last = event.id;
    if (event.type !== "ping" && onEvent(event) === "done") return "done";
  }
  return "disconnected";
}

// Follows a resumable stream until `onEvent` returns "done", the response is 204, or `signal` is aborted.
// `onConnection(connected)` reports whether it is connected. If nothing arrives for `idleTimeoutMs`, the connection counts
// as lost.
export async function followStream(path, onEvent, { signal, idleTimeoutMs = kIdleTimeoutMs, onConnection = () => {} }) {
  const state = { last: null, wait: kRetryMs };
  while (!signal.aborted) {
    const idleTimeout = new IdleTimeout(signal, idleTimeoutMs);
    try {
      if ((await followOnce(path, state, onEvent, { idleTimeout, onConnection })) === "done") return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
    } finally {
      idleTimeout.dispose();
    }
    if (signal.aborted) return;
    onConnection(false);
    try {
      await sleep(state.wait, signal);
    } catch {
      return;
    }
    state.wait = Math.min(state.wait * 2, kRetryMaxMs);
  }
}

// Calls `refresh` at once and then every `ms` while the page is visible, until `signal` is aborted. Calls do not overlap.
export async function pollWhileVisible(ms, refresh, signal) {
  while (!signal.aborted) {
    if (document.visibilityState === "visible") {
      try {
        await refresh();
      } catch (error) {
        if (error.name === "AbortError") return;
      }
    }
    try {
      await sleep(ms, signal);
    } catch {
      return;
    }
  }
}
