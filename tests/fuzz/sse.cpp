#include <string>
#include <vector>

#include "platform/net/sse_reader.h"
#include "tests/fuzz/fuzz.h"

// Server-sent events. The input is a stream.
namespace millrace::net {
namespace {

using fuzz::require;

constexpr std::size_t kEventBytesMax = 512;

struct Read {
  std::string events;  // as an event stream in its plainest form
  std::string last_id, stray;
  bool complete = true;
  friend bool operator==(const Read&, const Read&) = default;
};

std::string written(const SseEvent& event) {
  std::string text = "id: " + event.id + "\nevent: " + event.event + "\ndata: ";
  for (const char c : event.data) text.append(c == '\n' ? "\ndata: " : std::string(1, c));
  return text + "\n\n";
}

Read read(const std::vector<std::string_view>& pieces) {
  Read out;
  SseReader reader(
      [&](const SseEvent& event) {
        require(event.data.size() <= kEventBytesMax, "an event within its bound");
        require(!event.event.empty(), "an event has a name");
        out.events += written(event);
      },
      kEventBytesMax);
  for (const std::string_view piece : pieces) out.complete = out.complete && reader.feed(piece);
  out.last_id = reader.last_id();
  if (out.complete) out.stray = reader.stray();  // else it depends on where the reader stopped in a line
  require(out.stray.size() <= kSseStrayBytesMax, "stray lines within their bound");
  return out;
}

void check_stream(std::string_view input) {
  const Read whole = read({input});
  const auto [first, rest] = fuzz::two_pieces(input);
  require(whole == read({first, rest}), "events are the same in pieces");
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < input.size(); ++i) bytes.push_back(input.substr(i, 1));
  require(whole == read(bytes), "events are the same byte by byte");
  const Read again = read({whole.events});
  if (again.complete) require(again.events == whole.events, "events that are written again are the same");
}

}  // namespace
}  // namespace millrace::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::net::check_stream(millrace::fuzz::text_of(data, size));
  return 0;
}
