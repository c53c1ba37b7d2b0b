// The files of a batch. They can be large, so they are read as streams and in bounds.
import { ApiError, call, getJson, newIdempotencyKey, query, send } from "./api.js";
import { h } from "./dom.js";
import { bytes, count } from "./format.js";

const kMib = 1 << 20;
const kReportBytesMax = 8 * kMib;  // of an error file, to count its codes
const kReportLinesMax = 5000;
const kRetryBytesMax = 50 * kMib;  // of an input, and of its error file, to send failed lines again
const kMetadataMax = 16;  // entries
const kDownloadHours = "1";  // a download must begin within this time

function contentPath(fileId) {
  return `/v1/files/${encodeURIComponent(fileId)}/content`;
}

// Returns the size of a file in bytes; null: it was deleted or has expired.
export async function fileSize(fileId, signal) {
  try {
    return (await getJson(`/v1/files/${encodeURIComponent(fileId)}`, { signal })).bytes;
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

// Lets the browser download a file. A signed URL needs no key, so the page does not have to hold the bytes.
export async function downloadFile(fileId) {
  const { url } = await getJson(`/v1/files/${encodeURIComponent(fileId)}/url${query({ expiry: kDownloadHours })}`);
  const { pathname, search } = new URL(url, location.href);
  const anchor = h("a", { href: pathname + search, download: "" });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
}

// Yields the lines of a file. Of a file with more than `bytesMax` bytes it yields the lines that are complete by then.
async function* readLines(fileId, bytesMax, signal) {
  const response = await call("GET", contentPath(fileId), { headers: { Range: `bytes=0-${bytesMax - 1}` }, signal });
  const [, size] = response.headers.get("content-range")?.match(/\/(\d+)$/) ?? [];
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      const [end, ...starts] = piece.value.split("\n");
      rest += end;
      for (const start of starts) {
        yield rest;
        rest = start;
      }
    }
    if (rest && !(Number(size) > bytesMax)) yield rest;
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return null;  // an empty line
  }
}

function failureOf(entry) {
  const { status_code: status, body } = entry.response ?? {};
  const error = entry.error ?? body?.error ?? {};
  return { code: String(error.code ?? error.type ?? (status ? `status ${status}` : "unknown")), message: String(error.message ?? "") };
}

// Returns the failures in the first lines of an error file: {groups: [{code, lines, message, customId}], lines, isComplete}.
// The largest group is first; `message` and `customId` are those of its first line.
export async function failuresByCode(fileId, total, signal) {
  const groups = new Map();
  let lines = 0;
  for await (const line of readLines(fileId, kReportBytesMax, signal)) {
    const entry = parsed(line);
    if (!entry) continue;
    const { code, message } = failureOf(entry);
    const group = groups.get(code) ?? { code, lines: 0, message, customId: entry.custom_id };
    groups.set(code, group);
    ++group.lines;
    if (++lines >= kReportLinesMax) break;
  }
  return { groups: [...groups.values()].sort((a, b) => b.lines - a.lines), lines, isComplete: lines >= total };
}

function refusal(text) {
  return new ApiError(0, "retry_refused", text);
}

async function checkSize(fileId, name, signal) {
  const size = await fileSize(fileId, signal);
  if (size === null) throw refusal(`The ${name} has been deleted, so the failed lines cannot be sent again.`);
  if (size > kRetryBytesMax)
    throw refusal(`The ${name} has ${bytes(size)}. This page retries only batches whose files have at most ${bytes(kRetryBytesMax)}. Choose the failed lines with a program, by the custom_id in the error file.`);
}

// The failed lines of the input, as sent: {lines, isOpenAi}. `isOpenAi`: they have the form of OpenAI's API, not of Mistral's.
async function failedLines(batch, signal) {
  await checkSize(batch.error_file_id, "error file", signal);
  await checkSize(batch.input_file_id, "input file", signal);
  const failed = new Set();
  for await (const line of readLines(batch.error_file_id, kRetryBytesMax, signal)) {
    const entry = parsed(line);
    if (entry) failed.add(entry.custom_id);
  }
  const lines = [];
  let isOpenAi = !batch.model;
  for await (const line of readLines(batch.input_file_id, kRetryBytesMax, signal)) {
    const entry = parsed(line);
    if (!entry || !failed.has(entry.custom_id)) continue;
    lines.push(line.endsWith("\r") ? line.slice(0, -1) : line);
    isOpenAi &&= entry.method !== undefined && entry.url !== undefined;
  }
  if (!lines.length) throw refusal("The input file has none of the failed lines.");
  return { lines, isOpenAi };
}

// The metadata of the new batch: that of the old one, as far as there is space, and which batch it repeats.
function retryMetadata(batch) {
  const others = Object.entries(batch.metadata ?? {}).filter(([name]) => name !== "retry_of");
  return { ...Object.fromEntries(others.slice(0, kMetadataMax - 1)), retry_of: batch.id };
}

function createBatch(batch, inputId, isOpenAi) {
  const headers = { "Idempotency-Key": newIdempotencyKey() };
  if (batch.max_cost_usd !== undefined) headers["x-millrace-max-cost-usd"] = String(batch.max_cost_usd);
  const common = { endpoint: batch.endpoint, metadata: retryMetadata(batch) };
  if (isOpenAi) return send("POST", "/v1/batches", { ...common, input_file_id: inputId, completion_window: batch.completion_window }, { headers });
  const hours = { timeout_hours: parseInt(batch.completion_window, 10) };
  return send("POST", "/v1/batch/jobs", { ...common, input_files: [inputId], ...(batch.model ? { model: batch.model } : {}), ...hours }, { headers });
}

// Uploads the failed lines as a new file and creates a batch of them. Returns {id, lines}: the new batch. If there are too
// many bytes, nothing is sent.
export async function retryFailedLines(batch, signal) {
  const { lines, isOpenAi } = await failedLines(batch, signal);
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new Blob(lines.map((line) => `${line}\n`), { type: "application/jsonl" }), `retry-of-${batch.id}.jsonl`);
  const response = await call("POST", "/v1/files", { body: form, headers: { "Idempotency-Key": newIdempotencyKey() } });
  const input = await response.json();
  try {
    const { id } = await createBatch(batch, input.id, isOpenAi);
    return { id, lines: lines.length };
  } catch (error) {
    call("DELETE", `/v1/files/${input.id}`).catch(() => {});  // no batch uses it
    throw error;
  }
}

export function reportNote({ lines, isComplete }, total) {
  return isComplete ? "" : `Of the first ${count(lines)} of ${count(total)} failed lines. The error file has all.`;
}
