// The original request of a job, and a command that repeats it.
import { getJson } from "./api.js";
import { curl, fileOf, quoted } from "./curl.js";

const kInLineMost = 3000;  // characters; a command with a longer body reads the body from the API
const kKey = '-H "Authorization: Bearer $MILLRACE_API_KEY"';
const kDocument = "document.document_url";
const kLostValue = "…";
const kEndings = {
  "application/pdf": "pdf", "image/png": "png", "image/jpeg": "jpg", "image/webp": "webp",
  "audio/flac": "flac", "audio/mpeg": "mp3", "audio/mp4": "mp4", "video/mpeg": "mpeg", "audio/ogg": "ogg", "audio/wav": "wav", "audio/webm": "webm",
};
const kAnyDocument = { name: "", type: "application/pdf" };
const kAnyRecording = { name: "", type: "audio/wav" };

// Returns {asked}, or {problem} with an error message. The promise is never rejected.
export async function requestOf(id, signal) {
  try {
    return { asked: await getJson(`/v1/jobs/${id}/request`, { signal }) };
  } catch (error) {
    return { problem: error.message };
  }
}

function typeByName(name) {
  const ending = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return Object.keys(kEndings).find((type) => kEndings[type] === ending || (ending === "jpeg" && type === "image/jpeg"));
}

// The name and media type of the uploaded file. The name has no control characters and no folder. A file without a name
// gets a default name.
function handedIn({ kind, file = {} }) {
  const any = kind === "ocr" ? kAnyDocument : kAnyRecording;
  const name = (file.name ?? "").replace(/\p{C}/gu, "").replace(/^.*[/\\]/s, "");
  const type = file.media_type ?? typeByName(name) ?? any.type;
  const usual = `${kind === "ocr" ? "scan" : "talk"}.${kEndings[type] ?? "bin"}`;
  return { name: name || usual, type, isNamed: name !== "" };
}

// The API does not return uploaded documents, so the command reads the document from a local file.
export function ocrCommand(body = {}, { name, type } = { name: "scan.pdf", type: kAnyDocument.type }) {
  const url = `data:${type};base64,`;
  const text = JSON.stringify({ document: null, ...body, document: { document_url: url } });
  const middle = text.indexOf(url) + url.length;
  const [head, tail] = [text.slice(0, middle), text.slice(middle)].map((each) => quoted(each));
  const here = name.startsWith("-") ? `./${name}` : name;
  return `{ printf %s ${head}\n  base64 -w0 ${quoted(here)}\n  printf %s ${tail}; } |\n  ${curl("POST", "/v1/ocr", { headers: { "Content-Type": "application/json" }, more: ["--data-binary @-"] })}`;
}

function formOf(asked) {
  const pairs = Object.entries(asked.body).flatMap(([name, value]) => (Array.isArray(value) ? value.map((each) => [name, each]) : [[name, value]]));
  const { name, type } = handedIn(asked);
  return [...pairs, ["file", fileOf(name, type)]];
}

function withEnvironment({ body, left_out: leftOut }) {
  const names = leftOut.filter((place) => place.startsWith("env.")).map((place) => place.slice("env.".length));
  return names.length ? { ...body, env: Object.fromEntries(names.map((name) => [name, kLostValue])) } : body;
}

// For a long body: the command reads the body from the API and sends it again.
function piped(asked) {
  const kept = `curl -s ${quoted(`${location.origin}/v1/jobs/${asked.job_id}/request`)} \\\n  ${kKey}`;
  return `${kept} |\n  jq -c .body |\n  ${curl("POST", asked.path, { headers: { "Content-Type": "application/json" }, more: ["--data-binary @-"] })}`;
}

export function commandOfRequest(asked) {
  const { kind, path, body, content_type: type, left_out: leftOut } = asked;
  if (type === "multipart/form-data") return curl("POST", path, { form: formOf(asked) });
  if (kind === "ocr" && leftOut.includes(kDocument) && !body.document.document_url) return ocrCommand(body, handedIn(asked));
  if (kind === "exec") return curl("POST", path, { json: withEnvironment(asked), fresh: true });
  return JSON.stringify(body).length > kInLineMost ? piped(asked) : curl("POST", path, { json: body });
}

function wordsOf(place, asked) {
  if (place === kDocument && asked.body.document.document_url) return `the query string of ${kDocument}`;
  if (place === kDocument || place === "file") {
    const { name, isNamed } = handedIn(asked);
    return isNamed ? `${name} in the current directory` : `your file instead of ${name}`;
  }
  if (place.startsWith("env.")) return `the value of ${place.slice("env.".length)}`;
  return place === "stdin" ? "its standard input" : place;
}

// The text above the command. It lists the values that the command does not contain.
export function noteOfRequest(asked) {
  const missing = asked.left_out.map((place) => wordsOf(place, asked));
  return missing.length ? `Run it again, with ${missing.join(", ")}:` : "Run it again:";
}
