#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ai/providers/json_access.h"
#include "platform/net/sse_reader.h"

namespace millrace::providers {

// Passes on the events of an upstream's stream as valid UTF-8 (schemas/json/broken_json.h). Some upstreams
// split a text inside a character. An event whose text ends with an incomplete character is held, and those
// behind it, until the rest arrives in the same member of a later event. If the rest never comes, the
// character becomes U+FFFD. Not thread-safe.
class SplitCharacterJoiner {
 public:
  // As soon as one of these bounds is reached, the oldest event is passed on.
  static constexpr std::size_t kHeldEventsMax = 32, kHeldBytesMax = 64u << 10;

  explicit SplitCharacterJoiner(std::function<void(const net::SseEvent&)> out) : out_(std::move(out)) {}
  void take(const net::SseEvent& event);
  bool is_holding() const { return !held_.empty(); }
  // The number of the oldest held event in the order of arrival. nullopt: none is held.
  std::optional<std::size_t> oldest() const;
  // Passes on the oldest held event, without the rest of its characters, and those that are held for it
  // alone.
  void pass_on_oldest();
  void flush();  // passes on all held events

 private:
  struct Held {
    net::SseEvent event;
    Json tree;  // null: passed on unchanged
  };
  struct Incomplete {
    std::string* text;
    std::size_t event;  // its number
  };
  bool join(Json& tree);
  void pass_on_complete();

  std::function<void(const net::SseEvent&)> out_;
  std::vector<Held> held_;
  std::size_t first_ = 0;  // the number of the first event in `held_`
  // Texts that end with an incomplete character, by the hash of their place: places may be long.
  std::map<std::uint64_t, Incomplete> incomplete_;
  std::size_t bytes_ = 0;
};

}  // namespace millrace::providers
