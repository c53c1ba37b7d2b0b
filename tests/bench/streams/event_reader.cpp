#include "tests/bench/streams/event_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace millrace::bench {
namespace {

constexpr std::size_t kHeadMax = 64 * 1024;
constexpr std::size_t kLineMax = 256;
constexpr std::size_t kLineEnd = 2;

}  // namespace

void EventReader::clear() {
  head_.clear();
  line_.clear();
  events_.clear();
  head_done_ = last_ = false;
  chunk_left_ = 0;
}

EventReader::State EventReader::take(std::string_view bytes, std::vector<std::string>& events) {
  if (!head_done_) {
    head_.append(bytes);
    const std::size_t blank = head_.find("\r\n\r\n");
    if (blank == std::string::npos) return head_.size() > kHeadMax ? State::kBroken : State::kMore;
    line_ = head_.substr(blank + 4);
    head_.resize(blank + kLineEnd);
    head_done_ = true;
    const std::string rest = std::exchange(line_, {});
    if (head_.compare(0, 12, "HTTP/1.1 200") != 0) return State::kBroken;
    return take(rest, events);
  }
  const State state = read_chunks(bytes);
  std::size_t begin = 0;
  for (std::size_t end = events_.find("\n\n"); end != std::string::npos; end = events_.find("\n\n", begin)) {
    events.push_back(events_.substr(begin, end - begin));
    begin = end + 2;
  }
  events_.erase(0, begin);
  return state;
}

EventReader::State EventReader::read_chunks(std::string_view bytes) {
  while (!bytes.empty()) {
    if (chunk_left_ == 0) {
      const State state = read_size(bytes);
      if (state == State::kBroken) return state;
      continue;
    }
    const std::size_t count = std::min(chunk_left_, bytes.size());
    const std::size_t content = chunk_left_ > kLineEnd ? std::min(count, chunk_left_ - kLineEnd) : 0;
    events_.append(bytes.substr(0, content));
    bytes.remove_prefix(count);
    chunk_left_ -= count;
    if (last_ && chunk_left_ == 0) return bytes.empty() ? State::kDone : State::kBroken;
  }
  return State::kMore;
}

// Reads the line with the size of a chunk. After the last chunk's line only the final line end follows.
EventReader::State EventReader::read_size(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  const std::size_t count = std::min(end, bytes.size() - 1) + 1;
  line_.append(bytes.substr(0, count));
  bytes.remove_prefix(count);
  if (!line_.ends_with('\n')) return line_.size() > kLineMax ? State::kBroken : State::kMore;
  std::size_t size = 0;
  if (std::from_chars(line_.data(), line_.data() + line_.size(), size, 16).ec != std::errc{})
    return State::kBroken;
  line_.clear();
  last_ = size == 0;
  chunk_left_ = size + kLineEnd;
  return State::kMore;
}

}  // namespace millrace::bench
