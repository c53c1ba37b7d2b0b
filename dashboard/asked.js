// What a job was asked, and the command that asks for the same again.
import { getJson } from "./api.js";
import { curl, quoted } from "./curl.js";

const kInLineMost = 3000;  // characters of a body that people can still read in a command
const kKey = '-H "Authorization: Bearer $MILLRACE_API_KEY"';
const kDocument = "document.document_url";
const kFileUrl = "data:application/pdf;base64,";
const kLostValue = "…";
const kWords = { [kDocument]: "your file in the place of scan.pdf", file: "your file in the place of talk.wav", stdin: "what it read" };

// {asked}, or {problem: in words} where it is not there; never rejected.
export async function askedOf(job, signal) {
  try {
    return { asked: await getJson(`/v1/jobs/${job.id}/request`, { signal }) };
  } catch (error) {
    return { problem: error.message };
  }
}

// Documents are handed in again by who has them: what was sent is not told back.
export function ocrCommand(body = {}) {
  const text = JSON.stringify({ document: null, ...body, document: { document_url: kFileUrl } });
  const middle = text.indexOf(kFileUrl) + kFileUrl.length;
  const [head, tail] = [text.slice(0, middle), text.slice(middle)].map((each) => quoted(each));
  return `{ printf %s ${head}; base64 -w0 scan.pdf; printf %s ${tail}; } |\n  ${curl("POST", "/v1/ocr", { headers: { "Content-Type": "application/json" }, more: ["--data-binary @-"] })}`;
}

function formOf(body) {
  const pairs = Object.entries(body).flatMap(([name, value]) => (Array.isArray(value) ? value.map((each) => [name, each]) : [[name, value]]));
  return [...pairs, ["file", "@talk.wav"]];
}

function withEnvironment({ body, left_out: leftOut }) {
  const names = leftOut.filter((place) => place.startsWith("env.")).map((place) => place.slice("env.".length));
  return names.length ? { ...body, env: Object.fromEntries(names.map((name) => [name, kLostValue])) } : body;
}

// Of a body that is too long to be read, from where it is kept.
function piped(asked) {
  const kept = `curl -s ${quoted(`${location.origin}/v1/jobs/${asked.job_id}/request`)} ${kKey}`;
  return `${kept} | jq -c .body |\n  ${curl("POST", asked.path, { headers: { "Content-Type": "application/json" }, more: ["--data-binary @-"] })}`;
}

export function commandOfAsked(asked) {
  const { kind, path, body, content_type: type, left_out: leftOut } = asked;
  if (type === "multipart/form-data") return curl("POST", path, { form: formOf(body) });
  if (kind === "ocr" && leftOut.includes(kDocument) && !body.document.document_url) return ocrCommand(body);
  if (kind === "exec") return curl("POST", path, { json: withEnvironment(asked), headers: { "Idempotency-Key": "a-new-key" } });
  return JSON.stringify(body).length > kInLineMost ? piped(asked) : curl("POST", path, { json: body });
}

// What stands before the command: what it needs that is not in it.
export function noteOfAsked({ body, left_out: leftOut }) {
  const missing = leftOut.map((place) => (place === kDocument && body.document.document_url ? `the query of ${kDocument}`
    : place.startsWith("env.") ? `the value of ${place.slice("env.".length)}` : kWords[place] ?? place));
  return missing.length ? `Do it again, with ${missing.join(", ")}:` : "Do it again:";
}
