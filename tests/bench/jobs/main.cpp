// bench_jobs: measures the job core without HTTP and with a no-op runner. Prints one line of JSON.
//   --mode start: submits at a steady rate; measures the time from the submit to the start of the runner
//   --mode drain: stores a backlog, then measures how fast a worker completes it
//   --mode floor: measures only the disk writes of a job's commit, at that rate, in the folder --data

#include <cstdio>
#include <iostream>

#include "platform/base/log.h"
#include "tests/bench/jobs/floor.h"
#include "tests/bench/jobs/measures.h"
#include "tests/bench/measure/flags.h"
#include "tests/bench/measure/report.h"

namespace {

using namespace millrace;

int fail(const std::string& message) {
  std::cerr << "bench_jobs: " << message << '\n';
  return 1;
}

int start(const bench::JobCore::Options& options, const bench::Pace& pace) {
  const auto result = bench::measure_start(options, pace);
  if (!result) return fail(result.error().message);
  std::printf("{\"jobs\":%llu,%s}\n", static_cast<unsigned long long>(result->jobs),
              bench::latency_json(result->latency).c_str());
  return 0;
}

int drain(const bench::JobCore::Options& options, double jobs) {
  const auto result = bench::measure_drain(options, static_cast<std::uint64_t>(jobs));
  if (!result) return fail(result.error().message);
  std::printf(
      "{\"jobs\":%.0f,\"seconds\":%.4f,\"per_second\":%.1f,\"first_fifth\":%.1f,\"last_fifth\":%.1f,"
      "\"stored_per_second\":%.1f}\n",
      jobs, result->seconds, jobs / result->seconds, jobs / 5 / result->first_fifth,
      jobs / 5 / result->last_fifth, jobs / result->store_seconds);
  return 0;
}

int floor(const std::string& folder, const bench::Pace& pace) {
  const auto took = bench::measure_floor(folder, pace);
  if (!took) return fail(took.error().message);
  std::printf("{\"jobs\":%llu,%s}\n", static_cast<unsigned long long>(took->count()),
              bench::latency_json(*took).c_str());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const auto flags = bench::Flags::read(
      count, words, {"mode", "data", "url", "kafka", "slots", "rate", "warmup", "seconds", "jobs"});
  if (!flags) return fail(flags.error().message);
  const auto slots = flags->number("slots", 64), rate = flags->number("rate", 200);
  const auto warmup = flags->number("warmup", 1), seconds = flags->number("seconds", 10);
  const auto jobs = flags->number("jobs", 10'000);
  if (!slots || !rate || !warmup || !seconds || !jobs) return fail("a value is not a number");
  const bench::JobCore::Options options{flags->text("data"), flags->text("url"), flags->text("kafka"),
                                        static_cast<int>(*slots)};
  if (options.data_dir.empty()) return fail("--data DIR is required");
  base::log_start(base::LogFormat::kText, base::LogLevel::kWarn);
  const bench::Pace pace{*rate, std::chrono::duration<double>(*warmup),
                         std::chrono::duration<double>(*seconds)};
  const std::string mode = flags->text("mode");
  const int code = mode == "start"   ? start(options, pace)
                   : mode == "drain" ? drain(options, *jobs)
                   : mode == "floor" ? floor(options.data_dir, pace)
                                     : fail("--mode must be start, drain or floor");
  base::log_stop();
  return code;
}
