#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "api/admission/auth.h"
#include "api/admission/guard.h"
#include "api/batches/batch_input.h"
#include "api/context.h"
#include "storage/batches/batches.h"

namespace millrace::api {

// Runs the batches that this process drives, on a thread of its own: it checks their inputs, makes a request
// of each line (Guard::send_line), collects the replies and the results of jobs, and writes the files at the
// end. All it needs to go on after a crash is in the store. Lines that become jobs are submitted within a
// window (BatchLimits::window); others are answered directly, BatchLimits::direct at a time.
class BatchRunner {
 public:
  // All outlive it.
  BatchRunner(Context& context, Guard& guard, const Auth& auth);
  ~BatchRunner();  // stop()
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;

  void start();
  void wake();  // there may be a new batch, or one to be cancelled. Any thread; never blocks
  // Begins no further request. Any thread; never blocks.
  void refuse_new();
  // Waits for the current step, and gives the batches to other processes. Idempotent.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  using Driven = storage::DrivenBatches::Driven;
  using Line = storage::DrivenBatches::Line;
  using LineEnd = storage::DrivenBatches::LineEnd;

  // A line that waits for its reply, and one that has it.
  struct Arrival {
    base::Uuid batch;
    std::int64_t generation = 0;  // of the Run
    Line line;
    Guard::LineReply reply;
  };
  // Shared with the requests, which may end after the runner.
  struct Arrivals {
    std::mutex mutex;  // guards all below
    std::condition_variable changed;
    std::vector<Arrival> replies;
    bool is_woken = false, is_stopped = false, is_draining = false;
  };
  // The check of an input that is not finished.
  struct Validation {
    BatchInput input;
    std::unordered_set<std::string> custom_ids;
    std::vector<schemas::BatchError> errors;
    std::vector<Line> unsaved;
    std::int64_t lines = 0;
    bool is_clean = false;  // no lines of an earlier check are left
  };
  // A batch that this process drives.
  struct Run {
    base::Uuid id;
    std::int64_t generation = 0;
    std::unique_ptr<Validation> validation;
    std::optional<BatchInput> input;
    std::vector<Line> again;               // they were refused for a while
    std::map<std::int64_t, int> attempts;  // of lines that failed for a passing reason
    std::int64_t next_after = 0;           // lines up to this number were taken
    int in_flight = 0;
    bool has_jobs = false;  // its lines become jobs
    bool has_no_pending = false;
    bool has_cancelled_jobs = false;
    Clock::time_point paused_until{};  // nothing is sent before
    Clock::time_point due{};           // the next step, if no reply comes before
    std::chrono::milliseconds wait{0};
    std::vector<LineEnd> ends;  // to be written
  };

  void run();
  void claim();
  void step_all();
  // One step of a batch; true: there is more to do at once.
  base::Result<bool> step(Run& run);
  base::Result<bool> validate(Run& run, const Driven& driven);
  base::Result<std::unique_ptr<Validation>> begin_validation(const Driven& driven) const;
  base::Result<bool> end_validation(Run& run);
  void check_line(Validation& check, const Driven& driven, const BatchInput::Line& line,
                  std::string& text) const;

  base::Result<bool> progress(Run& run, const Driven& driven);
  base::Result<int> submit(Run& run, const Driven& driven, const PrincipalPtr& principal);
  base::Result<std::vector<Line>> next_lines(Run& run, int most);
  base::Status send(Run& run, const Driven& driven, const PrincipalPtr& principal, const Line& line);
  base::Result<bool> take_replies(Run& run);
  base::Status take_reply(Run& run, const Arrival& arrival);
  bool is_passing(Run& run, const Arrival& arrival) const;
  base::Result<bool> collect_jobs(Run& run, const Driven& driven);
  // `may_succeed`: false for a job that did not.
  base::Status end_line(Run& run, const Line& line, bool may_succeed, const front::Reply& reply,
                        const std::string& request_id);
  base::Status write_ends(Run& run);

  base::Result<bool> wind_up(Run& run, const Driven& driven);
  base::Status cancel_jobs(Run& run, const Driven& driven);
  base::Result<bool> fail_pending(Run& run, const Driven& driven);
  base::Result<bool> finish(Run& run, schemas::BatchStatus status);
  base::Result<storage::Staged> gather(const base::Uuid& id, bool is_error);

  Context& context_;
  Guard& guard_;
  const Auth& auth_;
  storage::DrivenBatches batches_;
  const base::Counter succeeded_, failed_;
  const base::Gauge driven_;
  const std::shared_ptr<Arrivals> arrivals_ = std::make_shared<Arrivals>();
  std::map<base::Uuid, Run> runs_;  // this and the next two: only the thread
  std::int64_t generations_ = 0;
  Clock::time_point claim_at_{};
  std::thread thread_;
};

}  // namespace millrace::api
