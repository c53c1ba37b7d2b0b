#include "ai/providers/families.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "ai/providers/anthropic/reply.h"
#include "ai/providers/anthropic/request.h"
#include "ai/providers/gemini/reply.h"
#include "ai/providers/gemini/request.h"
#include "ai/providers/openai/reply.h"
#include "ai/providers/openai/request.h"
#include "ai/providers/openai/stream.h"
#include "ai/providers/provider.h"

namespace millrace::providers {
namespace {

using namespace std::string_literals;

constexpr std::array kPresets{
    Preset{.name = "openai",
           .family = Family::kOpenai,
           .dialect = Dialect::kOpenai,
           .base_url = "https://api.openai.com/v1",
           .key_variable = "OPENAI_API_KEY",
           .response_format = true},
    Preset{.name = "anthropic",
           .family = Family::kAnthropic,
           .dialect = Dialect::kAnthropic,
           .base_url = "https://api.anthropic.com",
           .key_variable = "ANTHROPIC_API_KEY"},
    Preset{.name = "gemini",
           .family = Family::kGemini,
           .dialect = Dialect::kGemini,
           .base_url = "https://generativelanguage.googleapis.com",
           .key_variable = "GEMINI_API_KEY"},
    Preset{.name = "xai",
           .family = Family::kOpenai,
           .dialect = Dialect::kXai,
           .base_url = "https://api.x.ai/v1",
           .key_variable = "XAI_API_KEY"},
    Preset{.name = "mistral",
           .family = Family::kOpenai,
           .dialect = Dialect::kMistral,
           .base_url = "https://api.mistral.ai/v1",
           .key_variable = "MISTRAL_API_KEY"},
    Preset{.name = "groq",
           .family = Family::kOpenai,
           .dialect = Dialect::kGroq,
           .base_url = "https://api.groq.com/openai/v1",
           .key_variable = "GROQ_API_KEY"},
    Preset{.name = "ollama",
           .family = Family::kOpenai,
           .dialect = Dialect::kLocal,
           .base_url = "http://127.0.0.1:11434/v1",
           .key_variable = "OLLAMA_API_KEY",
           .key_required = false},
    Preset{.name = "vllm",
           .family = Family::kOpenai,
           .dialect = Dialect::kLocal,
           .base_url = "http://127.0.0.1:8000/v1",
           .key_variable = "VLLM_API_KEY",
           .key_required = false,
           .media_urls = true},
    Preset{.name = "llamacpp",
           .family = Family::kOpenai,
           .dialect = Dialect::kLocal,
           .base_url = "http://127.0.0.1:8080/v1",
           .key_variable = "LLAMA_API_KEY",
           .key_required = false},
    Preset{.name = "openrouter",
           .family = Family::kOpenai,
           .dialect = Dialect::kLocal,
           .base_url = "https://openrouter.ai/api/v1",
           .key_variable = "OPENROUTER_API_KEY"},
    Preset{.name = "azure",
           .family = Family::kOpenai,
           .dialect = Dialect::kOpenai,
           .base_url = "",
           .key_variable = "AZURE_OPENAI_API_KEY"},
    Preset{.name = "mock",
           .family = Family::kMock,
           .dialect = Dialect::kMock,
           .base_url = "",
           .key_variable = "",
           .key_required = false,
           .response_format = true},
};

constexpr std::size_t kDialects = 8;
static_assert(static_cast<std::size_t>(Dialect::kMock) + 1 == kDialects);

// A cell of a table; an empty one does not compile.
template <class How>
class Cell {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a table of them
  consteval Cell(How how) : how_(how) {}
  constexpr How how() const { return how_; }

