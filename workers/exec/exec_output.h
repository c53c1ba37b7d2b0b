#pragma once
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/machines/execution.h"
#include "storage/jobs/job_outcomes.h"

namespace millrace::workers {

// What a command writes, on its way from its pump to the store: the first `kept_max` bytes of each stream, in
// chunks that end between characters; the rest is only counted. Thread-safe.
class ExecOutput {
 public:
  static constexpr std::size_t kChunkMax = 16 * 1024;
  static constexpr std::size_t kEventsPerTake = 8;
  struct Options {
    std::size_t kept_max = std::size_t{1} << 20;     // per stream
    std::size_t waiting_max = std::size_t{1} << 20;  // of both; more makes the pump wait
    std::chrono::steady_clock::time_point give_up_at = std::chrono::steady_clock::time_point::max();
  };

  // `wake`: there is something to take; on the pump's thread, once until the next `take`.
  ExecOutput(Options options, std::function<void()> wake) : options_(options), wake_(std::move(wake)) {}

  // The pump's thread. Blocks while more than `waiting_max` bytes wait to be taken, until `patience` or
  // `release` at the latest; never for bytes past the cap.
  void add(schemas::OutputStream stream, std::string_view bytes);
  // The command has ended: what waited for the rest of a character goes as it is, unless the cap cut it.
  void close();
  // From now on nobody waits in `add`.
  void release();
  // The same, and what waits is dropped.
  void abandon();

  // The oldest events, at most kEventsPerTake; empty: none waits.
  std::vector<storage::JobOutcomes::Event> take();
  // The sizes so far; exit code and signal are not known here.
  schemas::ExecutionResult counts() const;

 private:
  struct Stream {
    std::uint64_t written = 0;
    std::string begun;  // the beginning of a character
  };
  struct Piece {
    schemas::OutputStream stream;
    std::string bytes;
  };

  std::string_view count(Stream& stream, std::string_view bytes) const;
  void gather(schemas::OutputStream stream, std::string_view bytes);
  Piece& piece_for(schemas::OutputStream stream);
  Stream& of(schemas::OutputStream stream) { return streams_[static_cast<std::size_t>(stream)]; }

  const Options options_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::condition_variable taken_;
  std::array<Stream, 2> streams_;
  std::deque<Piece> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool woken_ = false;
  bool released_ = false;
  bool abandoned_ = false;
};

}  // namespace millrace::workers
