#include "schemas/media/transcription.h"

#include "schemas/json/json.h"
#include "schemas/json/json_body.h"
#include "schemas/media/languages.h"

namespace millrace::schemas {
namespace {

Json pieces_json(const std::vector<AudioPiece>& pieces) {
  Json list = Json::array();
  for (const AudioPiece& each : pieces) list.push_back({each.index, each.start_ms, each.end_ms});
  return list;
}

std::vector<AudioPiece> pieces_from(const Json& from) {
  std::vector<AudioPiece> out;
  for (const Json& each : from)
    out.push_back({each.at(0).get<int>(), each.at(1).get<std::int64_t>(), each.at(2).get<std::int64_t>()});
  return out;
}

TranscriptionSpec transcription_from(const Json& from) {
  TranscriptionSpec spec;
  spec.model = from.at("model").get<std::string>();
  spec.file_name = from.value("file_name", std::string());
  spec.language = from.value("language", std::string());
  spec.prompt = from.value("prompt", std::string());
  if (const auto at = from.find("temperature"); at != from.end()) spec.temperature = at->get<double>();
  spec.speakers = speakers_from(from);
  const auto form = transcript_format_named(from.at("form").get<std::string>());
  spec.style = {.form = form.value_or(TranscriptFormat::kJson),
                .translate = from.value("translate", false),
                .segments = from.value("segments", true),
                .words = from.value("words", false)};
  spec.by_provider = from.value("by_provider", false);
  if (!spec.by_provider) spec.local_model = from.value("local_model", std::string(kSphinxModel));
  spec.model_language = from.value("model_language", std::string());
  spec.allowed_models = allow_list_from(from.value("allowed_models", Json()));
  if (const auto at = from.find("pieces"); at != from.end()) spec.pieces = pieces_from(*at);
  spec.recording_ms = from.value("recording_ms", std::int64_t{0});
  return spec;
}

}  // namespace

std::string to_json(const TranscriptionSpec& spec) { return to_json(TranscriptionSpec(spec)); }

std::string to_json(TranscriptionSpec&& spec) {
  Json out{{"model", spec.model}, {"form", name(spec.style.form)}};
  if (!spec.file_name.empty()) out["file_name"] = spec.file_name;
  if (!spec.language.empty()) out["language"] = spec.language;
  if (!spec.prompt.empty()) out["prompt"] = spec.prompt;
  if (spec.temperature) out["temperature"] = *spec.temperature;
  write_speakers(std::move(spec.speakers), out);
  if (spec.style.translate) out["translate"] = true;
  if (!spec.style.segments) out["segments"] = false;
  if (spec.style.words) out["words"] = true;
  if (spec.by_provider) out["by_provider"] = true;
  if (!spec.local_model.empty()) out["local_model"] = spec.local_model;
  if (!spec.model_language.empty()) out["model_language"] = spec.model_language;
  if (spec.allowed_models) out["allowed_models"] = *spec.allowed_models;
  if (spec.is_share()) out["pieces"] = pieces_json(spec.pieces);
  if (spec.recording_ms > 0) out["recording_ms"] = spec.recording_ms;
  return dump(out);
}

std::string spoken_language(const TranscriptionSpec& spec) {
  if (spec.by_provider) return spec.language;
  if (!spec.language.empty()) return spoken_name(spec.language);
  // Jobs of earlier versions have no `model_language`; the built-in models know only English.
  const bool is_built_in = spec.local_model.starts_with(kOwnModelPrefix);
  return spoken_name(spec.model_language.empty() && is_built_in ? "en" : spec.model_language);
}

base::Result<TranscriptionSpec> transcription_spec_from_json(std::string_view text) {
  try {
    return transcription_from(Json::parse(text));
  } catch (const Json::exception&) {
    return base::error(base::Code::kInternal, "the stored transcription request cannot be read");
  }
}

}  // namespace millrace::schemas
