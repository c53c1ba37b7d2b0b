#include "workers/parts_run.h"

#include <iterator>
#include <utility>

#include "jobs/policy.h"
#include "workers/job_log.h"

namespace millrace::workers {

using engines::EngineEnd;

PartsRun::PartsRun(std::string_view step, storage::Claimed job, AttemptContext& context, Runner::Ended ended)
    : SteppedRun(step, std::move(job), context, std::move(ended)),
      writer_(std::make_shared<PartWriter>(context)) {}

void PartsRun::want(const std::vector<int>& wanted, const std::vector<int>& finished) {
  left_.insert(wanted.begin(), wanted.end());
  for (const int part : finished) left_.erase(part);
}

void PartsRun::work() {
  if (left_.empty()) return write_and([this] { conclude(); });
  if (!context().may_start()) return end(Lost{});
  std::vector<int> parts(left_.begin(), isolated() ? std::next(left_.begin()) : left_.end());
  auto begun = recognise(std::move(parts));
  if (!begun) return again_later([this] { work(); });
  under_way(std::move(*begun));
}

void PartsRun::part(int index, const std::string& json, bool good) {
  if (is_over() || left_.erase(index) == 0) return;
  count(good);
  writer_->add(index, json);
}

std::function<void(EngineEnd)> PartsRun::on_end() {
  return [this, self = shared_from_this()](EngineEnd how) {
    post([this, how = std::move(how)] { engine_ended(how); });
  };
}

void PartsRun::engine_ended(const EngineEnd& how) {
  came_back();
  if (!goes_on()) return;
  switch (how.kind) {
    case EngineEnd::Kind::kDone:
      return work();
    case EngineEnd::Kind::kCrashed:
      if (left_.empty()) return work();  // it had nothing left to do
      return crashed(isolated() || how.page < 0 ? *left_.begin() : how.page);
    case EngineEnd::Kind::kCancelled:
      return end(Lost{});  // the engine ends, not the job
    case EngineEnd::Kind::kFailed:
      return fail(how.error.value_or(base::error(base::Code::kInternal, "the engine failed")));
  }
}

// The job's last crash is not reported: the part to blame fails, its neighbours do not.
void PartsRun::crashed(int blamed) {
  log_job(base::LogLevel::kWarn, "part_crashed", job(), {{"part", blamed}, {"crashes", job().crashes + 1}});
  const base::Error error = crash_error(blamed);
  if (job().crashes + 1 < jobs::kCrashesMax) {
    return write_and([this, error] { end(Retry{error, true}); });
  }
  part(blamed, failed_part(blamed, error), false);
  work();
}

void PartsRun::write_and(std::function<void()> then) {
  writer_->flush([this, self = shared_from_this(), then = std::move(then)](bool held) {
    if (!goes_on()) return;
    if (!held) return end(Lost{});
    take(then);
  });
}

}  // namespace millrace::workers
