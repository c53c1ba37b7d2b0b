#include "ai/engines/engine_call.h"

#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

namespace millrace::engines {

EngineEnd ended(EngineEnd::Kind kind) { return {kind, -1, std::nullopt}; }

EngineEnd failed(base::Error error) { return {EngineEnd::Kind::kFailed, -1, std::move(error)}; }

base::Fd EngineCall::cancel_event() { return base::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

// Reading takes the event away: it is put back.
bool EngineCall::is_cancelled() const {
  std::uint64_t count = 0;
  return ::read(cancelled_.get(), &count, sizeof count) == sizeof count &&
         ::eventfd_write(cancelled_.get(), 1) == 0;
}

void EngineCall::cancel() const { ::eventfd_write(cancelled_.get(), 1); }

}  // namespace millrace::engines
