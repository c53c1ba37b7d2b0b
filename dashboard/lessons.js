// What empty screens teach: the command to try first.
import { cli, curl } from "./curl.js";
import { h } from "./dom.js";
import { code, empty } from "./parts.js";

export function firstJobs() {
  return empty("No jobs yet", "Text recognition, transcriptions, deferred chats and commands on machines show here as soon as somebody asks for them.",
    h("p", {}, "Drop a document into the ", h("a", { href: "#/drop" }, "drop box"), ", or try one of these:"),
    code(cli("ocr scan.pdf -o text/"), "Read a document"),
    code(cli("exec run", "echo hello"), "Run a command"));
}

export function firstMachine() {
  return empty("No machines yet", "A machine is where commands run: its disk outlives them, and it sleeps while nobody needs it.",
    code(cli("machines create --name first"), "Make a machine"),
    code(curl("POST", "/v1/machines", { json: { name: "first", autosleep: "15m" }, headers: { "Idempotency-Key": "first-machine" } }), "API"));
}

// How a gateway comes to a provider's models.
export const kWithProvider = "OPENAI_API_KEY=… millrace serve";
const kOwnServer = `models:
  - name: local/llama
    provider: openai
    base_url: http://127.0.0.1:11434/v1
    model: llama3`;

export function firstModel() {
  return empty("No models to talk to", "Set a provider's key before the start, and its models are here:",
    code(kWithProvider, "With a provider's key"),
    h("p", {}, "A server of yours that speaks OpenAI's protocol is named in millrace.yaml of the data directory; kill -HUP reads it:"),
    code(kOwnServer, "With a server of yours"),
    h("p", {}, "An echo without any provider, for a first try:"),
    code("millrace serve --mock true", "With the mock models"));
}
