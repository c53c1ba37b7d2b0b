#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

// The known upstreams and the parameters that each honours. One table serves the translations, the
// dropped-parameters header, `strict`, and the tests that no parameter is dropped without a report.
namespace millrace::providers {

// The wire protocol.
enum class Family : std::uint8_t { kOpenai, kAnthropic, kGemini, kMock };

// A variant of the protocol: one column of the parameter table.
enum class Dialect : std::uint8_t { kOpenai, kAnthropic, kGemini, kXai, kMistral, kGroq, kLocal, kMock };

// A provider that Millrace knows by name. A new OpenAI-compatible provider needs only one more row.
struct Preset {
  std::string_view name;  // in the configuration and before the slash in model names: "openai"
  Family family;
  Dialect dialect;
  // Without a trailing slash. For kOpenai it includes the version path; the other families add the version to
  // each request. Empty: the configuration must give it.
  std::string_view base_url;
  std::string_view key_variable;  // "OPENAI_API_KEY"; empty: none
  bool key_required = true;
  bool response_format = false;  // the rule of docs/design/http-contract.md §4
  bool media_urls = false;       // takes parts of type audio_url and video_url
};
std::span<const Preset> presets();
const Preset* preset_named(std::string_view name);  // null: no such provider

// How a parameter is handled.
enum class Support : std::uint8_t {
  kNative,    // sent, unchanged or in the provider's format
  kClamped,   // sent; values beyond the provider's bounds are clamped and reported
  kEmulated,  // implemented by the gateway
  kDropped,   // not sent; reported
};
// A table with one row per parameter of ChatRequest::body, by its name there, and one column per dialect. An
// empty cell does not compile. nullopt: unknown parameter; kOpenai passes it on, other families drop it.
// Limits of individual models are in `support` of provider.h.
std::optional<Support> support(Dialect dialect, std::string_view parameter);
// A part of the conversation in OpenAI's format.
enum class HistoryPlace : std::uint8_t {
  kMessage,    // of a user, a developer or the system
  kAssistant,  // an earlier reply
  kResult,     // of a tool
  kPart,       // of a message's content
  kSource,     // the image_url, input_audio or file of a part
  kCall,       // of an earlier reply
  kFunction,   // of such a call
  kTool,       // of the request, or its function
};
// How a member of it is handled.
enum class History : std::uint8_t {
  kKept,     // sent as it is
  kMoved,    // sent where the provider has it, if it has the form that is known; else reported
  kLeftOut,  // not sent; reported
};
// A table as above, with one row per member of a place. Local servers get members without a row, the other
// dialects do not.
History history(Dialect dialect, HistoryPlace place, std::string_view member);
// True if its streams always end with usage, even if not requested. Such a dialect rejects stream_options.
bool reports_usage(Dialect dialect);

}  // namespace millrace::providers
