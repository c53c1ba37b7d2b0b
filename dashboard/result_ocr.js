// Shows the pages of a document beside their markdown, as they finish.
import { getJson } from "./api.js";
import { button, fill, h, setText } from "./dom.js";
import { plural } from "./format.js";
import { markdown } from "./markdown.js";
import { PagePictures } from "./page_picture.js";
import { card, copyText, kTerminal, save } from "./parts.js";
import { tellError } from "./toast.js";

const kGatherMs = 120;  // pages that finish within this time are requested together
const kPagesPerAsk = 50;
const kShownMost = 60;  // rendered at first; the others on demand

// An image of a page. The result contains it as a data URI.
function pictureOf(page) {
  return (name, text) => {
    const image = page.images.find((i) => i.id === name);
    if (!image?.image_base64?.startsWith("data:image/")) return null;
    return h("img", { src: image.image_base64, alt: text || name, loading: "lazy" });
  };
}

function pageBody(page, raw) {
  if (page.error) return h("p", { class: "notice bad" }, h("strong", {}, page.error.message), " ", h("code", {}, page.error.code));
  if (!page.markdown.trim()) return h("p", { class: "faint" }, "No text found on this page.");
  return raw ? h("pre", { class: "raw", tabindex: "0" }, page.markdown) : markdown(page.markdown, { picture: pictureOf(page), headingsFrom: 3 });
}

export class PageList {
  // `pictures`: the pictures of the pages, shown beside their text, or null.
  constructor(name, pictures = null) {
    this.name = name;
    this.pictures = pictures;
    this.pages = new Map();
    this.expected = [];
    this.raw = false;
    this.most = kShownMost;
    this.list = h("div", { class: "pages" });
    this.more = h("div", {});
    this.toggle = button("Show the markdown", () => this.setRaw(!this.raw), { kind: "small", "aria-pressed": "false" });
    this.count = h("strong", {});
    this.bar = h("div", { class: "bar", hidden: true }, this.count, this.toggle,
      button("Copy all", () => copyText(this.text(), "Copied the markdown of all pages"), { kind: "small", iconName: "copy" }),
      button("Download .md", () => save(this.text(), `${this.name()}.md`), { kind: "small", iconName: "drop" }));
    this.element = h("div", {}, this.bar, this.list, this.more);
  }

  text() {
    return this.sorted().map((page) => page.markdown).join("\n\n");
  }

  sorted() {
    return [...this.pages.values()].sort((a, b) => a.index - b.index);
  }

  setRaw(raw) {
    this.raw = raw;
    this.toggle.setAttribute("aria-pressed", String(raw));
    setText(this.toggle.lastChild, raw ? "Show the page" : "Show the markdown");
    this.list.replaceChildren();
    this.show();
  }

  // Adds placeholders for pages that will follow, so the layout does not shift when they arrive.
  expect(indexes) {
    if (this.expected.length) return;
    this.expected = indexes;
    this.show();
  }

  // The job has ended. No more pages follow.
  end() {
    this.isOver = true;
    this.list.querySelectorAll(".not-yet").forEach((place) => setText(place, "Not read: the job has ended."));
    this.show();
  }

  take(pages) {
    pages.forEach((page) => this.pages.set(page.index, page));
    this.show();
  }

  // Inserts missing pages in order. Pages that are already shown stay unchanged.
  show() {
    const indexes = [...new Set([...this.expected, ...this.pages.keys()])].sort((a, b) => a - b);
    const shown = new Map([...this.list.children].map((element) => [Number(element.dataset.page), element]));
    indexes.slice(0, this.most).forEach((index, place) => {
      const element = this.sheetFor(index, shown.get(index));
      if (this.list.children[place] !== element) this.list.insertBefore(element, this.list.children[place] ?? null);
    });
    this.bar.hidden = indexes.length === 0;
    setText(this.count, this.pages.size < indexes.length ? `${this.pages.size} of ${plural(indexes.length, "page")}` : plural(indexes.length, "page"));
    fill(this.more, indexes.length > this.most ? button(`Show ${Math.min(kShownMost, indexes.length - this.most)} more pages`, () => {
      this.most += kShownMost;
      this.show();
    }) : null);
  }

