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
    code(curl("POST", "/v1/machines", { json: { name: "first", autosleep: "15m" }, headers: { "Idempotency-Key": "first-machine" } }), "The same by the API"));
}

export function firstModel() {
  return empty("No models to talk to", "Set a provider's key before the start, and its models are here:",
    code("OPENAI_API_KEY=… millrace serve", "With a provider's key"),
    code("MILLRACE_MOCK=true millrace serve", "With the mock models, for a first try"));
}
