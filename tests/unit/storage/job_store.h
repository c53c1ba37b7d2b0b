#pragma once
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "platform/base/clock.h"
#include "storage/jobs/job_claims.h"
#include "storage/jobs/job_intake.h"
#include "storage/jobs/job_maintenance.h"
#include "storage/jobs/job_outcomes.h"
#include "storage/jobs/job_queries.h"
#include "storage/store.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"

// A store in its own folder with a clock that the test controls, and the roles on top of it.
namespace millrace::storage::testing {

using namespace std::chrono_literals;
using schemas::JobStatus;

inline constexpr std::chrono::milliseconds kLease = 20s;
inline constexpr auto kDay = 24h;
inline constexpr int kLossesMax = 20;
inline const std::string kTenant = "acme";

using OpenStore = base::Result<std::unique_ptr<Store>> (*)(Store::Options, const base::Clock&);

// Waits for the completion of a write.
template <class T, class Move>
base::Result<T> await(Move&& move) {
  auto promise = std::make_shared<std::promise<base::Result<T>>>();
  auto future = promise->get_future();
  move(Callback<T>([promise](base::Result<T> result) { promise->set_value(std::move(result)); }));
  if (future.wait_for(support::kDeadline) != std::future_status::ready) {
    return base::error(base::Code::kInternal, "the move was not answered in time");
  }
  return future.get();
}

// Everything that the commit hook has reported.
class CommitLog {
 public:
  void append(const Commit& commit) {
    const std::lock_guard lock(mutex_);
    all_.changes.insert(all_.changes.end(), commit.changes.begin(), commit.changes.end());
    all_.ready.insert(all_.ready.end(), commit.ready.begin(), commit.ready.end());
    all_.cancel_requests.insert(all_.cancel_requests.end(), commit.cancel_requests.begin(),
                                commit.cancel_requests.end());
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    all_ = {};
  }
  Commit all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  Commit all_;
};

class JobStore {
 public:
  explicit JobStore(bool outbox = false, OpenStore open = &Store::open) : open_(open) {
    options_.data_dir = dir_.str() + "/data";
    options_.outbox = outbox;
    start();
  }
  ~JobStore() { stop(); }

  void stop() {
    if (store_) store_->close();
    roles_.reset();
    store_.reset();
  }
  void reopen() {
    stop();
    start();
  }

  Store& store() { return *store_; }
  JobIntake& intake() { return roles_->intake; }
  JobClaims& claims() { return roles_->claims; }
  JobOutcomes& outcomes() { return roles_->outcomes; }
  JobMaintenance& upkeep() { return roles_->upkeep; }
  JobQueries& queries() { return roles_->queries; }
  CommitLog& commits() { return commits_; }

  std::string folder() const { return options_.data_dir; }

  schemas::JobId new_id(schemas::Kind kind = schemas::Kind::kOcr) {
    return {kind, base::Uuid::make(clock.wall())};
  }

  Submission order(const std::string& tenant = kTenant) {
    Submission s;
    s.id = new_id();
    s.tenant = tenant;
    s.model = "millrace/ocr";
    s.spec = R"({"pages":"all"})";
    s.traceparent = "00-trace";
    return s;
  }
  base::Result<Submitted> try_submit(Submission s) {
    return await<Submitted>([&](auto done) { intake().submit(std::move(s), done); });
  }
  schemas::JobId submit(Submission s) { return try_submit(std::move(s)).value().job; }
  schemas::JobId submit() { return submit(order()); }
  schemas::JobId submit_at_most_once() {
    auto s = order();
    s.rerun = schemas::Rerun::kAtMostOnce;
    return submit(std::move(s));
  }

