#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace millrace::net {

inline constexpr std::size_t kSseStrayBytesMax = 16u << 10;

struct SseEvent {
  std::string id;     // the last id seen, as the standard says
  std::string event;  // "message" if unnamed
  std::string data;
};

// Server-sent events from bytes cut anywhere (the WHATWG rules: CR, LF, CRLF; BOM; comments ignored).
// Bounded: an event above `event_bytes_max` ends it. One thread at a time.
class SseReader {
 public:
  explicit SseReader(std::function<void(const SseEvent&)> on_event, std::size_t event_bytes_max = 8u << 20)
      : on_event_(std::move(on_event)), event_bytes_max_(event_bytes_max) {}
  // False: past the bound; nothing more is read.
  bool feed(std::string_view bytes);
  const std::string& last_id() const { return event_.id; }
  // The lines so far that are no field of the standard, which it ignores: some servers end a stream with an
  // error as bare JSON. At most kSseStrayBytesMax.
  std::string stray() const;

 private:
  void take_line(std::string_view line);
  void keep_stray(std::string_view line);
  void dispatch();

  std::function<void(const SseEvent&)> on_event_;
  std::size_t event_bytes_max_;
  std::string line_, stray_;
  SseEvent event_;  // under way
  bool after_cr_ = false, first_line_ = true, has_data_ = false, broken_ = false;
};

}  // namespace millrace::net
