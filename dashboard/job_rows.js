// The table of jobs. Each job has one row, which is updated in place.
import { fill, h, setText } from "./dom.js";
import { duration, fullTime, relative, runMs } from "./format.js";
import { kindName, kTerminal, nameText, setChip } from "./components.js";

const kTickMs = 1000;

// The text after the name: the error code or the progress.
function detailText(job) {
  const { done, total } = job.progress ?? {};
  if (job.status === "failed" && job.error) return job.error.code;
  if (total) return `${done}/${total}`;
  return job.attempt > 1 ? `attempt ${job.attempt}` : "";
}

class JobRow {
  constructor(job, onSelectionChange) {
    this.checkbox = h("input", { type: "checkbox", "aria-label": `Select ${job.id}`, on: { change: () => onSelectionChange(job.id, this.checkbox.checked) } });
    this.state = h("td", { class: "state" });
    this.createdTime = h("time", { datetime: job.created_at, title: fullTime(job.created_at) });
    this.durationCell = h("td", { class: "number", "data-label": "Duration" });
    this.detail = h("small", { class: "muted" });
    this.name = h("td", { class: "truncate fill-width", "data-label": "Name" },
      job.name ? h("a", { href: `#/jobs/${job.id}`, tabindex: "-1" }, nameText(job.name)) : "", " ", this.detail);
    this.element = h("tr", { data: { id: job.id } },
      h("td", { class: "select-cell" }, this.checkbox), this.state,
      h("td", { class: "id" }, h("a", { href: `#/jobs/${job.id}`, title: job.id }, shortId(job.id))),
      this.name,
      h("td", { "data-label": "Kind" }, kindName(job.kind)),
      h("td", { "data-label": "Model", class: "truncate" }, job.model ?? "–"),
      job.tenant ? h("td", { "data-label": "Tenant" }, job.tenant) : null,
      h("td", { "data-label": "Created" }, this.createdTime), this.durationCell);
    this.update(job);
  }

  update(job) {
    this.job = job;
    setChip(this.state, job.cancel_requested && !kTerminal.has(job.status) ? "cancelling" : job.status);
    const detail = detailText(job);
    setText(this.detail, detail || (job.name ? "" : "–"));
    this.name.classList.toggle("is-empty", !job.name && !detail);
    this.tick(Date.now());
  }

  tick(now) {
    setText(this.createdTime, relative(this.job.created_at, now));
    setText(this.durationCell, duration(runMs(this.job, now)));
  }
}

// Ids begin with their creation time, so the end distinguishes them better.
export function shortId(id) {
  return `${id.slice(0, id.indexOf("-"))}-…${id.slice(-12)}`;
}

export class JobRows {
  // `onSelectionChange()` is called when the selection changes. `signal` is aborted when the screen is left.
  constructor({ onSelectionChange, signal }) {
    this.onSelectionChange = onSelectionChange;
    this.rowsById = new Map();
    this.selected = new Set();
    this.body = h("tbody");
    this.selectAllBox = h("input", { type: "checkbox", "aria-label": "Select all on this page", on: { change: () => this.selectAll(this.selectAllBox.checked) } });
    this.head = h("thead");
    this.table = h("div", { class: "table-container" }, h("table", { class: "jobs single-line" }, h("caption", { class: "visually-hidden" }, "Jobs"), this.head, this.body));
    this.table.addEventListener("keydown", (event) => this.onKey(event));
    const timer = setInterval(() => {
      if (!this.table.isConnected) return;
      this.rowsById.forEach((row) => row.tick(Date.now()));
    }, kTickMs);
    signal.addEventListener("abort", () => clearInterval(timer));
  }

  has(id) {
    return this.rowsById.has(id);
  }

  jobs() {
    return [...this.rowsById.values()].map((row) => row.job);
  }

  selectedJobs() {
    return this.jobs().filter((job) => this.selected.has(job.id));
  }

  update(job) {
    this.rowsById.get(job.id)?.update(job);
  }

  // Shows these jobs. Rows of jobs that were already shown keep their elements.
  replace(jobs) {
    const previous = this.rowsById;
    this.rowsById = new Map(jobs.map((job) => [job.id, previous.get(job.id) ?? new JobRow(job, (id, on) => this.select(id, on))]));
    jobs.forEach((job) => this.update(job));
    this.selected.forEach((id) => this.rowsById.has(id) || this.selected.delete(id));
    fill(this.head, h("tr", {}, h("th", { class: "select-cell", scope: "col" }, this.selectAllBox),
      ["State", "Job", "Name", "Kind", "Model", jobs[0]?.tenant && "Tenant", "Created", "Duration"].map((name) => name && h("th", { scope: "col" }, name))));
    this.body.replaceChildren(...[...this.rowsById.values()].map((row) => row.element));
    this.updateSelectAll();
  }

  select(id, on) {
    if (on) this.selected.add(id);
    else this.selected.delete(id);
    this.rowsById.get(id).element.classList.toggle("is-selected", on);
    this.rowsById.get(id).checkbox.checked = on;
    this.updateSelectAll();
    this.onSelectionChange();
  }

  selectAll(on) {
    [...this.rowsById.keys()].forEach((id) => this.select(id, on));
  }

  clearSelection() {
    this.selectAll(false);
  }

  updateSelectAll() {
    this.selectAllBox.checked = this.rowsById.size > 0 && this.selected.size === this.rowsById.size;
    this.selectAllBox.indeterminate = this.selected.size > 0 && this.selected.size < this.rowsById.size;
  }

  // The arrow keys move between rows; x selects the focused row.
  onKey(event) {
    const row = event.target.closest("tr[data-id]");
    const sibling = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    if (sibling) {
      row[sibling]?.querySelector("a")?.focus();
      event.preventDefault();
    } else if (event.key === "x" && event.target.tagName === "A") {
      this.select(row.dataset.id, !this.selected.has(row.dataset.id));
    }
  }
}
