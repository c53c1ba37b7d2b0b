// Small charts in SVG. Each has a text alternative.
import { h, svg } from "./dom.js";
import { plural } from "./format.js";

const kWidth = 240;
const kHeight = 56;
const kGap = 1;

// The maximum of the vertical axis: 1, 2, 5, 10, 20, 50 …. With these steps the scale rarely changes.
export function scaleFor(most) {
  for (let ten = 1; ; ten *= 10) {
    for (const scale of [ten, 2 * ten, 5 * ten]) if (scale >= most) return scale;
  }
}

// Stacked bars. `rows`: series of equal length, each with a CSS class; the first is at the bottom. The last bar is not
// complete yet, so it is drawn lighter.
export function bars(rows, { label, names }) {
  const length = rows[0].values.length;
  const sums = Array.from({ length }, (_, at) => rows.reduce((sum, row) => sum + row.values[at], 0));
  const most = scaleFor(Math.max(...sums));
  const step = kWidth / length;
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${kWidth} ${kHeight}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
  picture.append(svg("line", { class: "axis", x1: 0, x2: kWidth, y1: kHeight - 0.5, y2: kHeight - 0.5 }),
    svg("rect", { class: "present", x: kWidth - step, y: 0, width: step - kGap, height: kHeight - 1 }, svg("title", {}, names(length - 1))));
  for (let at = 0; at < length; ++at) {
    let top = kHeight - 1;
    for (const row of rows) {
      const height = (row.values[at] / most) * (kHeight - 4);
      if (!height) continue;
      top -= height;
      const words = `${plural(row.values[at], row.name)}, ${names(at)}`;
      const look = at === length - 1 ? `${row.look} unfinished` : row.look;
      picture.append(svg("rect", { class: look, x: at * step, y: top, width: step - kGap, height: Math.max(height, 1) }, svg("title", {}, words)));
    }
  }
  return picture;
}

// A line chart with a filled area. The newest value is at the right. With fewer than two values only the axis is drawn.
export function area(values, { look, label }) {
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${kWidth} ${kHeight}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
  picture.append(svg("line", { class: "axis", x1: 0, x2: kWidth, y1: kHeight - 0.5, y2: kHeight - 0.5 }));
  if (values.length < 2) return picture;
  const most = Math.max(1, ...values);
  const points = values.map((value, at) => `${((at / (values.length - 1)) * kWidth).toFixed(1)},${(kHeight - 1 - (value / most) * (kHeight - 4)).toFixed(1)}`);
  picture.append(svg("polygon", { class: `${look} ground`, points: `0,${kHeight - 1} ${points.join(" ")} ${kWidth},${kHeight - 1}` }),
    svg("polyline", { class: `${look} edge`, points: points.join(" "), "vector-effect": "non-scaling-stroke" }));
  return picture;
}

// A meter of used capacity.
export function gauge(used, all, label) {
  return h("meter", { min: 0, max: Math.max(all, 1), value: used, "aria-label": label, title: label });
}
