// The original request of a job, and a command that repeats it.
import { getJson } from "./api.js";
import { curl, fileOf, quoted } from "./curl.js";

const kInlineBodyMax = 3000;  // characters; a command with a longer body reads the body from the API
const kAuthorization = '-H "Authorization: Bearer $MILLRACE_API_KEY"';
const kDocument = "document.document_url";
const kOmittedValue = "…";
const kExtensions = {
  "application/pdf": "pdf", "image/png": "png", "image/jpeg": "jpg", "image/webp": "webp",
  "audio/flac": "flac", "audio/mpeg": "mp3", "audio/mp4": "mp4", "video/mpeg": "mpeg", "audio/ogg": "ogg", "audio/wav": "wav", "audio/webm": "webm",
};
const kAnyDocument = { name: "", type: "application/pdf" };
const kAnyRecording = { name: "", type: "audio/wav" };

// Returns {originalRequest} or {errorMessage}. The promise is never rejected.
export async function loadOriginalRequest(id, signal) {
  try {
    return { originalRequest: await getJson(`/v1/jobs/${id}/request`, { signal }) };
  } catch (error) {
    return { errorMessage: error.message };
  }
}

function typeByName(name) {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return Object.keys(kExtensions).find((type) => kExtensions[type] === extension || (extension === "jpeg" && type === "image/jpeg"));
}

// The name and media type of the uploaded file. The name has no control characters and no folder. A file without a name
// gets a default name.
function uploadedFile({ kind, file = {} }) {
  const fallback = kind === "ocr" ? kAnyDocument : kAnyRecording;
  const name = (file.name ?? "").replace(/\p{C}/gu, "").replace(/^.*[/\\]/s, "");
  const type = file.media_type ?? typeByName(name) ?? fallback.type;
  const defaultName = `${kind === "ocr" ? "scan" : "talk"}.${kExtensions[type] ?? "bin"}`;
  return { name: name || defaultName, type, isNamed: name !== "" };
}

// The API does not return uploaded documents, so the command reads the document from a local file.
export function ocrCommand(body = {}, { name, type } = { name: "scan.pdf", type: kAnyDocument.type }) {
  const url = `data:${type};base64,`;
  const text = JSON.stringify({ document: null, ...body, document: { document_url: url } });
  const middle = text.indexOf(url) + url.length;
  const [head, tail] = [text.slice(0, middle), text.slice(middle)].map((each) => quoted(each));
  const send = curl("POST", "/v1/ocr", { headers: { "Content-Type": "application/json" }, extraOptions: ["--data-binary @-"] });
  const localPath = name.startsWith("-") ? `./${name}` : name;
  return `{ printf %s ${head}\n  base64 -w0 ${quoted(localPath)}\n  printf %s ${tail}; } |\n  ${send}`;
}

function formOf(originalRequest) {
  const pairs = Object.entries(originalRequest.body).flatMap(([name, value]) => (Array.isArray(value) ? value.map((each) => [name, each]) : [[name, value]]));
  const { name, type } = uploadedFile(originalRequest);
  return [...pairs, ["file", fileOf(name, type)]];
}

function withEnvironment({ body, left_out: omitted }) {
  const names = omitted.filter((field) => field.startsWith("env.")).map((field) => field.slice("env.".length));
  return names.length ? { ...body, env: Object.fromEntries(names.map((name) => [name, kOmittedValue])) } : body;
}

// For a long body: the command reads the body from the API and sends it again.
function pipedCommand(originalRequest) {
  const fetchCommand = `curl -s ${quoted(`${location.origin}/v1/jobs/${originalRequest.job_id}/request`)} \\\n  ${kAuthorization}`;
  return `${fetchCommand} |\n  jq -c .body |\n  ${curl("POST", originalRequest.path, { headers: { "Content-Type": "application/json" }, extraOptions: ["--data-binary @-"] })}`;
}

export function repeatCommand(originalRequest) {
  const { kind, path, body, content_type: type, left_out: omitted } = originalRequest;
  if (type === "multipart/form-data") return curl("POST", path, { form: formOf(originalRequest) });
  if (kind === "ocr" && omitted.includes(kDocument) && !body.document.document_url) return ocrCommand(body, uploadedFile(originalRequest));
  if (kind === "exec") return curl("POST", path, { json: withEnvironment(originalRequest), newIdempotencyKey: true });
  return JSON.stringify(body).length > kInlineBodyMax ? pipedCommand(originalRequest) : curl("POST", path, { json: body });
}

// The name of a value that the API does not return, for the text above the command.
function omittedText(field, originalRequest) {
  if (field === kDocument && originalRequest.body.document.document_url) return `the query string of ${kDocument}`;
  if (field === kDocument || field === "file") {
    const { name, isNamed } = uploadedFile(originalRequest);
    return isNamed ? `${name} in the current directory` : `your file instead of ${name}`;
  }
  if (field.startsWith("env.")) return `the value of ${field.slice("env.".length)}`;
  return field === "stdin" ? "its standard input" : field;
}

// The text above the command. It lists the values that the command does not contain.
export function repeatNote(originalRequest) {
  const missing = originalRequest.left_out.map((field) => omittedText(field, originalRequest));
  return missing.length ? `Run it again, with ${missing.join(", ")}:` : "Run it again:";
}
