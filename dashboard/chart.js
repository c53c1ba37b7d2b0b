// Small charts in SVG. Each has a text alternative.
import { h, svg } from "./dom.js";
import { plural } from "./format.js";

const kWidth = 240;
const kHeight = 56;
const kGap = 1;

// The maximum of the vertical axis: 1, 2, 5, 10, 20, 50 …. With these steps the scale rarely changes.
export function scaleFor(maximum) {
  for (let ten = 1; ; ten *= 10) {
    for (const scale of [ten, 2 * ten, 5 * ten]) if (scale >= maximum) return scale;
  }
}

// Stacked bars. `seriesList`: series of equal length, {values, className, name}; the first is at the bottom.
// `barName(index)`: the name of a bar. The last bar is not complete yet, so it is drawn lighter.
export function bars(seriesList, { label, barName }) {
  const length = seriesList[0].values.length;
  const sums = Array.from({ length }, (_, index) => seriesList.reduce((sum, series) => sum + series.values[index], 0));
  const maximum = scaleFor(Math.max(...sums));
  const barWidth = kWidth / length;
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${kWidth} ${kHeight}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
  chart.append(svg("line", { class: "axis", x1: 0, x2: kWidth, y1: kHeight - 0.5, y2: kHeight - 0.5 }),
    svg("rect", { class: "current-bar", x: kWidth - barWidth, y: 0, width: barWidth - kGap, height: kHeight - 1 }, svg("title", {}, barName(length - 1))));
  for (let index = 0; index < length; ++index) {
    let top = kHeight - 1;
    for (const series of seriesList) {
      const height = (series.values[index] / maximum) * (kHeight - 4);
      if (!height) continue;
      top -= height;
      const tooltip = `${plural(series.values[index], series.name)}, ${barName(index)}`;
      const className = index === length - 1 ? `${series.className} unfinished` : series.className;
      chart.append(svg("rect", { class: className, x: index * barWidth, y: top, width: barWidth - kGap, height: Math.max(height, 1) }, svg("title", {}, tooltip)));
    }
  }
  return chart;
}

// A line chart with a filled area. The newest value is at the right. With fewer than two values only the axis is drawn.
export function area(values, { className, label }) {
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${kWidth} ${kHeight}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
  chart.append(svg("line", { class: "axis", x1: 0, x2: kWidth, y1: kHeight - 0.5, y2: kHeight - 0.5 }));
  if (values.length < 2) return chart;
  const maximum = Math.max(1, ...values);
  const points = values.map((value, index) => `${((index / (values.length - 1)) * kWidth).toFixed(1)},${(kHeight - 1 - (value / maximum) * (kHeight - 4)).toFixed(1)}`);
  chart.append(svg("polygon", { class: `${className} area`, points: `0,${kHeight - 1} ${points.join(" ")} ${kWidth},${kHeight - 1}` }),
    svg("polyline", { class: `${className} line`, points: points.join(" "), "vector-effect": "non-scaling-stroke" }));
  return chart;
}

// A meter of used capacity.
export function gauge(used, total, label) {
  return h("meter", { min: 0, max: Math.max(total, 1), value: used, "aria-label": label, title: label });
}
