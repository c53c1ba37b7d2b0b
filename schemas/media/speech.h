#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "schemas/dropped.h"
#include "schemas/field.h"

namespace millrace::schemas {

inline constexpr std::string_view kSpeechModel = "millrace/flite";
inline constexpr std::size_t kSpeechCharactersMax = 4096;  // of `input`; 422
inline constexpr double kSpeechSpeedMin = 0.25, kSpeechSpeedMax = 4;

enum class SpeechEncoding : std::uint8_t { kMp3, kOpus, kAac, kFlac, kWav, kPcm };
std::string_view name(SpeechEncoding encoding);  // "mp3", …
std::string_view mime(
    SpeechEncoding encoding);  // audio/mpeg, audio/ogg, audio/aac, audio/flac, audio/wav, audio/pcm

// POST /v1/audio/speech, its shape checked (docs/design/http-contract.md §5).
struct SpeechRequest {
  std::string model;
  std::string input;
  std::string voice;  // of `voice` or `voice.id`, as the client said it
  SpeechEncoding encoding = SpeechEncoding::kMp3;
  double speed = 1;                                 // 0.25 to 4
  std::string instructions;                         // the local voice drops them
  bool events = false;                              // stream_format sse
  bool voice_by_id = false;                         // it was said as `voice.id`
  bool strict = false;                              // ?strict=true: set by the handler
  nlohmann::json extra = nlohmann::json::object();  // members that no row of the table knows
};

// `body` as read_json wants it. Errors: kBadRequest (JSON), kInvalidField with its problems. What depends on
// who speaks is not its business.
tl::expected<SpeechRequest, Refusal> parse_speech_request(std::string& body);
// The table of the body: OpenAPI takes its schema from it.
std::span<const Field> speech_request_fields();

// The local model's name, and those of OpenAI's that it answers to while no provider claims them: published
// clients send these.
std::span<const std::string_view> speech_model_names();
bool is_local_speech_model(std::string_view name);

// The local voices: the names of OpenAI's, each mapped to one of flite's, and flite's own.
struct LocalVoice {
  std::string_view name;   // "alloy", "slt", …
  std::string_view voice;  // of flite: "slt", "rms", "awb", "kal16"
};
std::span<const LocalVoice> local_voices();
const LocalVoice* local_voice(std::string_view name);  // null: none; an error lists them

// What the local model does not take: a voice that it has not. nullopt: nothing.
std::optional<Refusal> local_speech_refusal(const SpeechRequest& request);
// What it leaves aside.
DroppedParams local_speech_dropped(const SpeechRequest& request);

// The events of `stream_format` sse, as they are written. `audio`: bytes of the file, as they come. Audio is
// not counted in tokens: `output_tokens` is 0, those of the input are estimated. `dropped_params`: that the
// stream's head has gone too early to say.
std::string speech_delta_text(std::string_view audio);
std::string speech_done_text(std::int64_t input_tokens, std::string_view dropped_params = {});

}  // namespace millrace::schemas
