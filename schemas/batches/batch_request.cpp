#include <charconv>

#include "platform/base/bytes.h"
#include "schemas/admin_request.h"
#include "schemas/batches/batch.h"
#include "schemas/files/stored_file.h"
#include "schemas/jobs/job_metadata.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kTimeoutHoursMax = kBatchWindowMax.count();
constexpr std::int64_t kOutputSecondsMin = std::chrono::seconds(kFileLifeMin).count(),
                       kOutputSecondsMax = std::chrono::seconds(kFileLifeMax).count();
constexpr std::string_view kCostKey = "max_cost_usd";
constexpr std::array<std::string_view, 1> kOutputAnchors{"created_at"};

// The struct that the two tables fill.
struct BatchDraft {
  BatchRequest request;
  std::string model, anchor;
  std::int64_t output_seconds = 0, timeout_hours = kBatchWindowDefault.count();
};
template <auto Member>
constexpr auto into_batch = &store_in<BatchDraft, Member>;

void read_input_file(void* object, FieldReader& reader, const Json& value) {
  const auto id = stored_file_id_from(reader.text(value).value_or(""));
  if (!id) return reader.problem("Input should be the id of a file, such as `file-…`", "value_error");
  static_cast<BatchDraft*>(object)->request.input_file = id;
}

void read_endpoint(void* object, FieldReader& reader, const Json& value) {
  const auto text = reader.text(value);
  if (!text || text->empty() || text->size() > kBatchEndpointMax || text->front() != '/')
    return reader.problem("Input should be the path of an endpoint, such as `/v1/chat/completions`",
                          "value_error");
  static_cast<BatchDraft*>(object)->request.endpoint = *text;
}

void read_window(void* object, FieldReader& reader, const Json& value) {
  BatchRequest& request = static_cast<BatchDraft*>(object)->request;
  const auto text = reader.text(value);
  const auto life = text && text->size() <= 32 ? base::parse_duration(*text) : std::nullopt;
  if (!life || *life < std::chrono::seconds(1) || *life > kBatchWindowMax)
    return reader.problem("Input should be a duration from `1s` to `7d`, such as `24h`", "value_error");
  request.window = *text;
  request.life = *life;
}

// `max_cost_usd` among the metadata limits the costs.
void read_batch_metadata(void* object, FieldReader& reader, const Json& value) {
  BatchRequest& request = static_cast<BatchDraft*>(object)->request;
  const Metadata metadata = read_metadata(reader, value);
  request.metadata = metadata_json(metadata);
  for (const auto& [key, text] : metadata) {
    if (key != kCostKey) continue;
    const FieldReader::Inside inside(reader, kCostKey);
    request.cost_max = batch_cost_max(text);
    if (!request.cost_max)
      reader.problem("Input should be an amount in US dollars, such as `1.50`", "value_error");
  }
}

void read_mistral_input(void* object, FieldReader& reader, const Json& value) {
  if (!reader.is_list(value, 0)) return;
  if (value.empty()) return;
  if (value.size() > 1) return reader.problem("A batch has one input file", "too_long");
  const FieldReader::Inside inside(reader, std::size_t{0});
  read_input_file(object, reader, value.front());
}

// The requests become JSON lines.
void read_inline_requests(void* object, FieldReader& reader, const Json& value) {
  if (!reader.is_list(value, 1, kBatchInlineMax)) return;
  std::string& lines = static_cast<BatchDraft*>(object)->request.inline_lines;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside inside(reader, i);
    if (!reader.is_object(value[i])) return;
    lines += dump(value[i]);
    lines += '\n';
  }
}

constexpr Field kBatchEndpointField{
    .name = "endpoint",
    .type = FieldType::kCustom,
    .required = true,
    .text =
        "The path of an endpoint, to which every line is a request: `/v1/chat/completions`, "
        "`/v1/embeddings`, `/v1/ocr`, `/v1/audio/transcriptions`, `/v1/machines/{machine}/executions` and "
        "others",
    .schema = R"({"type":"string"})",
    .custom = &read_endpoint};
constexpr Field kBatchMetadataField{
    .name = "metadata",
    .type = FieldType::kCustom,
    .text = "Texts of yours. `max_cost_usd` limits the costs: no line is sent that may exceed it",
    .schema = kMetadataSchema,
    .custom = &read_batch_metadata};

