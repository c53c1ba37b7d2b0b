#include "app/cli/queue_text.h"

#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "app/cli/json_cells.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr std::array<std::size_t, 6> kQueueColumns{8, 9, 9, 9, 9, 9};
constexpr std::array<std::size_t, 4> kWorkerColumns{28, 9, 9, 50};

template <std::size_t N>
std::string queue_line(const std::array<std::size_t, N>& widths, std::array<std::string, N> cells,
                       const std::string& last) {
  std::string out;
  for (std::size_t i = 0; i < N; ++i) out += padded(std::move(cells.at(i)), widths.at(i)) + "  ";
  return out + last;
}

std::string count_at(const json& of, const char* key) {
  const auto found = of.find(key);
  return found == of.end() ? "-" : plain(*found);
}

// "12 s", "5 min", "3 h", "2 d"; "-" where nothing is known.
std::string age_at(const json& of, const char* key) {
  const auto found = of.find(key);
  if (found == of.end() || !found->is_number()) return "-";
  constexpr double kMinuteS = 60, kHourS = 3600, kDayS = 86'400;
  const double seconds = found->get<double>();
  const auto text = [&](double unit, const char* name) {
    return std::to_string(std::lround(std::floor(seconds / unit))) + name;
  };
  if (seconds < 2 * kMinuteS) return text(1, " s");
  if (seconds < 2 * kHourS) return text(kMinuteS, " min");
  return seconds < 2 * kDayS ? text(kHourS, " h") : text(kDayS, " d");
}

std::string share_at(const json& of) { return count_at(of, "used") + "/" + count_at(of, "slots"); }

std::string slots_text(const json& worker) {
  std::string out;
  for (const json& each : worker.value("slots", json::array()))
    out += (out.empty() ? "" : " ") + text_at(each, "kind") + " " + share_at(each);
  return out.empty() ? "-" : out;
}

// How it stands with a worker: one that drains still ends what it runs.
std::string worker_state(const json& worker) {
  if (!worker.value("live", false)) return "silent";
  return worker.value("draining", false) ? "draining" : "live";
}

}  // namespace

std::string queue_header() {
  return queue_line(kQueueColumns, {"KIND", "QUEUED", "RUNNING", "WAITING", "OLDEST", "SLOTS"}, "STATE");
}

std::string queue_row(const json& queue) {
  const bool paused = queue.value("paused", false);
  return queue_line(kQueueColumns,
                    {text_at(queue, "kind"), count_at(queue, "queued"), count_at(queue, "running"),
                     count_at(queue, "waiting"), age_at(queue, "oldest_queued_seconds"), share_at(queue)},
                    paused ? "paused since " + text_at(queue, "paused_at") : "open");
}

std::string worker_header() {
  return queue_line(kWorkerColumns, {"NAME", "STATE", "HEARD", "SLOTS"}, "HOST");
}

std::string worker_row(const json& worker) {
  return queue_line(kWorkerColumns,
                    {text_at(worker, "name"), worker_state(worker), age_at(worker, "heartbeat_age_seconds"),
                     slots_text(worker)},
                    text_at(worker, "host"));
}

}  // namespace millrace::cli
