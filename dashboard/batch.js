// The screen of one batch: its progress, why lines failed, its files, and a new batch of the failed lines.
import { adviceFor } from "./advice.js";
import { getJson, newIdempotencyKey, send } from "./api.js";
import { downloadFile, failuresByCode, fileSize, reportNote, retryFailedLines } from "./batch_files.js";
import { batchChip, batchStats, doneLines, endedAt, isOver, isoTime, LineRate, statusSentence } from "./batch_progress.js";
import { curl } from "./curl.js";
import { add, button, fill, h, setText } from "./dom.js";
import { bytes, count, dollars, plural } from "./format.js";
import { startLiveUpdates } from "./live_updates.js";
import { card, code, confirmDialog, connectionStatus, copyText, descriptionList, emptyState, errorState, heading, showConnection, timeElement } from "./components.js";
import { fixedColumnTable } from "./tables.js";
import { runAction, toast } from "./toast.js";
import { updateInPlace } from "./update_in_place.js";

const kPollMs = 2000;
const kErrorsMax = 100;  // that the gateway lists of one input
const kErrorColumns = [["Line", 6], ["Code", 14], ["What is wrong", 18]];
const kFailureColumns = [["Code", 14], ["Lines", 6], ["The first of them", 18]];
const kFiles = [["output_file_id", "Output"], ["error_file_id", "Failed lines"], ["input_file_id", "Input"]];
const kUnknown = "–";

const mono = (text) => h("span", { class: "mono wrap-anywhere" }, text);

function batchLink(id) {
  return h("a", { href: `#/batches/${id}`, class: "mono wrap-anywhere" }, id);
}

function time(seconds) {
  return seconds ? timeElement(isoTime(seconds)) : kUnknown;
}

function usageText({ usage }) {
  if (!usage?.total_tokens) return kUnknown;
  const cached = usage.input_tokens_details?.cached_tokens, reasoning = usage.output_tokens_details?.reasoning_tokens;
  return [`${count(usage.input_tokens)} in${cached ? ` (${count(cached)} cached)` : ""}`,
    `${count(usage.output_tokens)} out${reasoning ? ` (${count(reasoning)} for reasoning)` : ""}`].join(", ");
}

// Every row exists from the start, so the layout does not shift when a value arrives.
function details(batch) {
  const { retry_of: retryOf, ...metadata } = batch.metadata ?? {};
  const entries = Object.entries(metadata).map(([name, value]) => h("div", {}, `${name}: ${value}`));
  return descriptionList([["Endpoint", mono(batch.endpoint)], ["Model", batch.model], ["Retry of", retryOf && (retryOf.startsWith("batch_") ? batchLink(retryOf) : retryOf)],
    ["Created", time(batch.created_at)], ["Started", time(batch.in_progress_at)], ["Ended", time(endedAt(batch))],
    ["Window", isOver(batch) ? batch.completion_window : [`${batch.completion_window}, ends `, time(batch.expires_at)]], ["Tokens", usageText(batch)],
    ["Cost", dollars(batch.cost_usd)], ["Cost limit", batch.max_cost_usd === undefined ? "" : dollars(batch.max_cost_usd)],
    ["Metadata", entries.length ? entries : ""]]);
}

// What is wrong with the lines of an input that is not valid.
function inputErrors(errors) {
  const rows = errors.map((error, index) => h("tr", { data: { key: index } }, h("td", { "data-label": "Line" }, error.line ?? "all"),
    h("td", { class: "mono wrap-anywhere" }, error.code),
    h("td", { class: "all-columns wrap-anywhere" }, error.message, error.param ? h("span", { class: "muted" }, ` (${error.param})`) : null)));
  return card("Errors of the input", h("p", { class: "muted" }, "Correct these lines, upload the file again and create a new batch.", errors.length >= kErrorsMax ? ` Only the first ${kErrorsMax} errors are listed.` : ""),
    fixedColumnTable("Errors of the input", kErrorColumns, rows));
}

function failureRow(group) {
  const advice = adviceFor(group.code);
  return h("tr", { data: { key: group.code } }, h("th", { scope: "row", class: "mono wrap-anywhere" }, group.code), h("td", { "data-label": "Lines", class: "number" }, count(group.lines)),
    h("td", { class: "all-columns wrap-anywhere" }, h("div", {}, group.customId === undefined ? null : mono(group.customId), " ", group.message), advice && h("div", { class: "muted" }, advice)));
}

class BatchScreen {
  constructor(container, { id, signal }) {
    Object.assign(this, { container, id, signal });
    this.path = `/v1/batches/${encodeURIComponent(id)}`;
    this.rate = new LineRate();
    this.polling = new AbortController();  // aborted when the batch is over
    this.sizes = new Map();  // of files, by id
    this.report = null;  // of the error file
    signal.addEventListener("abort", () => this.polling.abort());
  }

