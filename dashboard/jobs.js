// The list of jobs: filters, live rows, pagination by cursor, and bulk operations.
import { getJson, inTurns, query, send } from "./api.js";
import { button, fill, h, setText } from "./dom.js";
import { plural } from "./format.js";
import { confirmed, empty, heading, kTerminal, linkMark, select, showLink, troubled } from "./parts.js";
import { live, overviewWatch } from "./live.js";
import { pause } from "./stream.js";
import { guarded, toast } from "./toast.js";
import { JobRows } from "./job_rows.js";
import { firstJobs } from "./lessons.js";

const kLookMs = 2500;
const kCalmMs = 500;  // the minimum time between two updates
const kPage = 50;
const kStatuses = ["wake_in_progress", "queued", "running", "succeeded", "failed", "cancelled", "expired"];
const kTimes = [["", "Any time"], ["3600", "Last hour"], ["86400", "Last day"], ["604800", "Last week"]];
const kFilters = ["kind", "status", "model", "error", "since", "q", "tenant"];
const kBulkCallsMost = 1000;  // per bulk operation; each call changes up to 1,000 jobs

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
  constructor(place, { search, signal, replaceSearch, isAdmin }) {
    Object.assign(this, { place, signal, replaceSearch, isAdmin, whole: isAdmin && search.get("all") === "1" });
    this.filter = Object.fromEntries(kFilters.map((name) => [name, search.get(name) ?? ""]));
    this.cursors = [""];  // the cursors of this page and of the pages before it
    this.next = null;
    this.rows = new JobRows({ onChoice: () => this.showChoice(), signal });
    this.everyone = h("div", { class: "bar" });
    this.link = linkMark();
    this.fresh = null;  // a new first page that is not shown yet
  }

  get base() {
    return this.whole ? "/v1/admin/jobs" : "/v1/jobs";
  }

  async begin() {
    this.models = await getJson("/v1/models", { signal: this.signal }).then((r) => r.data.map((m) => m.id), () => []);
    this.kinds = await knownKinds();
    this.layOut();
    await this.load();
    const moved = overviewWatch();
    live({ signal: this.signal, ms: kLookMs, look: () => this.look(), stream: this.isAdmin, onLink: (state) => showLink(this.link, state),
      onJobs: (changes) => this.hear(changes), onOverview: (overview) => moved(overview) && this.hear(this.rows.jobs()) });
  }

  // Only the gateway knows whether a changed job matches the filters. One request covers all changes.
  async hear(changes) {
    if (document.visibilityState !== "visible") return;
    this.again = this.asking;
    if (this.asking) return;
    const shown = changes.some(({ id }) => this.rows.has(id));
    if (!shown && !this.onFirstPage) return;
    this.asking = true;
    try {
      await this.look();
    } catch {
      // The next change retries.
    }
    await pause(kCalmMs, this.signal).catch(() => {});
    this.asking = false;
    if (!this.again || this.signal.aborted) return;
    this.again = false;
    this.hear(this.rows.jobs());
  }

  layOut() {
    this.news = h("button", { type: "button", class: "news", hidden: true, on: { click: () => this.showFresh() } });
    this.body = h("div", {});
    this.pager = h("nav", { class: "pager", "aria-label": "Pages of jobs" });
    this.chosen = h("div", { class: "chosen", hidden: true });
    fill(this.place, heading("Jobs", "All jobs of this gateway, newest first.", this.link),
      this.filters(), this.everyone, this.news, this.body, this.pager, this.chosen);
    this.showEveryone();
  }

  filters() {
    const set = (name) => (value) => this.setFilter(name, value);
    const named = (label, name, options) => select(options, this.filter[name], set(name), { "aria-label": label });
    const text = (name, properties) => h("input", { type: "search", value: this.filter[name], spellcheck: "false",
      on: { input: (event) => this.setFilterSoon(name, event.target.value.trim()) }, ...properties });
    return h("div", { class: "filters", role: "search" },
      text("q", { placeholder: "Search by id or name", "aria-label": "Search by id or name", id: "search" }),
      named("Kind", "kind", [["", "All kinds"], ...this.kinds.map((k) => [k, k])]),
      named("State", "status", [["", "All states"], ...kStatuses.map((s) => [s, s.replaceAll("_", " ")])]),
      text("model", { placeholder: "Model", "aria-label": "Model", list: "models" }),
      h("datalist", { id: "models" }, this.models.map((m) => h("option", { value: m }))),
      named("Created within", "since", kTimes),
      this.filter.error ? button(`Failed with ${this.filter.error} ×`, () => {
        this.setFilter("error", "");
        this.layOut();
      }, { kind: "small", title: "Remove the filter by error code" }) : null);
  }

  // For administrators: the jobs of all tenants, and bulk operations on all jobs that match the filters.
  showEveryone() {
    if (!this.isAdmin) return;
    const box = h("input", { type: "checkbox", checked: this.whole, on: { change: () => {
      this.whole = box.checked;
      this.remember();
      this.showEveryone();
      this.restart();
    } } });
    const all = (verb, text, kind) => {
      const control = button(text, () => this.actOnAll(control, verb), { kind: `small ${kind}` });
      return control;
    };
    const tenant = h("input", { type: "search", value: this.filter.tenant, placeholder: "Tenant", "aria-label": "Tenant", spellcheck: "false", class: "short",
      on: { input: (event) => this.setFilterSoon("tenant", event.target.value.trim()) } });
    fill(this.everyone, h("label", { class: "check" }, box, h("span", {}, "All tenants")),
      this.whole ? [tenant, h("span", { class: "spring" }), all("retry", "Retry all matching jobs", ""), all("cancel", "Cancel all matching jobs", "danger")] : null);
  }

  async actOnAll(control, verb) {
    const filter = Object.fromEntries(Object.entries(this.asked()).filter(([, value]) => value));
    const which = Object.keys(filter).length ? "that match the filters" : "of this gateway";
    const detail = verb === "retry" ? "Each job that failed, expired or was cancelled is run again from its stored input." : "Each job that has not ended is cancelled.";
    if (!(await confirmed(`${verb === "retry" ? "Retry" : "Cancel"} all jobs ${which}?`, detail, "Confirm"))) return;
    await guarded(control, async () => {
      let changed = 0;
      let cursor;
      for (let calls = 0; calls === 0 || (cursor && calls < kBulkCallsMost); ++calls) {
        const outcome = await send("POST", `/v1/admin/jobs/${verb}`, { filter: { ...filter, ...(cursor ? { cursor } : {}) } });
        changed += outcome.changed;
        cursor = outcome.next_cursor;
      }
      toast(verb === "retry" ? `${plural(changed, "new job")} created` : `${plural(changed, "job")} being cancelled`);
      await this.load();
    });
  }

  remember() {
    this.replaceSearch({ ...this.filter, all: this.whole ? "1" : "" });
  }

  restart() {
    this.cursors = [""];
    return this.load();
  }

  setFilterSoon(name, value) {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.setFilter(name, value), 250);
  }

  setFilter(name, value) {
    this.filter[name] = value;
    this.remember();
    this.restart();
  }

  // The filters as parameters of the API.
  asked() {
    const { kind, status, model, error, since, q, tenant } = this.filter;
    const after = since && new Date(Date.now() - Number(since) * 1000).toISOString();
    return { kind, status, model, error, q, created_after: after, ...(this.whole ? { tenant } : {}) };
  }

  address(cursor) {
    return this.base + query({ ...this.asked(), limit: kPage, cursor });
  }

  get onFirstPage() {
    return this.cursors.length === 1;
  }

  // Only the response to the latest request is shown.
  async load() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    try {
      const page = await getJson(this.address(this.cursors.at(-1)), { signal: this.signal });
      if (turn === this.turn) this.showPage(page);
    } catch (error) {
      if (error.name !== "AbortError" && turn === this.turn) fill(this.body, troubled(error, () => this.load()));
    }
  }

  showPage(page) {
    this.fresh = null;
    this.news.hidden = true;
    this.next = page.next_cursor ?? null;
    this.rows.replace(page.items);
    if (page.items.length) {
      if (this.body.firstChild !== this.rows.table) fill(this.body, this.rows.table);
    } else {
      fill(this.body, this.nothing());
    }
    this.showPager(page.items.length);
    this.showChoice();
  }

  nothing() {
    const filtered = kFilters.some((name) => this.filter[name]);
    if (!filtered) return firstJobs();
    return empty("No matching jobs", "Remove a filter to see more jobs.",
      button("Clear filters", () => {
        this.filter = Object.fromEntries(kFilters.map((name) => [name, ""]));
        this.remember();
        this.layOut();
        this.restart();
      }));
  }

  showPager(count) {
    const newer = button("Newer", () => this.turnTo(this.cursors.slice(0, -1)), { disabled: this.onFirstPage });
    const older = button("Older", () => this.turnTo([...this.cursors, this.next]), { disabled: !this.next });
    const from = (this.cursors.length - 1) * kPage;
    fill(this.pager, count || !this.onFirstPage ? [newer, h("span", { class: "faint" }, `${from + 1} – ${from + count}`), older] : []);
  }

  turnTo(cursors) {
    this.cursors = cursors;
    this.rows.chooseNone();
    this.load().then(() => window.scrollTo({ top: 0 }));
  }

  // Updates the rows in place. If the reader has scrolled down, selected a row or focused one, new jobs are not
  // inserted. Instead, a button shows how many new jobs there are.
  async look() {
    if (this.onFirstPage) {
      const turn = this.turn;
      const page = await getJson(this.address(""), { signal: this.signal });
      if (turn === this.turn) this.take(page);
    }
    const open = this.rows.jobs().filter((job) => !kTerminal.has(job.status) && !this.seen?.has(job.id)).map((job) => job.id);
    if (!open.length) return;
    const page = await getJson(`${this.base}${query({ ids: open.slice(0, 100).join(",") })}`, { signal: this.signal });
    page.items.forEach((job) => this.rows.update(job));
  }

  take(page) {
    this.seen = new Set(page.items.map((job) => job.id));
    const news = page.items.filter((job) => !this.rows.has(job.id));
    page.items.forEach((job) => this.rows.update(job));
    if (!news.length) return;
    const busy = window.scrollY > 200 || this.rows.chosen.size > 0 || this.rows.table.contains(document.activeElement);
    if (!busy || !this.rows.jobs().length) return this.showPage(page);
    this.fresh = page;
    setText(this.news, news.length >= kPage ? `${kPage} or more new jobs: show` : `${plural(news.length, "new job")}: show`);
    this.news.hidden = false;
  }

  showFresh() {
    if (this.fresh) this.showPage(this.fresh);
    window.scrollTo({ top: 0 });
  }

  showChoice() {
    const jobs = this.rows.chosenJobs();
    this.chosen.hidden = jobs.length === 0;
    if (!jobs.length) return;
    const open = jobs.filter((job) => !kTerminal.has(job.status));
    const over = jobs.filter((job) => ["failed", "expired", "cancelled"].includes(job.status) && job.kind !== "exec");
    const cancel = button(`Cancel ${open.length}`, () => this.act(cancel, open, "cancel"), { disabled: !open.length });
    const retry = button(`Retry ${over.length}`, () => this.act(retry, over, "retry"), { disabled: !over.length });
    fill(this.chosen, h("strong", {}, `${plural(jobs.length, "job")} selected`), cancel, retry,
      button("Clear selection", () => this.rows.chooseNone()));
  }

  // Returns {done, failed}. In the list of all tenants, one call changes all jobs. Otherwise there is one call per job.
  async actOn(jobs, verb) {
    if (!this.whole) return inTurns(jobs, (job) => send("POST", `/v1/jobs/${job.id}/${verb}`));
    const { changed } = await send("POST", `/v1/admin/jobs/${verb}`, { ids: jobs.map((job) => job.id) });
    return { done: changed, failed: [] };
  }

  async act(control, jobs, verb) {
    const sure = verb === "retry" || (await confirmed(`Cancel ${plural(jobs.length, "job")}?`,
      "Partial results are kept as long as other results. Cancelled jobs are not restarted automatically.", "Cancel them"));
    if (!sure) return;
    await guarded(control, async () => {
      const outcome = await this.actOn(jobs, verb);
      this.rows.chooseNone();
      const done = verb === "retry" ? `${plural(outcome.done, "new job")} created` : `${plural(outcome.done, "job")} being cancelled`;
      if (outcome.failed.length) toast(`${done}; ${outcome.failed.length} refused`, { bad: true, detail: outcome.failed[0].message });
      else toast(done);
      await this.load();
    });
  }
}

export const title = "Jobs";
export function show(place, route) {
  return new JobsScreen(place, route).begin();
}
