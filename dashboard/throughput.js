// Charts of completed jobs per second and queued jobs since the page was opened. Each overview adds a value.
import { area } from "./chart.js";
import { h } from "./dom.js";
import { count, duration, plural } from "./format.js";
import { card } from "./components.js";

const kSamplesMax = 120;
const kGapMs = 15000;  // after a longer gap the chart starts again

function sum(kinds, pick) {
  return kinds.reduce((all, kind) => all + pick(kind), 0);
}

// Uses the counts of the last day. Jobs that became older than a day since the last sample are ignored.
function sampleOf({ at, kinds }) {
  return { at: new Date(at).getTime(), endedJobs: sum(kinds, ({ day }) => day.succeeded + day.failed + day.commands_failed + day.cancelled + day.expired), queued: sum(kinds, (k) => k.queued ?? 0) };
}

function perSecond(number) {
  return number >= 100 ? count(Math.round(number)) : number.toFixed(number && number < 10 ? 1 : 0);
}

function panel(title, now, values, { className, label }) {
  return h("div", { class: "throughput-chart" }, h("p", {}, h("span", { class: "muted" }, title), " ", h("strong", { class: "number" }, now)), area(values, { className, label }));
}

export class ThroughputCharts {
  constructor() {
    this.samples = [];
  }

  addOverview(overview) {
    const sample = sampleOf(overview);
    const last = this.samples.at(-1);
    if (last && sample.at <= last.at) return;
    if (last && sample.at - last.at > kGapMs) this.samples = [];
    this.samples.push(sample);
    this.samples.splice(0, Math.max(0, this.samples.length - kSamplesMax));
  }

  // One rate for each sample except the first.
  rates() {
    return this.samples.slice(1).map((sample, i) => {
      const { at, endedJobs } = this.samples[i];
      return (Math.max(0, sample.endedJobs - endedJobs) * 1000) / (sample.at - at);
    });
  }

  element() {
    const rates = this.rates();
    const queued = this.samples.map((sample) => sample.queued);
    const span = rates.length ? `over ${duration(this.samples.at(-1).at - this.samples[0].at)}` : "starting now";
    const rate = rates.at(-1) ?? 0;
    return card("", h("div", { class: "throughput-charts" },
      panel("Completed per second", perSecond(rate), rates, { className: "good", label: `Completed per second, ${span}: now ${perSecond(rate)}, at most ${perSecond(Math.max(0, ...rates))}` }),
      panel("Queued", count(queued.at(-1) ?? 0), queued, { className: "busy", label: `Queued jobs, ${span}: now ${plural(queued.at(-1) ?? 0, "job")}, at most ${count(Math.max(0, ...queued))}` })),
    h("p", { class: "axis-labels muted", "aria-hidden": "true" }, h("span", {}, rates.length ? `${duration(this.samples.at(-1).at - this.samples[0].at)} ago` : "since the page was opened"), h("span", {}), h("span", {}, "now")));
  }
}
