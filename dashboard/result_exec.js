// The output of a command as a terminal, from the events of its job.
import { call, getJson } from "./api.js";
import { quoted } from "./curl.js";
import { add, fill, h } from "./dom.js";
import { bytes } from "./format.js";
import { card, facts, save } from "./parts.js";
import { tellError } from "./toast.js";

const kLinesMost = 5000;
const kNearEnd = 40;  // px: who has scrolled up is left there

function textOf({ chunk, encoding }) {
  if (encoding !== "base64") return chunk ?? "";
  return new TextDecoder("latin1").decode(Uint8Array.from(atob(chunk), (c) => c.charCodeAt(0)));
}

// What colours and moves the cursor on a real terminal is left out.
function withoutEscapes(text) {
  return text.replace(/\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*(\x07|\x1b\\)|\x1b[@-_]/g, "").replace(/\r(?!\n)/g, "\n");
}

export class Terminal {
  constructor() {
    this.screen = h("pre", { class: "terminal", tabindex: "0", role: "log", "aria-label": "Output" });
  }

  write(kind, text) {
    const { screen } = this;
    const follows = screen.scrollHeight - screen.scrollTop - screen.clientHeight < kNearEnd;
    const last = screen.lastChild;
    if (last?.className === kind) last.append(withoutEscapes(text));
    else add(screen, h("span", { class: kind }, withoutEscapes(text)));
    while (screen.childNodes.length > kLinesMost) screen.firstChild.remove();
    if (follows) screen.scrollTop = screen.scrollHeight;
  }
}

async function downloadArtifact(machine, artifact) {
  try {
    const response = await call("GET", `/v1/machines/${machine}/artifacts/${artifact.artifact_id}/content`);
    save(await response.blob(), artifact.name);
  } catch (error) {
    tellError(error);
  }
}

function artifactList(machine, items) {
  return h("ul", { class: "files" }, items.map((artifact) => h("li", {},
    h("button", { type: "button", class: "as-link", on: { click: () => downloadArtifact(machine, artifact) } }, artifact.name),
    " ", h("span", { class: "faint" }, bytes(artifact.size_bytes)))));
}

export function execResult(job, signal) {
  const terminal = new Terminal();
  const about = h("div", {});
  const files = h("div", {});
  let execution = null;

  function show() {
    const end = execution.exit_code !== undefined ? `exit ${execution.exit_code}` : execution.signal ? `signal ${execution.signal}` : "";
    const cut = execution.stdout_truncated || execution.stderr_truncated;
    fill(about, facts([["Command", h("code", { class: "breaks" }, execution.command.map(quoted).join(" "))],
      ["Machine", h("a", { href: `#/machines/${execution.machine_id}`, class: "mono breaks" }, execution.machine_id)], ["Folder", execution.cwd], ["End", end],
      ["Output", execution.stdout_bytes !== undefined && `${bytes(execution.stdout_bytes)} out, ${bytes(execution.stderr_bytes)} err${cut ? ", cut" : ""}`]]));
  }

  async function load() {
    try {
      execution = await getJson(`/v1/jobs/${job.id}/result?partial=true`, { signal });
      show();
      const list = await getJson(`/v1/machines/${execution.machine_id}/artifacts?execution_id=${job.id}`, { signal });
      if (list.items.length) fill(files, h("h3", {}, "Artifacts"), artifactList(execution.machine_id, list.items));
    } catch (error) {
      tellError(error);
    }
  }

  return {
    element: card("Output", about, terminal.screen, files),
    begin: load,
    onEvent(event) {
      if (event.type === "running" && event.data.attempt > 1) terminal.write("note", `— attempt ${event.data.attempt} —\n`);
      if (event.type === "stdout" || event.type === "stderr") terminal.write(event.type, textOf(event.data));
    },
    finish: load,
  };
}