  // An execution: at-most-once, on a machine, with an environment.
  Submission command(const std::string& lane = "dm-1") {
    Submission s = order();
    s.id = new_id(schemas::Kind::kExec);
    s.model = "";
    s.rerun = schemas::Rerun::kAtMostOnce;
    s.lane_key = lane;
    s.spec = R"({"command":["true"]})";
    s.secret = "sealed";
    return s;
  }
  Lease run_command(Submission s) {
    submit(std::move(s));
    return claim_command();
  }
  Lease run_command() { return run_command(command()); }
  Lease claim_command() {
    auto claimed = claim({.kind = schemas::Kind::kExec, .worker = "w-1", .count = 1});
    EXPECT_EQ(claimed.size(), 1u);
    return claimed.empty() ? Lease{} : claimed.front().lease;
  }

  std::vector<ClaimedJob> claim(JobClaims::Request request) {
    return await<std::vector<ClaimedJob>>([&](auto done) { claims().claim(std::move(request), done); })
        .value();
  }
  std::vector<ClaimedJob> claim(int count, int reserved_slots = 0) {
    return claim(
        {.kind = schemas::Kind::kOcr, .worker = "w-1", .count = count, .reserved_slots = reserved_slots});
  }
  // The lease of the next job; the test fails if there is none.
  Lease claim_one() {
    auto claimed = claim(1);
    EXPECT_EQ(claimed.size(), 1u);
    return claimed.empty() ? Lease{} : claimed.front().lease;
  }
  Lease submit_and_claim() {
    submit();
    return claim_one();
  }

  ReportResult finish(const Lease& lease, std::string result = "{}") {
    return outcome([&](auto done) { outcomes().finish(lease, {std::move(result), nullptr}, done); });
  }
  ReportResult fail(const Lease& lease, schemas::JobError error = {base::Code::kDocumentDamaged, "broken"}) {
    return outcome([&](auto done) { outcomes().fail(lease, std::move(error), {}, done); });
  }
  ReportResult cancelled(const Lease& lease) {
    return outcome([&](auto done) { outcomes().cancelled(lease, {}, done); });
  }
  ReportResult expired(const Lease& lease) {
    return outcome([&](auto done) {
      outcomes().expired(lease, {base::Code::kPageTimeout, "took too long"}, {}, done);
    });
  }
  ReportResult retry(const Lease& lease, RetryPlan plan) {
    return outcome([&](auto done) { outcomes().retry(lease, std::move(plan), done); });
  }
  ReportResult return_to_queue(const Lease& lease) {
    return outcome([&](auto done) { outcomes().return_to_queue(lease, done); });
  }
  ReportResult split(const Lease& lease, int children) {
    std::vector<ChildSpec> specs;
    for (int i = 0; i < children; ++i) specs.push_back({"{\"range\":" + std::to_string(i) + "}", new_id()});
    return outcome([&](auto done) { outcomes().split(lease, std::move(specs), children, done); });
  }
  ReportResult part(const Lease& lease, int index, std::string bytes = "{}", bool replace = false) {
    return outcome([&](auto done) {
      outcomes().parts(lease, {{index, {std::move(bytes), nullptr}, replace}}, {}, done);
    });
  }
  ReportResult engine_time(const Lease& lease, std::chrono::milliseconds time) {
    return outcome([&](auto done) { outcomes().parts(lease, {}, time, done); });
  }
  ReportResult append_events(const Lease& lease, std::vector<JobOutcomes::Event> events) {
    return outcome([&](auto done) { outcomes().events(lease, std::move(events), done); });
  }
  ReportResult total(const Lease& lease, int pages) {
    return outcome([&](auto done) { outcomes().progress_total(lease, pages, done); });
  }

  base::Result<schemas::JobView> cancel(const schemas::JobId& job, const std::string& tenant = kTenant,
                                        const std::string& actor = {}) {
    return await<schemas::JobView>([&](auto done) { intake().cancel({tenant, actor}, job, done); });
  }
  base::Result<Submitted> retry_job(const schemas::JobId& old, const std::string& tenant = kTenant,
                                    base::Result<schemas::NanoUsd> cost_max = 0) {
    return retry_job(Retry{.by = {.tenant = tenant}, .old = old, .cost_max = std::move(cost_max)});
  }
  base::Result<Submitted> retry_job(Retry retry) {
    retry.new_job = new_id();
    retry.deadline_after = 24h;
    return await<Submitted>([&](auto done) { intake().retry(retry, done); });
  }

