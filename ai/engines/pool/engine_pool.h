#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "ai/engines/limits.h"
#include "ai/engines/pool/engine_end.h"
#include "platform/base/result.h"
#include "platform/process/jail.h"
#include "platform/process/spawner.h"

namespace millrace::engines {

class EngineCall;

// A call in progress. Copyable handle; may outlive the pool.
class EngineCallHandle {
 public:
  EngineCallHandle() = default;
  // `cancel`: thread-safe, never blocks.
  explicit EngineCallHandle(std::function<void()> cancel) : cancel_(std::move(cancel)) {}
  // Ends the call with kCancelled soon (a running child is killed). No effect after the end. Thread-safe;
  // never blocks.
  void cancel() const;

 private:
  std::function<void()> cancel_;
};

// A few long-lived, jailed `millrace-engine` children, each with one pump thread in this process. Children
// start on demand, stop after `idle_after` without work, and are replaced when they die. A child never sees
// the inputs of two owners: it is replaced before a call of another owner (ADR 45). When all children are
// busy, calls queue, and owners take turns (CallQueue). The front ends (OcrEngine, Transcriber, Speaker)
// define the calls. Thread-safe.
class EnginePool {
 public:
  struct Options {
    std::string engine_path;  // of the millrace-engine program
    unsigned children = 2;
    std::size_t queue_max = 256;
    std::chrono::milliseconds idle_after{60'000};
    // This many children start at once and never stop when idle, so that the first call need not wait.
    unsigned warm_children = 0;
    // True: children run below everything else on the machine (SCHED_IDLE). False: for calls with a waiting
    // client.
    bool in_background = true;
    std::string languages = "eng";  // of scanned text, in Tesseract's syntax: eng+deu
    EngineLimits limits = {};
    process::JailOptions jail = {};
    // JailProbe::is_transient: kNamespaces is tried again when a child starts, at most once a minute.
    bool retries_namespaces = false;
  };
  struct Counts {
    unsigned children_running = 0;
    std::size_t queued = 0;
    std::uint64_t children_started = 0;
    std::uint64_t children_crashed = 0;
  };

  // `spawner` must outlive the pool. `confinement` is what Jail::probe reported.
  static base::Result<std::unique_ptr<EnginePool>> make(process::Spawner& spawner, Options options,
                                                        process::Confinement confinement);
  // Cancels running and queued calls, kills the children and joins the threads. All callbacks have returned
  // when it returns.
  ~EnginePool();
  EnginePool(const EnginePool&) = delete;
  EnginePool& operator=(const EnginePool&) = delete;

  // Does not block. The call's `end` is called once, on a pump thread. kOverloaded: the queue is full for
  // this owner; `end` is not called.
  base::Result<EngineCallHandle> submit(std::shared_ptr<EngineCall> call);

  const EngineLimits& limits() const;
  process::Confinement confinement() const;  // of the children that start from now on
  Counts counts() const;

 private:
  struct Shared;
  class Pump;
  explicit EnginePool(std::unique_ptr<Shared> shared);

  std::unique_ptr<Shared> shared_;
};

}  // namespace millrace::engines
