#include "tests/fuzz/request.h"

#include <string>

#include "schemas/admin_request.h"
#include "schemas/chat/embedding.h"
#include "schemas/machines/execution.h"
#include "schemas/machines/machine_request.h"
#include "schemas/machines/ssh_session.h"
#include "schemas/media/image.h"
#include "schemas/media/ocr_request.h"
#include "schemas/media/speech.h"
#include "schemas/media/transcription_request.h"
#include "schemas/tenants/tenant_request.h"

// Requests of all endpoints except chat. The first line of the input is the endpoint, the rest is the body:
// JSON, or a line NAME=VALUE for each field of a form.
namespace millrace::schemas {
namespace {

using fuzz::require;
using fuzzing::check_refusal;
using fuzzing::padded;

void check_ocr(std::string_view sent) {
  std::string body = padded(sent), for_quick = padded(sent);
  const auto tree = parse_ocr_request(body);
  const auto quick = read_ocr_request(for_quick);
  require(tree.has_value() == quick.has_value(), "both parsers accept the same requests");
  if (!tree) {
    require(tree.error().error.message == quick.error().error.message,
            "both parsers refuse for the same reason");
    return check_refusal(tree.error());
  }
  require(pack(tree->spec) == pack(quick->spec) && tree->base64 == quick->base64 &&
              tree->is_data_uri == quick->is_data_uri && tree->deferred == quick->deferred &&
              tree->dropped == quick->dropped,
          "both parsers read the same request");
}

void check_execution(std::string_view sent) {
  std::string body = padded(sent);
  const auto request = parse_execution_request(body);
  if (!request) return check_refusal(request.error());
  require(!request->spec.command.empty() && request->spec.command.size() <= kCommandItemsMax,
          "a command within bounds");
  const auto spec = execution_spec_from_json(to_json(request->spec));
  require(spec && to_json(*spec) == to_json(request->spec), "a stored execution is read again");
  const auto environment = environment_from_json(to_json(request->environment));
  require(environment == request->environment, "a stored environment is read again");
}

void check_embedding(std::string_view sent) {
  std::string body = padded(sent);
  const auto request = parse_embedding_request(body);
  if (!request) return check_refusal(request.error());
  require(request->texts.empty() != request->tokens.empty(), "inputs are texts or tokens");
  require(request->inputs() <= kEmbeddingInputsMax && request->input_tokens >= 0,
          "inputs within their bounds");
}

void check_image(std::string_view sent) {
  std::string body = padded(sent);
  const auto request = parse_image_request(body);
  if (!request) return check_refusal(request.error());
  require(request->n >= 1 && request->n <= kImagesMax, "images within their bound");
  for (const std::string_view model : {"gpt-image-1", "dall-e-2", "dall-e-3", "other"}) {
    auto problems = image_problems(*request, model);
    if (!problems.empty()) check_refusal(invalid(std::move(problems)));
  }
}

void check_speech(std::string_view sent) {
  std::string body = padded(sent);
  const auto request = parse_speech_request(body);
  if (!request) return check_refusal(request.error());
  require(request->speed >= kSpeechSpeedMin && request->speed <= kSpeechSpeedMax,
          "a speed within its bounds");
  if (const auto refusal = local_speech_refusal(*request)) check_refusal(*refusal);
  local_speech_dropped(*request);
}

void check_transcription(std::string_view sent) {
  QueryPairs fields;
  while (!sent.empty()) {
    const std::string_view line = fuzz::take_line(sent);
    const std::size_t sign = std::min(line.find('='), line.size());
    fields.emplace_back(line.substr(0, sign), line.substr(std::min(sign + 1, line.size())));
  }
  const LocalTranscriptionModels local(
      true, {{.name = "whisper-base", .display_name = "", .languages = {"de", "fr"}, .translates = true}});
  for (const auto task : {TranscriptionTask::kTranscribe, TranscriptionTask::kTranslate}) {
    const auto request = parse_transcription_request(task, fields, true, {.local = local});
    if (!request) {
      check_refusal(request.error());
      continue;
    }
    const auto spec = transcription_spec_from_json(to_json(request->spec));
    // As trees: the first text can have other escapes, because the fields of a form need not be UTF-8.
    require(spec && schemas::Json::parse(to_json(*spec)) == schemas::Json::parse(to_json(request->spec)),
            "a stored transcription is read again");
  }
}

void check_bulk(std::string_view sent) {
  std::string body = padded(sent);
  const auto request = parse_bulk_request(body, {}, nullptr);
  if (!request) return check_refusal(request.error());
  if (request->ids) require(request->ids->size() <= kBulkIdsMax, "ids within their bound");
}

// An endpoint whose parser takes the body alone.
template <auto Parse>
void check(std::string_view sent) {
  std::string body = padded(sent);
  const auto request = Parse(body);
  if (!request) check_refusal(request.error());
}
tl::expected<KeyRequest, Refusal> parse_key(std::string& body) { return parse_key_request(body); }

struct Endpoint {
  std::string_view name;
  void (*check)(std::string_view body);
};
constexpr Endpoint kEndpoints[] = {
    {"ocr", check_ocr},
    {"executions", check_execution},
    {"embeddings", check_embedding},
    {"images", check_image},
    {"speech", check_speech},
    {"transcriptions", check_transcription},
    {"machines", check<parse_machine_change>},
    {"reboot", check<parse_reboot>},
    {"ssh-sessions", check<parse_ssh_request>},
    {"keys", check<parse_key>},
    {"key", check<parse_key_change>},
    {"rotate", check<parse_rotation>},
    {"tenants", check<parse_tenant_request>},
    {"retry", check_bulk},
};

bool check_request(std::string_view input) {
  const std::string_view name = fuzz::take_line(input);
  for (const Endpoint& endpoint : kEndpoints) {
    if (endpoint.name != name) continue;
    if (name != "transcriptions") fuzzing::check_json(input);
    endpoint.check(input);
    return true;
  }
  return false;
}

}  // namespace
}  // namespace millrace::schemas

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return millrace::schemas::check_request(millrace::fuzz::text_of(data, size)) ? 0 : -1;
}
