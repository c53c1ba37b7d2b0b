#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ai/engines/document.h"
#include "ai/engines/limits.h"
#include "ai/engines/pages.h"
#include "platform/base/result.h"
#include "platform/process/jail.h"
#include "platform/process/spawner.h"

namespace millrace::engines {

// A call in progress. Copyable handle; may outlive the engine.
class Ticket {
 public:
  Ticket() = default;
  // Ends the call with kCancelled soon (a running child is killed); no effect after the end. Thread-safe,
  // never blocks.
  void cancel() const;

 private:
  friend class OcrEngine;
  struct State;
  explicit Ticket(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

// The local OCR engine as the workers see it: a few long-lived `millrace-engine` children, each locked in,
// each with one pump thread here. Children start on demand, stay for `idle_after`, and are replaced when they
// die. Calls beyond the number of children wait in order. Thread-safe.
class OcrEngine {
 public:
  struct Options {
    std::string engine_path;  // of the millrace-engine program
    unsigned children = 2;
    std::size_t queue_max = 256;
    std::chrono::milliseconds idle_after{60'000};
    EngineLimits limits = {};
    process::JailOptions jail = {};
  };
  struct Counts {
    unsigned children_running = 0;
    std::size_t queued = 0;
    std::uint64_t children_started = 0;
    std::uint64_t children_crashed = 0;
  };

  // `spawner` must outlive the engine. `confinement` is what Jail::probe reported.
  static base::Result<std::unique_ptr<OcrEngine>> make(process::Spawner& spawner, Options options,
                                                       process::Confinement confinement);
  // Cancels what runs and waits, kills the children, joins. Callbacks have all returned then.
  ~OcrEngine();
  OcrEngine(const OcrEngine&) = delete;
  OcrEngine& operator=(const OcrEngine&) = delete;

  // Neither blocks. Callbacks run on a pump thread, must not throw and should be short. kOverloaded (and no
  // callback): `queue_max` calls wait already.

  // Page count and the document's own errors (kDocumentDamaged, kDocumentEncrypted, kDocumentBomb,
  // kDocumentPageCount, kDocumentTooManyPages, kImageTooLarge). A cancelled call ends with kJobCancelled.
  base::Result<Ticket> inspect(std::shared_ptr<const Document> document,
                               std::function<void(base::Result<DocumentInfo>)> done);

  // Recognises `pages` (indexes from 0; each at most once). `on_page` is called once per page, in no fixed
  // order; `done` once, last. A page that takes too long or cannot be read is a PageOutcome with an error,
  // and the others go on.
  base::Result<Ticket> recognise(std::shared_ptr<const Document> document, std::vector<int> pages,
                                 RecogniseOptions options, std::function<void(PageOutcome)> on_page,
                                 std::function<void(EngineEnd)> done);

  Counts counts() const;

 private:
  struct Shared;
  class Pump;
  explicit OcrEngine(std::unique_ptr<Shared> shared);
  base::Result<Ticket> submit(std::shared_ptr<Ticket::State> call);

  std::unique_ptr<Shared> shared_;
};

}  // namespace millrace::engines
