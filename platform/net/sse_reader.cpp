#include "platform/net/sse_reader.h"

#include <algorithm>
#include <utility>

namespace millrace::net {

bool SseReader::feed(std::string_view bytes) {
  while (!bytes.empty() && !broken_) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::size_t length = std::min(bytes.substr(0, end).find('\r'), end);
    const std::string_view piece = bytes.substr(0, length);
    broken_ = line_.size() + piece.size() + event_.data.size() > event_bytes_max_;
    if (broken_) break;
    if (length == bytes.size()) {
      line_.append(piece);
      break;
    }
    after_cr_ = bytes[length] == '\r';
    bytes.remove_prefix(length + 1);
    if (line_.empty()) {
      take_line(piece);
    } else {
      line_.append(piece);
      take_line(line_);
      std::string().swap(line_);
    }
  }
  if (!has_data_) std::string().swap(event_.data);  // an idle stream keeps no memory
  return !broken_;
}

void SseReader::take_line(std::string_view line) {
  if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.empty()) {
    dispatch();
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) event_.data.push_back('\n');
    event_.data.append(value);
    has_data_ = true;
  } else if (field == "event") {
    event_.event = value;
  } else if (field == "id" && value.find('\0') == std::string_view::npos) {
    event_.id = value;
  } else if (!field.empty() && field != "id" && field != "retry") {
    keep_stray(line);
  }
}

void SseReader::keep_stray(std::string_view line) {
  stray_.append(line.substr(0, kSseStrayBytesMax - stray_.size()));
  if (stray_.size() < kSseStrayBytesMax) stray_.push_back('\n');
}

std::string SseReader::stray() const {
  return stray_ + line_.substr(0, stray_.empty() ? 0 : kSseStrayBytesMax - stray_.size());
}

void SseReader::dispatch() {
  if (event_.event.empty()) event_.event = "message";
  if (has_data_) on_event_(event_);
  event_.data.clear();
  event_.event.clear();
  has_data_ = false;
}

}  // namespace millrace::net