  sheetFor(index, before) {
    const page = this.pages.get(index);
    if (before && (!page || before.dataset.read)) return before;
    const element = page ? this.sheet(page, Boolean(before)) : this.place(index);
    before?.replaceWith(element);
    return element;
  }

  get hasPictures() {
    return this.pictures && !this.pictures.gone;
  }

  // The placeholder of a page that is not read yet, with about the size of the page.
  place(index) {
    const picture = this.hasPictures && h("div", { class: "picture is-paper" });
    return h("article", { class: "sheet is-placed", data: { page: index }, "aria-label": `Page ${index + 1}` }, h("header", {}, h("h3", {}, `Page ${index + 1}`)),
      h("div", { class: "pictured" }, picture, h("div", { class: "text" }, h("p", { class: "faint not-yet" }, this.isOver ? "Not read." : "Not read yet …"))));
  }

  // `hadPlace`: the page replaces a placeholder, and its picture keeps the size of the placeholder.
  sheet(page, hadPlace = false) {
    const size = page.dimensions ? `${page.dimensions.width} × ${page.dimensions.height} px` : "";
    return h("article", { class: `sheet ${hadPlace ? "is-placed" : ""}`, data: { page: page.index, read: "1" }, "aria-label": `Page ${page.index + 1}` },
      h("header", {}, h("h3", {}, `Page ${page.index + 1}`), h("span", { class: "faint" }, size)),
      h("div", { class: "pictured" }, this.hasPictures && this.pictures.place(hadPlace ? { index: page.index } : page), h("div", { class: "text" }, pageBody(page, this.raw))));
  }
}

// The indexes of the pages that a job reads, as far as they are known.
export function pagesToCome(total, asked) {
  const chosen = asked?.body.pages;
  return chosen?.length === total ? chosen : Array.from({ length: total }, (_, index) => index);
}

// Requests pages when events report them. One request covers pages that finish together.
export class PageFeed {
  constructor(id, take, signal) {
    Object.assign(this, { path: `/v1/jobs/${id}/result`, take, signal, missing: new Set(), timer: null });
  }

  want(index) {
    this.missing.add(index);
    this.timer ??= setTimeout(() => this.ask(), kGatherMs);
  }

  async ask() {
    const wanted = [...this.missing].slice(0, kPagesPerAsk);
    wanted.forEach((index) => this.missing.delete(index));
    try {
      const result = await getJson(`${this.path}?partial=true&pages=${wanted.join(",")}`, { signal: this.signal });
      if (result) this.take(result.pages);
    } catch (error) {
      tellError(error);
    }
    this.timer = this.missing.size ? setTimeout(() => this.ask(), kGatherMs) : null;
  }

  async all() {
    const result = await getJson(this.path, { signal: this.signal });
    if (result) this.take(result.pages);
    return result;
  }
}

export function ocrResult(job, signal, { note, request }) {
  const pages = new PageList(() => job.id, new PagePictures(job.id, signal));
  const take = (list) => {
    pages.take(list);
    if (list.length) note.give();
  };
  const feed = new PageFeed(job.id, take, signal);

  async function expect({ progress }) {
    if (!progress?.total) return;
    const { asked } = await request;
    pages.expect(pagesToCome(progress.total, asked));
    note.give();
  }

  return {
    element: card("Pages", pages.element, note.element),
    async begin(now) {
      try {
        if (now.status === "succeeded") await feed.all();
        else if (!kTerminal.has(now.status)) await expect(now);
      } catch (error) {
        tellError(error);
      }
    },
    onEvent(event) {
      if (event.type === "progress" && !kTerminal.has(job.status)) expect({ progress: event.data });
      if (event.type === "page" && !pages.pages.has(event.data.index) && job.status !== "succeeded") feed.want(event.data.index);
    },
    async finish(now) {
      if (now.status === "succeeded") await feed.all();
      pages.end();
    },
  };
}
