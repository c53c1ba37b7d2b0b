// Small charts in SVG. Each says in words what it shows.
import { h, svg } from "./dom.js";
import { plural } from "./format.js";

const kWidth = 240;
const kHeight = 56;
const kGap = 1;

// What the height of a chart stands for: 1, 2, 5, 10, 20, 50 …, so that it changes seldom.
export function scaleFor(most) {
  for (let ten = 1; ; ten *= 10) {
    for (const scale of [ten, 2 * ten, 5 * ten]) if (scale >= most) return scale;
  }
}

// Stacked bars: `rows` are lists of one length, the first at the bottom, each with its class. The last bar still grows,
// and is drawn so.
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

// A line with its ground filled, the newest value at the right; it fills the width once there are two.
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

// How much of something is used.
export function gauge(used, all, label) {
  return h("meter", { min: 0, max: Math.max(all, 1), value: used, "aria-label": label, title: label });
}