  async begin() {
    try {
      this.batch = await getJson(this.path, { signal: this.signal });
    } catch (error) {
      if (error.name !== "AbortError") this.showNotFound(error);
      return;
    }
    this.createLayout();
    this.show(this.batch);
    if (isOver(this.batch)) return;
    startLiveUpdates({ signal: this.polling.signal, pollMs: kPollMs, refresh: () => this.refresh(), stream: false, onConnection: (state) => showConnection(this.connection, state) });
  }

  showNotFound(error) {
    const isMissing = error.status === 404;
    fill(this.container, h("p", {}, h("a", { href: "#/batches" }, "← Batches")), heading(isMissing ? "No such batch" : "Batch", mono(this.id)),
      isMissing ? emptyState("The batch does not exist, or it belongs to another tenant", "Batches are kept for some time after they end. To see a batch of another tenant, use a key of that tenant.") : errorState(error, () => this.begin()));
  }

  createLayout() {
    this.state = h("span", {});
    this.connection = connectionStatus();
    this.actions = h("div", { class: "actions" });
    this.statusLine = h("p", { role: "status" });
    this.progressBar = h("progress", { "aria-label": "Lines that have ended" });
    this.stats = h("div", {});
    this.outcome = h("div", { class: "outcome" });
    this.details = h("div", {});
    this.files = h("div", {});
    this.commands = h("div", {});
    fill(this.container, h("div", { class: "heading header-bar" }, h("p", {}, h("a", { href: "#/batches" }, "← Batches")), this.connection, this.actions),
      h("div", { class: "heading" }, h("div", {}, h("h1", { tabindex: "-1" }, "Batch ", this.state),
        h("p", { class: "mono wrap-anywhere" }, this.id, " ", button("Copy id", () => copyText(this.id), { kind: "small" })))),
      h("div", { class: "status-bar" }, this.statusLine, this.progressBar), this.stats,
      h("div", { class: `columns ${isOver(this.batch) ? "" : "is-running"}` }, h("div", { class: "main-column" }, this.outcome),
        h("div", { class: "side-column" }, card("Files", this.files), card("Details", this.details), card("API", this.commands))));
  }

  async refresh() {
    this.show(await getJson(this.path, { signal: this.signal }));
  }

  show(batch) {
    this.batch = batch;
    const over = isOver(batch);
    if (batch.status === "in_progress") this.rate.add(doneLines(batch));
    updateInPlace(this.state, batchChip(batch.status));
    this.statusLine.setAttribute("aria-live", batch.status === "in_progress" ? "off" : "polite");  // screen readers do not announce each poll
    this.statusLine.classList.toggle("problem", batch.status === "failed");
    setText(this.statusLine, statusSentence(batch));
    this.progressBar.classList.toggle("is-invisible", over || !batch.request_counts.total);
    Object.assign(this.progressBar, { max: Math.max(batch.request_counts.total, 1), value: doneLines(batch) });
    updateInPlace(this.stats, batchStats(batch, this.rate));
    updateInPlace(this.details, details(batch));
    updateInPlace(this.commands, this.commandList());
    this.showActions(over);
    this.showFiles();
    this.showOutcome();
    this.loadSizes();
    if (!over) return;
    this.polling.abort();
    this.connection.hidden = true;
    this.loadReport();
  }

  // If the focused button is removed or disabled, the focus moves to the heading.
  showActions(over) {
    const { batch } = this;
    const hadFocus = this.actions.contains(document.activeElement);
    const canCancel = ["validating", "in_progress"].includes(batch.status);
    updateInPlace(this.actions, over ? null : button("Cancel", (event) => this.cancel(event.currentTarget), { kind: "danger", disabled: !canCancel, data: { key: "cancel" } }),
      this.canRetry ? button("Retry failed lines", (event) => this.retry(event.currentTarget), { data: { key: "retry" } }) : null);
    if (hadFocus && !this.actions.querySelector(":focus:enabled")) this.container.querySelector("h1").focus({ preventScroll: true });
  }

  get canRetry() {
    const { batch } = this;
    return isOver(batch) && Boolean(batch.error_file_id && batch.input_file_id);
  }

  async cancel(control) {
    const isConfirmed = await confirmDialog("Cancel this batch?", "Lines that run are cancelled, and lines that were not sent fail. The replies that have arrived are kept in the output.", "Cancel it");
    if (!isConfirmed) return;
    await runAction(control, async () => {
      this.show(await send("POST", `${this.path}/cancel`, undefined, { headers: { "Idempotency-Key": newIdempotencyKey() } }));
      toast("The batch is being cancelled");
    });
  }

