// A command for each call that can be run unchanged. It first looks up or creates the ids that it needs.
import { quoted } from "./curl.js";
import { exampleOf } from "./docs_document.js";

const kKey = '-H "Authorization: Bearer $MILLRACE_API_KEY"';
const kJson = "-H 'Content-Type: application/json'";
const kOnce = '-H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)"';

function ask(path, filter) {
  return `$(curl -s "${location.origin}${path}" ${kKey} | jq -r '${filter}')`;
}

function make(path, body, filter, more = "") {
  return `$(curl -s "${location.origin}${path}" ${kKey} ${kJson} ${more}-d '${JSON.stringify(body)}' | jq -r '${filter}')`;
}

// How a command obtains the ids of a path.
const kSources = {
  job_id: ["JOB", () => ask("/v1/jobs?limit=1", ".items[0].id")],
  machine_id: ["MACHINE", () => ask("/v1/machines", '.items[] | select(.name == "local").machine_id')],
  execution_id: ["EXECUTION", () => ask("/v1/machines/$MACHINE/executions?limit=1", ".items[0].execution_id")],
  artifact_id: ["ARTIFACT", () => ask("/v1/machines/$MACHINE/artifacts?limit=1", ".items[0].artifact_id")],
  session_id: ["SESSION", () => ask("/v1/machines/$MACHINE/ssh?limit=1", ".items[0].session_id")],
  key_id: ["KEY", () => make("/v1/admin/keys", { name: "try", scopes: ["models"] }, ".id")],
  request_id: ["REQUEST", () => make("/v1/chat/completions", { model: "mock/chat", messages: "Hello", deferred: true }, ".request_id")],
  worker: ["WORKER", () => ask("/v1/admin/workers", ".items[0].name")],
  model: ["MODEL", () => ask("/v1/models", ".data[0].id")],
  image_id: ["IMAGE", () => make("/v1/images/generations", { model: "mock/image", prompt: "A mill" }, '.data[0].url | split("/")[-1]')],
};

// Exceptions: only OCR jobs have pages, and a machine that is deleted is created first.
const kOwnSources = {
  getJobPagePicture: { job_id: () => ask("/v1/jobs?kind=ocr&status=succeeded&limit=1", ".items[0].id") },
  deleteMachine: { machine_id: () => make("/v1/machines", {}, ".machine_id", `${kOnce} `) },
};
const kWords = { file: "app.js", kind: "ocr", page: "0" };

// Bodies that replace the example of the document.
const kBodies = {
  createSshSession: `-d "{\\"public_key\\": \\"$(cat ~/.ssh/id_ed25519.pub)\\"}"`,
  changeMachine: `-d '{"autosleep":"15m"}'`,
};
const kPiped = {
  createOcr: `{ printf '{"document": {"document_url": "data:application/pdf;base64,'; base64 -w0 invoice.pdf; printf '"}}'; } |\n  `,
};
const kOutputs = { getJobPagePicture: "-o page.jpeg", createSpeech: "-o speech.mp3", getArtifactContent: "-O -J", getImageFile: "-O -J" };
const kStreams = new Set(["listJobEvents", "listExecutionEvents", "streamAdminEvents"]);

function assignments(operation, names) {
  return names.filter((name) => kSources[name]).map((name) => {
    const [variable, source] = kSources[name];
    return `${variable}=${(kOwnSources[operation.operationId]?.[name] ?? source)()}`;
  });
}

function bodyParts(document_, operation) {
  if (kPiped[operation.operationId]) return [kJson, "--data-binary @-"];
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  if (!content) return [];
  if (kBodies[operation.operationId]) return [kJson, kBodies[operation.operationId]];
  const example = exampleOf(document_, content) ?? {};
  if (type !== "multipart/form-data") return [kJson, `-d ${quoted(JSON.stringify(example))}`];
  return Object.entries(example).map(([name, value]) => `-F ${quoted(name === "file" ? `file=@${value}` : `${name}=${value}`)}`);
}

function mustBeKeyed(operation) {
  return (operation.parameters ?? []).some((each) => /IdempotencyKey\w*Required$/.test(each.$ref ?? ""));
}

export function commandOf(document_, path, method, operation) {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  const place = path.replace(/\{(\w+)\}/g, (_, name) => (kSources[name] ? `$${kSources[name][0]}` : kWords[name]));
  const implied = operation.requestBody ? "POST" : "GET";
  const verb = method.toUpperCase() === implied ? "" : `-X ${method.toUpperCase()} `;
  const stream = kStreams.has(operation.operationId) ? "-N " : "";
  const parts = [`${kPiped[operation.operationId] ?? ""}curl ${stream}${verb}"${location.origin}${place}"`];
  if (operation.security?.length) parts.push(kKey);
  if (mustBeKeyed(operation)) parts.push(kOnce);
  parts.push(...bodyParts(document_, operation));
  if (kOutputs[operation.operationId]) parts.push(kOutputs[operation.operationId]);
  return [...assignments(operation, names), parts.join(" \\\n  ")].join("\n");
}
