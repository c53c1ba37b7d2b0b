// Client of the gateway's public API. Requests go only to the origin of this page.

const kKeyItem = "millrace.key";
const kReasonItem = "millrace.reason";
let key = null;

function sessionStore() {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}

export const session = {
  get key() {
    return key;
  },
  // `keep`: stores the key until the tab is closed. Otherwise the key is lost when the page is left.
  begin(text, keep) {
    key = text;
    if (keep) sessionStore()?.setItem(kKeyItem, text);
    else sessionStore()?.removeItem(kKeyItem);
  },
  resume() {
    key = sessionStore()?.getItem(kKeyItem) ?? null;
    return key;
  },
  end(reason = "") {
    key = null;
    sessionStore()?.removeItem(kKeyItem);
    if (reason) sessionStore()?.setItem(kReasonItem, reason);
  },
  // Returns why the last session ended, and deletes the reason.
  takeReason() {
    const reason = sessionStore()?.getItem(kReasonItem) ?? "";
    sessionStore()?.removeItem(kReasonItem);
    return reason;
  },
};

// An error response, or a failed connection (status 0).
export class ApiError extends Error {
  constructor(status, code, message, requestId = "", fields = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.fields = fields;
  }
}

// Every error has {error: {message, code}} (docs/design/http-contract.md §3).
export async function errorOf(response) {
  let body = {};
  try {
    body = await response.json();
  } catch {
    // The response is not from the gateway, for example from a proxy. Only its status is known.
  }
  const fields = (body.detail instanceof Array ? body.detail : []).map((d) => ({ path: d.loc?.join("."), text: d.msg }));
  const code = body.error?.code ?? "";
  const text = body.error?.message ?? response.statusText;
  const message = typeof text === "string" && text ? text : `The gateway responded with status ${response.status}`;
  return new ApiError(response.status, String(code), message, response.headers.get("x-request-id") ?? "", fields);
}

let onSignedOut = () => {};
export function setSignedOutHandler(handler) {
  onSignedOut = handler;
}

// Returns the raw response. Throws ApiError for an error response. `json`: the request body.
export async function call(method, path, { json, body, headers = {}, signal } = {}) {
  const allHeaders = { ...headers };
  if (key) allHeaders.Authorization = `Bearer ${key}`;
  if (json !== undefined) allHeaders["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method, headers: allHeaders, signal, body: json === undefined ? body : JSON.stringify(json),
      credentials: "omit", cache: "no-store", redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const text = "The gateway cannot be reached. Check that it is running and that the network works.";
    throw new ApiError(0, "unreachable", text);
  }
  if (response.ok) return response;
  const error = await errorOf(response);
  if (error.status === 401 && key) onSignedOut(error);
  throw error;
}

export async function getJson(path, options) {
  const response = await call("GET", path, options);
  return response.status === 202 || response.status === 204 ? null : response.json();
}

export async function send(method, path, json, options = {}) {
  const response = await call(method, path, { json, ...options });
  return response.status === 204 ? null : response.json();
}

export function query(values) {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) out.set(name, value);
  return out.size ? `?${out}` : "";
}

export function newIdempotencyKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

// Runs `action` for each item, at most `limit` at a time. Returns {done, failed: [ApiError]}.
export async function runConcurrently(items, action, limit = 4) {
  const pending = [...items];
  const outcome = { done: 0, failed: [] };
  const worker = async () => {
    for (let item = pending.shift(); item !== undefined; item = pending.shift()) {
      try {
        await action(item);
        ++outcome.done;
      } catch (error) {
        outcome.failed.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return outcome;
}
