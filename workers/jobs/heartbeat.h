#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "storage/jobs/job_claims.h"
#include "workers/jobs/attempt.h"

namespace millrace::workers {

// Sends one write of this worker per `lease.heartbeat`. It renews the leases, writes the worker's rows, and
// returns the lost leases and the jobs to cancel. Between two heartbeats it has the leases checked, so runs
// are stopped in time even if the store does not respond (rule 2). After this process stood still, the store
// is asked first: it may still hold leases that look expired here. Loop thread only.
class Heartbeat {
 public:
  struct Message {
    storage::WorkerReport report;
    std::vector<storage::Lease> leases;
  };
  struct Hooks {
    std::function<Message()> make_message;
    std::function<void(base::BootTime sent, const std::vector<storage::Lease>& renewed,
                       const storage::HeartbeatReply& reply)>
        on_heartbeat;
    std::function<void()> check_leases;  // checks the leases, five times per heartbeat while there are any
    std::function<bool()> idle;          // no attempt runs
  };

  Heartbeat(WorkerContext& worker_context, Hooks hooks)
      : worker_context_(worker_context), hooks_(std::move(hooks)), claims_(worker_context.store) {}

  // The first heartbeat writes the worker's rows and is retried until it commits; then `registered` is
  // called.
  void start(std::function<void()> registered);
  void stop();

 private:
  void send();
  void on_reply(base::BootTime sent, const std::vector<storage::Lease>& leases,
                const base::Result<storage::HeartbeatReply>& reply);
  void tick();
  void schedule_tick();

  WorkerContext& worker_context_;
  Hooks hooks_;
  storage::JobClaims claims_;
  std::function<void()> registered_;
  int checks_ = 0;            // since the last heartbeat
  base::BootTime next_tick_;  // when it is due
  // When it was noticed that this process had stood still for more than a heartbeat. Absent once the store
  // has replied to a later heartbeat.
  std::optional<base::BootTime> stall_;
  bool in_progress_ = false;
  bool stopped_ = false;
  net::Loop::Timer timer_;
};

}  // namespace millrace::workers
