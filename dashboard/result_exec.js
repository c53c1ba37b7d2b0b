// Shows the output of a command as a terminal, from the events of its job.
import { call, getJson } from "./api.js";
import { quoted } from "./curl.js";
import { add, fill, h, setText } from "./dom.js";
import { bytes } from "./format.js";
import { card, descriptionList, download, kTerminal } from "./components.js";
import { showError } from "./toast.js";
import { updateInPlace } from "./update_in_place.js";

const kLinesMax = 5000;
const kUnknown = "–";
const kNearEndPx = 40;  // new output scrolls into view only if the reader is this close to the end

function textOf({ chunk, encoding }) {
  if (encoding !== "base64") return chunk ?? "";
  return new TextDecoder("latin1").decode(Uint8Array.from(atob(chunk), (c) => c.charCodeAt(0)));
}

// Removes the escape sequences for colours and cursor movement.
function withoutEscapes(text) {
  return text.replace(/\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*(\x07|\x1b\\)|\x1b[@-_]/g, "").replace(/\r(?!\n)/g, "\n");
}

export class Terminal {
  constructor() {
    this.hint = h("span", { class: "note" });
    this.screen = h("pre", { class: "terminal", tabindex: "0", role: "log", "aria-label": "Output" }, this.hint);
  }

  // Sets the text that is shown while there is no output.
  setHint(text) {
    setText(this.hint, text);
  }

  // The command has ended without output: the terminal shrinks.
  showNoOutput() {
    this.setHint("No output.");
    this.screen.classList.add("is-empty");
  }

  write(kind, text) {
    this.hint.remove();
    const { screen } = this;
    const isAtEnd = screen.scrollHeight - screen.scrollTop - screen.clientHeight < kNearEndPx;
    const last = screen.lastChild;
    if (last?.className === kind) last.append(withoutEscapes(text));
    else add(screen, h("span", { class: kind }, withoutEscapes(text)));
    while (screen.childNodes.length > kLinesMax) screen.firstChild.remove();
    if (isAtEnd) screen.scrollTop = screen.scrollHeight;
  }
}

async function downloadArtifact(machine, artifact) {
  try {
    const response = await call("GET", `/v1/machines/${machine}/artifacts/${artifact.artifact_id}/content`);
    download(await response.blob(), artifact.name);
  } catch (error) {
    showError(error);
  }
}

function artifactList(machine, items) {
  return h("ul", { class: "files" }, items.map((artifact) => h("li", { data: { key: artifact.artifact_id } },
    h("button", { type: "button", class: "as-link", on: { click: () => downloadArtifact(machine, artifact) } }, artifact.name),
    " ", h("span", { class: "muted" }, bytes(artifact.size_bytes)))));
}

function exitText(execution) {
  if (execution.exit_code !== undefined) return `exit ${execution.exit_code}`;
  return execution.signal ? `signal ${execution.signal}` : kUnknown;
}

function sizesText(execution) {
  if (execution.stdout_bytes === undefined) return kUnknown;
  const isTruncated = execution.stdout_truncated || execution.stderr_truncated;
  return `${bytes(execution.stdout_bytes)} out, ${bytes(execution.stderr_bytes)} err${isTruncated ? " (truncated)" : ""}`;
}

// Shows the request from the start. The exit status and the sizes of the output have their space from the start, too.
function commandDetails(originalRequest) {
  const machine = originalRequest?.path.split("/")[3] ?? "";
  const exit = h("span", {}, kUnknown);
  const sizes = h("span", {}, kUnknown);
  const element = descriptionList([["Command", h("code", { class: "wrap-anywhere" }, (originalRequest?.body.command ?? [kUnknown]).map(quoted).join(" "))],
    ["Machine", machine && h("a", { href: `#/machines/${machine}`, class: "mono wrap-anywhere" }, machine)],
    ["Working directory", originalRequest?.body.cwd], ["Exit status", exit], ["Output", sizes]]);
  return { element, show(execution) {
    setText(exit, exitText(execution));
    setText(sizes, sizesText(execution));
  } };
}

export function execResult(job, signal, { note, originalRequestPromise, originalRequest }) {
  const terminal = new Terminal();
  const top = h("div", {});
  const files = h("div", {});
  let details = null;
  note.setResultShown();  // the terminal itself shows that there is no output yet

  function showDetails(request) {
    details ??= commandDetails(request);
    if (!top.firstChild) fill(top, details.element);
  }
  async function load(now) {
    try {
      const execution = await getJson(`/v1/jobs/${job.id}/result?partial=true`, { signal });
      showDetails((await originalRequestPromise).originalRequest ?? { path: `/v1/machines/${execution.machine_id}`, body: execution });
      details.show(execution);
      const hasOutput = execution.stdout_bytes || execution.stderr_bytes;
      if (!kTerminal.has(now.status)) terminal.setHint("No output yet.");
      else if (hasOutput) terminal.setHint("");
      else terminal.showNoOutput();
      const list = await getJson(`/v1/machines/${execution.machine_id}/artifacts?execution_id=${job.id}`, { signal });
      if (list.items.length) updateInPlace(files, h("h3", {}, "Artifacts"), artifactList(execution.machine_id, list.items));
    } catch (error) {
      showError(error);
    }
  }

  if (originalRequest) showDetails(originalRequest);
  return {
    element: card("Output", top, terminal.screen, files, note.element),
    begin: load,
    onEvent(event) {
      if (event.type === "running" && event.data.attempt > 1) terminal.write("note", `— attempt ${event.data.attempt} —\n`);
      if (event.type === "stdout" || event.type === "stderr") terminal.write(event.type, textOf(event.data));
    },
    finish: load,
  };
}
