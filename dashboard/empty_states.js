// The texts of empty screens, with a first command to try.
import { cli, curl, quoted } from "./curl.js";
import { h } from "./dom.js";
import { code, emptyState } from "./components.js";

export function noJobsState() {
  return emptyState("No jobs yet", "Text recognition, transcriptions, deferred chats and commands on machines are listed here after they are submitted.",
    h("p", {}, "Drop a document into the ", h("a", { href: "#/drop" }, "drop box"), ", or try one of these:"),
    code(cli("ocr scan.pdf -o text/"), "Read a document"),
    code(cli("exec run", "echo hello"), "Run a command"));
}

export function noMachinesState() {
  return emptyState("No machines yet", "Commands run on machines. A machine keeps its disk between commands, and sleeps when it is idle.",
    code(cli("machines create --name first"), "Create a machine"),
    code(curl("POST", "/v1/machines", { json: { name: "first", autosleep: "15m" }, headers: { "Idempotency-Key": "first-machine" } }), "API"));
}

// The whole way of a first batch; the commands run unchanged, one after the other.
export function noBatchesState(model) {
  const endpoint = "/v1/chat/completions";
  const line = (id, text) => JSON.stringify({ custom_id: id, method: "POST", url: endpoint, body: { model, messages: [{ role: "user", content: text }] } });
  const input = `printf '%s\\n' \\\n  ${quoted(line("one", "Name a river"))} \\\n  ${quoted(line("two", "Name a mill"))} > requests.jsonl`;
  const upload = `INPUT=$(${curl("POST", "/v1/files", { form: [["purpose", "batch"], ["file", "@requests.jsonl"]], extraOptions: ["-s | jq -r .id)"] })}`;
  const create = curl("POST", "/v1/batches", { headers: { "Content-Type": "application/json" },
    extraOptions: [`-d '{"input_file_id": "'$INPUT'", "endpoint": "${endpoint}", "completion_window": "24h"}'`] });
  return emptyState("No batches yet", "Many requests that may take their time: texts to classify, documents to read, recordings to transcribe. Each line of a file is one request. Lines run after direct requests, and a line that fails does not stop the others.",
    code(input, "1. Write the requests, one per line"), code(upload, "2. Upload the file"), code(create, "3. Create the batch"));
}

// A command that starts a gateway with a provider's models.
export const kProviderCommand = "OPENAI_API_KEY=… millrace serve";
const kOwnServerConfig = `models:
  - name: local/llama
    provider: openai
    base_url: http://127.0.0.1:11434/v1
    model: llama3`;

export function noChatModelsState() {
  return emptyState("No chat models", "To use the models of a provider, set its key when you start the gateway:",
    code(kProviderCommand, "With a provider's key"),
    h("p", {}, "To use your own server with an OpenAI-compatible API, add it to millrace.yaml in the data directory. kill -HUP reloads the file:"),
    code(kOwnServerConfig, "With your own server"),
    h("p", {}, "To try the gateway without a provider, use the mock models. The mock chat model is an echo:"),
    code("millrace serve --mock true", "With the mock models"));
}
