#include "platform/net/sse_reader.h"

namespace millrace::net {

bool SseReader::feed(std::string_view bytes) {
  for (char c : bytes) {
    if (broken_) return false;
    const bool lf_of_crlf = after_cr_ && c == '\n';
    after_cr_ = c == '\r';
    if (lf_of_crlf) continue;
    if (c != '\r' && c != '\n') {
      line_.push_back(c);
      broken_ = line_.size() + data_.size() > event_bytes_max_;
      continue;
    }
    const std::string line = std::move(line_);
    line_.clear();
    if (!take_line(line)) return false;
  }
  return !broken_;
}

bool SseReader::take_line(std::string_view line) {
  if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.empty()) {
    dispatch();
    return true;
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) data_.push_back('\n');
    data_.append(value);
    has_data_ = true;
  } else if (field == "event") {
    event_ = value;
  } else if (field == "id" && value.find('\0') == std::string_view::npos) {
    last_id_ = value;
  }
  return true;
}

void SseReader::dispatch() {
  if (has_data_) on_event_(SseEvent{last_id_, event_.empty() ? "message" : event_, data_});
  data_.clear();
  event_.clear();
  has_data_ = false;
}

}  // namespace millrace::net
