#include "schemas/media/transcription_request.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "platform/base/nearest.h"
#include "schemas/files/stored_file.h"
#include "schemas/jobs/job_metadata.h"
#include "schemas/media/languages.h"
#include "schemas/unknown_model.h"

namespace millrace::schemas {
namespace {

constexpr std::int64_t kTranscriptionModelMax = 255;
constexpr std::int64_t kLanguageMax = 64;
constexpr std::size_t kLanguagesShownMax = 8;  // in an error
constexpr std::int64_t kPromptMax = 4096;      // bytes; Whisper uses about 900 of them

// The struct that the tables fill.
struct TranscriptionRequestDraft {
  std::string model, language, prompt, form, metadata, file_id;
  std::optional<double> temperature;
  bool needs_detail = false, segments = false, words = false;
  bool stream = false, deferred = false;
  bool include = false;
  SpeakerParameters speakers;
  std::optional<JobStart> start;
};
template <auto Member>
constexpr auto into_transcription = &store_in<TranscriptionRequestDraft, Member>;

void read_granularities(void* object, FieldReader& reader, const Json& list) {
  auto& draft = *static_cast<TranscriptionRequestDraft*>(object);
  draft.needs_detail = true;
  for (const Json& each : list) {
    const bool word = each == "word", segment = each == "segment";
    if (!word && !segment)
      return reader.problem("Input should be 'word' or 'segment'", "literal_error", &each);
    draft.words = draft.words || word;
    draft.segments = draft.segments || segment;
  }
}

// The form parser has already checked that the file is present.
void pass_file(void*, FieldReader&, const Json&) {}
void note_include(void* object, FieldReader&, const Json&) {
  static_cast<TranscriptionRequestDraft*>(object)->include = true;
}
template <auto Read>
void read_into_speakers(void* object, FieldReader& reader, const Json& list) {
  Read(reader, list, static_cast<TranscriptionRequestDraft*>(object)->speakers);
}

constexpr std::string_view kGranularitySchema =
    R"({"type":"array","items":{"type":"string","enum":["word","segment"]}})";

constexpr std::string_view kChunkingSchema =
    R"({"anyOf":[{"const":"auto"},{"type":"object","required":["type"],"properties":{)"
    R"("type":{"const":"server_vad"},"prefix_padding_ms":{"type":"integer","minimum":0,"maximum":60000},)"
    R"("silence_duration_ms":{"type":"integer","minimum":0,"maximum":60000},)"
    R"("threshold":{"type":"number","minimum":0,"maximum":1}}}]})";

constexpr Field kFileField{.name = kRecordingField,
                           .type = FieldType::kCustom,
                           .text =
                               "The recording, required without `file_id`: flac, mp3, mp4, mpeg, mpga, m4a, "
                               "ogg, wav or webm, detected by content; at most "
                               "25 MB. Its file name is the `name` of the job",
                           .schema = R"({"type":"string","format":"binary"})",
                           .custom = &pass_file};
constexpr Field kFileIdField{.name = "file_id",
                             .text = "Instead of `file`: a recording that was uploaded to `/v1/files`",
                             .max = 64,
                             .store = into_transcription<&TranscriptionRequestDraft::file_id>};
constexpr Field kModelField{.name = "model",
                            .required = true,
                            .text =
                                "`millrace/moonshine-en` or `millrace/sphinx-en`, the local models for "
                                "English; a model of the setting stt.models; or a provider's transcription "
                                "model. whisper-1, gpt-4o-transcribe and gpt-4o-mini-transcribe are other "
                                "names of the default local model while no provider has them",
                            .min = 1,
                            .max = kTranscriptionModelMax,
                            .store = into_transcription<&TranscriptionRequestDraft::model>};
constexpr Field kPromptField{.name = "prompt",
                             .text = "A text that guides the style; local models ignore it",
                             .max = kPromptMax,
                             .store = into_transcription<&TranscriptionRequestDraft::prompt>};
constexpr Field kFormField{.name = "response_format",
                           .text = "`diarized_json` names the speakers and needs a model that does",
                           .choices = kTranscriptFormats,
                           .default_json = "\"json\"",
                           .store = into_transcription<&TranscriptionRequestDraft::form>};
constexpr Field kTranslationFormField{.name = "response_format",
                                      .choices = kTranslationFormats,
                                      .default_json = "\"json\"",
                                      .store = into_transcription<&TranscriptionRequestDraft::form>};
constexpr Field kTemperatureField{.name = "temperature",
                                  .type = FieldType::kNumber,
                                  .text = "The sampling temperature; local models ignore it",
                                  .min = 0,
                                  .max = 1,
                                  .store = into_transcription<&TranscriptionRequestDraft::temperature>};
constexpr Field kLanguageField{.name = "language",
                               .text =
                                   "ISO 639-1, such as `en`. A local model refuses a language that it does "
                                   "not know",
                               .max = kLanguageMax,
                               .store = into_transcription<&TranscriptionRequestDraft::language>};
constexpr Field kMetadataField{
    .name = "metadata",
    .type = FieldType::kCustom,
    .text =
        "Texts by which you find the job, as a JSON object: `GET "
        "/v1/jobs?metadata.KEY=VALUE`",
    .schema = kMetadataTextSchema,
    .custom = &read_metadata_text_into<TranscriptionRequestDraft, &TranscriptionRequestDraft::metadata>};
constexpr Field kDeferredField{.name = "deferred",
                               .type = FieldType::kBool,
                               .text = "Returns 202 with the job at once, like `Prefer: respond-async`",
                               .default_json = "false",
                               .store = into_transcription<&TranscriptionRequestDraft::deferred>};

constexpr Field kRunAtField = run_at_field<TranscriptionRequestDraft, &TranscriptionRequestDraft::start>();
constexpr Field kDelayField = delay_field<TranscriptionRequestDraft, &TranscriptionRequestDraft::start>();

constexpr std::array kTranscriptionTable{
    kFileField,
    kFileIdField,
    kModelField,
    kLanguageField,
    kPromptField,
    kFormField,
    kTemperatureField,
    Field{.name = "timestamp_granularities",
          .type = FieldType::kCustom,
          .text = "With `verbose_json`: which timestamps the response has; the name may end with `[]`",
          .schema = kGranularitySchema,
          .custom = &read_granularities},
    Field{.name = "stream",
          .type = FieldType::kBool,
          .text = "The text as Server-Sent Events while it is recognised. With `response_format` srt, vtt or "
                  "verbose_json, only the job's result has the times",
          .default_json = "false",
          .store = into_transcription<&TranscriptionRequestDraft::stream>},
    Field{.name = "include",
          .type = FieldType::kCustom,
          .text = "Ignored",
          .schema = R"({"type":"array","items":{"type":"string"}})",
          .custom = &note_include},
    Field{.name = kChunkingStrategy,
          .type = FieldType::kCustom,
          .text = "Where the model cuts the recording: `auto`, or the type `server_vad` with its members. As "
                  "text, or as fields such as `chunking_strategy[type]`. The local engine cuts at pauses",
          .schema = kChunkingSchema,
          .custom = &read_into_speakers<&read_chunking>},
    Field{.name = kKnownSpeakerNames,
          .type = FieldType::kCustom,
          .text = "The speakers of `known_speaker_references`, in the same order; the name may end with `[]`",
          .schema = R"({"type":"array","maxItems":4,"items":{"type":"string","maxLength":128}})",
          .custom = &read_into_speakers<&read_speaker_names>},
    Field{.name = kKnownSpeakerReferences,
          .type = FieldType::kCustom,
          .text = "Recordings of 2 to 10 s of these speakers, as data URIs of at most 1.5 MiB; the name may "
                  "end with `[]`. All fields without the file have at most 6.25 MiB",
          .schema = R"({"type":"array","maxItems":4,"items":{"type":"string","maxLength":1572864}})",
          .custom = &read_into_speakers<&read_speaker_references>},
    kMetadataField,
    kDeferredField,
    kRunAtField,
    kDelayField,
};

constexpr std::array kTranslationTable{
    kFileField,        kFileIdField,   kModelField,    kPromptField, kTranslationFormField,
    kTemperatureField, kMetadataField, kDeferredField, kRunAtField,  kDelayField,
};

FieldProblem at_field(std::string_view field, std::string msg) {
  return {.loc = {"body", std::string(field)},
          .msg = std::move(msg),
          .type = "value_error",
          .input = {},
          .ctx = {}};
}

// "English (en), German (de)"; of many, the first ones.
std::string shown_languages(const std::vector<std::string>& codes) {
  std::string text;
  const std::size_t shown = std::min(codes.size(), kLanguagesShownMax);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + shown_language(codes[i]);
  if (codes.size() > shown) text += " and " + std::to_string(codes.size() - shown) + " more";
  return text;
}

// The local models for which `fits` is true, as "'a' or 'b'"; empty: none.
std::string suggestions(const TranscriptionModels& models,
                        const std::function<bool(const LocalTranscriptionModel&)>& fits) {
  std::string text;
  for (const LocalTranscriptionModel& model : models.local.all()) {
    if (!fits(model) || (models.may_suggest && !models.may_suggest(model.name))) continue;
    text += (text.empty() ? "'" : " or '") + model.name + "'";
  }
  return text;
}

// Empty: the model knows the language.
std::string language_problem(const std::string& language, const LocalTranscriptionModel& local,
                             const TranscriptionModels& models) {
  const SpokenLanguage* wanted = find_language(language);
  if (wanted == nullptr) return "Input should be an ISO 639-1 code, such as 'en'";
  if (local.knows(wanted->code)) return {};
  const std::string shown = shown_language(wanted->code);
  const std::string others =
      suggestions(models, [&](const LocalTranscriptionModel& model) { return model.knows(wanted->code); });
  return "The model '" + local.name + "' supports " + (local.languages.size() == 1 ? "only " : "") +
         shown_languages(local.languages) + "; " +
         (others.empty() ? "no local model supports " + shown +
                               ": configure one in stt.models, or a Whisper server (docs/audio.md)"
                         : "for " + shown + " use model " + others);
}

// Speech of an English-only model is its own translation into English. Empty: the model translates.
std::string translation_problem(const LocalTranscriptionModel& local, const TranscriptionModels& models) {
  if (local.translates || local.is_english_only()) return {};
  const std::string others =
      suggestions(models, [](const LocalTranscriptionModel& model) { return model.translates; });
  return "The model '" + local.name + "' does not translate; " +
         (others.empty() ? "configure a Whisper model of several languages in stt.models (docs/audio.md)"
                         : "use model " + others);
}

// Reports what the local model that is to transcribe cannot do.
Problems local_problems(TranscriptionTask task, const TranscriptionRequestDraft& draft,
                        const LocalTranscriptionModel& local, const TranscriptionModels& models) {
  Problems out;
  if (!draft.language.empty()) {
    if (std::string problem = language_problem(draft.language, local, models); !problem.empty())
      out.push_back(at_field("language", std::move(problem)));
  }
  if (task == TranscriptionTask::kTranslate) {
    if (std::string problem = translation_problem(local, models); !problem.empty())
      out.push_back(at_field("model", std::move(problem)));
  }
  return out;
}

// The recording is sent with the form, or it is a file. Reads the file's id.
std::optional<FieldProblem> take_recording_source(const TranscriptionRequestDraft& draft, bool has_file,
                                                  std::optional<base::Uuid>& file) {
  if (!has_file && draft.file_id.empty())
    return FieldProblem{.loc = {"body", std::string(kFileField.name)},
                        .msg = "Field required",
                        .type = "missing",
                        .input = {},
                        .ctx = {}};
  if (has_file && !draft.file_id.empty())
    return at_field(kFileIdField.name, "Give either `file` or `file_id`");
  if (has_file) return std::nullopt;
  file = stored_file_id_from(draft.file_id);
  if (file) return std::nullopt;
  return at_field(kFileIdField.name, "Input should be the id of a file of /v1/files");
}

// Reports parameters that exclude each other.
Problems clashes(const TranscriptionRequestDraft& draft) {
  Problems out;
  if (draft.needs_detail && draft.form != "verbose_json")
    out.push_back(at_field("timestamp_granularities", "Only with `response_format` verbose_json"));
  if (draft.stream && draft.start)
    out.push_back(at_field("stream", "Give either `stream` or a time at which the job starts"));
  if (draft.stream && draft.deferred) out.push_back(at_field("stream", "Give either `stream` or `deferred`"));
  if (draft.speakers.names.size() != draft.speakers.references.size())
    out.push_back(at_field(kKnownSpeakerReferences,
                           "There should be one for each item of `known_speaker_names`, in the same order"));
  return out;
}

Refusal no_speech_model(const std::string& model, const LocalTranscriptionModels& local) {
  if (local.is_missing(model)) return {missing_model(model), {}};
  const std::string_view near = base::nearest(model, local.names());
  return {unknown_model(model, near.empty() ? local.default_model().name : near), {}};
}

// A stream's events have only the text, or the segments with their speakers. The job's result has the
// requested format.
void note_unstreamed(const TranscriptionRequestDraft& draft, DroppedParams& dropped) {
  const bool is_plain = draft.form == "json" || draft.form == "text" || draft.form == "diarized_json";
  if (!draft.stream || is_plain) return;
  dropped.push_back({.name = "response_format"});
  if (draft.needs_detail) dropped.push_back({.name = "timestamp_granularities"});
}

// Local models are deterministic, so they support only temperature 0.
void note_dropped(const TranscriptionRequestDraft& draft, bool is_local, DroppedParams& dropped) {
  if (is_local && !draft.prompt.empty()) dropped.push_back({.name = "prompt"});
  if (is_local && draft.temperature.value_or(0) > 0) dropped.push_back({.name = "temperature"});
  note_unstreamed(draft, dropped);
  if (draft.include) dropped.push_back({.name = "include"});
}

// `local`: the model that transcribes; null: a provider's.
TranscriptionRequest request_of(TranscriptionTask task, TranscriptionRequestDraft draft,
                                const LocalTranscriptionModel* local) {
  TranscriptionRequest out;
  note_dropped(draft, local != nullptr, out.dropped);
  out.stream = draft.stream;
  out.start = draft.start;
  out.deferred = draft.deferred || draft.start;
  out.metadata = std::move(draft.metadata);
  out.needs_times = draft.needs_detail;
  out.spec.model = std::move(draft.model);
  out.spec.language = std::move(draft.language);
  out.spec.prompt = std::move(draft.prompt);
  out.spec.temperature = draft.temperature;
  out.spec.speakers = std::move(draft.speakers);
  out.spec.by_provider = local == nullptr;
  if (local != nullptr) {
    out.spec.local_model = local->name;
    if (local->languages.size() == 1) out.spec.model_language = local->languages.front();
    if (const SpokenLanguage* known = find_language(out.spec.language)) out.spec.language = known->code;
  }
  out.spec.style = {.form = transcript_format_named(draft.form).value_or(TranscriptFormat::kJson),
                    .translate = task == TranscriptionTask::kTranslate,
                    .segments = !draft.needs_detail || draft.segments,
                    .words = draft.words};
  return out;
}

}  // namespace

std::optional<Refusal> no_speakers(const TranscriptionRequest& request, bool knows_speakers) {
  if (knows_speakers || request.spec.style.form != TranscriptFormat::kDiarizedJson) return std::nullopt;
  const std::string model =
      request.spec.by_provider ? "The model '" + request.spec.model + "'" : "The local engine";
  const std::string setting = request.spec.by_provider
                                  ? ""
                                  : "set stt.speakers, which needs the speech engine (`millrace models pull "
                                    "speakers` has the files), or ";
  return invalid({at_field("response_format",
                           model + " does not tell speakers apart, which diarized_json needs: " + setting +
                               "use a provider's model that does, such as "
                               "gpt-4o-transcribe-diarize")});
}

void drop_unsupported_speakers(const SpeakerSupport& support, TranscriptionRequest& request) {
  SpeakerParameters& sent = request.spec.speakers;
  if (sent.chunking && !support.chunking) {
    request.dropped.push_back({.name = std::string(kChunkingStrategy)});
    sent.chunking.reset();
  }
  if (!sent.names.empty() && !support.known_speakers) {
    request.dropped.push_back({.name = std::string(kKnownSpeakerNames)});
    request.dropped.push_back({.name = std::string(kKnownSpeakerReferences)});
    sent.names.clear();
    sent.references.clear();
  }
  if (!request.spec.prompt.empty() && !support.prompt) {
    request.dropped.push_back({.name = "prompt"});
    request.spec.prompt.clear();
  }
  const bool is_diarized = request.spec.style.form == TranscriptFormat::kDiarizedJson;
  if (is_diarized && !request.spec.language.empty() && !support.language) {
    request.dropped.push_back({.name = "language"});
    request.spec.language.clear();
  }
}

std::span<const Field> transcription_fields(TranscriptionTask task) {
  if (task == TranscriptionTask::kTranslate) return kTranslationTable;
  return kTranscriptionTable;
}

tl::expected<TranscriptionRequest, Refusal> parse_transcription_request(TranscriptionTask task,
                                                                        QueryPairs pairs, bool has_file,
                                                                        const TranscriptionModels& models) {
  std::erase_if(pairs, [](const auto& pair) { return pair.first == kFileField.name; });
  if (has_file) pairs.emplace_back(kFileField.name, "there");
  if (task == TranscriptionTask::kTranscribe) join_chunking_fields(pairs);
  TranscriptionRequestDraft draft;
  draft.form = name(TranscriptFormat::kJson);
  std::vector<std::string> unknown;
  Problems problems = read_form(transcription_fields(task), std::move(pairs), &draft, unknown);
  std::optional<base::Uuid> file;
  if (auto problem = take_recording_source(draft, has_file, file))
    problems.insert(problems.begin(), *std::move(problem));
  if (!problems.empty()) return tl::make_unexpected(invalid(std::move(problems)));
  const bool has_provider = models.has_provider && models.has_provider(draft.model);
  const LocalTranscriptionModel* local = models.local.serving(draft.model, has_provider);
  if (local == nullptr && !has_provider)
    return tl::make_unexpected(no_speech_model(draft.model, models.local));
  problems = clashes(draft);
  if (local != nullptr) {
    Problems of_model = local_problems(task, draft, *local, models);
    std::move(of_model.begin(), of_model.end(), std::back_inserter(problems));
  }
  if (!problems.empty()) return tl::make_unexpected(invalid(std::move(problems)));
  TranscriptionRequest out = request_of(task, std::move(draft), local);
  out.file = file;
  for (std::string& each : unknown) out.dropped.push_back({.name = std::move(each)});
  return out;
}

}  // namespace millrace::schemas
