#include "workers/jobs/heartbeat.h"

#include <utility>

#include "platform/base/log.h"
#include "storage/db/process_end.h"

namespace millrace::workers {
namespace {

constexpr int kChecksPerBeat = 5;
// Leases are not checked for this long after a standstill, while the store is asked.
constexpr std::chrono::milliseconds kAskLimit{2'000};

}  // namespace

void Heartbeat::start(std::function<void()> registered) {
  registered_ = std::move(registered);
  send();
  schedule_tick();
}

void Heartbeat::stop() {
  stopped_ = true;
  timer_.cancel();
}

// Idle: one timer per heartbeat. While attempts run, the leases are also checked in between.
void Heartbeat::schedule_tick() {
  if (stopped_) return;
  const bool idle = hooks_.idle() && !registered_;
  if (idle) checks_ = kChecksPerBeat;
  const auto wait = idle ? worker_context_.lease.heartbeat : worker_context_.lease.heartbeat / kChecksPerBeat;
  next_tick_ = worker_context_.clock.boot() + wait;
  timer_ = worker_context_.loop.after(wait, [this] { tick(); });
}

void Heartbeat::tick() {
  if (stopped_) return;
  const base::BootTime now = worker_context_.clock.boot();
  if (now > next_tick_ + worker_context_.lease.heartbeat && !stall_) stall_ = now;
  if (stall_ && now >= *stall_ + kAskLimit) stall_.reset();
  if (!stall_) hooks_.check_leases();
  // Before registration nothing may be claimed, so retry without waiting for a full heartbeat interval.
  if (++checks_ >= kChecksPerBeat || registered_ || stall_) send();
  schedule_tick();
}

void Heartbeat::send() {
  if (in_progress_) return;
  in_progress_ = true;
  checks_ = 0;
  Message beat = hooks_.make_message();
  const base::BootTime sent = worker_context_.clock.boot();
  claims_.heartbeat(
      std::move(beat.report), beat.leases, worker_context_.lease.lease,
      [this, weak_loop = worker_context_.weak_loop, sent,
       leases = beat.leases](base::Result<storage::HeartbeatReply> reply) {
        weak_loop.post([this, sent, leases, reply = std::move(reply)] { on_reply(sent, leases, reply); });
      });
}

void Heartbeat::on_reply(base::BootTime sent, const std::vector<storage::Lease>& leases,
                         const base::Result<storage::HeartbeatReply>& reply) {
  in_progress_ = false;
  if (!reply) {
    // It was silent for so long that a worker on another host took its name.
    if (reply.error().code == base::Code::kInvalidState && storage::claim_end())
      storage::end_process("worker_superseded", {{"error", reply.error().message}});
    base::log_warn("heartbeat_refused", {{"why", reply.error().message}});
    checks_ = kChecksPerBeat;  // retry at the next lease check
    return;
  }
  if (stall_ && sent < *stall_) return send();  // sent before the standstill
  stall_.reset();
  hooks_.on_heartbeat(sent, leases, *reply);
  if (registered_) std::exchange(registered_, nullptr)();
}

}  // namespace millrace::workers
