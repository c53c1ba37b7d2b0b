// Small pictures of a document's pages. The gateway draws each picture on request, so they are requested one at a time,
// and only when they come into view.
import { call } from "./api.js";
import { fill, h } from "./dom.js";
import { sleep } from "./stream.js";

const kAttemptsMax = 4;
const kRetryStatuses = new Set([429, 503]);
const kRetryMs = 2000;
const kPreloadMargin = "400px";  // a picture is requested shortly before it is visible
const kDefaultSize = { width: 210, height: 297 };  // the size of a page of unknown size

export class PagePictures {
  // `signal` is aborted when the screen is left. `root`: the scrolling element, if it is not the window.
  constructor(jobId, signal, root = null) {
    Object.assign(this, { jobId, signal, queue: [], placeholders: new Map(), urls: [], isLoading: false });
    this.observer = new IntersectionObserver((entries) => this.onVisible(entries), { root, rootMargin: kPreloadMargin });
    signal.addEventListener("abort", () => this.close());
  }

  // A placeholder with the size of the picture, so the layout does not shift.
  placeholder(page) {
    const { width, height } = page.dimensions ?? kDefaultSize;
    const placeholder = h("div", { class: "picture", data: { page: page.index } });
    placeholder.style.aspectRatio = `${width} / ${height}`;
    this.placeholders.set(placeholder, page.index);
    this.observer.observe(placeholder);
    return placeholder;
  }

  onVisible(entries) {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      this.observer.unobserve(target);
      this.queue.push(target);
    }
    this.loadQueued();
  }

  async loadQueued() {
    if (this.isLoading) return;
    this.isLoading = true;
    while (this.queue.length && !this.signal.aborted) await this.loadPicture(this.queue.shift());
    this.isLoading = false;
  }

  async loadPicture(placeholder) {
    const index = this.placeholders.get(placeholder);
    try {
      const url = await this.fetchPicture(index);
      fill(placeholder, h("img", { src: url, alt: `Picture of page ${index + 1}` }));
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.code === "result_expired" || error.status === 503) this.disable();
      else fill(placeholder, h("p", { class: "muted" }, error.message));
    }
  }

  async fetchPicture(index) {
    for (let attempt = 1; ; ++attempt) {
      try {
        const response = await call("GET", `/v1/jobs/${this.jobId}/pages/${index}/picture`, { signal: this.signal });
        const url = URL.createObjectURL(await response.blob());
        this.urls.push(url);
        return url;
      } catch (error) {
        if (!kRetryStatuses.has(error.status) || attempt === kAttemptsMax) throw error;
        await sleep(kRetryMs, this.signal);
      }
    }
  }

  // The document has been deleted, or this gateway draws no pictures: only the text is shown.
  disable() {
    this.queue = [];
    this.observer.disconnect();
    this.placeholders.forEach((index, placeholder) => placeholder.remove());
    this.isDisabled = true;
  }

  close() {
    this.observer.disconnect();
    this.urls.forEach((url) => URL.revokeObjectURL(url));
  }
}
