// A command for each call that can be run unchanged. It first looks up or creates the ids that it needs.
import { quoted } from "./curl.js";
import { exampleOf } from "./docs_document.js";

const kAuthorization = '-H "Authorization: Bearer $MILLRACE_API_KEY"';
const kJsonType = "-H 'Content-Type: application/json'";
const kIdempotencyKey = '-H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)"';

function queryCommand(path, filter) {
  return `$(curl -s "${location.origin}${path}" ${kAuthorization} | jq -r '${filter}')`;
}

function createCommand(path, body, filter, extraOptions = "") {
  return `$(curl -s "${location.origin}${path}" ${kAuthorization} ${kJsonType} ${extraOptions}-d '${JSON.stringify(body)}' | jq -r '${filter}')`;
}

function uploadCommand() {
  return `$(curl -s "${location.origin}/v1/files" ${kAuthorization} -F file=@invoice.pdf | jq -r .id)`;
}

function beginCommand() {
  const body = `'{"purpose": "user_data", "filename": "invoice.pdf", "mime_type": "application/pdf", "bytes": '$(stat -c %s invoice.pdf)'}'`;
  return `$(curl -s "${location.origin}/v1/uploads" ${kAuthorization} ${kJsonType} -d ${body} | jq -r .id)`;
}

function partCommand() {
  return `$(curl -s "${location.origin}/v1/uploads/$UPLOAD/parts" ${kAuthorization} -F data=@invoice.pdf | jq -r .id)`;
}

const kBatchMessages = [{ role: "user", content: "Hello" }];
const kInlineBatch = { endpoint: "/v1/chat/completions", model: "mock/chat", requests: [{ custom_id: "one", body: { messages: kBatchMessages } }] };

function uploadLineCommand() {
  const line = { custom_id: "one", method: "POST", url: kInlineBatch.endpoint, body: { model: kInlineBatch.model, messages: kBatchMessages } };
  return `$(echo '${JSON.stringify(line)}' | curl -s "${location.origin}/v1/files" ${kAuthorization} -F purpose=batch -F 'file=@-;filename=requests.jsonl' | jq -r .id)`;
}

// How a command obtains the ids of a path or of a body.
const kSources = {
  job_id: ["JOB", () => queryCommand("/v1/jobs?limit=1", ".items[0].id")],
  machine_id: ["MACHINE", () => queryCommand("/v1/machines", '.items[] | select(.name == "local").machine_id')],
  execution_id: ["EXECUTION", () => queryCommand("/v1/machines/$MACHINE/executions?limit=1", ".items[0].execution_id")],
  artifact_id: ["ARTIFACT", () => queryCommand("/v1/machines/$MACHINE/artifacts?limit=1", ".items[0].artifact_id")],
  session_id: ["SESSION", () => queryCommand("/v1/machines/$MACHINE/ssh?limit=1", ".items[0].session_id")],
  key_id: ["KEY", () => createCommand("/v1/admin/keys", { name: "try", scopes: ["models"] }, ".id")],
  request_id: ["REQUEST", () => createCommand("/v1/chat/completions", { model: "mock/chat", messages: "Hello", deferred: true }, ".request_id")],
  worker: ["WORKER", () => queryCommand("/v1/admin/workers", ".items[0].name")],
  model: ["MODEL", () => queryCommand("/v1/models", ".data[0].id")],
  path: ["FILE", () => `$(curl -s -o put.json -T invoice.pdf "${location.origin}/v1/machines/$MACHINE/files/invoice.pdf" ${kAuthorization}; echo invoice.pdf)`],
  file_id: ["STORED", () => uploadCommand()],
  upload_id: ["UPLOAD", () => beginCommand()],
  signed_id: ["SIGNED", () => queryCommand(`/v1/files/${uploadCommand()}/url`, '.url | split("/")[-1]')],
  batch_id: ["BATCH", () => createCommand("/v1/batch/jobs", kInlineBatch, ".id")],
  input_file_id: ["INPUT", () => uploadLineCommand()],
  webhook_id: ["WEBHOOK", () => createCommand("/v1/webhooks", { url: "https://app.example/hooks" }, ".id")],
  delivery_id: ["DELIVERY", () => createCommand("/v1/webhooks/$WEBHOOK/test", {}, ".id")],
  image_id: ["IMAGE", () => createCommand("/v1/images/generations", { model: "mock/image", prompt: "A mill" }, '.data[0].url | split("/")[-1]')],
};

