// Live updates of screens: the gateway's event stream for administrators, and polling while there is no stream.
import { everyWhile, follow } from "./stream.js";

const kCalmMs = 400;  // changes within this time are reported together
const kSilenceMs = 10000;  // without data for so long the connection is lost: the stream sends an overview every 2 s

// The stream calls `onOverview(overview)` and `onJobs(changes)`; a change is {id, kind, tenant, status, version}.
// `look()` is called at the start, when the stream reconnects, and every `ms` while there is no stream. `stream` false:
// polling only. `onLink(state)` reports the state of the connection for showLink.
export function live({ signal, ms, look, stream = true, onOverview = () => {}, onJobs = () => {}, onLink = () => {} }) {
  let up = false;
  let answered = true;
  let waiting = [];
  let timer = null;
  const tellLink = () => signal.aborted || onLink(up ? "live" : answered ? "asked" : "lost");
  const setAnswered = (now) => {
    if (answered === now) return;
    answered = now;
    tellLink();
  };
  const ask = async () => {
    const late = setTimeout(() => setAnswered(false), kSilenceMs);
    try {
      await look();
      setAnswered(true);
    } catch (error) {
      if (error.name !== "AbortError") setAnswered(Boolean(error.status));
      throw error;
    } finally {
      clearTimeout(late);
    }
  };
  const setUp = (now) => {
    if (now && !up) ask().catch(() => {});
    up = now;
    tellLink();
  };
  const tell = () => {
    timer = null;
    const jobs = waiting;
    waiting = [];
    if (!signal.aborted) onJobs(jobs);
  };
  const take = (event) => {
    if (!up) setUp(true);
    if (event.type === "overview") onOverview(JSON.parse(event.data));
    if (event.type === "job") {
      waiting.push(JSON.parse(event.data));
      timer ??= setTimeout(tell, kCalmMs);
    }
    return "";
  };
  // Browsers allow six connections per server, so a hidden page closes its connection.
  let mine = null;
  const open = () => {
    mine = new AbortController();
    const down = () => setUp(false);
    follow("/v1/admin/events", take, { signal: mine.signal, silenceMs: kSilenceMs, onLink: (now) => now || down() }).catch(down);
  };
  const shut = () => {
    mine?.abort();
    setUp(false);
  };
  const followWhileSeen = () => {
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") open();
      else shut();
    }, { signal });
    window.addEventListener("pagehide", shut, { signal });
    signal.addEventListener("abort", () => mine?.abort());
    if (document.visibilityState === "visible") open();
  };
  if (stream) followWhileSeen();
  else tellLink();
  everyWhile(ms, () => (up ? Promise.resolve() : ask()), signal);
}

// Returns a function that reports whether the counts of an overview differ from the previous overview. The counts cover
// all processes. Without Kafka, the stream contains nothing else about the jobs of other processes.
export function overviewWatch() {
  let last = "";
  return ({ kinds }) => {
    const before = last;
    last = JSON.stringify(kinds.map(({ kind, queued, running, waiting, day }) => [kind, queued, running, waiting, day]));
    return before !== "" && before !== last;
  };
}
