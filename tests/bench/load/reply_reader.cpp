#include "tests/bench/load/reply_reader.h"

#include <charconv>

#include <strings.h>

namespace millrace::bench {
namespace {

constexpr std::size_t kHeadMax = 64 * 1024;

template <class T>
bool read_number(std::string_view text, T& out) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc{};
}

}  // namespace

void ReplyReader::clear() {
  seen_.clear();
  head_size_ = body_size_ = 0;
  status_ = 0;
}

bool ReplyReader::read_head() {
  constexpr std::string_view kLength = "content-length:";
  const std::string_view head = std::string_view(seen_).substr(0, head_size_);
  if (head.size() < 12 || !read_number(head.substr(9, 3), status_)) return false;
  for (std::size_t at = head.find("\r\n"); at + 2 < head.size(); at = head.find("\r\n", at + 2)) {
    const std::string_view line = head.substr(at + 2);
    if (line.size() > kLength.size() && ::strncasecmp(line.data(), kLength.data(), kLength.size()) == 0)
      return read_number(line.substr(kLength.size()), body_size_);
  }
  return false;
}

ReplyReader::State ReplyReader::take(std::string_view bytes) {
  seen_.append(bytes);
  if (head_size_ == 0) {
    const std::size_t blank = seen_.find("\r\n\r\n");
    if (blank == std::string::npos) return seen_.size() > kHeadMax ? State::kBroken : State::kMore;
    head_size_ = blank + 4;
    if (!read_head()) return State::kBroken;
  }
  if (seen_.size() < head_size_ + body_size_) return State::kMore;
  return seen_.size() == head_size_ + body_size_ ? State::kDone : State::kBroken;
}

}  // namespace millrace::bench
