// bench_load: sends many identical requests to a server on this machine. Prints one line of JSON about the
// replies.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tests/bench/load/client.h"
#include "tests/bench/measure/flags.h"
#include "tests/bench/measure/report.h"

namespace {

using namespace millrace;
using bench::Flags;

const std::vector<std::string> kFlags = {"port", "method", "path",    "header",   "body-file", "connections",
                                         "rate", "warmup", "seconds", "requests", "expect",    "fresh-keys"};

// Reads numeric flags. The first value that is not a number is the error.
class Numbers {
 public:
  explicit Numbers(const Flags& flags) : flags_(flags) {}
  template <class T>
  T read(const std::string& name, T otherwise) {
    const auto value = flags_.number(name, static_cast<double>(otherwise));
    if (value) return static_cast<T>(*value);
    if (problem_.empty()) problem_ = value.error().message;
    return otherwise;
  }
  const std::string& problem() const { return problem_; }

 private:
  const Flags& flags_;
  std::string problem_;
};

base::Result<bench::Load> read_load(const Flags& flags) {
  bench::Load load;
  Numbers numbers(flags);
  load.port = numbers.read<std::uint16_t>("port", 0);
  load.method = flags.text("method", load.method);
  load.path = flags.text("path", load.path);
  load.headers = flags.all("header");
  load.connections = numbers.read("connections", load.connections);
  load.rate = numbers.read("rate", load.rate);
  load.warmup = std::chrono::duration<double>(numbers.read("warmup", 0.0));
  load.measured = std::chrono::duration<double>(numbers.read("seconds", 1.0));
  load.requests_max = numbers.read<std::uint64_t>("requests", 0);
  load.expected_status = numbers.read("expect", load.expected_status);
  load.fresh_keys = numbers.read("fresh-keys", 0) != 0;
  if (!numbers.problem().empty()) return base::error(base::Code::kInvalidField, numbers.problem());
  if (const std::string file = flags.text("body-file"); !file.empty()) {
    std::ifstream in(file, std::ios::binary);
    if (!in) return base::error(base::Code::kInvalidField, "cannot read " + file);
    load.body.assign(std::istreambuf_iterator<char>(in), {});
  }
  return load;
}

int fail(const std::string& message) {
  std::cerr << "bench_load: " << message << '\n';
  return 1;
}

void print(const bench::LoadResult& result) {
  std::printf(R"({"replies":%llu,"seconds":%.4f,"per_second":%.1f,%s})"
              "\n",
              static_cast<unsigned long long>(result.replies), result.seconds,
              static_cast<double>(result.replies) / result.seconds,
              bench::latency_json(result.latency).c_str());
}

}  // namespace

int main(int count, char** words) {
  const auto flags = Flags::read(count, words, kFlags);
  if (!flags) return fail(flags.error().message);
  const auto load = read_load(*flags);
  if (!load) return fail(load.error().message);
  const auto result = bench::run(*load);
  if (!result) return fail(result.error().message);
  if (!result->wrong.empty()) {
    std::string statuses;
    for (const auto& [status, times] : result->wrong)
      statuses += " " + std::to_string(status) + " × " + std::to_string(times);
    return fail("unexpected replies:" + statuses + "; the first: " + result->first_wrong_body);
  }
  print(*result);
  return 0;
}
