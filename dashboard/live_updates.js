// Live updates of screens: the gateway's event stream for administrators, and polling while there is no stream.
import { followStream, pollWhileVisible } from "./stream.js";

const kBatchMs = 400;  // changes within this time are reported together
const kIdleTimeoutMs = 10000;  // without data for so long the connection is lost: the stream sends an overview every 2 s

// The stream calls `onOverview(overview)` and `onJobs(changes)`; a change is {id, kind, tenant, status, version}.
// `refresh()` is called at the start, when the stream reconnects, and every `pollMs` while there is no stream. `stream`
// false: polling only. `onConnection(state)` reports the state of the connection for showConnection.
export function startLiveUpdates({ signal, pollMs, refresh, stream = true, onOverview = () => {}, onJobs = () => {}, onConnection = () => {} }) {
  let isConnected = false;
  let isReachable = true;  // whether the last poll got a response
  let changedJobs = [];  // not reported yet
  let timer = null;
  const reportConnection = () => signal.aborted || onConnection(isConnected ? "live" : isReachable ? "polling" : "lost");
  const setReachable = (reachable) => {
    if (isReachable === reachable) return;
    isReachable = reachable;
    reportConnection();
  };
  const poll = async () => {
    const timeout = setTimeout(() => setReachable(false), kIdleTimeoutMs);
    try {
      await refresh();
      setReachable(true);
    } catch (error) {
      if (error.name !== "AbortError") setReachable(Boolean(error.status));
      throw error;
    } finally {
      clearTimeout(timeout);
    }
  };
  const setConnected = (connected) => {
    if (connected && !isConnected) poll().catch(() => {});
    isConnected = connected;
    reportConnection();
  };
  const reportJobs = () => {
    timer = null;
    const jobs = changedJobs;
    changedJobs = [];
    if (!signal.aborted) onJobs(jobs);
  };
  const onEvent = (event) => {
    if (!isConnected) setConnected(true);
    if (event.type === "overview") onOverview(JSON.parse(event.data));
    if (event.type === "job") {
      changedJobs.push(JSON.parse(event.data));
      timer ??= setTimeout(reportJobs, kBatchMs);
    }
    return "";
  };
  // Browsers allow six connections per server, so a hidden page closes its connection.
  let streamController = null;
  const open = () => {
    streamController = new AbortController();
    const onDisconnect = () => setConnected(false);
    const options = { signal: streamController.signal, idleTimeoutMs: kIdleTimeoutMs, onConnection: (connected) => connected || onDisconnect() };
    followStream("/v1/admin/events", onEvent, options).catch(onDisconnect);
  };
  const close = () => {
    streamController?.abort();
    setConnected(false);
  };
  const followWhileVisible = () => {
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") open();
      else close();
    }, { signal });
    window.addEventListener("pagehide", close, { signal });
    signal.addEventListener("abort", () => streamController?.abort());
    if (document.visibilityState === "visible") open();
  };
  if (stream) followWhileVisible();
  else reportConnection();
  pollWhileVisible(pollMs, () => (isConnected ? Promise.resolve() : poll()), signal);
}

// Returns a function that reports whether the counts of an overview differ from the previous overview. The counts cover
// all processes. Without Kafka, the stream contains nothing else about the jobs of other processes.
export function overviewChangeDetector() {
  let last = "";
  return ({ kinds }) => {
    const previous = last;
    last = JSON.stringify(kinds.map(({ kind, queued, running, waiting, day }) => [kind, queued, running, waiting, day]));
    return previous !== "" && previous !== last;
  };
}
