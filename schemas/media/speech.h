#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "schemas/dropped.h"
#include "schemas/field.h"
#include "schemas/json/json.h"
#include "schemas/key_access.h"

namespace millrace::schemas {

inline constexpr std::string_view kSpeechModel = "millrace/flite";
inline constexpr std::size_t kSpeechCharactersMax = 4096;  // of `input`; 422
inline constexpr double kSpeechSpeedMin = 0.25, kSpeechSpeedMax = 4;

enum class SpeechEncoding : std::uint8_t { kMp3, kOpus, kAac, kFlac, kWav, kPcm };
std::string_view name(SpeechEncoding encoding);  // "mp3", …
std::string_view mime(
    SpeechEncoding encoding);  // audio/mpeg, audio/ogg, audio/aac, audio/flac, audio/wav, audio/pcm

// A validated POST /v1/audio/speech (docs/design/http-contract.md §5).
struct SpeechRequest {
  std::string model;
  std::string input;
  std::string voice;  // from `voice` or `voice.id`, unchanged
  SpeechEncoding encoding = SpeechEncoding::kMp3;
  double speed = 1;               // 0.25 to 4
  std::string instructions;       // the local model drops them
  bool events = false;            // stream_format sse
  bool voice_by_id = false;       // the voice came as `voice.id`
  bool strict = false;            // ?strict=true: set by the handler
  AllowList allowed_models = {};  // of the key, for fallbacks: set by the handler
  std::string tenant;             // set by the handler
  Json extra = Json::object();    // members without a row in the table
};

// `body`: see read_json. Errors: kBadRequest (JSON), kInvalidField with its problems. It does not check what
// depends on the model.
tl::expected<SpeechRequest, Refusal> parse_speech_request(std::string& body);
// The table of the body; OpenAPI's schema is generated from it.
std::span<const Field> speech_request_fields();

// The local model's name, and the names of OpenAI's models that it serves while no provider serves them,
// because existing clients send them.
std::span<const std::string_view> speech_model_names();
bool is_local_speech_model(std::string_view name);

// The local voices: OpenAI's voice names, each mapped to a voice of flite, and flite's voice names.
struct LocalVoice {
  std::string_view name;   // "alloy", "slt", …
  std::string_view voice;  // of flite: "slt", "rms", "awb", "kal16"
};
std::span<const LocalVoice> local_voices();
const LocalVoice* local_voice(std::string_view name);  // null: there is no such voice

// Why the local model refuses the request: an unknown voice. nullopt: it accepts the request.
std::optional<Refusal> local_speech_refusal(const SpeechRequest& request);
// The parameters that the local model drops.
DroppedParams local_speech_dropped(const SpeechRequest& request);

// The events of `stream_format` sse. `audio`: the next bytes of the file. Audio is not counted in tokens:
// `output_tokens` is 0; the input's tokens are estimated. `dropped_params`: parameters dropped after the
// stream's head was sent.
std::string speech_delta_text(std::string_view audio);
std::string speech_done_text(std::int64_t input_tokens, std::string_view dropped_params = {});

}  // namespace millrace::schemas