  static std::string status_text(const schemas::JobView& job) {
    return std::string(schemas::public_status(job));
  }
  base::Result<Removed> remove_job(const schemas::JobId& job, const std::string& actor = {},
                                   std::optional<IdempotencyKey> key = {},
                                   const std::string& tenant = kTenant,
                                   ReplyBuilder<schemas::JobView> reply = &status_text) {
    return await<Removed>([&](auto done) {
      intake().remove(job, {.tenant = tenant, .actor = actor, .key = key}, reply, done);
    });
  }
  base::Result<CallReply> remove(const schemas::JobId& job, const std::string& actor = {},
                                 const std::string& tenant = kTenant) {
    const IdempotentCall call{
        .tenant = tenant, .actor = actor, .key = {}, .act = new_id(schemas::Kind::kMachine)};
    const auto reply = [](const JobRecord&) { return std::string("{}"); };
    return await<CallReply>([&](auto done) { intake().cancel_or_delete(job, call, reply, done); });
  }

  int expire_leases(int losses_max = kLossesMax) {
    return step([&](auto done) { upkeep().expire_leases(kLease, losses_max, 100, done); });
  }
  // Commits regularly, as maintenance does, so that the clocks are trusted; then the lease expires.
  int let_leases_end(int losses_max = kLossesMax) {
    for (int i = 0; i < 5; ++i) {
      clock.advance(5s);
      (void)step([&](auto done) { upkeep().release_due(1, done); });
    }
    return expire_leases(losses_max);
  }
  int release_worker(const std::string& worker = "w-1", int losses_max = kLossesMax) {
    return step([&](auto done) { upkeep().release_worker(worker, losses_max, done); });
  }
  int expire_deadlines() {
    return step([&](auto done) { upkeep().expire_deadlines(100, done); });
  }
  int cancel_orphans(int limit = 100) {
    return step([&](auto done) { upkeep().cancel_orphans(limit, done); });
  }
  int release_due() {
    return step([&](auto done) { upkeep().release_due(100, done); });
  }
  template <class Move>
  int step(Move&& move) {
    return await<int>(std::forward<Move>(move)).value();
  }

  HeartbeatReply beat(std::vector<Lease> leases, int slots = 4, int used = 1) {
    WorkerReport report{"w-1", incarnation, "host", "1", {{schemas::Kind::kOcr, slots, used}}};
    return await<HeartbeatReply>(
               [&](auto done) { claims().heartbeat(report, std::move(leases), kLease, done); })
        .value();
  }

  schemas::JobView view(const schemas::JobId& job, const std::string& tenant = kTenant) {
    return queries().job(tenant, job).value();
  }
  std::vector<JobQueries::ChildEnd> children(const schemas::JobId& parent) {
    return queries().children(parent).value();
  }
  JobStatus status(const schemas::JobId& job) { return queries().versions({job}).value().at(0).status; }

  base::ManualClock clock;
  base::Uuid incarnation = base::Uuid::make(clock.wall());

 private:
  struct Roles {
    explicit Roles(Store& s) : intake(s), claims(s), outcomes(s), upkeep(s), queries(s) {}
    JobIntake intake;
    JobClaims claims;
    JobOutcomes outcomes;
    JobMaintenance upkeep;
    JobQueries queries;
  };

  template <class Move>
  ReportResult outcome(Move&& move) {
    return await<ReportResult>(std::forward<Move>(move)).value();
  }
  void start() {
    store_ = std::move(open_(options_, clock).value());
    store_->on_commit([this](const Commit& commit) { commits_.append(commit); });
    roles_ = std::make_unique<Roles>(*store_);
  }

  support::TempDir dir_;
  OpenStore open_;
  Store::Options options_;
  CommitLog commits_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Roles> roles_;
};

}  // namespace millrace::storage::testing
