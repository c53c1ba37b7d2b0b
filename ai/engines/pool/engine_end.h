#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "platform/base/result.h"

namespace millrace::engines {

// How a call of an engine ended. Results that were reported before the end remain valid.
struct EngineResult {
  enum class Kind : std::uint8_t {
    kDone,       // everything requested was reported
    kCrashed,    // the engine child died (signal, memory) while on `page`; a new one serves the next call
    kCancelled,  // by EngineCallHandle::cancel or by the end of the engine
    kFailed,     // `error`: of the document, the recording or the text, or kOverloaded when no child could be
                 // started
  };
  Kind kind = Kind::kDone;
  int page = -1;  // of a document, or the piece of a recording
  std::optional<base::Error> error;
  std::chrono::milliseconds cpu{0};  // processor time that no reported part contains
};

}  // namespace millrace::engines
