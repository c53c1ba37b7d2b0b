#include <map>
#include <set>
#include <string>
#include <vector>

#include "ai/providers/split_character_joiner.h"
#include "platform/base/utf8.h"
#include "platform/net/sse_reader.h"
#include "schemas/chat/chat_reply.h"
#include "tests/fuzz/provider.h"

// The streams of the providers. The first line of the input is the provider's name, the rest is its stream.
namespace millrace::providers {
namespace {

using fuzz::require;

struct Streamed {
  std::vector<schemas::ChatPiece> pieces;
  bool failed = false, complete = false;
  schemas::ChatMetadata facts;
};

Streamed read(const Target& target, std::string_view first, std::string_view rest = {},
              bool keeps_turn = false) {
  Streamed out;
  const auto reader = translation(target.preset->family).stream_reader(target);
  if (keeps_turn) reader->keep_turn();
  SplitCharacterJoiner joiner([&](const net::SseEvent& event) {
    require(base::is_utf8(event.data), "an event that is read is UTF-8");
    if (out.failed) return;
    const auto status = reader->read(event, out.pieces);
    out.failed = !status;
    if (!status) require(!status.error().message.empty(), "an error says why");
  });
  net::SseReader events([&](const net::SseEvent& event) { joiner.take(event); });
  events.feed(first);
  events.feed(rest);
  joiner.flush();
  out.complete = reader->complete(1);
  if (!out.failed && out.complete) reader->end(out.pieces);
  out.facts = reader->facts();
  return out;
}

// What is the same however the stream is cut. Ids can be random.
std::string content_of(const Streamed& streamed) {
  std::string text = streamed.failed ? "failed " : streamed.complete ? "complete " : "open ";
  for (const schemas::ChatPiece& piece : streamed.pieces) {
    text += std::to_string(piece.index) + piece.content.value_or("-") + piece.refusal.value_or("-");
    text += piece.reasoning + piece.finish_reason;
    for (const schemas::ToolCallPiece& call : piece.tool_calls)
      text += std::to_string(call.index) + call.type + call.name + call.arguments;
  }
  return text + streamed.facts.id + streamed.facts.model;
}

void check_usage(const std::optional<schemas::ChatUsage>& usage) {
  if (usage)
    require(usage->prompt >= 0 && usage->completion >= 0 && usage->total >= 0, "tokens are not negative");
}

// Calls of a choice are numbered from 0 without gaps.
void check_calls(const std::vector<schemas::ChatPiece>& pieces) {
  std::map<int, std::set<int>> calls;
  for (const schemas::ChatPiece& piece : pieces) {
    require(piece.index >= 0, "a choice has an index");
    for (const schemas::ToolCallPiece& call : piece.tool_calls) calls[piece.index].insert(call.index);
  }
  for (const auto& [choice, indexes] : calls)
    require(*indexes.begin() == 0 && *indexes.rbegin() + 1 == static_cast<int>(indexes.size()),
            "calls have no gaps");
}

// What clients receive is an event stream of JSON.
void check_events(const std::string& text) {
  net::SseReader events([&](const net::SseEvent& event) {
    if (event.data != "[DONE]") fuzzing::require_json(event.data, "a chunk for clients is JSON");
  });
  events.feed(text);
  require(events.stray().empty(), "a chunk for clients is an event");
}

void check_chunks(const Streamed& streamed, bool old_functions) {
  schemas::ChatChunks chunks("c-1", 1, "m", {.include_usage = true, .old_functions = old_functions});
  schemas::ChatAssembly assembly;
  std::string text;
  for (const schemas::ChatPiece& piece : streamed.pieces) {
    text += chunks.piece(piece);
    assembly.add(piece);
  }
  assembly.add(streamed.facts);
  check_events(text + chunks.end(streamed.facts, {}));
  fuzzing::require_json(schemas::chat_completion_json(assembly.take(), old_functions),
                        "a completion is JSON");
}

bool check_stream(std::string_view input) {
  const Target target = fuzzing::target_of(fuzz::take_line(input));
  if (!fuzzing::can_translate(target)) return false;
  const auto [first, rest] = fuzz::two_pieces(input);
  const Streamed whole = read(target, input);
  require(content_of(whole) == content_of(read(target, first, rest)), "a stream is the same in pieces");
  check_usage(whole.facts.usage);
  check_calls(whole.pieces);
  check_chunks(whole, first.size() % 2 == 0);
  check_chunks(read(target, first, rest, true), false);
  return true;
}

}  // namespace
}  // namespace millrace::providers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return millrace::providers::check_stream(millrace::fuzz::text_of(data, size)) ? 0 : -1;
}
