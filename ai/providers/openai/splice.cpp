#include "ai/providers/openai/splice.h"

#include <algorithm>

#include "ai/providers/media_check.h"
#include "ai/providers/wire_text.h"

namespace millrace::providers {
namespace {

using schemas::ChatText;

constexpr std::size_t kSpliceReserve = 256;  // usually enough for the bytes added to the client's

// True for dialects that accept values and messages unchanged. Others need values clamped or renamed, or
// messages in another format.
bool supports_client_form(Dialect dialect) {
  return dialect == Dialect::kOpenai || dialect == Dialect::kXai || dialect == Dialect::kLocal;
}

bool is_passed_unchanged(const Target& target, const ChatText& client_text, const ChatText::Member& member) {
  if (member.name == "messages") {  // local servers get the role developer as system
    return media_dialect(target) != Dialect::kLocal ||
           client_text.value(member).find("\"developer\"") == std::string_view::npos;
  }
  const std::size_t quotes = 2;
  if (member.name == "user" && member.size > kUserCharactersMax + quotes) return false;
  return support(target, member.name).value_or(Support::kDropped) != Support::kDropped;
}

std::string_view reported_name(Dialect dialect, std::string_view name) {
  return name == "max_completion_tokens" && supports_max_tokens(dialect) ? "max_tokens" : name;
}

}  // namespace

WireRequest openai_wire(bool stream) {
  WireRequest wire;
  wire.path = "/chat/completions";
  wire.headers.reserve(4);
  wire.headers.emplace_back("Content-Type", "application/json");
  if (stream) wire.headers.emplace_back("Accept", "text/event-stream");
  return wire;
}

bool supports_max_tokens(Dialect dialect) {
  return dialect == Dialect::kMistral || dialect == Dialect::kLocal;
}

// Usage is always requested, because it is recorded even if the client does not request it.
void write_stream(Dialect dialect, schemas::JsonObject& out) {
  out.flag("stream", true);
  if (!reports_usage(dialect)) out.raw("stream_options", R"({"include_usage":true})");
}

std::optional<WireRequest> openai_splice(const Target& target, const schemas::ChatRequest& request,
                                         bool stream) {
  const Dialect dialect = target.preset->dialect;
  const ChatText& client_text = request.quick;
  const bool fits =
      supports_client_form(dialect) && std::ranges::all_of(client_text.members, [&](const auto& each) {
        return is_passed_unchanged(target, client_text, each);
      });
  if (!fits) return std::nullopt;
  schemas::JsonObject out(client_text.text.size() + kSpliceReserve);
  out.member("model", target.model);
  for (const ChatText::Member& each : client_text.members)
    out.raw(reported_name(dialect, each.name), client_text.value(each));
  if (stream) write_stream(dialect, out);
  WireRequest wire = openai_wire(stream);
  wire.body = out.finish();
  return wire;
}

}  // namespace millrace::providers
