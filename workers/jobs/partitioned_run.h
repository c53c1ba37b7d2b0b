#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/engines/pool/engine_pool.h"
#include "workers/chat/provider_chat.h"
#include "workers/runner.h"

namespace millrace::workers {

// Writes parts of the root job (pages, pieces of a recording) to the store in small batches: while one batch
// is written, the next one fills. Large parts become blobs first. Loop thread only.
class PartWriter : public std::enable_shared_from_this<PartWriter> {
 public:
  explicit PartWriter(AttemptContext& context) : context_(context) {}

  void add(int index, std::string json);
  // Adds processor time of the engine; it is written with the next parts.
  void add_time(std::chrono::milliseconds time) { time_ += time; }
  std::chrono::milliseconds unwritten_time() const { return time_; }
  // Calls `done` when everything added so far is in the store, but for less than a second of time; false: the
  // store refused it, the lease is lost.
  void flush(std::function<void(bool lease_held)> done);
  // The run ends: parts not yet written are dropped, and the context is not used any more.
  void abandon() { lost_ = true; }

 private:
  void write();
  void stage_large(int index, std::string json);
  void notify_if_flushed();

  AttemptContext& context_;
  std::deque<storage::JobOutcomes::Part> waiting_;
  std::chrono::milliseconds time_{0};  // not written yet
  std::size_t staging_ = 0;
  bool writing_ = false;
  bool lost_ = false;
  std::function<void(bool)> on_flushed_;
  std::map<int, net::Loop::Timer> retry_timers_;  // retry timers, by part
};

// An attempt at a job that an engine processes in parts (pages, pieces of a recording). Each part is stored
// when it is done, so no later attempt repeats it. If a part crashes its engine process, up to three attempts
// try it; the second and third send one part per call. Then only this part fails.
//
// The attempt is a chain of callbacks on the loop. Each step first calls `is_running`, so a stop request ends
// the run at the next step. Loop thread only, except `post`.
class PartitionedRun : public Run, public std::enable_shared_from_this<PartitionedRun> {
 public:
  virtual void begin() = 0;
  void stop(StopReason why) final;

 protected:
  using Queue = base::Pool::Queue;
  using Cancel = std::function<void()>;

  // `kind`: the name of the kind in the log; a literal.
  PartitionedRun(std::string_view kind, storage::ClaimedJob job, AttemptContext& context,
                 Runner::Ended ended);

  const storage::ClaimedJob& job() const { return job_; }
  AttemptContext& context() const { return context_; }
  bool is_child() const { return job_.parent.has_value(); }
  bool is_over() const { return over_; }

  // Sets the parts of this attempt: `indices` without the parts that an earlier attempt has `finished`.
  void set_remaining_parts(const std::vector<int>& indices, const std::vector<int>& finished);
  // Processes the remaining parts, then calls `merge_parts`. All parts go in one call; after a crash, one per
  // call, which identifies the part that crashes.
  void process_remaining_parts();
  // `cpu`: the engine's processor time for it.
  void on_part(int index, const std::string& json, bool good, std::chrono::milliseconds cpu);
  // The engine may use `limit` for the root job, of which `used` is used up. Beyond it the remaining parts
  // fail. The time of ranges that run at once, also in other processes, is read from the store every second.
  void limit_engine_time(std::chrono::milliseconds limit, std::chrono::milliseconds used);
  // The end callback that `recognise` passes to its engine. Any thread.
  std::function<void(engines::EngineResult)> on_end();
  void flush_then(std::function<void()> then);

