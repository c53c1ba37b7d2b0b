#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::bench {

// Reads one streamed reply in pieces: the head, the chunks and the events in them. It reads one reply at a
// time and is not thread-safe.
class EventReader {
 public:
  enum class State { kMore, kDone, kBroken };
  // Parses received bytes and adds the complete events to `events`. kDone: the last chunk was received.
  // kBroken: not a chunked reply with status 200, or bytes follow it.
  State take(std::string_view bytes, std::vector<std::string>& events);
  void clear();
  std::string_view head() const { return head_; }

 private:
  State read_chunks(std::string_view bytes);
  State read_size(std::string_view& bytes);

  std::string head_, line_, events_;
  bool head_done_ = false, last_ = false;
  std::size_t chunk_left_ = 0;  // bytes left of the current chunk, its line end included
};

}  // namespace millrace::bench
