// The list of batches: many requests in one file.
import { getJson, query } from "./api.js";
import { batchChip, doneLines, isoTime } from "./batch_progress.js";
import { button, fill, h } from "./dom.js";
import { noBatchesState } from "./empty_states.js";
import { count, dollars } from "./format.js";
import { shortId } from "./job_rows.js";
import { startLiveUpdates } from "./live_updates.js";
import { connectionStatus, errorState, heading, showConnection, timeElement } from "./components.js";
import { fixedColumnTable } from "./tables.js";
import { updateInPlace } from "./update_in_place.js";

const kPollMs = 3000;
const kPageSize = 50;
const kExampleModel = "mock/chat";
const kColumns = [["Batch", 14], ["State", 8], ["Endpoint", 14], ["Ended", 10], ["Failed", 6], ["Created", 7], ["Cost", 6]];

function row(batch) {
  const { total, failed } = batch.request_counts;
  return h("tr", { data: { key: batch.id } },
    h("th", { scope: "row", class: "mono" }, h("a", { href: `#/batches/${batch.id}`, title: batch.id }, shortId(batch.id))),
    h("td", { class: "state" }, batchChip(batch.status)), h("td", { class: "all-columns", "data-label": "Endpoint", title: batch.endpoint }, batch.endpoint),
    h("td", { "data-label": "Ended" }, `${count(doneLines(batch))} of ${count(total)}`),
    h("td", { "data-label": "Failed", class: `number ${failed ? "problem" : ""}` }, count(failed)),
    h("td", { "data-label": "Created" }, timeElement(isoTime(batch.created_at))), h("td", { "data-label": "Cost" }, dollars(batch.cost_usd)));
}

// A model for the example of the empty state. A key without the scope `models` gets the mock model.
function exampleModel(signal) {
  return getJson("/v1/models", { signal }).then(({ data }) => data.find((model) => model.capabilities?.chat)?.id ?? kExampleModel, () => kExampleModel);
}

class BatchesScreen {
  constructor(container, { signal }) {
    Object.assign(this, { container, signal });
    this.cursors = [""];  // the cursors of this page and of the pages before it
    this.model = null;
    this.body = h("div", {}, h("p", { class: "muted", role: "status" }, "Loading …"));
    this.pager = h("nav", { class: "pager", "aria-label": "Pages of batches" });
    this.connection = connectionStatus();
  }

  begin() {
    fill(this.container, heading("Batches", "A batch is a file of requests to one endpoint. They run in the background, and their replies are collected in a file.", this.connection), this.body, this.pager);
    return this.load();
  }

  // Updates begin when the list could be read.
  async load() {
    try {
      await this.refresh();
    } catch (error) {
      if (error.name !== "AbortError") fill(this.body, errorState(error, () => this.load()));
      return;
    }
    if (this.isUpdating) return;
    this.isUpdating = true;
    startLiveUpdates({ signal: this.signal, pollMs: kPollMs, refresh: () => this.refresh(), stream: false, onConnection: (state) => showConnection(this.connection, state) });
  }

  // Only the response to the request for the page that is shown counts.
  async refresh() {
    const { cursors } = this;
    const page = await getJson(`/v1/batches${query({ limit: kPageSize, after: cursors.at(-1) })}`, { signal: this.signal });
    const isEmpty = !page.data.length && cursors.length === 1;
    if (isEmpty) this.model ??= await exampleModel(this.signal);
    if (cursors !== this.cursors || this.signal.aborted) return;
    updateInPlace(this.body, isEmpty ? noBatchesState(this.model) : fixedColumnTable("Batches", kColumns, page.data.map(row)));
    this.showPager(page);
  }

  showPager(page) {
    const isFirst = this.cursors.length === 1;
    const newer = button("Newer", () => this.goToPage(this.cursors.slice(0, -1)), { disabled: isFirst, data: { key: "newer" } });
    const older = button("Older", () => this.goToPage([...this.cursors, page.last_id]), { disabled: !page.has_more, data: { key: "older" } });
    const from = (this.cursors.length - 1) * kPageSize;
    updateInPlace(this.pager, page.has_more || !isFirst ? [newer, h("span", { class: "muted" }, `${from + 1} – ${from + page.data.length}`), older] : []);
  }

  async goToPage(cursors) {
    this.cursors = cursors;
    await this.load();
    window.scrollTo({ top: 0 });
  }
}

export const title = "Batches";
export function show(container, route) {
  return new BatchesScreen(container, route).begin();
}