  // False: the run has ended, or this call ends it because a stop was requested.
  bool is_running();
  void end(Outcome outcome);
  // Faults of the input and permanent errors end the job; all other errors are retried.
  void fail(base::Error error);
  // Ends with the outcome of the last step. If the step met a limit of ours, `again` runs later instead.
  void end_with(base::Result<Outcome> outcome, std::function<void()> again);
  void retry_later(std::function<void()> step);
  // A limit of ours, `error`, prevents that the input is read now. `step` tries again; see InputRetries.
  void read_input_later(const base::Error& error, std::function<void()> step);
  // Runs `work` on the pool and `then` with its result on the loop. While the pool is full, it is retried
  // later. Work that throws gives kInternal.
  template <class Work, class Then>
  void on_pool(Queue queue, Work work, Then then);
  // Runs `step` on the loop. A step that throws ends the run with kInternal; otherwise the run would never
  // end. Any thread.
  void post(std::function<void()> step);
  void run_step(const std::function<void()>& step);

  // A provider's model is called for the job; both run on any thread. `before_sending` asks whether the
  // budget allows the call (null: there is none), and `on_charged` reports what a run of calls is charged
  // with.
  ModelBilling billing();
  // Adds to what the attempt used.
  void add_used(const schemas::Charge& used);

  // Registers the cancel function of an external call; a stop request calls it. `silent`: the call does not
  // call back after it has been cancelled.
  void set_cancel(Cancel cancel, bool silent = false);
  void clear_cancel() { cancel_ = nullptr; }
  static base::Result<Cancel> cancel_of(base::Result<engines::EngineCallHandle> call);

 private:
  // Starts a call for these parts. Each finished part calls `on_part`; the end calls `on_end`. kOverloaded:
  // retry later.
  virtual base::Result<Cancel> recognise(std::vector<int> parts) = 0;
  // US dollars for a part that the local engine processes. Under a budget the remaining parts are reserved
  // before the first one; those that are done are charged.
  virtual double part_price(int /*part*/) const { return 0; }
  // The error of the parts that are left when the engine time is used up.
  virtual base::Error time_error(std::chrono::milliseconds limit) const = 0;
  // Every part is in the store.
  virtual void merge_parts() = 0;
  // What the job reports for an error that ended a call of the engine.
  virtual base::Error engine_error(base::Error error) const { return error; }
  // The error of a part that crashed its engine process.
  virtual base::Error crash_error(int part) const = 0;
  virtual std::string failed_part(int part, const base::Error& error) const = 0;
  virtual void count(bool good) const = 0;
  // The request's field for faults of the input that name no field.
  virtual std::string_view input_field() const = 0;

  void reserve_parts();
  void call_model(const inference::CallCost& cost, std::function<void(bool go)> go);
  void engine_ended(const engines::EngineResult& result);
  void add_time(std::chrono::milliseconds cpu);
  void check_time_regularly();
  void take_time_of_root(std::chrono::milliseconds stored);
  void stop_if_time_is_up();
  bool is_time_up() const { return time_used_ >= time_max_; }
  void fail_remaining();
  void crashed(int suspect_part);
  bool one_part_per_call() const { return job_.crashes > 0; }

  const std::string_view kind_;
  const storage::ClaimedJob job_;
  AttemptContext& context_;
  Runner::Ended ended_;
  const WeakLoop weak_loop_;
  Cancel cancel_;
  bool cancel_is_silent_ = false;
  std::optional<StopReason> stop_;
  bool over_ = false;
  InputRetries input_retries_;
  net::Loop::Timer timer_, time_timer_;
  std::shared_ptr<PartWriter> writer_;
  schemas::Charge used_;
  bool parts_reserved_ = false;
  std::set<int> remaining_;
  std::chrono::milliseconds time_used_{0}, time_max_ = std::chrono::milliseconds::max();
};

template <class Work, class Then>
void PartitionedRun::on_pool(Queue queue, Work work, Then then) {
  const bool posted = context_.pool().post(queue, [self = shared_from_this(), work, then] {
    auto result = std::make_shared<decltype(work())>(guarded(self->kind_, work));
    self->post([self, then, result] {
      if (self->is_running()) then(std::move(*result));
    });
  });
  if (!posted) retry_later([this, queue, work, then] { on_pool(queue, work, then); });
}

}  // namespace millrace::workers
