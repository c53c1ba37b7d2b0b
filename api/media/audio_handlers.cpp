#include "ai/inference/media/media.h"
#include "ai/inference/routing/routing.h"
#include "api/call.h"
#include "api/files/file_input.h"
#include "api/handlers.h"
#include "api/jobs/job_responder.h"
#include "api/media/transcript_stream.h"
#include "api/model_request.h"
#include "api/tenants/job_cost.h"
#include "api/webhooks/request_webhook.h"
#include "schemas/dropped.h"
#include "schemas/jobs/job_name.h"
#include "schemas/json/json_body.h"
#include "schemas/media/languages.h"
#include "schemas/media/transcription_request.h"

namespace millrace::api {
namespace {

using schemas::TranscriptionTask;

// A request with a recording, while its body arrives.
struct RecordingIntake {
  Context& context;
  CallPtr call;
  TranscriptionTask task;
  bool strict;
};

JobResponder::ReplyOptions reply_options_of(const RecordingIntake& intake,
                                            const schemas::TranscriptionRequest& request) {
  JobResponder::ReplyOptions reply_options{.kind = schemas::Kind::kStt,
                                           .subject = "The recording",
                                           .dropped = schemas::dropped_text(request.dropped)};
  apply_prefer(reply_options, intake.call->head(), request.deferred, intake.context.options.stt_wait);
  if (!request.stream) return reply_options;
  using Speakers = TranscriptStream::Speakers;
  const bool is_diarized = request.spec.style.form == schemas::TranscriptFormat::kDiarizedJson;
  const Speakers speakers = !is_diarized               ? Speakers::kNone
                            : request.spec.by_provider ? Speakers::kWithText
                                                       : Speakers::kAtEnd;
  reply_options.stream_progress = [&context = intake.context, call = intake.call,
                                   dropped = reply_options.dropped,
                                   speakers](const schemas::JobId& job, bool replayed) {
    const ReplayState replay_state = replayed ? ReplayState::kReplayed : ReplayState::kFirst;
    TranscriptStream::start(context, call, job, {replay_state, dropped, speakers});
  };
  return reply_options;
}

// The local engine aligns only English words.
bool is_known_not_english(const schemas::TranscriptionSpec& spec) {
  const std::string language = schemas::spoken_language(spec);
  return !language.empty() && language != schemas::spoken_name("en");
}

void report_unsupported_times(const inference::Registry& registry, schemas::TranscriptionRequest& request) {
  if (!request.needs_times) return;
  if (!request.spec.by_provider) {
    if (request.spec.style.words && is_known_not_english(request.spec))
      request.dropped.push_back({.name = "timestamp_granularities"});
    return;
  }
  const auto [segments, words] =
      inference::reported_times(registry, request.spec.model, request.spec.language);
  const schemas::TranscriptStyle& style = request.spec.style;
  if ((style.segments && !segments) || (style.words && !words))
    request.dropped.push_back({.name = "timestamp_granularities"});
}

// The local engine compares voices if it tells speakers apart at all.
schemas::SpeakerSupport local_speaker_support(const Options& options,
                                              const schemas::TranscriptionRequest& request) {
  const bool is_diarized = request.spec.style.form == schemas::TranscriptFormat::kDiarizedJson;
  return {.speakers = options.tells_speakers_apart,
          .known_speakers = options.tells_speakers_apart && is_diarized};
}

std::optional<schemas::Refusal> check_speakers(const Options& options, const inference::Registry& registry,
                                               schemas::TranscriptionRequest& request) {
  const auto support = request.spec.by_provider ? inference::speaker_support(registry, request.spec.model)
                                                : local_speaker_support(options, request);
  if (auto refusal = schemas::no_speakers(request, support.speakers)) return refusal;
  schemas::drop_unsupported_speakers(support, request);
  return std::nullopt;
}

// The form is complete. Runs on the pool.
void submit_recording(const RecordingIntake& intake, Form form) {
  Call& call = *intake.call;
  auto submission = submission_of(call, [&form] { return form.fingerprint; });
  if (!submission) return call.fail(submission.error());
  if (const auto good = add_request_webhook(intake.context, call, *submission); !good)
    return call.fail(good.error());
  const auto registry = intake.context.chat.registry();
  std::string requested_model;
  const schemas::TranscriptionModels models{
      .local = intake.context.options.transcription_models,
      .has_provider =
          [&](const std::string& model) {
            requested_model = model;
            return inference::transcription_model(*registry, model).has_value();
          },
      .may_suggest =
          [&](std::string_view model) { return schemas::allows(call.principal->access.models, model); }};
  auto request =
      schemas::parse_transcription_request(intake.task, std::move(form.fields), form.file != nullptr, models);
  if (!request)
    return call.refuse(wrong_model_error(intake.context, requested_model, "transcribe recordings",
                                         std::move(request.error())));
  const std::string& model = request->spec.model;
  const std::string name = request->spec.by_provider
                               ? inference::transcription_model(*registry, model).value_or(model)
                               : request->spec.local_model;
  if (const auto may = check_model(call, model, name); !may) return call.fail(may.error());
  if (request->spec.by_provider) request->spec.allowed_models = call.principal->access.models;
  if (auto refusal = check_speakers(intake.context.options, *registry, *request))
    return call.refuse(*std::move(refusal));
  report_unsupported_times(*registry, *request);
  for (std::string& field : form.dropped) request->dropped.push_back({.name = std::move(field)});
  if (auto good = inference::check_strict(intake.strict, request->dropped); !good)
    return call.fail(good.error());
  call.set_model(request->spec.model);
  request->spec.file_name = std::move(form.file_name);
  if (request->file) {
    const auto file = file_input(intake.context, call, *request->file, kRecordingRules, "file_id");
    if (!file && !may_be_repeat(file.error(), *submission)) return call.fail(file.error());
    if (file) request->spec.file_name = file->name;
    submission->input_file = request->file;
  }
  submission->model = request->spec.model;
  submission->cost_max = call_cost_max(intake.context, request->spec);
  submission->metadata = std::move(request->metadata);
  submission->start = request->start;
  submission->run_at_max = intake.context.options.run_at_max;
  submission->input = std::move(form.file);
  JobResponder::ReplyOptions reply_options = reply_options_of(intake, *request);
  reply_options.name = submission->name = schemas::job_name(request->spec.file_name);
  submission->spec = schemas::to_json(std::move(request->spec));
  if (auto staged = stage_large_spec(intake.context.store.blobs(), *submission); !staged)
    return call.fail(staged.error());
  std::make_shared<JobResponder>(intake.context, intake.call, *std::move(submission),
                                 std::move(reply_options))
      ->submit();
}

// The members of a line's body as the fields of a form; a list becomes the fields `name[]`.
base::Result<Form> form_of_line(std::string& body) {
  auto read = schemas::read_json(body);
  if (!read) return read.error();
  const schemas::Json object = schemas::whole(*std::move(read));
  const auto text = [](const schemas::Json& value) {
    return value.is_string() ? value.get<std::string>() : schemas::dump(value);
  };
  Form form;
  for (const auto& [name, value] : object.items()) {
    if (value.is_null()) continue;
    if (!value.is_array()) {
      form.fields.emplace_back(name, text(value));
      continue;
    }
    for (const schemas::Json& item : value) form.fields.emplace_back(name + "[]", text(item));
  }
  return form;
}

void submit_line(const RecordingIntake& intake) {
  auto form = form_of_line(intake.call->body());
  if (!form) return intake.call->fail(form.error());
  submit_recording(intake, *std::move(form));
}

void take_recording(Context& context, CallPtr call, TranscriptionTask task) {
  const auto strict = read_strict(*call);
  if (!strict) return;
  const RecordingIntake intake{context, call, task, *strict};
  const std::shared_ptr<Upload> upload = call->upload;
  if (call->batch_line) {
    on_pool(context, base::Pool::Queue::kLarge, call, [intake] { submit_line(intake); });
    return;
  }
  if (!upload) return submit_recording(intake, {});  // the request has no body
  upload->finish([intake](tl::expected<Form, schemas::Refusal> form) {
    intake.call->drop_body();
    if (!form) return intake.call->refuse(form.error());
    submit_recording(intake, *std::move(form));
  });
}

}  // namespace

void create_transcription(Context& context, CallPtr call) {
  take_recording(context, std::move(call), TranscriptionTask::kTranscribe);
}

void create_translation(Context& context, CallPtr call) {
  take_recording(context, std::move(call), TranscriptionTask::kTranslate);
}

}  // namespace millrace::api
