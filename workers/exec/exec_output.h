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

// Buffers a command's output between the pump thread and the store. The first `kept_max` bytes of each stream
// are kept, in chunks that never split a character; the rest is only counted. Thread-safe.
class ExecOutput {
 public:
  static constexpr std::size_t kChunkMax = 16 * 1024;
  static constexpr std::size_t kEventsPerTake = 8;
  struct Options {
    std::size_t kept_max = std::size_t{1} << 20;     // per stream
    std::size_t waiting_max = std::size_t{1} << 20;  // both streams together; above it, `add` blocks
    std::chrono::steady_clock::time_point block_until = std::chrono::steady_clock::time_point::max();
  };

  // `wake`: called on the pump's thread when there is output to take, at most once until the next `take`.
  ExecOutput(Options options, std::function<void()> wake) : options_(options), wake_(std::move(wake)) {}

  // Called on the pump's thread. Blocks while more than `waiting_max` bytes wait to be taken, but not past
  // `block_until` or `stop_blocking`. Bytes above `kept_max` never block.
  void add(schemas::OutputStream stream, std::string_view bytes);
  // The command has ended. An incomplete character at the end is emitted unchanged, unless `kept_max` cut it.
  void close();
  // From now on `add` does not block.
  void stop_blocking();
  // Like `stop_blocking`; also drops the buffered output.
  void discard();

  // Takes the oldest events, at most kEventsPerTake; empty: nothing is buffered.
  std::vector<storage::JobOutcomes::Event> take();
  // The sizes so far; exit code and signal are left unset.
  schemas::ExecutionResult sizes() const;

 private:
  struct Stream {
    std::uint64_t written = 0;
    std::string incomplete;  // the first bytes of an incomplete character
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
  std::deque<Piece> buffered_;
  std::size_t buffered_bytes_ = 0;
  bool notified_ = false;
  bool blocking_stopped_ = false;
  bool discarded_ = false;
};

}  // namespace millrace::workers
