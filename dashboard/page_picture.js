// Small pictures of a document's pages. The gateway draws each picture on request, so they are requested one at a time,
// and only when they come into view.
import { call } from "./api.js";
import { fill, h } from "./dom.js";
import { pause } from "./stream.js";

const kTriesMost = 4;
const kLater = new Set([429, 503]);
const kAgainMs = 2000;
const kNearView = "400px";  // a picture is requested shortly before it is visible
const kPaper = { width: 210, height: 297 };  // the size of a page of unknown size

export class PagePictures {
  // `signal` is aborted when the screen is left. `root`: the scrolling element, if it is not the window.
  constructor(jobId, signal, root = null) {
    Object.assign(this, { jobId, signal, line: [], places: new Map(), urls: [], busy: false });
    this.watcher = new IntersectionObserver((seen) => this.see(seen), { root, rootMargin: kNearView });
    signal.addEventListener("abort", () => this.close());
  }

  // A placeholder with the size of the picture, so the layout does not shift.
  place(page) {
    const { width, height } = page.dimensions ?? kPaper;
    const place = h("div", { class: "picture", data: { page: page.index } });
    place.style.aspectRatio = `${width} / ${height}`;
    this.places.set(place, page.index);
    this.watcher.observe(place);
    return place;
  }

  see(entries) {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      this.watcher.unobserve(target);
      this.line.push(target);
    }
    this.draw();
  }

  async draw() {
    if (this.busy) return;
    this.busy = true;
    while (this.line.length && !this.signal.aborted) await this.drawOne(this.line.shift());
    this.busy = false;
  }

  async drawOne(place) {
    const index = this.places.get(place);
    try {
      const url = await this.ask(index);
      fill(place, h("img", { src: url, alt: `Picture of page ${index + 1}` }));
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.code === "result_expired" || error.status === 503) this.hide();
      else fill(place, h("p", { class: "faint" }, error.message));
    }
  }

  async ask(index) {
    for (let tries = 1; ; ++tries) {
      try {
        const response = await call("GET", `/v1/jobs/${this.jobId}/pages/${index}/picture`, { signal: this.signal });
        const url = URL.createObjectURL(await response.blob());
        this.urls.push(url);
        return url;
      } catch (error) {
        if (!kLater.has(error.status) || tries === kTriesMost) throw error;
        await pause(kAgainMs, this.signal);
      }
    }
  }

  // The document has been deleted, or this gateway draws no pictures: only the text is shown.
  hide() {
    this.line = [];
    this.watcher.disconnect();
    this.places.forEach((index, place) => place.remove());
    this.gone = true;
  }

  close() {
    this.watcher.disconnect();
    this.urls.forEach((url) => URL.revokeObjectURL(url));
  }
}
