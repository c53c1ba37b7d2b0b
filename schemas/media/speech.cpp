#include "schemas/media/speech.h"

#include <algorithm>
#include <array>
#include <utility>

#include "platform/base/base64.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

constexpr std::int64_t kSpeechNameMax = 255;            // bytes of a model or a voice
constexpr std::int64_t kInstructionsBytesMax = 16'384;  // 4,096 characters of four bytes

struct EncodingRow {
  std::string_view name, mime;
};
// In the order of SpeechEncoding.
constexpr std::array kSpeechEncodings{EncodingRow{"mp3", "audio/mpeg"}, EncodingRow{"opus", "audio/ogg"},
                                      EncodingRow{"aac", "audio/aac"},  EncodingRow{"flac", "audio/flac"},
                                      EncodingRow{"wav", "audio/wav"},  EncodingRow{"pcm", "audio/pcm"}};
constexpr std::array<std::string_view, 6> kSpeechFormats{"mp3", "opus", "aac", "flac", "wav", "pcm"};
constexpr std::array<std::string_view, 2> kSpeechStreams{"audio", "sse"};
constexpr std::array<std::string_view, 4> kLocalSpeechModels{kSpeechModel, "tts-1", "tts-1-hd",
                                                             "gpt-4o-mini-tts"};

// Female voices map to slt; male voices to rms, which is lower, or kal16; British-sounding ones to awb, which
// is Scottish.
constexpr std::array kLocalVoices{
    LocalVoice{"alloy", "slt"},   LocalVoice{"ash", "rms"},     LocalVoice{"ballad", "awb"},
    LocalVoice{"coral", "slt"},   LocalVoice{"echo", "rms"},    LocalVoice{"fable", "awb"},
    LocalVoice{"nova", "slt"},    LocalVoice{"onyx", "rms"},    LocalVoice{"sage", "slt"},
    LocalVoice{"shimmer", "slt"}, LocalVoice{"verse", "kal16"}, LocalVoice{"marin", "slt"},
    LocalVoice{"cedar", "rms"},   LocalVoice{"slt", "slt"},     LocalVoice{"rms", "rms"},
    LocalVoice{"awb", "awb"},     LocalVoice{"kal16", "kal16"}};

struct SpeechRequestDraft : SpeechRequest {
  std::string format, stream;
};

template <auto Member>
constexpr auto into_spoken = &store_in<SpeechRequestDraft, Member>;

void read_speech_input(void* object, FieldReader& reader, const Json& value) {
  const auto text = reader.text(value);
  if (!text) return reader.problem("Input should be a valid string", "string_type", &value);
  if (text->find_first_not_of(" \t\r\n") == std::string_view::npos)
    return reader.problem("Input should not be empty", "string_too_short", &value,
                          dump(Json{{"min_length", 1}}));
  if (const std::size_t length = characters(*text); length > kSpeechCharactersMax)
    return reader.problem("Input should have at most 4096 characters: it has " + std::to_string(length),
                          "string_too_long", nullptr, dump(Json{{"max_length", kSpeechCharactersMax}}));
  static_cast<SpeechRequestDraft*>(object)->input = *text;
}

constexpr Field kVoiceName{.name = "voice", .min = 1, .max = kSpeechNameMax};

void read_voice(void* object, FieldReader& reader, const Json& value) {
  auto& draft = *static_cast<SpeechRequestDraft*>(object);
  const Json* named = &value;
  if (value.is_object()) {
    const auto at = value.find("id");
    named = at == value.end() ? nullptr : &*at;
    draft.voice_by_id = true;
  }
  if (named == nullptr || !reader.text(*named))
    return reader.problem("Input should be a voice's name or an object with a string `id`", "string_type",
                          &value);
  if (reader.check(kVoiceName, *named)) draft.voice = *reader.text(*named);
}

void read_speed(void* object, FieldReader& reader, const Json& value) {
  if (!value.is_number()) return reader.problem("Input should be a valid number", "float_type", &value);
  const double speed = value.get<double>();
  if (speed < kSpeechSpeedMin)
    return reader.problem("Input should be greater than or equal to 0.25", "greater_than_equal", &value,
                          dump(Json{{"ge", kSpeechSpeedMin}}));
  if (speed > kSpeechSpeedMax)
    return reader.problem("Input should be less than or equal to 4", "less_than_equal", &value,
                          dump(Json{{"le", kSpeechSpeedMax}}));
  static_cast<SpeechRequestDraft*>(object)->speed = speed;
}

constexpr std::string_view kSpeechInputSchema = R"({"type":"string","minLength":1,"maxLength":4096})";
constexpr std::string_view kVoiceSchema =
    R"({"oneOf":[{"type":"string"},{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}]})";
constexpr std::string_view kSpeedSchema = R"({"type":"number","minimum":0.25,"maximum":4})";