  async retry(control) {
    const { batch } = this;
    const isConfirmed = await confirmDialog(`Retry ${plural(batch.request_counts.failed, "failed line")}?`, "The failed lines of the input are uploaded as a new file, and a new batch sends them again. This batch and its files stay as they are.", "Retry them");
    if (!isConfirmed) return;
    await runAction(control, async () => {
      const { id, lines } = await retryFailedLines(batch, this.signal);
      toast(`A new batch has ${plural(lines, "line")}`);
      if (!this.signal.aborted) location.hash = `#/batches/${id}`;
    });
  }

  // Each file has its row from the start.
  fileRow([member, label]) {
    const id = this.batch[member];
    const size = this.sizes.get(id);
    const row = (name, about) => h("li", { data: { key: member } }, h("span", { class: "name" }, name), " ", h("span", { class: "muted" }, about));
    if (!this.isWhole(member)) return row(label, "at the end");
    if (!id) return row(label, "none");
    if (size === null) return row(label, "deleted");
    const download = (event) => runAction(event.currentTarget, () => downloadFile(id));
    return row(h("button", { type: "button", class: "as-link", "aria-label": `Download: ${label}`, on: { click: download } }, label), size === undefined ? kUnknown : bytes(size));
  }

  // The outputs grow while the batch runs.
  isWhole(member) {
    return isOver(this.batch) || member === "input_file_id";
  }

  showFiles() {
    updateInPlace(this.files, h("ul", { class: "files" }, kFiles.map((file) => this.fileRow(file))),
      this.batch.input_file_id ? null : h("p", { class: "muted" }, "The requests were sent in the call that created the batch, so there is no file of the input, and failed lines cannot be retried here."));
  }

  // Each size is read once. Without it the file has its link.
  async loadSizes() {
    const ids = kFiles.filter(([member]) => this.isWhole(member)).map(([member]) => this.batch[member]).filter((id) => id && !this.sizes.has(id));
    if (!ids.length) return;
    ids.forEach((id) => this.sizes.set(id, undefined));
    await Promise.all(ids.map(async (id) => this.sizes.set(id, await fileSize(id, this.signal).catch(() => undefined))));
    if (!this.signal.aborted) this.showFiles();
  }

  async loadReport() {
    const { error_file_id: fileId, request_counts: counts } = this.batch;
    if (!this.isWhole("error_file_id") || !fileId || this.report) return;
    this.report = { isLoading: true };
    try {
      this.report = await failuresByCode(fileId, counts.failed, this.signal);
    } catch (error) {
      this.report = { error };
    }
    if (!this.signal.aborted) this.showOutcome();
  }

  // A batch that was not valid has the errors of its lines. Another one may have the reason why it was cancelled.
  showOutcome() {
    const errors = this.batch.errors?.data ?? [];
    const parts = this.batch.status === "failed" ? inputErrors(errors)
      : [errors.map((error) => h("p", { class: "notice bad" }, error.message, " ", h("code", {}, error.code))), card("Failures by code", this.failures())];
    updateInPlace(this.outcome, parts);
  }

  failures() {
    const { batch, report } = this;
    const note = (text) => h("p", { class: "muted" }, text);
    if (!isOver(batch)) return note("When the batch has ended, its failed lines are counted here by error code.");
    if (!batch.error_file_id) return note(batch.request_counts.failed ? "There is no file of the failed lines." : "No line has failed.");
    if (!report || report.isLoading) return h("p", { class: "muted", role: "status" }, "Reading the error file …");
    if (report.error) {
      return report.error.status === 404 ? note("The file of the failed lines has been deleted.")
        : add(h("div", {}), h("p", { class: "problem" }, report.error.message), button("Try again", () => this.reloadReport(), { kind: "small" }));
    }
    const remark = reportNote(report, batch.request_counts.failed);
    return [fixedColumnTable("Failures by code", kFailureColumns, report.groups.map(failureRow)), remark && h("p", { class: "muted legend" }, remark)];
  }

  reloadReport() {
    this.report = null;
    this.loadReport();
    this.showOutcome();
  }

  commandList() {
    const { batch } = this;
    const list = [h("p", { class: "muted" }, "Read its state:"), code(curl("GET", this.path), "Read its state")];
    const files = [["output_file_id", "Download the output", "output.jsonl"], ["error_file_id", "Download the failed lines", "failed.jsonl"]];
    for (const [member, label, name] of files) {
      if (batch[member]) list.push(h("p", { class: "muted" }, `${label}:`), code(curl("GET", `/v1/files/${batch[member]}/content`, { extraOptions: [`-o ${name}`] }), label));
    }
    if (!isOver(batch)) list.push(h("p", { class: "muted" }, "Cancel it:"), code(curl("POST", `${this.path}/cancel`), "Cancel it"));
    return list;
  }
}

export const title = "Batch";
export function show(container, route) {
  return new BatchScreen(container, route).begin();
}
