#include "ai/engines/pool/engine_call.h"

#include <cstdint>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace millrace::engines {

EngineResult ended(EngineResult::Kind kind) { return {kind, -1, std::nullopt, {}}; }

EngineResult failed(base::Error error) { return {EngineResult::Kind::kFailed, -1, std::move(error), {}}; }

base::Fd EngineCall::cancel_event() { return base::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

// Reading an eventfd resets it, so the event is written back.
bool EngineCall::is_cancelled() const {
  std::uint64_t count = 0;
  return ::read(cancelled_.get(), &count, sizeof count) == sizeof count &&
         ::eventfd_write(cancelled_.get(), 1) == 0;
}

void EngineCall::cancel() const { ::eventfd_write(cancelled_.get(), 1); }

namespace {

// A page is read, rendered and recognised, each within its own limit. One more stage covers the grace period
// of the child.
constexpr int kStagesPerPart = 4;
// Each of these stages reports a beginning, also when it starts over: nine times at most.
constexpr std::size_t kBeginsPerPart = 16;

}  // namespace

PartsCall::PartsCall(std::string owner, std::set<int> parts, std::function<void(EngineResult)> done)
    : EngineCall(std::move(owner)),
      left_(std::move(parts)),
      done_(std::move(done)),
      begins_left_(left_.size() * kBeginsPerPart) {}

std::chrono::milliseconds PartsCall::wall() const {
  return time_limit() * kStagesPerPart * static_cast<int>(left_.size());
}

std::optional<EngineResult> PartsCall::handle(Event event) {
  if (event.kind == Event::Kind::kFailed) return failed(std::move(event.error));
  if (event.kind == Event::Kind::kDone) {
    EngineResult done = left_.empty() ? ended(EngineResult::Kind::kDone) : broken();
    done.cpu = event.cpu;
    return done;
  }
  if (event.kind == Event::Kind::kBegin) {
    if (begins_left_ == 0) return broken();
    --begins_left_;
    at_ = event.page;
    return std::nullopt;
  }
  const auto part = part_in(event);
  // The part was not requested or is reported twice: the child is broken.
  if (!part || left_.erase(*part) == 0) return broken();
  report(std::move(event));
  return std::nullopt;
}

std::optional<EngineResult> PartsCall::on_limit_hit(LimitHit why) {
  if (left_.empty()) return ended(EngineResult::Kind::kDone);
  const int part = suspect_part();
  left_.erase(part);
  report_failed(part, stuck_error(part, why),
                why == LimitHit::kByProcessorTime ? cpu_max(part) : std::chrono::milliseconds(0));
  if (left_.empty()) return ended(EngineResult::Kind::kDone);
  return std::nullopt;
}

}  // namespace millrace::engines