constexpr std::array kSpeechTable{
    Field{.name = "model",
          .required = true,
          .text = "`millrace/flite`, or a provider's speech model; tts-1, tts-1-hd and gpt-4o-mini-tts are "
                  "other names of the local model while no provider has them",
          .min = 1,
          .max = kSpeechNameMax,
          .store = into_spoken<&SpeechRequestDraft::model>},
    Field{.name = "input",
          .type = FieldType::kCustom,
          .required = true,
          .text = "The text to speak: at most 4,096 characters",
          .schema = kSpeechInputSchema,
          .custom = &read_speech_input},
    Field{.name = "voice",
          .type = FieldType::kCustom,
          .required = true,
          .text = "Local: alloy, ash, ballad, coral, echo, fable, nova, onyx, sage, shimmer, verse, marin, "
                  "cedar, slt, rms, awb, kal16",
          .schema = kVoiceSchema,
          .custom = &read_voice},
    Field{.name = "response_format",
          .text = "pcm: 24 kHz, 16 bit, mono, little-endian",
          .choices = kSpeechFormats,
          .default_json = "\"mp3\"",
          .store = into_spoken<&SpeechRequestDraft::format>},
    Field{.name = "speed",
          .type = FieldType::kCustom,
          .default_json = "1",
          .schema = kSpeedSchema,
          .custom = &read_speed},
    Field{.name = "instructions",
          .text = "How to speak the text; the local model drops it",
          .max = kInstructionsBytesMax,
          .store = into_spoken<&SpeechRequestDraft::instructions>},
    Field{.name = "stream_format",
          .text = "sse: server-sent events with base64 instead of the file's bytes",
          .choices = kSpeechStreams,
          .default_json = "\"audio\"",
          .store = into_spoken<&SpeechRequestDraft::stream>},
};

SpeechEncoding encoding_named(std::string_view name) {
  const auto at = std::find(kSpeechFormats.begin(), kSpeechFormats.end(), name);
  return at == kSpeechFormats.end() ? SpeechEncoding::kMp3
                                    : static_cast<SpeechEncoding>(at - kSpeechFormats.begin());
}

void take_speech_extra(JsonBody body, const std::vector<std::string>& unknown, SpeechRequest& out) {
  for (const Field& field : kSpeechTable) body.value.erase(std::string(field.name));
  Json rest = whole(std::move(body));
  for (const std::string& name : unknown) {
    if (Json& value = rest[name]; !value.is_null()) out.extra[name] = std::move(value);
  }
}

std::string voices_listed() {
  std::string out;
  for (const LocalVoice& each : kLocalVoices) out.append(out.empty() ? "" : ", ").append(each.name);
  return out;
}

std::string speech_event(std::string_view type, JsonObject& data) {
  return std::string("event: ").append(type).append("\ndata: ").append(data.finish()).append("\n\n");
}

}  // namespace

std::string_view name(SpeechEncoding encoding) {
  return kSpeechEncodings[static_cast<std::size_t>(encoding)].name;
}
std::string_view mime(SpeechEncoding encoding) {
  return kSpeechEncodings[static_cast<std::size_t>(encoding)].mime;
}

std::span<const Field> speech_request_fields() { return kSpeechTable; }

tl::expected<SpeechRequest, Refusal> parse_speech_request(std::string& body) {
  auto read = read_json(body, kJsonValuesMax, Numbers::kExact);
  if (!read) return tl::make_unexpected(Refusal{read.error(), {}});
  SpeechRequestDraft draft;
  FieldReader reader("body", *read);
  reader.read(kSpeechTable, read->value, &draft);
  if (!reader.problems().empty()) return tl::make_unexpected(invalid(std::move(reader.problems())));
  draft.encoding = encoding_named(draft.format);
  draft.events = draft.stream == kSpeechStreams[1];
  take_speech_extra(*std::move(read), reader.unknown(), draft);
  return SpeechRequest(std::move(static_cast<SpeechRequest&>(draft)));
}

std::span<const std::string_view> speech_model_names() { return kLocalSpeechModels; }
bool is_local_speech_model(std::string_view name) {
  return std::find(kLocalSpeechModels.begin(), kLocalSpeechModels.end(), name) != kLocalSpeechModels.end();
}

std::span<const LocalVoice> local_voices() { return kLocalVoices; }
const LocalVoice* local_voice(std::string_view name) {
  const auto at = std::find_if(kLocalVoices.begin(), kLocalVoices.end(),
                               [&](const LocalVoice& each) { return each.name == name; });
  return at == kLocalVoices.end() ? nullptr : &*at;
}

std::optional<Refusal> local_speech_refusal(const SpeechRequest& request) {
  if (local_voice(request.voice) != nullptr) return std::nullopt;
  FieldProblem problem{.loc = {"body", "voice"},
                       .msg = "There is no such local voice; the local voices are: " + voices_listed(),
                       .type = "literal_error",
                       .input = dump(Json(request.voice)),
                       .ctx = {}};
  return invalid({std::move(problem)});
}

DroppedParams local_speech_dropped(const SpeechRequest& request) {
  DroppedParams dropped;
  if (!request.instructions.empty()) dropped.push_back({.name = "instructions"});
  for (const auto& [name, ignored] : request.extra.items()) dropped.push_back({.name = name});
  return dropped;
}

std::string speech_delta_text(std::string_view audio) {
  constexpr std::string_view kType = "speech.audio.delta";
  JsonObject data(audio.size() / 3 * 4 + 64);
  data.member("type", kType).member("audio", base::base64_encode(audio));
  return speech_event(kType, data);
}

std::string speech_done_text(std::int64_t input_tokens, std::string_view dropped_params) {
  constexpr std::string_view kType = "speech.audio.done";
  JsonObject usage, data;
  usage.number("input_tokens", input_tokens).number("output_tokens", 0).number("total_tokens", input_tokens);
  data.member("type", kType).raw("usage", usage.finish());
  if (!dropped_params.empty()) data.member("dropped_params", dropped_params);
  return speech_event(kType, data);
}

}  // namespace millrace::schemas
