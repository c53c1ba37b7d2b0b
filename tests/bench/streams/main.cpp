// bench_streams: requests streamed chat completions of bench_upstream through a proxy. Prints one line of
// JSON: how many frames arrived, and their latencies.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tests/bench/measure/flags.h"
#include "tests/bench/measure/report.h"
#include "tests/bench/streams/client.h"

namespace {

using namespace millrace;
using bench::Flags;

int fail(const std::string& message) {
  std::cerr << "bench_streams: " << message << '\n';
  return 1;
}

base::Result<bench::Streams> read_streams(const Flags& flags) {
  bench::Streams streams;
  const auto port = flags.number("port", 0), connections = flags.number("connections", 1);
  const auto rounds = flags.number("rounds", 1), frames = flags.number("frames", 1);
  for (const auto& each : {port, connections, rounds, frames})
    if (!each) return each.error();
  streams.port = static_cast<std::uint16_t>(*port);
  streams.connections = static_cast<int>(*connections);
  streams.rounds = static_cast<std::uint64_t>(*rounds);
  streams.frames = static_cast<std::uint64_t>(*frames);
  streams.path = flags.text("path", streams.path);
  streams.headers = flags.all("header");
  const std::string file = flags.text("body-file");
  std::ifstream in(file, std::ios::binary);
  if (!in) return base::error(base::Code::kInvalidField, "cannot read " + file);
  streams.body.assign(std::istreambuf_iterator<char>(in), {});
  return streams;
}

void print(const bench::StreamsResult& result) {
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(R"({"frames":%llu,"lost":%llu,"merged":%llu,"waited":%llu,"cut_off":%llu,"seconds":%.4f,)"
              R"("first":{%s},"delay":{%s}})"
              "\n",
              number(result.frames), number(result.lost), number(result.merged), number(result.waited),
              number(result.cut_off), result.seconds, bench::latency_json(result.first).c_str(),
              bench::latency_json(result.delay).c_str());
}

}  // namespace

int main(int count, char** words) {
  const auto flags =
      Flags::read(count, words, {"port", "path", "header", "body-file", "connections", "rounds", "frames"});
  if (!flags) return fail(flags.error().message);
  const auto streams = read_streams(*flags);
  if (!streams) return fail(streams.error().message);
  const auto result = bench::run(*streams);
  if (!result) return fail(result.error().message);
  print(*result);
  return 0;
}
