// The list of jobs: filters, live rows, pagination by cursor, and bulk operations.
import { getJson, query, runConcurrently, send } from "./api.js";
import { changeMatching, unchangedText } from "./bulk.js";
import { button, fill, h, setText } from "./dom.js";
import { plural } from "./format.js";
import { confirmDialog, connectionStatus, emptyState, errorState, heading, kTerminal, select, showConnection } from "./components.js";
import { overviewChangeDetector, startLiveUpdates } from "./live_updates.js";
import { sleep } from "./stream.js";
import { runAction, toast } from "./toast.js";
import { JobRows } from "./job_rows.js";
import { noJobsState } from "./empty_states.js";
import { updateInPlace } from "./update_in_place.js";

const kPollMs = 2500;
const kRefreshIntervalMs = 500;  // the minimum time between two updates
const kPageSize = 50;
const kStatuses = ["scheduled", "wake_in_progress", "queued", "running", "succeeded", "failed", "cancelled", "expired"];
const kTimeRanges = [["", "Any time"], ["3600", "Last hour"], ["86400", "Last day"], ["604800", "Last week"]];
const kFilters = ["kind", "status", "model", "error", "since", "q", "tenant"];

// The kinds of jobs, from the gateway's OpenAPI document.
let kinds = null;
async function knownKinds() {
  if (kinds) return kinds;
  const document_ = await getJson("/openapi.json");
  const found = document_.paths["/v1/jobs"].get.parameters.find((p) => p.name === "kind");
  kinds = found?.schema.enum ?? [];
  return kinds;
}

class JobsScreen {
  constructor(container, { search, signal, replaceSearch, isAdmin }) {
    Object.assign(this, { container, signal, replaceSearch, isAdmin, allTenants: isAdmin && search.get("all") === "1" });
    this.filter = Object.fromEntries(kFilters.map((name) => [name, search.get(name) ?? ""]));
    this.cursors = [""];  // the cursors of this page and of the pages before it
    this.next = null;
    this.rows = new JobRows({ onSelectionChange: () => this.showSelection(), signal });
    this.tenantBar = h("div", { class: "toolbar" });
    this.connection = connectionStatus();
    this.pendingPage = null;  // a new first page that is not shown yet
  }

  get basePath() {
    return this.allTenants ? "/v1/admin/jobs" : "/v1/jobs";
  }

  async begin() {
    this.models = await getJson("/v1/models", { signal: this.signal }).then((r) => r.data.map((m) => m.id), () => []);
    this.kinds = await knownKinds();
    this.createLayout();
    await this.load();
    const hasChanged = overviewChangeDetector();
    startLiveUpdates({ signal: this.signal, pollMs: kPollMs, refresh: () => this.refresh(), stream: this.isAdmin, onConnection: (state) => showConnection(this.connection, state),
      onJobs: (changes) => this.onJobsChanged(changes), onOverview: (overview) => hasChanged(overview) && this.onJobsChanged(this.rows.jobs()) });
  }

  // Only the gateway knows whether a changed job matches the filters. One request covers all changes.
  async onJobsChanged(changes) {
    if (document.visibilityState !== "visible") return;
    this.refreshAgain = this.isRefreshing;
    if (this.isRefreshing) return;
    const shown = changes.some(({ id }) => this.rows.has(id));
    if (!shown && !this.onFirstPage) return;
    this.isRefreshing = true;
    try {
      await this.refresh();
    } catch {
      // The next change retries.
    }
    await sleep(kRefreshIntervalMs, this.signal).catch(() => {});
    this.isRefreshing = false;
    if (!this.refreshAgain || this.signal.aborted) return;
    this.refreshAgain = false;
    this.onJobsChanged(this.rows.jobs());
  }

  createLayout() {
    this.newJobsButton = h("button", { type: "button", class: "new-jobs", hidden: true, on: { click: () => this.showPendingPage() } });
    this.body = h("div", {});
    this.pager = h("nav", { class: "pager", "aria-label": "Pages of jobs" });
    this.selectionBar = h("div", { class: "selection-bar", hidden: true });
    fill(this.container, heading("Jobs", "All jobs of this gateway, newest first.", this.connection),
      this.filters(), this.tenantBar, this.newJobsButton, this.body, this.pager, this.selectionBar);
    this.showTenantBar();
  }

