#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ai/engines/limits.h"
#include "ai/engines/pool/engine_end.h"
#include "platform/base/result.h"
#include "platform/process/jail.h"
#include "platform/process/spawner.h"

namespace millrace::engines {

class EngineCall;

// A call in progress. Copyable handle; may outlive the pool.
class Ticket {
 public:
  Ticket() = default;
  // Ends the call with kCancelled soon (a running child is killed); no effect after the end. Thread-safe,
  // never blocks.
  void cancel() const;

 private:
  friend class EnginePool;
  explicit Ticket(std::shared_ptr<EngineCall> call) : call_(std::move(call)) {}
  std::shared_ptr<EngineCall> call_;
};

// A few long-lived `millrace-engine` children, each locked in, each with one pump thread here. Children start
// on demand, stay for `idle_after`, and are replaced when they die. Calls beyond the number of children wait
// in order. Its fronts (OcrEngine, Transcriber, Speaker) say what a call is. Thread-safe.
class EnginePool {
 public:
  struct Options {
    std::string engine_path;  // of the millrace-engine program
    unsigned children = 2;
    std::size_t queue_max = 256;
    std::chrono::milliseconds idle_after{60'000};
    // Children that start at once and stay: the first call does not wait for them.
    unsigned warm_children = 0;
    // Children give way to everything else on the machine (SCHED_IDLE). False: somebody waits for each word.
    bool in_background = true;
    std::string languages = "eng";  // of scanned text, as Tesseract writes several: eng+deu
    EngineLimits limits = {};
    process::JailOptions jail = {};
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
  // Cancels what runs and waits, kills the children, joins. Callbacks have all returned then.
  ~EnginePool();
  EnginePool(const EnginePool&) = delete;
  EnginePool& operator=(const EnginePool&) = delete;

  // Does not block. The call's `end` is called once, on a pump thread. kOverloaded (and no end): `queue_max`
  // calls wait already.
  base::Result<Ticket> submit(std::shared_ptr<EngineCall> call);

  const EngineLimits& limits() const;
  Counts counts() const;

 private:
  struct Shared;
  class Pump;
  explicit EnginePool(std::unique_ptr<Shared> shared);

  std::unique_ptr<Shared> shared_;
};

}  // namespace millrace::engines
