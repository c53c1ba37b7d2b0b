#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
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
// window (BatchLimits::window); others are answered directly, BatchLimits::direct at a time in a process.
class BatchRunner {
 public:
  // All outlive it.
  BatchRunner(Context& context, Guard& guard, Auth& auth);
  ~BatchRunner();  // stop()
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;

  void start();
  // The batch is new, or is to be cancelled. Any thread; never blocks.
  void wake(const base::Uuid& batch);
  // Sends no further request, and gives the batches to other processes when those that were sent are
  // answered. Any thread; never blocks.
  void refuse_new();
  // Waits for the current step, and gives the batches to other processes. Idempotent.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  using Driven = storage::DrivenBatches::Driven;
  using Line = storage::DrivenBatches::Line;
  using LineEnd = storage::DrivenBatches::LineEnd;
  using SubmittedLine = storage::DrivenBatches::SubmittedLine;

  // A line whose request was answered.
  struct AnsweredLine {
    base::Uuid batch;
    std::int64_t generation = 0;  // of the Run
    Line line;
    Guard::LineReply reply;
  };
  // Shared with the requests, which may be answered after the runner has ended.
  struct Answers {
    std::mutex mutex;  // guards all below
    std::condition_variable changed;
    std::vector<AnsweredLine> lines;
    bool has_new = false;  // since the thread looked last
    std::vector<base::Uuid> woken;
    bool is_stopped = false, is_draining = false;
  };
  // The check of an input that is not finished.
  struct Validation {
    BatchInput input;
    std::unordered_set<std::string> custom_ids;
    std::vector<schemas::BatchError> errors;
    std::vector<Line> unsaved;
    std::int64_t lines = 0;
    bool is_clean = false;  // no lines of an earlier check are left
    bool is_read = false;   // to its end, or as far as needed
  };
  // A batch that this process drives.
  struct Run {
    base::Uuid id;
    std::int64_t generation = 0;
    std::unique_ptr<Validation> validation;
    std::optional<BatchInput> input;
    // Lines that were refused for a while, by the time at which they are sent again; new lines go first.
    std::multimap<Clock::time_point, Line> to_resend;
    std::map<std::int64_t, int> attempts;  // of these lines, by number
    int refusals = 0;                      // since a line was accepted
    std::int64_t next_after = 0;           // lines up to this number were taken
    bool has_no_pending = false;           // none is behind `next_after`
    int in_flight = 0;                     // sent and not answered
    std::optional<bool> makes_jobs;        // its lines become jobs; absent: none has shown it yet
    std::vector<LineEnd> ends;             // to be written
    Clock::time_point paused_until{};      // nothing is sent before
    Clock::time_point cancel_at{};         // its jobs are cancelled again
    Clock::time_point due{};               // the next step, if no line is answered before
    Clock::time_point faulted_until{};     // no step before, whatever happens
    std::chrono::milliseconds wait{0};
  };

  void run();
  bool wait();  // for the next step; false: stop
  void forget_others();
  void claim();
  void give_back();
  void renew_when_due();
  void step_all();
  void note_fault(Run& run, const base::Error& error);
  // One step of a batch; true: there is more to do at once.
  base::Result<bool> step(Run& run);

  base::Result<bool> validate(Run& run, const Driven& driven);
  base::Result<std::unique_ptr<Validation>> begin_validation(const Driven& driven) const;
  base::Result<bool> read_lines(Run& run, const Driven& driven);
  base::Result<bool> end_validation(Run& run);
  void check_line(Validation& check, const Driven& driven, const BatchInput::Line& line,
                  std::string& text) const;

  base::Result<bool> progress(Run& run, const Driven& driven);
  base::Result<bool> cancel_with(Run& run, std::string code, std::string message);
  base::Result<bool> finalize_if_over(Run& run);
  int in_flight(bool only_direct) const;  // of all batches
  int sendable_lines(const Run& run, const Driven& driven) const;
  base::Result<int> submit(Run& run, const Driven& driven, const PrincipalPtr& principal);
  base::Result<int> refuse_lines(Run& run);
  base::Result<std::vector<Line>> next_lines(Run& run, int most);
  base::Status send(Run& run, const Driven& driven, const PrincipalPtr& principal, const Line& line);
  base::Result<bool> take_answers(Run& run);
  base::Status take_answer(Run& run, const AnsweredLine& answered);
  bool is_passing(const Run& run, const AnsweredLine& answered) const;
  void send_later(Run& run, const AnsweredLine& answered) const;
  base::Result<bool> collect_jobs(Run& run, const Driven& driven);
  base::Result<bool> end_job(Run& run, const Driven& driven, const SubmittedLine& line);
  // `job_succeeded`: of a line that was a job.
  base::Status end_line(Run& run, const Line& line, std::optional<bool> job_succeeded,
                        const front::Reply& reply, const std::string& request_id);
  void fail_line(Run& run, const Line& line, std::string_view code, std::string_view message) const;
  base::Status write_ends(Run& run);

  base::Result<bool> end_early(Run& run, const Driven& driven);
  base::Status cancel_jobs(Run& run, const Driven& driven);
  base::Result<bool> fail_pending(Run& run, const Driven& driven);
  base::Result<bool> finish(Run& run, schemas::BatchStatus status);
  base::Result<storage::Staged> join_outputs(const base::Uuid& id, bool is_error);

  Context& context_;
  Guard& guard_;
  Auth& auth_;
  storage::DrivenBatches batches_;
  const base::Counter succeeded_, failed_;
  const base::Gauge driven_;
  const std::shared_ptr<Answers> answers_ = std::make_shared<Answers>();
  std::map<base::Uuid, Run> runs_;  // this and all below: only the thread
  std::int64_t generations_ = 0;
  std::int64_t bytes_in_flight_ = 0;  // of lines that were sent and not answered
  bool has_given_back_ = false;
  Clock::time_point claim_at_{}, renew_at_{};
  std::thread thread_;
};

}  // namespace millrace::api