  filters() {
    const set = (name) => (value) => this.setFilter(name, value);
    const dropdown = (label, name, options) => select(options, this.filter[name], set(name), { "aria-label": label });
    const text = (name, properties) => h("input", { type: "search", value: this.filter[name], spellcheck: "false",
      on: { input: (event) => this.setFilterDebounced(name, event.target.value.trim()) }, ...properties });
    return h("div", { class: "filters", role: "search" },
      text("q", { placeholder: "Search by id or name", "aria-label": "Search by id or name", id: "search" }),
      dropdown("Kind", "kind", [["", "All kinds"], ...this.kinds.map((k) => [k, k])]),
      dropdown("State", "status", [["", "All states"], ...kStatuses.map((s) => [s, s.replaceAll("_", " ")])]),
      text("model", { placeholder: "Model", "aria-label": "Model", list: "models" }),
      h("datalist", { id: "models" }, this.models.map((m) => h("option", { value: m }))),
      dropdown("Created within", "since", kTimeRanges),
      this.filter.error ? button(`Failed with ${this.filter.error} ×`, () => {
        this.setFilter("error", "");
        this.createLayout();
      }, { kind: "small", title: "Remove the filter by error code" }) : null);
  }

  // For administrators: the jobs of all tenants, and bulk operations on all jobs that match the filters.
  showTenantBar() {
    if (!this.isAdmin) return;
    const checkbox = h("input", { type: "checkbox", checked: this.allTenants, on: { change: () => {
      this.allTenants = checkbox.checked;
      this.updateUrl();
      this.showTenantBar();
      this.reloadFirstPage();
    } } });
    const bulkButton = (action, text, kind) => {
      const control = button(text, () => this.changeAllMatching(control, action), { kind: `small ${kind}` });
      return control;
    };
    const tenant = h("input", { type: "search", value: this.filter.tenant, placeholder: "Tenant", "aria-label": "Tenant", spellcheck: "false", class: "narrow",
      on: { input: (event) => this.setFilterDebounced("tenant", event.target.value.trim()) } });
    fill(this.tenantBar, h("label", { class: "checkbox-label" }, checkbox, h("span", {}, "All tenants")),
      this.allTenants ? [tenant, h("span", { class: "spacer" }), bulkButton("retry", "Retry all matching jobs", ""), bulkButton("cancel", "Cancel all matching jobs", "danger")] : null);
  }

  async changeAllMatching(control, action) {
    const filter = Object.fromEntries(Object.entries(this.filterParameters()).filter(([, value]) => value));
    const scopeText = Object.keys(filter).length ? "that match the filters" : "of this gateway";
    const detail = action === "retry" ? "Each job that failed, expired or was cancelled is run again from its stored input, unless it was retried already." : "Each job that has not ended is cancelled.";
    if (!(await confirmDialog(`${action === "retry" ? "Retry" : "Cancel"} all jobs ${scopeText}?`, detail, "Confirm"))) return;
    await runAction(control, async () => {
      const { changed, unchanged } = await changeMatching(action, filter);
      toast(action === "retry" ? `${plural(changed, "new job")} created` : `${plural(changed, "job")} being cancelled`, { detail: unchangedText(unchanged) });
      await this.load();
    });
  }

  updateUrl() {
    this.replaceSearch({ ...this.filter, all: this.allTenants ? "1" : "" });
  }

  reloadFirstPage() {
    this.cursors = [""];
    return this.load();
  }

  setFilterDebounced(name, value) {
    clearTimeout(this.filterTimer);
    this.filterTimer = setTimeout(() => this.setFilter(name, value), 250);
  }

  setFilter(name, value) {
    this.filter[name] = value;
    this.updateUrl();
    this.reloadFirstPage();
  }

  // The filters as parameters of the API.
  filterParameters() {
    const { kind, status, model, error, since, q, tenant } = this.filter;
    const after = since && new Date(Date.now() - Number(since) * 1000).toISOString();
    return { kind, status, model, error, q, created_after: after, ...(this.allTenants ? { tenant } : {}) };
  }

  pageUrl(cursor) {
    return this.basePath + query({ ...this.filterParameters(), limit: kPageSize, cursor });
  }

  get onFirstPage() {
    return this.cursors.length === 1;
  }

  // Only the response to the latest request is shown.
  async load() {
    const requestNumber = (this.requestNumber = (this.requestNumber ?? 0) + 1);
    try {
      const page = await getJson(this.pageUrl(this.cursors.at(-1)), { signal: this.signal });
      if (requestNumber === this.requestNumber) this.showPage(page);
    } catch (error) {
      if (error.name !== "AbortError" && requestNumber === this.requestNumber) fill(this.body, errorState(error, () => this.load()));
    }
  }

  showPage(page) {
    this.pendingPage = null;
    this.newJobsButton.hidden = true;
    this.next = page.next_cursor ?? null;
    this.rows.replace(page.items);
    if (page.items.length) {
      if (this.body.firstChild !== this.rows.table) fill(this.body, this.rows.table);
    } else {
      fill(this.body, this.emptyList());
    }
    this.showPager(page.items.length);
    this.showSelection();
  }

  emptyList() {
    const filtered = kFilters.some((name) => this.filter[name]);
    if (!filtered) return noJobsState();
    return emptyState("No matching jobs", "Remove a filter to see more jobs.",
      button("Clear filters", () => {
        this.filter = Object.fromEntries(kFilters.map((name) => [name, ""]));
        this.updateUrl();
        this.createLayout();
        this.reloadFirstPage();
      }));
  }

