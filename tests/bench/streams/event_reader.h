#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::bench {

// One streamed reply, read in pieces: its head, its chunks, the events in them. One at a time; not
// thread-safe.
class EventReader {
 public:
  enum class State { kMore, kDone, kBroken };
  // Takes what came, and adds the events that are whole to `events`. kDone: the
  // last chunk has come. kBroken: not a chunked reply with status 200, or something follows it.
  State take(std::string_view bytes, std::vector<std::string>& events);
  void clear();
  std::string_view head() const { return head_; }

 private:
  State read_chunks(std::string_view bytes);
  State read_size(std::string_view& bytes);

  std::string head_, line_, events_;
  bool head_done_ = false, last_ = false;
  std::size_t chunk_left_ = 0;  // of a chunk's bytes and the line end behind them
};

}  // namespace millrace::bench
