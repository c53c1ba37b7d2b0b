// Tables with columns of fixed width.
import { h } from "./dom.js";

// `columns`: [name, width in rem] each; a name that begins with "-" is visible only to screen readers. Rows are `tr`.
export function fixedColumnTable(caption, columns, rows) {
  const heads = columns.map(([name]) => h("th", { scope: "col" }, name.startsWith("-") ? h("span", { class: "visually-hidden" }, name.slice(1)) : name));
  return h("div", { class: "table-container" }, h("table", { class: "cards fixed-columns" }, h("caption", { class: "visually-hidden" }, caption),
    h("colgroup", {}, columns.map(([, width]) => h("col", { class: `w${width}` }))),
    h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)));
}
