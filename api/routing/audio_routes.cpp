#include <array>

#include "api/admission/upload.h"
#include "api/handlers.h"
#include "api/model_request.h"
#include "api/routing/route.h"

namespace millrace::api {
namespace {

using schemas::Scope;

// The recording (25 MiB), the other fields (6.25 MiB) and the lines between them.
constexpr std::size_t kRecordingBody = 32u << 20;
static_assert(kRecordingBody > static_cast<std::size_t>(schemas::kAudioBytesMax) + kRecordingFieldsMax);
constexpr std::string_view kPlainText = "text/plain";

constexpr std::string_view kTranscriptionExample =
    R"({"text":"The mill turns.","language":"english","duration":2.5,"usage":{"type":"duration","seconds":3}})";
constexpr std::string_view kRecordingJobExample =
    R"({"id":"stt-01932b6c-8a00-7000-8000-000000000001","kind":"stt","status":"queued","created_at":"2025-01-31T08:00:00.000Z",)"
    R"("expires_at":"2025-02-01T08:00:00.000Z","attempt":0,"model":"millrace/sphinx-en","links":{)"
    R"("self":"/v1/jobs/stt-01932b6c-8a00-7000-8000-000000000001","result":"/v1/jobs/stt-01932b6c-8a00-7000-8000-000000000001/result",)"
    R"("events":"/v1/jobs/stt-01932b6c-8a00-7000-8000-000000000001/events",)"
    R"("cancel":"/v1/jobs/stt-01932b6c-8a00-7000-8000-000000000001/cancel",)"
    R"("retry":"/v1/jobs/stt-01932b6c-8a00-7000-8000-000000000001/retry"}})";

constexpr ReplySpec kTextForms{200, "With `response_format` text, srt or vtt", kPlainText, "Text"};
constexpr ReplySpec kLaterJob{202,
                              "The job, still running: `Prefer: respond-async` or `deferred`",
                              kJsonType,
                              "Job",
                              kRecordingJobExample,
                              "location preference-applied"};
constexpr ReplySpec kModelFailed{502, "The model's provider failed", kJsonType, "Error"};
constexpr ReplySpec kTooSlow{504,       "The wait timed out; the job named in x-millrace-job continues",
                             kJsonType, "Error",
                             {},        "location preference-applied"};

constexpr std::array kTranscriptionReplies{
    ReplySpec{200,
              "The transcript; `verbose_json` adds timestamps, `diarized_json` segments with their speakers",
              kJsonType, "Transcription", kTranscriptionExample},
    kTextForms,
    ReplySpec{200,
              "With `stream`: unnamed events, whose data is of type `transcript.text.delta`, then one of "
              "type `transcript.text.done`; an event `error` ends it early. With `diarized_json` each "
              "segment follows its text, with type `transcript.text.segment`",
              kSse,
              {},
              {},
              "cache-control x-accel-buffering"},
    kLaterJob,
    kModelFailed,
    kTooSlow};
constexpr std::array kTranslationReplies{
    ReplySpec{200, "The transcript in English; `verbose_json` adds language, duration and timestamps",
              kJsonType, "Transcription", kTranscriptionExample},
    kTextForms, kLaterJob, kModelFailed, kTooSlow};

constexpr std::string_view kTranscriptionAbout =
    "OpenAI's audio transcriptions, run as a job. Use a local model, such as `millrace/sphinx-en`, or a "
    "provider's model; a local model refuses a language that it does not know. The form's fields may precede "
    "or follow the file. The file's format is detected from its bytes. "
    "If the job takes longer than the request may wait, it continues, and its partial result can be read.";
constexpr std::string_view kTranslationAbout =
    "Returns English text of a recording. The built-in local models support only English recordings; other "
    "languages need a local Whisper model of several languages (the setting stt.models) or a provider's "
    "model.";

// clang-format off
const std::array kAudioRoutes{
    for_batches(Route{Method::kPost, "/v1/audio/transcriptions", Access::kScope, Scope::kAudio, BodyKind::kForm, kRecordingBody, Lane::kFront,
          &create_transcription,
          {.id = "createTranscription", .tag = "audio", .summary = "Transcribe a recording", .replies = kTranscriptionReplies,
           .query = model_query_fields(), .headers = "Prefer IdempotencyKey WebhookUrl Traceparent", .body = "TranscriptionForm", .state = true,
           .job = JobReplies::kSubmitted, .about = kTranscriptionAbout}}),
    for_batches(Route{Method::kPost, "/v1/audio/translations", Access::kScope, Scope::kAudio, BodyKind::kForm, kRecordingBody, Lane::kFront,
          &create_translation,
          {.id = "createTranslation", .tag = "audio", .summary = "Translate a recording into English", .replies = kTranslationReplies,
           .query = model_query_fields(), .headers = "Prefer IdempotencyKey WebhookUrl Traceparent", .body = "TranslationForm", .state = true,
           .job = JobReplies::kSubmitted, .about = kTranslationAbout}}),
};
// clang-format on

}  // namespace

std::span<const Route> audio_routes() { return kAudioRoutes; }

}  // namespace millrace::api
