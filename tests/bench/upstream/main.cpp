// bench_upstream: a model provider that answers chat completions, whole or streamed, immediately or (whole
// ones) after --delay-ms. It is the upstream when a gateway is measured.

#include <iostream>

#include "tests/bench/measure/flags.h"
#include "tests/bench/upstream/server.h"

namespace {

int fail(const std::string& message) {
  std::cerr << "bench_upstream: " << message << '\n';
  return 1;
}

}  // namespace

int main(int count, char** words) {
  using namespace millrace;
  const auto flags = bench::Flags::read(count, words, {"frames", "rate", "delay-ms"});
  if (!flags) return fail(flags.error().message);
  const auto frames = flags->number("frames", 3), rate = flags->number("rate", 0);
  const auto delay = flags->number("delay-ms", 0);
  if (!frames || !rate || !delay || *frames < 0 || *rate < 0 || *delay < 0)
    return fail("--frames, --rate and --delay-ms must be ≥ 0");
  if (*rate > 0 && *delay > 0) return fail("--rate and --delay-ms exclude each other");
  auto listening = bench::listen_loopback();
  if (!listening) return fail(listening.error().message);
  std::cout << "millrace ready http://127.0.0.1:" << listening->port << std::endl;
  bench::UpstreamServer server(std::move(*listening),
                               {static_cast<std::uint64_t>(*frames), *rate,
                                std::chrono::milliseconds(static_cast<std::int64_t>(*delay))});
  return fail(server.serve().message);
}