constexpr std::array kOutputLifeFields{
    Field{.name = "anchor",
          .required = true,
          .choices = kOutputAnchors,
          .store = into_batch<&BatchDraft::anchor>},
    Field{.name = "seconds",
          .type = FieldType::kInteger,
          .required = true,
          .text = "The files are deleted so many seconds after they were made",
          .min = kOutputSecondsMin,
          .max = kOutputSecondsMax,
          .store = into_batch<&BatchDraft::output_seconds>},
};

constexpr std::array kOpenAiFields{
    Field{.name = "input_file_id",
          .type = FieldType::kCustom,
          .required = true,
          .text = "A file of /v1/files with one request per line: `{custom_id, method, url, body}`",
          .schema = R"({"type":"string"})",
          .custom = &read_input_file},
    kBatchEndpointField,
    Field{.name = "completion_window",
          .type = FieldType::kCustom,
          .required = true,
          .text = "After this time the batch expires: `24h`, or another duration up to `7d`",
          .schema = R"({"type":"string"})",
          .custom = &read_window},
    kBatchMetadataField,
    Field{.name = "output_expires_after",
          .type = FieldType::kObject,
          .text = "Without it, the files of the output are kept",
          .members = kOutputLifeFields},
};

constexpr std::array kMistralFields{
    Field{.name = "input_files",
          .type = FieldType::kCustom,
          .text = "One file of /v1/files with one request per line: `{custom_id, body}`",
          .schema = R"({"type":["array","null"],"items":{"type":"string"},"maxItems":1})",
          .custom = &read_mistral_input},
    Field{
        .name = "requests",
        .type = FieldType::kCustom,
        .text = "The requests themselves, instead of a file",
        .schema =
            R"({"type":["array","null"],"maxItems":10000,"items":{"type":"object","required":["custom_id","body"]}})",
        .custom = &read_inline_requests},
    kBatchEndpointField,
    Field{.name = "model",
          .text = "The model of every line",
          .max = 256,
          .store = &store_in<BatchDraft, &BatchDraft::model>},
    Field{.name = "timeout_hours",
          .type = FieldType::kInteger,
          .text = "After this time the batch expires",
          .min = 1,
          .max = kTimeoutHoursMax,
          .default_json = "24",
          .store = into_batch<&BatchDraft::timeout_hours>},
    kBatchMetadataField,
};

FieldProblem batch_problem(std::string_view field, std::string msg, std::string type) {
  return {.loc = {"body", std::string(field)},
          .msg = std::move(msg),
          .type = std::move(type),
          .input = {},
          .ctx = {}};
}

}  // namespace

std::span<const Field> batch_fields() { return kOpenAiFields; }
std::span<const Field> mistral_batch_fields() { return kMistralFields; }

std::optional<NanoUsd> batch_cost_max(std::string_view text) {
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc() || end != text.data() + text.size() || !(amount >= 0)) return std::nullopt;
  const NanoUsd nano = nano_usd(amount);
  return nano <= kBatchNanoUsdMax ? std::optional(nano) : std::nullopt;
}

tl::expected<BatchRequest, Refusal> parse_batch_request(std::string& body) {
  auto draft = read_body<BatchDraft>(body, kOpenAiFields);
  if (!draft) return tl::make_unexpected(std::move(draft.error()));
  if (draft->output_seconds != 0) draft->request.output_life = std::chrono::seconds(draft->output_seconds);
  return std::move(draft->request);
}

tl::expected<BatchRequest, Refusal> parse_mistral_batch_request(std::string& body) {
  auto draft = read_body<BatchDraft>(body, kMistralFields);
  if (!draft) return tl::make_unexpected(std::move(draft.error()));
  BatchRequest& request = draft->request;
  const bool has_lines = !request.inline_lines.empty();
  if (has_lines == request.input_file.has_value()) {
    const std::string_view msg = has_lines ? "Send either this or `requests`" : "Send this or `requests`";
    return tl::make_unexpected(
        invalid({batch_problem("input_files", std::string(msg), has_lines ? "value_error" : "missing")}));
  }
  request.shape = BatchShape::kMistral;
  request.model = std::move(draft->model);
  request.life = std::chrono::hours(draft->timeout_hours);
  request.window = std::to_string(draft->timeout_hours) + "h";
  return std::move(request);
}

}  // namespace millrace::schemas