// Exceptions: only OCR jobs have pages, a machine that is deleted is created first, and a file is written by its own call.
const kSourceOverrides = {
  putFile: { path: () => "invoice.pdf" },
  getJobPagePicture: { job_id: () => queryCommand("/v1/jobs?kind=ocr&status=succeeded&limit=1", ".items[0].id") },
  deleteMachine: { machine_id: () => createCommand("/v1/machines", {}, ".machine_id", `${kIdempotencyKey} `) },
};
const kFixedValues = { file: "app.js", kind: "ocr", page: "0" };

// Bodies that replace the example of the document, and the ids that they contain.
const kBodyIds = { createBatch: ["input_file_id"] };
const kBodies = {
  createBatch: `-d '{"input_file_id": "'$INPUT'", "endpoint": "${kInlineBatch.endpoint}", "completion_window": "24h"}'`,
  createBatchJob: `-d '${JSON.stringify(kInlineBatch)}'`,
  createSshSession: `-d "{\\"public_key\\": \\"$(cat ~/.ssh/id_ed25519.pub)\\"}"`,
  completeUpload: `-d "{\\"part_ids\\": [\\"${partCommand()}\\"]}"`,
  changeMachine: `-d '{"autosleep":"15m"}'`,
};
const kPipedBodies = {
  createOcr: `{ printf '{"document": {"document_url": "data:application/pdf;base64,'; base64 -w0 invoice.pdf; printf '"}}'; } |\n  `,
};
const kOutputs = { getJobPagePicture: "-o page.jpeg", createSpeech: "-o speech.mp3", getArtifactContent: "-O -J", getImageFile: "-O -J",
  getStoredFileContent: "-o stored.pdf", getSignedStoredFile: "-o signed.pdf" };
const kStreams = new Set(["listJobEvents", "listExecutionEvents", "streamAdminEvents"]);

function assignments(operation, names) {
  return names.filter((name) => kSources[name]).map((name) => {
    const [variable, source] = kSources[name];
    return `${variable}=${(kSourceOverrides[operation.operationId]?.[name] ?? source)()}`;
  });
}

function bodyOptions(document_, operation) {
  if (kPipedBodies[operation.operationId]) return [kJsonType, "--data-binary @-"];
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  if (!content) return [];
  if (kBodies[operation.operationId]) return [kJsonType, kBodies[operation.operationId]];
  const example = exampleOf(document_, content) ?? {};
  if (type !== "multipart/form-data") return [kJsonType, `-d ${quoted(JSON.stringify(example))}`];
  return Object.entries(example).map(([name, value]) => `-F ${quoted(name === "file" || name === "data" ? `${name}=@${value}` : `${name}=${value}`)}`);
}

function requiresIdempotencyKey(operation) {
  return (operation.parameters ?? []).some((each) => /IdempotencyKey\w*Required$/.test(each.$ref ?? ""));
}

export function commandOf(document_, path, method, operation) {
  const names = [...[...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]), ...(kBodyIds[operation.operationId] ?? [])];
  const resolvedPath = path.replace(/\{(\w+)\}/g, (_, name) => (kSources[name] ? `$${kSources[name][0]}` : kFixedValues[name]));
  const defaultMethod = operation.requestBody ? "POST" : "GET";
  const methodOption = method.toUpperCase() === defaultMethod ? "" : `-X ${method.toUpperCase()} `;
  const streamOption = kStreams.has(operation.operationId) ? "-N " : "";
  const lines = [`${kPipedBodies[operation.operationId] ?? ""}curl ${streamOption}${methodOption}"${location.origin}${resolvedPath}"`];
  if (operation.security?.length) lines.push(kAuthorization);
  if (requiresIdempotencyKey(operation)) lines.push(kIdempotencyKey);
  lines.push(...bodyOptions(document_, operation));
  if (kOutputs[operation.operationId]) lines.push(kOutputs[operation.operationId]);
  return [...assignments(operation, names), lines.join(" \\\n  ")].join("\n");
}
