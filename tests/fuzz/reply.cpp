#include <string>

#include "ai/providers/audio.h"
#include "ai/providers/media.h"
#include "ai/providers/model_list.h"
#include "ai/providers/ocr.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/error_body.h"
#include "tests/fuzz/provider.h"

// The replies of the providers. The first line of the input is `PROVIDER KIND`, the rest is the body of a
// reply. What is read is written for the client, which must be JSON.
namespace millrace::providers {
namespace {

using fuzz::require;
using fuzzing::require_json;

template <class T>
bool accepted(const base::Result<T>& result) {
  if (!result) require(!result.error().message.empty(), "an error says why");
  return result.has_value();
}

void read_chat(const Target& target, std::string_view body) {
  const auto reply = translation(target.preset->family).chat_reply(target, body);
  if (accepted(reply)) require_json(schemas::chat_completion_json(*reply, false), "a completion is JSON");
}

void read_error(const Target& target, std::string_view body) {
  for (const int status : {400, 429, 500}) {
    const base::Error error =
        upstream_error(target, status, {{"retry-after", std::string(body.substr(0, 8))}}, body);
    require(!error.message.empty(), "an error says why");
    require_json(schemas::error_body("/v1/chat/completions", error).body, "an error is JSON");
  }
}

void read_embedding(const Target& target, std::string_view body) {
  constexpr std::size_t kInputs = 2;
  const auto reply = embedding_reply(target, body, kInputs);
  if (!accepted(reply)) return;
  require(reply->vectors.size() == kInputs, "a vector for each input");
  require_json(schemas::embedding_reply_json(*reply, false), "embeddings are JSON");
  for (const schemas::Vector& vector : reply->vectors) {
    const auto again = schemas::unpacked_vector(schemas::packed_vector(vector));
    require(again == vector, "a vector is the same in base64");
  }
}

void read_image(const Target& target, std::string_view body) {
  const auto reply = image_reply(target, body);
  if (accepted(reply)) {
    require(!reply->images.empty(), "a reply has an image");
    require_json(schemas::image_reply_json(*reply), "images are JSON");
  }
  const auto event = image_event(target, {.id = {}, .event = "message", .data = std::string(body)});
  if (accepted(event) && *event) {
    const std::string text = schemas::image_event_text(**event, {}, 1);
    require_json(text.substr(text.find("data: ") + 6), "an event of an image is JSON");
  }
}

void read_transcript(const Target& target, std::string_view body) {
  const auto transcript = transcription_reply(target, body);
  if (!accepted(transcript)) return;
  for (std::size_t form = 0; form < schemas::kTranscriptFormats.size(); ++form)
    schemas::render(*transcript, {.form = static_cast<schemas::TranscriptFormat>(form), .words = true});
  const std::string stored = schemas::to_json(*transcript, {.words = true});
  require_json(stored, "a stored transcript is JSON");
  const auto again = schemas::stored_transcript(stored);
  require(again && schemas::to_json(again->transcript, again->style) == stored,
          "a stored transcript is read again");
}

void read_pages(const Target& target, std::string_view body) {
  const auto pages = ocr_reply(target, body);
  if (!accepted(pages)) return;
  for (const schemas::OcrPage& page : *pages) {
    const std::string stored = schemas::to_json(page);
    require_json(stored, "a page is JSON");
    const auto again = schemas::ocr_page_from_json(stored);
    require(again && schemas::to_json(*again) == stored, "a stored page is read again");
  }
}

void read_models(const Target& target, std::string_view body) {
  const auto models = read_model_list(target, body);
  if (accepted(models)) require(models->size() <= kListedModelsMax, "models within their bound");
}

struct Reader {
  std::string_view kind;
  void (*read)(const Target& target, std::string_view body);
};
constexpr Reader kReaders[] = {
    {"chat", read_chat}, {"error", read_error},   {"embedding", read_embedding},  {"image", read_image},
    {"ocr", read_pages}, {"models", read_models}, {"transcript", read_transcript}};

bool check_reply(std::string_view input) {
  const std::string_view line = fuzz::take_line(input);
  const std::size_t space = line.find(' ');
  const Target target = fuzzing::target_of(line.substr(0, space));
  if (!fuzzing::can_translate(target) || space == std::string_view::npos) return false;
  for (const Reader& reader : kReaders) {
    if (reader.kind != line.substr(space + 1)) continue;
    reader.read(target, input);
    return true;
  }
  return false;
}

}  // namespace
}  // namespace millrace::providers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return millrace::providers::check_reply(millrace::fuzz::text_of(data, size)) ? 0 : -1;
}
