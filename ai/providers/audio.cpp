#include "ai/providers/audio.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "ai/providers/json_access.h"
#include "ai/providers/wire_text.h"
#include "schemas/form_body.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"

namespace millrace::providers {
namespace {

using schemas::FormBody;
using schemas::SpeakerSupport;
using schemas::Transcript;
using schemas::TranscriptFormat;
using schemas::TranscriptSegment;
using schemas::TranscriptWord;

constexpr std::size_t kFileNameBytesMax = 200;
constexpr std::size_t kSpeakerBytesMax = 256;    // of a speaker's name in a reply
constexpr std::size_t kFormReserveBytes = 4096;  // of a form, without its file and its prompt

base::Error has_no_audio(const Target& target, std::string_view what) {
  return base::error(base::Code::kBadRequest,
                     "model '" + target.name + "': provider " + std::string(target.preset->name) +
                         " has no " + std::string(what),
                     "model");
}

bool ends_as(std::string_view ending, schemas::AudioFormat format) {
  using schemas::AudioFormat;
  switch (format) {
    case AudioFormat::kMp3:
      return ending == "mp3" || ending == "mpga";
    case AudioFormat::kMp4:
      return ending == "mp4" || ending == "m4a";
    case AudioFormat::kOgg:
      return ending == "ogg" || ending == "oga";
    case AudioFormat::kFlac:
    case AudioFormat::kMpeg:
    case AudioFormat::kWav:
    case AudioFormat::kWebm:
      break;
  }
  return ending == schemas::name(format);
}

// Upstreams detect the format by the file extension. If the name has another extension, the right one is
// appended.
std::string name_to_write(const TranscriptionCall& call) {
  const std::string ending(schemas::name(call.format));
  std::string_view name = call.file_name;
  name = name.substr(name.find_last_of("/\\") + 1);
  if (name.empty()) return "audio." + ending;
  const std::size_t dot = name.rfind('.');
  const std::string_view had = dot == std::string_view::npos ? "" : name.substr(dot + 1);
  std::string shortened(cut_text(name, kFileNameBytesMax));
  return ends_as(had, call.format) && shortened.size() == name.size() ? shortened : shortened + "." + ending;
}

// True for OpenAI's model that tells speakers apart. It returns no times without speakers.
bool is_diarizing(const Target& target) { return target.model.find("-diarize") != std::string::npos; }

// A server of the operator's behind the same protocol may have other models.
bool is_openai_itself(const Target& target) {
  return target.preset->dialect == Dialect::kOpenai && !target.preset->base_url.empty() &&
         target.base_url == target.preset->base_url;
}

bool requests_speakers(const Target& target, const TranscriptionCall& call) {
  if (call.translate || !speaker_support(target).speakers) return false;
  switch (call.form) {
    case TranscriptFormat::kDiarizedJson:
      return true;
    case TranscriptFormat::kSrt:
    case TranscriptFormat::kVtt:
    case TranscriptFormat::kVerboseJson:
      return is_diarizing(target);
    case TranscriptFormat::kJson:
    case TranscriptFormat::kText:
      break;
  }
  return false;
}

void request_times(const Target& target, const TranscriptionCall& call, FormBody& form) {
  const bool speakers = requests_speakers(target, call);
  const ReportedTimes times = reported_times(target, call.language);
  if (target.preset->dialect == Dialect::kMistral) {
    if (speakers) form.field("diarize", "true");
    if (speakers || times.segments) form.field("timestamp_granularities", "segment");
    return;
  }
  if (speakers || is_diarizing(target))
    return form.field("response_format", speakers ? schemas::name(TranscriptFormat::kDiarizedJson) : "json");
  form.field("response_format", times.segments ? "verbose_json" : "json");
  if (!times.words || !call.words || call.translate) return;
  form.field("timestamp_granularities[]", "segment");
  form.field("timestamp_granularities[]", "word");
}

// OpenAI's model that tells speakers apart refuses more than 30 s of sound without a chunking strategy.
void write_speaker_fields(const Target& target, const TranscriptionCall& call, FormBody& form) {
  const SpeakerSupport support = speaker_support(target);
  if (call.translate) return;
  const bool is_needed = is_diarizing(target);
  if (support.chunking && (call.speakers.chunking || is_needed)) {
    for (const auto& [name, value] :
         schemas::form_fields(call.speakers.chunking.value_or(schemas::ChunkingStrategy{})))
      form.field(name, value);
  }
  if (!support.known_speakers) return;
  for (const std::string& name : call.speakers.names)
    form.field(std::string(schemas::kKnownSpeakerNames) + "[]", name);
  for (const std::string& reference : call.speakers.references)
    form.field(std::string(schemas::kKnownSpeakerReferences) + "[]", reference);
}

bool takes_language(const Target& target, const TranscriptionCall& call) {
  if (call.language.empty() || call.translate) return false;
  return speaker_support(target).language || !requests_speakers(target, call);
}

void write_requested(const Target& target, const TranscriptionCall& call, FormBody& form) {
  form.field("model", target.model);
  if (takes_language(target, call)) form.field("language", call.language);
  if (!call.prompt.empty() && speaker_support(target).prompt) form.field("prompt", call.prompt);
  if (call.temperature) form.field("temperature", schemas::dump(Json(*call.temperature)));
  write_speaker_fields(target, call, form);
  request_times(target, call, form);
}

// Larger times and probabilities are invalid and would not fit the result.
constexpr double kNumberMax = 1e9;

// Reads a number, or a string that contains one, as some upstreams send it.
std::optional<double> number_of(const Json* node) {
  if (node == nullptr) return std::nullopt;
  double value = 0;
  if (node->is_number()) {
    value = node->get<double>();
  } else {
    const std::string_view text = text_of(node);
    const char* end = text.data() + text.size();
    if (text.empty() || std::from_chars(text.data(), end, value).ptr != end) return std::nullopt;
  }
  return std::abs(value) <= kNumberMax ? std::optional(value) : std::nullopt;  // false for NaN
}

double number_in(const Json& object, std::string_view name) {
  return number_of(member(object, name)).value_or(0);
}

// OpenAI and Mistral have different names for it.
std::string speaker_of(const Json& segment) {
  const std::string_view speaker = text_of(segment, "speaker");
  return std::string(cut_text(speaker.empty() ? text_of(segment, "speaker_id") : speaker, kSpeakerBytesMax));
}

std::optional<TranscriptSegment> segment_of(const Json& node) {
  const Json* text = member(node, "text");
  if (text == nullptr || !text->is_string()) return std::nullopt;
  TranscriptSegment segment;
  segment.text = text_of(text);
  segment.start = number_in(node, "start");
  segment.end = number_in(node, "end");
  segment.seek = integer_of(node, "seek").value_or(0);
  segment.temperature = number_in(node, "temperature");
  segment.avg_logprob = number_in(node, "avg_logprob");
  segment.compression_ratio = number_in(node, "compression_ratio");
  segment.no_speech_prob = number_in(node, "no_speech_prob");
  segment.speaker = speaker_of(node);
  const Json* tokens = member(node, "tokens");
  if (tokens == nullptr || !tokens->is_array()) return segment;
  for (const Json& token : *tokens) {
    if (const auto number = integer_of(&token)) segment.tokens.push_back(*number);
  }
  return segment;
}

std::optional<TranscriptWord> word_of(const Json& node) {
  const Json* word = member(node, "word");
  if (word == nullptr || !word->is_string()) return std::nullopt;
  return TranscriptWord{std::string(text_of(word)), number_in(node, "start"), number_in(node, "end")};
}

template <class Item, class Read>
std::vector<Item> list_of(const Json* node, const Read& read) {
  std::vector<Item> items;
  if (node == nullptr || !node->is_array()) return items;
  for (const Json& each : *node) {
    if (auto item = read(each)) items.push_back(*std::move(item));
  }
  return items;
}

// Each provider reports the duration in another field.
std::optional<double> length_of(const Json* node) {
  const auto seconds = number_of(node);
  return seconds && *seconds >= 0 ? seconds : std::nullopt;
}

std::optional<double> seconds_reported(const Json& reply) {
  if (const auto seconds = length_of(member(reply, "duration"))) return seconds;
  const Json* usage = member(reply, "usage");
  if (const auto seconds = length_of(member(usage, "seconds"))) return seconds;
  return length_of(member(usage, "prompt_audio_seconds"));
}

}  // namespace

// OpenAI's newer models return only plain text, but one returns segments with speakers. Whisper returns
// timestamps on every provider. Mistral accepts either a language or timestamps for segments.
ReportedTimes reported_times(const Target& target, std::string_view language) {
  if (target.preset->dialect == Dialect::kMistral) return {.segments = language.empty(), .words = false};
  if (is_diarizing(target) && speaker_support(target).speakers) return {.segments = true, .words = false};
  const bool has_times = target.model.find("gpt-") == std::string::npos;
  return {.segments = has_times, .words = has_times};
}

SpeakerSupport speaker_support(const Target& target) {
  if (target.preset->family != Family::kOpenai) return {};
  switch (target.preset->dialect) {
    case Dialect::kOpenai:
    case Dialect::kLocal: {
      const bool has_speakers = is_diarizing(target) || !is_openai_itself(target);
      return {.speakers = has_speakers,
              .known_speakers = has_speakers,
              .chunking = true,
              .prompt = !is_diarizing(target)};
    }
    case Dialect::kMistral:
      return {.speakers = true, .language = false};
    case Dialect::kAnthropic:
    case Dialect::kGemini:
    case Dialect::kXai:
    case Dialect::kGroq:
    case Dialect::kMock:
      break;
  }
  return {};
}

std::optional<base::Error> no_transcription(const Target& target) {
  const bool has = target.preset->family == Family::kOpenai && target.preset->dialect != Dialect::kXai;
  if (has) return std::nullopt;
  return has_no_audio(target, "transcriptions");
}

std::optional<base::Error> no_translation(const Target& target) {
  if (auto none = no_transcription(target)) return none;
  if (target.preset->dialect == Dialect::kMistral) return has_no_audio(target, "translations of speech");
  return std::nullopt;
}

base::Result<WireRequest> transcription_request(const Target& target, const TranscriptionCall& call) {
  WireRequest out;
  out.path = call.translate ? "/audio/translations" : "/audio/transcriptions";
  std::size_t references = 0;
  for (const std::string& each : call.speakers.references) references += each.size();
  out.body.reserve(call.bytes_count + call.prompt.size() + references + kFormReserveBytes);
  FormBody form(out.body);
  write_requested(target, call, form);
  form.file("file", name_to_write(call));
  if (auto read = call.append_bytes(out.body); !read) return read.error();
  form.end();
  out.headers.emplace_back("Content-Type", form.content_type());
  return out;
}

base::Result<Transcript> transcription_reply(const Target& target, std::string_view body) {
  const std::optional<Json> node = parse_wire(body);
  if (!node) return unreadable(target, body);
  const Json* text = member(*node, "text");
  if (text == nullptr || !text->is_string()) return not_a_reply(target);
  Transcript transcript;
  transcript.text = text_of(text);
  transcript.language = text_of(*node, "language");
  transcript.seconds = seconds_reported(*node);
  if (const Json* usage = member(*node, "usage"); usage != nullptr) {
    const auto count = [&](std::string_view name, std::string_view other) {
      return std::max<std::int64_t>(integer_of(*usage, name).value_or(integer_of(*usage, other).value_or(0)),
                                    0);
    };
    transcript.input_tokens = count("input_tokens", "prompt_tokens");
    transcript.output_tokens = count("output_tokens", "completion_tokens");
  }
  transcript.segments = list_of<TranscriptSegment>(member(*node, "segments"), segment_of);
  transcript.words = list_of<TranscriptWord>(member(*node, "words"), word_of);
  return transcript;
}

namespace {

bool speaks(const Target& target) {
  if (target.preset->family != Family::kOpenai) return false;
  const Dialect dialect = target.preset->dialect;
  return dialect == Dialect::kOpenai || dialect == Dialect::kGroq || dialect == Dialect::kLocal;
}

}  // namespace

std::optional<base::Error> no_speech(const Target& target) {
  if (speaks(target)) return std::nullopt;
  return base::error(base::Code::kBadRequest,
                     "model '" + target.name + "': provider " + std::string(target.preset->name) +
                         " has no speech API in OpenAI's format",
                     "model");
}

WireRequest speech_request(const Target& target, const schemas::SpeechRequest& request) {
  Json body = request.extra;
  body["model"] = target.model;
  body["input"] = request.input;
  body["voice"] = request.voice_by_id ? Json{{"id", request.voice}} : Json(request.voice);
  body["response_format"] = schemas::name(request.encoding);
  if (request.speed != 1) body["speed"] = request.speed;
  if (!request.instructions.empty()) body["instructions"] = request.instructions;
  WireRequest made;
  made.path = "/audio/speech";
  made.headers = {{"Content-Type", "application/json"}};
  made.body = schemas::dump(body);
  return made;
}

}  // namespace millrace::providers
