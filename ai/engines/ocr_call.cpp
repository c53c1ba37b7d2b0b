#include "ai/engines/ocr_call.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace millrace::engines {

using base::Code;

process::Fd Ticket::State::cancel_event() { return process::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

bool Ticket::State::is_cancelled() const {
  std::uint64_t count = 0;
  return ::read(cancelled.get(), &count, sizeof count) == sizeof count &&
         ::eventfd_write(cancelled.get(), 1) == 0;
}

void Ticket::State::end(EngineEnd how) {
  if (!inspect) return done(std::move(how));
  switch (how.kind) {
    case EngineEnd::Kind::kDone:
      return inspected(info);
    case EngineEnd::Kind::kCrashed:
      return inspected(base::error(Code::kDocumentDamaged, "the document breaks the program that opens it"));
    case EngineEnd::Kind::kCancelled:
      return inspected(base::error(Code::kJobCancelled, "cancelled"));
    case EngineEnd::Kind::kFailed:
      return inspected(std::move(*how.error));
  }
}

void Ticket::cancel() const {
  if (state_) ::eventfd_write(state_->cancelled.get(), 1);
}

}  // namespace millrace::engines
