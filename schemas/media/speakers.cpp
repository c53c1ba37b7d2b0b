#include "schemas/media/speakers.h"

#include <array>
#include <cmath>

#include "platform/base/base64.h"
#include "platform/base/bytes.h"
#include "schemas/json/json_body.h"
#include "schemas/json/url_text.h"
#include "schemas/media/audio_format.h"

namespace millrace::schemas {
namespace {

constexpr std::string_view kAuto = "auto", kServerVad = "server_vad";
constexpr std::array kStrategyTypes{kServerVad};

struct VadDraft {
  std::string type;
  std::optional<std::int64_t> prefix_padding_ms, silence_duration_ms;
  std::optional<double> threshold;
};

template <auto Member>
void store_ms(void* object, FieldReader&, const Json& value) {
  static_cast<VadDraft*>(object)->*Member = value.get<std::int64_t>();
}

constexpr std::array kVadTable{
    Field{.name = "type",
          .required = true,
          .choices = kStrategyTypes,
          .store = &store_in<VadDraft, &VadDraft::type>},
    Field{.name = "prefix_padding_ms",
          .type = FieldType::kInteger,
          .min = 0,
          .max = kVadMillisecondsMax,
          .store = &store_ms<&VadDraft::prefix_padding_ms>},
    Field{.name = "silence_duration_ms",
          .type = FieldType::kInteger,
          .min = 0,
          .max = kVadMillisecondsMax,
          .store = &store_ms<&VadDraft::silence_duration_ms>},
    Field{.name = "threshold",
          .type = FieldType::kNumber,
          .min = 0,
          .max = 1,
          .store = &store_in<VadDraft, &VadDraft::threshold>},
};

// A form has only texts: those of the rows with numbers are converted.
void convert_numbers(Json& members) {
  for (const Field& field : kVadTable) {
    const auto at = members.find(field.name);
    if (field.type == FieldType::kString || at == members.end() || !at->is_string()) continue;
    const Json number = Json::parse(at->get_ref<const std::string&>(), nullptr, false);
    if (number.is_number()) *at = number;
  }
}

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// The length of a WAV file by its header; nullopt: it is not one, or its header does not tell.
std::optional<double> wav_seconds(std::string_view file) {
  constexpr std::size_t kRiffBytes = 12, kChunkHead = 8, kByteRateAt = 8;
  if (file.size() < kRiffBytes || !file.starts_with("RIFF") || file.substr(8, 4) != "WAVE") return {};
  std::uint32_t bytes_per_second = 0;
  for (std::size_t at = kRiffBytes; at + kChunkHead <= file.size();) {
    const std::string_view name = file.substr(at, 4);
    const std::size_t size = little_endian(file.substr(at + 4));
    const std::string_view chunk = file.substr(at + kChunkHead);
    if (name == "fmt " && chunk.size() >= kByteRateAt + 4)
      bytes_per_second = little_endian(chunk.substr(kByteRateAt));
    if (name == "data") {
      if (bytes_per_second == 0) return {};
      return static_cast<double>(std::min(size, chunk.size())) / bytes_per_second;
    }
    at += kChunkHead + size + size % 2;
  }
  return {};
}

std::string tenths(double seconds) {
  const auto count = static_cast<std::int64_t>(std::llround(seconds * 10));
  return std::to_string(count / 10) + "." + std::to_string(count % 10);
}

// Why the text is no reference; empty: it is one. Only the length of a WAV file is known without decoding it.
std::string no_reference(std::string_view text) {
  const auto encoded = data_uri_base64(text);
  if (!encoded)
    return "Input should be a recording as a data URI, such as data:audio/wav;base64,… with its bytes in "
           "base64";
  const auto bytes = base::base64_decode(*encoded);
  if (!bytes) return "The data URI is not base64";
  if (!detect_audio(std::string_view(*bytes).substr(0, kAudioHeadBytes)))
    return "The data URI is not a supported recording. Supported formats are " +
           std::string(audio_format_names());
  const auto seconds = wav_seconds(*bytes);
  if (seconds && (*seconds < kSpeakerReferenceSecondsMin || *seconds > kSpeakerReferenceSecondsMax))
    return "A speaker's recording should be 2 to 10 seconds long; this one is " + tenths(*seconds) + " s";
  return {};
}

}  // namespace

QueryPairs form_fields(const ChunkingStrategy& strategy) {
  const std::string name(kChunkingStrategy);
  if (!strategy.server_vad) return {{name, std::string(kAuto)}};
  QueryPairs out{{name + "[type]", std::string(kServerVad)}};
  if (strategy.prefix_padding_ms)
    out.emplace_back(name + "[prefix_padding_ms]", std::to_string(*strategy.prefix_padding_ms));
  if (strategy.silence_duration_ms)
    out.emplace_back(name + "[silence_duration_ms]", std::to_string(*strategy.silence_duration_ms));
  if (strategy.threshold) out.emplace_back(name + "[threshold]", dump(Json(*strategy.threshold)));
  return out;
}

void write_speakers(SpeakerParameters parameters, Json& to) {
  if (parameters.chunking) {
    const ChunkingStrategy& from = *parameters.chunking;
    Json vad{{"type", kServerVad}};
    if (from.prefix_padding_ms) vad["prefix_padding_ms"] = *from.prefix_padding_ms;
    if (from.silence_duration_ms) vad["silence_duration_ms"] = *from.silence_duration_ms;
    if (from.threshold) vad["threshold"] = *from.threshold;
    to[std::string(kChunkingStrategy)] = from.server_vad ? std::move(vad) : Json(kAuto);
  }
  if (!parameters.names.empty()) to[std::string(kKnownSpeakerNames)] = std::move(parameters.names);
  if (parameters.references.empty()) return;
  Json& references = to[std::string(kKnownSpeakerReferences)] = Json::array();
  for (std::string& each : parameters.references) references.push_back(std::move(each));
}

SpeakerParameters speakers_from(const Json& from) {
  SpeakerParameters out;
  if (const auto at = from.find(kChunkingStrategy); at != from.end()) {
    ChunkingStrategy& to = out.chunking.emplace();
    to.server_vad = at->is_object();
    if (to.server_vad) {
      if (at->contains("prefix_padding_ms")) to.prefix_padding_ms = at->at("prefix_padding_ms");
      if (at->contains("silence_duration_ms")) to.silence_duration_ms = at->at("silence_duration_ms");
      if (at->contains("threshold")) to.threshold = at->at("threshold");
    }
  }
  out.names = from.value(kKnownSpeakerNames, std::vector<std::string>());
  out.references = from.value(kKnownSpeakerReferences, std::vector<std::string>());
  return out;
}

SpeakerSupport operator&(const SpeakerSupport& a, const SpeakerSupport& b) {
  return {.speakers = a.speakers && b.speakers,
          .known_speakers = a.known_speakers && b.known_speakers,
          .chunking = a.chunking && b.chunking,
          .language = a.language && b.language,
          .prompt = a.prompt && b.prompt};
}

void join_chunking_fields(QueryPairs& fields) {
  Json members = Json::object();
  std::erase_if(fields, [&](const auto& field) {
    std::string_view name = field.first;
    if (!name.starts_with(kChunkingStrategy) || !name.ends_with(']')) return false;
    name = name.substr(kChunkingStrategy.size());
    if (name.size() < 3 || !name.starts_with('[')) return false;
    members[std::string(name.substr(1, name.size() - 2))] = field.second;
    return true;
  });
  if (!members.empty()) fields.emplace_back(kChunkingStrategy, dump(members));
}

void read_chunking(FieldReader& reader, const Json& list, SpeakerParameters& to) {
  if (list.size() != 1)
    return reader.problem("Send either one text or the members of one object", "value_error");
  const auto& text = list[0].get_ref<const std::string&>();
  if (text == kAuto) {
    to.chunking.emplace();
    return;
  }
  Json members = Json::parse(text, nullptr, false);
  if (!members.is_object())
    return reader.problem("Input should be 'auto' or an object of type 'server_vad'", "literal_error",
                          &list[0]);
  convert_numbers(members);
  VadDraft draft;
  reader.read(kVadTable, members, &draft);
  to.chunking = ChunkingStrategy{.server_vad = true,
                                 .prefix_padding_ms = draft.prefix_padding_ms,
                                 .silence_duration_ms = draft.silence_duration_ms,
                                 .threshold = draft.threshold};
}

void read_speaker_names(FieldReader& reader, const Json& list, SpeakerParameters& to) {
  if (!reader.is_list(list, 0, kKnownSpeakersMax)) return;
  constexpr Field kName{.name = "name", .min = 1, .max = kSpeakerNameMax};
  for (std::size_t i = 0; i < list.size(); ++i) {
    const FieldReader::Inside inside(reader, i);
    if (reader.check(kName, list[i])) to.names.push_back(list[i].get<std::string>());
  }
}

void read_speaker_references(FieldReader& reader, const Json& list, SpeakerParameters& to) {
  if (!reader.is_list(list, 0, kKnownSpeakersMax)) return;
  constexpr Field kReference{.name = "reference", .max = kSpeakerReferenceMax};
  for (std::size_t i = 0; i < list.size(); ++i) {
    const FieldReader::Inside inside(reader, i);
    if (!reader.check(kReference, list[i])) continue;
    const auto& text = list[i].get_ref<const std::string&>();
    if (std::string reason = no_reference(text); !reason.empty()) {
      reader.problem(std::move(reason), "value_error");
    } else {
      to.references.push_back(text);
    }
  }
}

}  // namespace millrace::schemas