  showPager(count) {
    const newer = button("Newer", () => this.goToPage(this.cursors.slice(0, -1)), { disabled: this.onFirstPage, data: { key: "newer" } });
    const older = button("Older", () => this.goToPage([...this.cursors, this.next]), { disabled: !this.next, data: { key: "older" } });
    const from = (this.cursors.length - 1) * kPageSize;
    updateInPlace(this.pager, count || !this.onFirstPage ? [newer, h("span", { class: "muted" }, `${from + 1} – ${from + count}`), older] : []);
  }

  goToPage(cursors) {
    this.cursors = cursors;
    this.rows.clearSelection();
    this.load().then(() => window.scrollTo({ top: 0 }));
  }

  // Updates the rows in place. If the reader has scrolled down, selected a row or focused one, new jobs are not
  // inserted. Instead, a button shows how many new jobs there are.
  async refresh() {
    if (this.onFirstPage) {
      const requestNumber = this.requestNumber;
      const page = await getJson(this.pageUrl(""), { signal: this.signal });
      if (requestNumber === this.requestNumber) this.showNewJobs(page);
    }
    const unfinished = this.rows.jobs().filter((job) => !kTerminal.has(job.status) && !this.firstPageIds?.has(job.id)).map((job) => job.id);
    if (!unfinished.length) return;
    const page = await getJson(`${this.basePath}${query({ ids: unfinished.slice(0, 100).join(",") })}`, { signal: this.signal });
    page.items.forEach((job) => this.rows.update(job));
  }

  showNewJobs(page) {
    this.firstPageIds = new Set(page.items.map((job) => job.id));
    const newJobs = page.items.filter((job) => !this.rows.has(job.id));
    page.items.forEach((job) => this.rows.update(job));
    if (!newJobs.length) return;
    const isReading = window.scrollY > 200 || this.rows.selected.size > 0 || this.rows.table.contains(document.activeElement);
    if (!isReading || !this.rows.jobs().length) return this.showPage(page);
    this.pendingPage = page;
    setText(this.newJobsButton, newJobs.length >= kPageSize ? `${kPageSize} or more new jobs: show` : `${plural(newJobs.length, "new job")}: show`);
    this.newJobsButton.hidden = false;
  }

  showPendingPage() {
    if (this.pendingPage) this.showPage(this.pendingPage);
    window.scrollTo({ top: 0 });
  }

  showSelection() {
    const jobs = this.rows.selectedJobs();
    this.selectionBar.hidden = jobs.length === 0;
    if (!jobs.length) return;
    const unfinished = jobs.filter((job) => !kTerminal.has(job.status));
    const retryable = jobs.filter((job) => ["failed", "expired", "cancelled"].includes(job.status) && job.kind !== "exec" && !job.retried_by);
    const cancel = button(`Cancel ${unfinished.length}`, () => this.changeSelected(cancel, unfinished, "cancel"), { disabled: !unfinished.length });
    const retry = button(`Retry ${retryable.length}`, () => this.changeSelected(retry, retryable, "retry"), { disabled: !retryable.length });
    fill(this.selectionBar, h("strong", {}, `${plural(jobs.length, "job")} selected`), cancel, retry,
      button("Clear selection", () => this.rows.clearSelection()));
  }

  // Returns {done, failed}. In the list of all tenants, one call changes all jobs. Otherwise there is one call per job.
  async changeJobs(jobs, action) {
    if (!this.allTenants) return runConcurrently(jobs, (job) => send("POST", `/v1/jobs/${job.id}/${action}`));
    const { changed, unchanged } = await send("POST", `/v1/admin/jobs/${action}`, { ids: jobs.map((job) => job.id) });
    return { done: changed, failed: [], unchanged };
  }

  async changeSelected(control, jobs, action) {
    const isConfirmed = action === "retry" || (await confirmDialog(`Cancel ${plural(jobs.length, "job")}?`,
      "Partial results are kept as long as other results. Cancelled jobs are not restarted automatically.", "Cancel them"));
    if (!isConfirmed) return;
    await runAction(control, async () => {
      const outcome = await this.changeJobs(jobs, action);
      this.rows.clearSelection();
      const done = action === "retry" ? `${plural(outcome.done, "new job")} created` : `${plural(outcome.done, "job")} being cancelled`;
      if (outcome.failed.length) toast(`${done}; ${outcome.failed.length} refused`, { isError: true, detail: outcome.failed[0].message });
      else toast(done, { detail: unchangedText(outcome.unchanged) });
      await this.load();
    });
  }
}

export const title = "Jobs";
export function show(container, route) {
  return new JobsScreen(container, route).begin();
}
