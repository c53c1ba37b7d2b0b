#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "jobs/outbox_publisher.h"
#include "platform/base/pool.h"
#include "storage/batches/batches.h"
#include "storage/blobs/image_files.h"
#include "storage/files/files.h"
#include "storage/files/multipart_uploads.h"
#include "storage/jobs/job_maintenance.h"
#include "storage/machines/machines.h"
#include "storage/tenants/spending.h"
#include "storage/webhooks/webhook_deliveries.h"

namespace millrace::jobs {

// The maintenance of the store as one chain of small transactions (docs/design/delivery.md §6; Retention;
// Blobs). Each round handles due retries, expired leases, deadlines and orphan children; machines that fall
// asleep or are not in their desired state, and the jobs that wait for them; with an outbox, the backlog and
// lost tokens. Less often it handles retention, idempotency rows, replies, sessions and blobs. It has no
// thread and no timer: one process of a data directory (workers/jobs/maintenance_timer.h) calls `tick` when a
// round is due. Two at a time do no harm.
class Maintenance {
 public:
  struct Options {
    std::chrono::milliseconds lease{20'000};
    std::chrono::milliseconds busy_period{500};     // between rounds while jobs are open
    std::chrono::milliseconds idle_period{30'000};  // between rounds while there are none
    std::chrono::milliseconds republish_after{15'000};
    std::chrono::milliseconds retention_period{60'000};
    std::chrono::milliseconds results_age = std::chrono::hours(24);
    std::chrono::milliseconds jobs_age = std::chrono::hours(24) * 7;
    std::chrono::milliseconds batches_age = std::chrono::hours(24) * 30;
    std::chrono::milliseconds orphans_age = std::chrono::hours(1);
    std::chrono::milliseconds webhooks_age = std::chrono::hours(24) * 7;
    int step_rows = 256;        // per transaction; a step that reaches it is repeated
    int orphan_files = 10'000;  // checked per retention round
  };
  using Next = std::function<void(std::chrono::milliseconds delay)>;

  // `pool` runs the blocking work: reading what is due, and files. All arguments must outlive a running tick.
  Maintenance(storage::Store& store, bus::Dispatch& dispatch, OutboxPublisher& publisher, base::Pool& pool,
              const base::Clock& clock, Options options);

  // Starts one round; the previous one must have ended. `next` is called once, on the pool or the completion
  // thread, with the time until the next round. Never blocks.
  void tick(Next next);

 private:
  struct Round;
  using RoundPtr = std::shared_ptr<Round>;

  void look(const RoundPtr& round);
  void drop_removed(Round& round, storage::Callback<int> done);
  void add_due(Round& round, std::optional<base::WallTime> jobs, std::optional<base::WallTime> machines);
  void add_moves(Round& round);
  void add_machines(Round& round);
  void add_publication(Round& round);
  void add_retention(Round& round);
  void add_blobs(Round& round);
  void collect_files(const RoundPtr& round);
  int collect_orphans();
  void finish(const RoundPtr& round);
  bool retention_is_due() const;

  storage::Store& store_;
  bus::Dispatch& dispatch_;
  OutboxPublisher& publisher_;
  base::Pool& pool_;
  const base::Clock& clock_;
  Options options_;
  storage::JobMaintenance moves_;
  storage::MachineMaintenance machines_;
  storage::ImageFiles images_;
  storage::Files files_;
  storage::Batches batches_;
  storage::MultipartUploads uploads_;
  storage::WebhookDeliveries webhooks_;
  storage::Spending spending_;
  std::optional<base::BootTime> retained_at_;
};

}  // namespace millrace::jobs
