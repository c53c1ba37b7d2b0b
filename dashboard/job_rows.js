// The table of jobs. Each job has one row, which is updated in place.
import { fill, h, setText } from "./dom.js";
import { duration, fullTime, ran, relative } from "./format.js";
import { kindName, kTerminal, nameText, setChip } from "./parts.js";

const kTickMs = 1000;

// The text after the name: the error code or the progress.
function moreOf(job) {
  const { done, total } = job.progress ?? {};
  if (job.status === "failed" && job.error) return job.error.code;
  if (total) return `${done}/${total}`;
  return job.attempt > 1 ? `attempt ${job.attempt}` : "";
}

class Row {
  constructor(job, onChoice) {
    this.box = h("input", { type: "checkbox", "aria-label": `Select ${job.id}`, on: { change: () => onChoice(job.id, this.box.checked) } });
    this.state = h("td", { class: "state" });
    this.age = h("time", { datetime: job.created_at, title: fullTime(job.created_at) });
    this.took = h("td", { class: "number", "data-label": "Duration" });
    this.more = h("small", { class: "faint" });
    this.name = h("td", { class: "clip rest", "data-label": "Name" },
      job.name ? h("a", { href: `#/jobs/${job.id}`, tabindex: "-1" }, nameText(job.name)) : "", " ", this.more);
    this.element = h("tr", { data: { id: job.id } },
      h("td", { class: "pick" }, this.box), this.state,
      h("td", { class: "id" }, h("a", { href: `#/jobs/${job.id}`, title: job.id }, shortId(job.id))),
      this.name,
      h("td", { "data-label": "Kind" }, kindName(job.kind)),
      h("td", { "data-label": "Model", class: "clip" }, job.model ?? "–"),
      job.tenant ? h("td", { "data-label": "Tenant" }, job.tenant) : null,
      h("td", { "data-label": "Created" }, this.age), this.took);
    this.update(job);
  }

  update(job) {
    this.job = job;
    setChip(this.state, job.cancel_requested && !kTerminal.has(job.status) ? "cancelling" : job.status);
    const more = moreOf(job);
    setText(this.more, more || (job.name ? "" : "–"));
    this.name.classList.toggle("none", !job.name && !more);
    this.tick(Date.now());
  }

  tick(now) {
    setText(this.age, relative(this.job.created_at, now));
    setText(this.took, duration(ran(this.job, now)));
  }
}

// Ids begin with their creation time, so the end distinguishes them better.
export function shortId(id) {
  return `${id.slice(0, id.indexOf("-"))}-…${id.slice(-12)}`;
}

export class JobRows {
  // `onChoice()` is called when the selection changes. `signal` is aborted when the screen is left.
  constructor({ onChoice, signal }) {
    this.onChoice = onChoice;
    this.byId = new Map();
    this.chosen = new Set();
    this.body = h("tbody");
    this.all = h("input", { type: "checkbox", "aria-label": "Select all on this page", on: { change: () => this.chooseAll(this.all.checked) } });
    this.head = h("thead");
    this.table = h("div", { class: "wide" }, h("table", { class: "jobs one-lined" }, h("caption", { class: "unseen" }, "Jobs"), this.head, this.body));
    this.table.addEventListener("keydown", (event) => this.onKey(event));
    const timer = setInterval(() => {
      if (!this.table.isConnected) return;
      this.byId.forEach((row) => row.tick(Date.now()));
    }, kTickMs);
    signal.addEventListener("abort", () => clearInterval(timer));
  }

  has(id) {
    return this.byId.has(id);
  }

  jobs() {
    return [...this.byId.values()].map((row) => row.job);
  }

  chosenJobs() {
    return this.jobs().filter((job) => this.chosen.has(job.id));
  }

  update(job) {
    this.byId.get(job.id)?.update(job);
  }

  // Shows these jobs. Rows of jobs that were already shown keep their elements.
  replace(jobs) {
    const before = this.byId;
    this.byId = new Map(jobs.map((job) => [job.id, before.get(job.id) ?? new Row(job, (id, on) => this.choose(id, on))]));
    jobs.forEach((job) => this.update(job));
    this.chosen.forEach((id) => this.byId.has(id) || this.chosen.delete(id));
    fill(this.head, h("tr", {}, h("th", { class: "pick", scope: "col" }, this.all),
      ["State", "Job", "Name", "Kind", "Model", jobs[0]?.tenant && "Tenant", "Created", "Duration"].map((name) => name && h("th", { scope: "col" }, name))));
    this.body.replaceChildren(...[...this.byId.values()].map((row) => row.element));
    this.showAll();
  }

  choose(id, on) {
    if (on) this.chosen.add(id);
    else this.chosen.delete(id);
    this.byId.get(id).element.classList.toggle("is-chosen", on);
    this.byId.get(id).box.checked = on;
    this.showAll();
    this.onChoice();
  }

  chooseAll(on) {
    [...this.byId.keys()].forEach((id) => this.choose(id, on));
  }

  chooseNone() {
    this.chooseAll(false);
  }

  showAll() {
    this.all.checked = this.byId.size > 0 && this.chosen.size === this.byId.size;
    this.all.indeterminate = this.chosen.size > 0 && this.chosen.size < this.byId.size;
  }

  // The arrow keys move between rows; x selects the focused row.
  onKey(event) {
    const row = event.target.closest("tr[data-id]");
    const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    if (step) {
      row[step]?.querySelector("a")?.focus();
      event.preventDefault();
    } else if (event.key === "x" && event.target.tagName === "A") {
      this.choose(row.dataset.id, !this.chosen.has(row.dataset.id));
    }
  }
}
