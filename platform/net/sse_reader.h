#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace millrace::net {

inline constexpr std::size_t kSseStrayBytesMax = 16u << 10;

struct SseEvent {
  std::string id;     // the last id received, as the standard requires
  std::string event;  // "message" if unnamed
  std::string data;
};

// Parses server-sent events from bytes that may be cut anywhere. Follows the WHATWG rules: CR, LF, CRLF; BOM;
// comments ignored. An event larger than `event_bytes_max` is an error. Must be used by one thread at a time.
class SseReader {
 public:
  explicit SseReader(std::function<void(const SseEvent&)> on_event, std::size_t event_bytes_max = 8u << 20)
      : on_event_(std::move(on_event)), event_bytes_max_(event_bytes_max) {}
  // False: an event exceeded the limit. Nothing more is read.
  bool feed(std::string_view bytes);
  const std::string& last_id() const { return event_.id; }
  // The lines so far that are not fields of the standard, which ignores them. Some servers end a stream with
  // an error as bare JSON. At most kSseStrayBytesMax are kept.
  std::string stray() const;

 private:
  void take_line(std::string_view line);
  void keep_stray(std::string_view line);
  void dispatch();

  std::function<void(const SseEvent&)> on_event_;
  std::size_t event_bytes_max_;
  std::string line_, stray_;
  SseEvent event_;  // the event that is being read
  bool after_cr_ = false, first_line_ = true, has_data_ = false, broken_ = false;
};

}  // namespace millrace::net
