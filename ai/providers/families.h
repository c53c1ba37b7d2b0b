#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

// Which upstreams there are, and what each honours: one table for the translations, the dropped-parameters
// header, `strict` and the test that nothing is lost in silence.
namespace millrace::providers {

// The wire protocol.
enum class Family : std::uint8_t { kOpenai, kAnthropic, kGemini, kMock };

// Who speaks it: a column of the parameter table.
enum class Dialect : std::uint8_t { kOpenai, kAnthropic, kGemini, kXai, kMistral, kGroq, kLocal, kMock };

// A provider that Millrace knows by name. An OpenAI-shaped one is a row more, and nothing else.
struct Preset {
  std::string_view name;  // of the configuration and before the slash: "openai"
  Family family;
  Dialect dialect;
  // Without a slash at its end; with the version's path where the family is kOpenai (the others' requests say
  // theirs). Empty: must be given.
  std::string_view base_url;
  std::string_view key_variable;  // "OPENAI_API_KEY"; empty: none
  bool key_required = true;
  bool response_format = false;  // the rule of docs/design/http-contract.md §4
};
std::span<const Preset> presets();
const Preset* preset_named(std::string_view name);  // null: no such provider

// What becomes of a parameter.
enum class Support : std::uint8_t {
  kNative,    // told, as it is or in the provider's own form
  kClamped,   // told; values past the provider's bounds are cut to them and reported
  kEmulated,  // done by the gateway
  kDropped,   // reported
};
// One row per parameter that ChatRequest::body may hold, by its name there, and one column per dialect: an
// empty cell does not compile. nullopt: no such parameter (then the family decides: kOpenai passes it on,
// others drop it). What single models lack is in provider.h's `support`.
std::optional<Support> support(Dialect dialect, std::string_view parameter);
// Its streams end with usage whether that was asked for or not; it refuses stream_options.
bool reports_usage(Dialect dialect);
std::span<const std::string_view> supported_parameters();  // the rows' names

}  // namespace millrace::providers