 private:
  How how_;
};

struct Row {
  consteval Row(std::string_view parameter, Cell<Support> openai, Cell<Support> anthropic,
                Cell<Support> gemini, Cell<Support> xai, Cell<Support> mistral, Cell<Support> groq,
                Cell<Support> local, Cell<Support> mock)
      : name(parameter), cells{openai, anthropic, gemini, xai, mistral, groq, local, mock} {}
  std::string_view name;
  std::array<Cell<Support>, kDialects> cells;
};

constexpr Support kN = Support::kNative, kC = Support::kClamped, kE = Support::kEmulated,
                  kD = Support::kDropped;

// Limits of individual models of a dialect are in request.cpp.
constexpr std::array kRows{
    //                           openai anthropic gemini xai mistral groq local mock
    Row("messages", /*              */ kN, kN, kN, kN, kN, kN, kN, kN),
    Row("temperature", /*           */ kN, kC, kN, kN, kC, kC, kN, kN),
    Row("top_p", /*                 */ kN, kC, kN, kN, kN, kN, kN, kN),
    Row("top_k", /*                 */ kD, kN, kN, kD, kD, kD, kN, kN),
    Row("max_completion_tokens", /* */ kN, kC, kN, kN, kN, kN, kN, kN),
    Row("presence_penalty", /*      */ kN, kD, kN, kN, kN, kN, kN, kN),
    Row("frequency_penalty", /*     */ kN, kD, kN, kN, kN, kN, kN, kN),
    Row("logit_bias", /*            */ kN, kD, kD, kD, kD, kD, kN, kD),
    Row("stop", /*                  */ kN, kC, kN, kN, kN, kN, kN, kN),
    Row("thinking", /*              */ kD, kC, kC, kD, kD, kC, kC, kD),
    Row("generation_config", /*     */ kD, kD, kN, kD, kD, kD, kD, kD),
    Row("safety_settings", /*       */ kD, kD, kN, kD, kD, kD, kD, kD),
    Row("tool_config", /*           */ kD, kD, kN, kD, kD, kD, kD, kD),
    Row("seed", /*                  */ kN, kD, kC, kN, kN, kN, kN, kN),
    Row("user", /*                  */ kC, kC, kD, kC, kD, kC, kC, kN),
    Row("n", /*                     */ kN, kE, kE, kN, kN, kE, kN, kN),
    Row("response_format", /*       */ kN, kC, kN, kN, kN, kN, kN, kN),
    Row("tools", /*                 */ kN, kC, kC, kN, kN, kN, kN, kN),
    Row("tool_choice", /*           */ kN, kN, kC, kN, kN, kN, kN, kN),
    Row("parallel_tool_calls", /*   */ kN, kN, kD, kN, kN, kN, kN, kN),
    Row("logprobs", /*              */ kN, kD, kN, kN, kD, kD, kN, kD),
    Row("top_logprobs", /*          */ kN, kD, kC, kN, kD, kD, kN, kD),
    Row("reasoning_effort", /*      */ kN, kC, kC, kN, kN, kN, kN, kD),
    Row("audio", /*                 */ kN, kD, kC, kD, kD, kD, kD, kD),
    Row("modalities", /*            */ kN, kD, kN, kD, kD, kD, kD, kD),
    Row("prediction", /*            */ kN, kD, kD, kD, kN, kD, kD, kD),
    Row("metadata", /*              */ kN, kD, kD, kD, kN, kD, kD, kD),
    Row("store", /*                 */ kN, kD, kD, kD, kD, kD, kD, kN),
    Row("service_tier", /*          */ kN, kC, kD, kD, kD, kC, kD, kD),
    Row("prompt_cache_key", /*      */ kN, kD, kD, kD, kN, kD, kD, kN),
    Row("safety_identifier", /*     */ kN, kC, kD, kD, kD, kD, kD, kN),
    Row("verbosity", /*             */ kN, kD, kD, kD, kD, kD, kD, kD),
    Row("web_search_options", /*    */ kN, kC, kC, kD, kD, kD, kD, kD),
    Row("search_parameters", /*     */ kD, kC, kC, kN, kD, kD, kD, kD),
    Row("prompt_cache_retention", /**/ kN, kD, kD, kD, kD, kD, kD, kD),
    Row("prompt_mode", /*           */ kD, kD, kD, kD, kN, kD, kD, kD),
    Row("safe_prompt", /*           */ kD, kD, kD, kD, kN, kD, kD, kD),
    Row("cached_content", /*        */ kD, kD, kD, kD, kD, kD, kD, kD),
    Row("inference_geo", /*         */ kD, kD, kD, kD, kD, kD, kD, kD),
    Row("output_config", /*         */ kD, kD, kD, kD, kD, kD, kD, kD),
    Row("speed", /*                 */ kD, kD, kD, kD, kD, kD, kD, kD),
};

constexpr bool each_once() {
  return std::ranges::all_of(
      kRows, [](const Row& row) { return std::ranges::count(kRows, row.name, &Row::name) == 1; });
}
static_assert(each_once(), "a parameter has two rows");

struct HistoryRow {
  consteval HistoryRow(HistoryPlace at, std::string_view member, Cell<History> openai,
                       Cell<History> anthropic, Cell<History> gemini, Cell<History> xai,
                       Cell<History> mistral, Cell<History> groq, Cell<History> local, Cell<History> mock)
      : place(at), name(member), cells{openai, anthropic, gemini, xai, mistral, groq, local, mock} {}
  HistoryPlace place;
  std::string_view name;
  std::array<Cell<History>, kDialects> cells;
};

constexpr History kK = History::kKept, kM = History::kMoved, kO = History::kLeftOut;
constexpr HistoryPlace kMsg = HistoryPlace::kMessage, kAns = HistoryPlace::kAssistant,
                       kRes = HistoryPlace::kResult, kPart = HistoryPlace::kPart,
                       kSrc = HistoryPlace::kSource, kCall = HistoryPlace::kCall,
                       kFun = HistoryPlace::kFunction, kTool = HistoryPlace::kTool;

constexpr std::array kHistoryRows{
    //                                     openai anthropic gemini xai mistral groq local mock
    HistoryRow(kMsg, "role", /*              */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kMsg, "content", /*           */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kMsg, "name", /*              */ kK, kO, kO, kK, kO, kO, kK, kK),
    HistoryRow(kMsg, "cache_control", /*     */ kO, kM, kO, kO, kO, kO, kK, kK),
    HistoryRow(kAns, "role", /*              */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kAns, "content", /*           */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kAns, "name", /*              */ kK, kO, kO, kK, kO, kO, kK, kK),
    HistoryRow(kAns, "tool_calls", /*        */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kAns, "refusal", /*           */ kK, kM, kM, kK, kM, kM, kK, kK),
    HistoryRow(kAns, "prefix", /*            */ kO, kO, kO, kO, kK, kO, kK, kK),
    HistoryRow(kAns, "audio", /*             */ kM, kO, kO, kO, kO, kO, kK, kK),
    HistoryRow(kAns, "images", /*            */ kO, kO, kM, kO, kO, kO, kK, kK),
    HistoryRow(kAns, "reasoning_content", /* */ kO, kM, kO, kK, kM, kM, kK, kK),
    HistoryRow(kAns, "reasoning", /*         */ kO, kM, kO, kO, kM, kM, kK, kK),
    HistoryRow(kAns, "thinking_blocks", /*   */ kO, kM, kO, kO, kO, kO, kK, kK),
    HistoryRow(kAns, "extra_content", /*     */ kO, kO, kM, kO, kO, kO, kK, kK),
    HistoryRow(kAns, "cache_control", /*     */ kO, kM, kO, kO, kO, kO, kK, kK),
    HistoryRow(kRes, "role", /*              */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kRes, "content", /*           */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kRes, "tool_call_id", /*      */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kRes, "name", /*              */ kK, kM, kM, kK, kK, kO, kK, kK),
    HistoryRow(kRes, "cache_control", /*     */ kO, kM, kO, kO, kO, kO, kK, kK),
    HistoryRow(kPart, "type", /*             */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kPart, "text", /*             */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kPart, "image_url", /*        */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kPart, "input_audio", /*      */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kPart, "file", /*             */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kPart, "refusal", /*          */ kK, kK, kK, kM, kM, kM, kK, kK),
    HistoryRow(kPart, "thinking", /*         */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kPart, "closed", /*           */ kO, kO, kO, kO, kK, kO, kK, kK),
    HistoryRow(kPart, "audio_url", /*        */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kPart, "video_url", /*        */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kPart, "cache_control", /*    */ kO, kM, kO, kO, kO, kO, kK, kK),
    HistoryRow(kSrc, "url", /*               */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kSrc, "detail", /*            */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kSrc, "data", /*              */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kSrc, "format", /*            */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kSrc, "file_data", /*         */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kSrc, "file_id", /*           */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kSrc, "file_url", /*          */ kO, kK, kK, kO, kK, kO, kK, kK),
    HistoryRow(kSrc, "filename", /*          */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kCall, "id", /*               */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kCall, "index", /*            */ kK, kO, kO, kK, kK, kO, kK, kK),
    HistoryRow(kCall, "type", /*             */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kCall, "function", /*         */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kCall, "custom", /*           */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kCall, "extra_content", /*    */ kO, kO, kM, kO, kO, kO, kK, kK),
    HistoryRow(kCall, "cache_control", /*    */ kO, kM, kO, kO, kO, kO, kK, kK),
    HistoryRow(kFun, "name", /*              */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kFun, "arguments", /*         */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kFun, "input", /*             */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kTool, "type", /*             */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kTool, "function", /*         */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kTool, "custom", /*           */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kTool, "name", /*             */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kTool, "description", /*      */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kTool, "parameters", /*       */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kTool, "strict", /*           */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kTool, "format", /*           */ kK, kK, kK, kK, kK, kK, kK, kK),
    HistoryRow(kTool, "cache_control", /*    */ kO, kM, kO, kO, kO, kO, kK, kK),
};

constexpr bool each_member_once() {
  return std::ranges::all_of(kHistoryRows, [](const HistoryRow& row) {
    return std::ranges::count_if(kHistoryRows, [&](const HistoryRow& other) {
             return other.place == row.place && other.name == row.name;
           }) == 1;
  });
}
static_assert(each_member_once(), "a member has two rows");

// A translation of requests whose names fit the dialect.
template <auto kTranslate>
base::Result<WireRequest> with_fitted_names(const Target& target, const schemas::ChatRequest& request,
                                            bool stream) {
  std::optional<FittedRequest> fitted = fit_names(target.preset->dialect, request);
  if (!fitted) return kTranslate(target, request, stream);
  base::Result<WireRequest> wire = kTranslate(target, fitted->request, stream);
  if (!wire) return wire;
  wire->names = std::move(fitted->names);
  const schemas::DroppedParam clamped{fitted->parameter, schemas::DroppedParam::How::kClamped};
  if (std::ranges::find(wire->dropped, clamped.name, &schemas::DroppedParam::name) == wire->dropped.end())
    wire->dropped.push_back(clamped);
  return wire;
}

constexpr Translation kOpenaiTranslation{
    .chat_request = with_fitted_names<openai_request>,
    .chat_reply = openai_reply,
    .reply_usage = openai_reply_usage,
    .stream_reader = openai_stream,
    .credential =
        [](const base::Secret& key) { return std::pair("Authorization"s, "Bearer " + key.reveal()); },
    .error_message = openai_error_message,
};
constexpr Translation kAnthropicTranslation{
    .chat_request = with_fitted_names<anthropic_request>,
    .chat_reply = anthropic_reply,
    .reply_usage = anthropic_reply_usage,
    .stream_reader = anthropic_stream,
    .credential = [](const base::Secret& key) { return std::pair("x-api-key"s, key.reveal()); },
    .error_message = anthropic_error_message,
};
constexpr Translation kGeminiTranslation{
    .chat_request = with_fitted_names<gemini_request>,
    .chat_reply = gemini_reply,
    .reply_usage = gemini_reply_usage,
    .stream_reader = gemini_stream,
    .credential = [](const base::Secret& key) { return std::pair("x-goog-api-key"s, key.reveal()); },
    .error_message = gemini_error_message,
};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

const Preset* preset_named(std::string_view name) {
  const auto* found = std::ranges::find(kPresets, name, &Preset::name);
  return found == kPresets.end() ? nullptr : found;
}

std::optional<Support> support(Dialect dialect, std::string_view parameter) {
  const auto* row = std::ranges::find(kRows, parameter, &Row::name);
  if (row == kRows.end()) return std::nullopt;
  return row->cells[static_cast<std::size_t>(dialect)].how();
}

History history(Dialect dialect, HistoryPlace place, std::string_view member) {
  const auto* row = std::ranges::find_if(
      kHistoryRows, [&](const HistoryRow& each) { return each.place == place && each.name == member; });
  if (row != kHistoryRows.end()) return row->cells[static_cast<std::size_t>(dialect)].how();
  const bool is_lenient = dialect == Dialect::kLocal || dialect == Dialect::kMock;
  return is_lenient ? History::kKept : History::kLeftOut;
}

bool reports_usage(Dialect dialect) { return dialect == Dialect::kMistral; }

const Translation& translation(Family family) {
  switch (family) {
    case Family::kOpenai:
      return kOpenaiTranslation;
    case Family::kAnthropic:
      return kAnthropicTranslation;
    case Family::kGemini:
      return kGeminiTranslation;
    case Family::kMock:
      break;
  }
  throw std::logic_error("the mock provider has no translation");
}

}  // namespace millrace::providers
