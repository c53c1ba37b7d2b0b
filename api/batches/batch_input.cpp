#include "api/batches/batch_input.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <unistd.h>

namespace millrace::api {
namespace {

constexpr std::size_t kInputPiece = 256 * 1024;
constexpr std::int64_t kEmptyMax = 256 * 1024;  // bytes of empty lines that one call leaves out
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The bytes at this place; fewer at the end of the file.
base::Result<std::size_t> read_at(const storage::OpenFile& file, char* to, std::size_t bytes,
                                  std::int64_t at) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(file.fd(), to + done, bytes - done, at + static_cast<std::int64_t>(done));
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return storage::file_error(errno, "the input of a batch");
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace

base::Result<bool> BatchInput::fill() {
  position_ += static_cast<std::int64_t>(buffer_.size());
  buffer_.resize(kInputPiece);
  at_ = 0;
  const auto got = read_at(file_, buffer_.data(), buffer_.size(), position_);
  buffer_.resize(got.value_or(0));
  if (!got) return got.error();
  if (position_ == 0 && buffer_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  return !buffer_.empty();
}

base::Result<std::optional<BatchInput::Line>> BatchInput::next(std::string& text) {
  text.clear();
  Line line;
  bool has_begun = false;
  const std::int64_t begin = position_ + static_cast<std::int64_t>(at_);
  for (;;) {
    const std::int64_t skipped = position_ + static_cast<std::int64_t>(at_) - begin;
    if (!has_begun && skipped > kEmptyMax)
      return std::optional(Line{
          .number = number_, .starts_at = begin, .bytes = skipped, .is_too_long = false, .is_empty = true});
    if (at_ == buffer_.size()) {
      const auto more = fill();
      if (!more) return more.error();
      if (!*more && !has_begun) return std::optional<Line>();
      if (!*more) break;
    }
    if (!has_begun) {
      line = {.number = ++number_, .starts_at = position_ + static_cast<std::int64_t>(at_)};
      has_begun = true;
    }
    const std::size_t end = std::min(buffer_.find('\n', at_), buffer_.size());
    const std::string_view piece(buffer_.data() + at_, end - at_);
    line.bytes += static_cast<std::int64_t>(piece.size());
    line.is_too_long = line.is_too_long || line.bytes > line_max_;
    if (!line.is_too_long) text += piece;
    at_ = end;
    if (end == buffer_.size()) continue;
    ++at_;
    const bool is_empty = text.find_first_not_of(" \t\r") == std::string::npos && !line.is_too_long;
    if (!is_empty) return std::optional(line);
    has_begun = false;
    text.clear();
  }
  const bool is_empty = text.find_first_not_of(" \t\r") == std::string::npos && !line.is_too_long;
  return is_empty ? std::optional<Line>() : std::optional(line);
}

base::Result<std::string> BatchInput::read(std::int64_t starts_at, std::int64_t bytes) const {
  std::string out(static_cast<std::size_t>(bytes), '\0');
  const auto got = read_at(file_, out.data(), out.size(), starts_at);
  if (!got) return got.error();
  if (*got < out.size())
    return base::error(base::Code::kStoredDamaged, "The input of the batch is shorter than it was");
  return out;
}

}  // namespace millrace::api
