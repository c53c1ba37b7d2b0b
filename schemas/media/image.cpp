#include "schemas/media/image.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "schemas/chat/chat_text.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

constexpr std::array<std::string_view, 2> kResponseFormats{"url", "b64_json"};
constexpr std::array<std::string_view, 3> kOutputFormats{"png", "jpeg", "webp"};
constexpr std::array<std::string_view, 2> kModerations{"low", "auto"};
constexpr std::array<std::string_view, 3> kBackgrounds{"transparent", "opaque", "auto"};
// Parameters that have a member in ImageRequest.
constexpr std::array<std::string_view, 6> kImageOwn{"model",  "prompt",         "n",
                                                    "stream", "partial_images", "response_format"};

template <auto Member>
constexpr auto into_image = &store_in<ImageRequest, Member>;

constexpr Field word(std::string_view name, std::string_view about,
                     std::span<const std::string_view> choices = {}) {
  return {.name = name, .text = about, .max = 64, .choices = choices};
}

constexpr std::array kImageTable{
    Field{.name = "prompt",
          .required = true,
          .text = "At most 32,000 characters (gpt-image-1), 4,000 (dall-e-3) or 1,000 (dall-e-2)",
          .min = 1,
          .max = kImagePromptBytesMax,
          .store = into_image<&ImageRequest::prompt>},
    Field{
        .name = "model",
        .text =
            "Absent: the setting images.default_model; without it dall-e-2 (gpt-image-1 for a parameter that "
            "only gpt-image-1 supports) if it is configured, otherwise the newest image model that is",
        .min = 1,
        .max = 255,
        .store = into_image<&ImageRequest::model>},
    Field{.name = "n",
          .type = FieldType::kInteger,
          .text = "dall-e-3: 1",
          .min = 1,
          .max = kImagesMax,
          .default_json = "1",
          .store = into_image<&ImageRequest::n>},
    word("quality", "auto; high, medium, low (gpt-image-1); hd, standard (dall-e-3); standard (dall-e-2)"),
    Field{.name = "response_format",
          .text =
              "Not for gpt-image-1, which always returns base64. Absent: b64_json for a gpt-image model, url "
              "for any other. A url is valid for 60 minutes",
          .choices = kResponseFormats,
          .store = into_image<&ImageRequest::response_format>},
    word("output_format", "gpt-image-1", kOutputFormats),
    Field{.name = "output_compression",
          .type = FieldType::kInteger,
          .text = "gpt-image-1 with jpeg or webp",
          .max = 100},
    Field{.name = "stream",
          .type = FieldType::kBool,
          .text = "gpt-image-1: named events",
          .default_json = "false",
          .store = into_image<&ImageRequest::stream>},
    Field{.name = "partial_images",
          .type = FieldType::kInteger,
          .text = "For a stream: the number of images before the final one",
          .max = 3,
          .store = into_image<&ImageRequest::partial_images>},
    word("size", "Width x height, or auto; the supported sizes depend on the model"),
    word("moderation", "gpt-image-1", kModerations),
    word("background", "gpt-image-1; transparent needs png or webp", kBackgrounds),
    word("style", "dall-e-3: vivid or natural"),
    Field{.name = "user", .text = "An id of the end user", .deprecated = true},
};

// A row of the spec's table.
struct Rule {
  std::string_view model;
  bool is_prefix;
  std::size_t prompt_max;  // characters
  int n_max;
  std::span<const std::string_view> sizes, qualities, styles, not_allowed;
};

constexpr std::array<std::string_view, 3> kSizes2{"256x256", "512x512", "1024x1024"};
constexpr std::array<std::string_view, 3> kSizes3{"1024x1024", "1792x1024", "1024x1792"};
constexpr std::array<std::string_view, 4> kSizesGpt{"1024x1024", "1536x1024", "1024x1536", "auto"};
constexpr std::array<std::string_view, 2> kQualities2{"auto", "standard"};
constexpr std::array<std::string_view, 3> kQualities3{"auto", "hd", "standard"};
constexpr std::array<std::string_view, 4> kQualitiesGpt{"auto", "high", "medium", "low"};
constexpr std::array<std::string_view, 2> kStyles3{"vivid", "natural"};
constexpr std::array<std::string_view, 6> kOfGptImage{"output_format",  "output_compression", "stream",
                                                      "partial_images", "moderation",         "background"};
constexpr std::array<std::string_view, 7> kNot2{
    "output_format", "output_compression", "stream", "partial_images", "moderation", "background", "style"};
constexpr std::array<std::string_view, 2> kNotGpt{"response_format", "style"};

constexpr std::array kRules{
    Rule{"dall-e-2", false, 1'000, 10, kSizes2, kQualities2, {}, kNot2},
    Rule{"dall-e-3", false, 4'000, 1, kSizes3, kQualities3, kStyles3, kOfGptImage},
    Rule{"gpt-image-1", true, 32'000, 10, kSizesGpt, kQualitiesGpt, {}, kNotGpt},
};

const Rule* rule_of(std::string_view model) {
  const auto found = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& rule) {
    return rule.is_prefix ? model.starts_with(rule.model) : model == rule.model;
  });
  return found == kRules.end() ? nullptr : &*found;
}

bool is_given(const ImageRequest& request, std::string_view name) {
  if (name == "stream") return request.stream;
  if (name == "partial_images") return request.partial_images > 0;
  if (name == "response_format") return !request.response_format.empty();
  return request.rest.contains(std::string(name));
}

std::string comma_separated(std::span<const std::string_view> words) {
  std::string out;
  for (const std::string_view each : words) out.append(out.empty() ? "" : ", ").append(each);
  return out;
}

void add(Problems& problems, std::string_view field, std::string message) {
  problems.push_back(FieldProblem{.loc = {"body", std::string(field)},
                                  .msg = std::move(message),
                                  .type = "value_error",
                                  .input = {},
                                  .ctx = {}});
}

void check_word(Problems& problems, const ImageRequest& request, const char* name,
                std::span<const std::string_view> words, std::string_view model) {
  const std::string value = request.word(name);
  if (value.empty() || words.empty() || std::find(words.begin(), words.end(), value) != words.end()) return;
  add(problems, name, std::string(model) + " takes " + comma_separated(words));
}

void check_output(Problems& problems, const ImageRequest& request) {
  const std::string format = request.word("output_format", "png");
  if (request.rest.contains("output_compression") && format == "png")
    add(problems, "output_compression", "Only together with `output_format` jpeg or webp");
  if (request.word("background") == "transparent" && format == "jpeg")
    add(problems, "background", "transparent needs `output_format` png or webp");
}

void take_rest(JsonBody body, ImageRequest& out) {
  for (const std::string_view name : kImageOwn) body.value.erase(std::string(name));
  Json rest = whole(std::move(body));
  for (auto at = rest.begin(); at != rest.end();) at = at->is_null() ? rest.erase(at) : std::next(at);
  out.rest = std::move(rest);
}

}  // namespace

std::string ImageRequest::word(const char* name, std::string_view otherwise) const {
  const auto at = rest.find(name);
  return at != rest.end() && at->is_string() ? at->get<std::string>() : std::string(otherwise);
}

std::string_view bare_model_name(std::string_view model) { return model.substr(model.rfind('/') + 1); }

std::span<const Field> image_request_fields() { return kImageTable; }

tl::expected<ImageRequest, Refusal> parse_image_request(std::string& body) {
  auto read = read_json(body, kJsonValuesMax, Numbers::kExact);
  if (!read) return tl::make_unexpected(Refusal{read.error(), {}});
  ImageRequest draft;
  FieldReader reader("body", *read);
  reader.read(kImageTable, read->value, &draft);
  if (!reader.problems().empty()) return tl::make_unexpected(invalid(std::move(reader.problems())));
  take_rest(*std::move(read), draft);
  return draft;
}

bool needs_gpt_image(const ImageRequest& request) {
  return std::any_of(kOfGptImage.begin(), kOfGptImage.end(),
                     [&](std::string_view name) { return is_given(request, name); });
}

Problems image_problems(const ImageRequest& request, std::string_view model) {
  Problems problems;
  const Rule* rule = rule_of(model);
  if (rule == nullptr) return problems;
  const std::string name(rule->model);
  if (characters(request.prompt) > rule->prompt_max)
    add(problems, "prompt", name + " accepts at most " + std::to_string(rule->prompt_max) + " characters");
  if (request.n > rule->n_max) add(problems, "n", name + " generates at most " + std::to_string(rule->n_max));
  for (const std::string_view field : rule->not_allowed)
    if (is_given(request, field)) add(problems, field, name + " has no such parameter");
  check_word(problems, request, "size", rule->sizes, name);
  check_word(problems, request, "quality", rule->qualities, name);
  check_word(problems, request, "style", rule->styles, name);
  if (rule->is_prefix) check_output(problems, request);
  return problems;
}

bool always_base64(std::string_view model) {
  return model.starts_with("gpt-image") || model.starts_with("chatgpt-image");
}

bool images_by_url(const ImageRequest& request, std::string_view model) {
  if (request.stream) return false;
  if (!request.response_format.empty()) return request.response_format == kResponseFormats[0];
  return !always_base64(model);
}

namespace {

constexpr std::array<std::string_view, 3> kImageReplyMembers{"created", "data", "usage"};

std::string usage_json(const ImageUsage& usage) {
  JsonObject out;
  out.number("input_tokens", usage.input)
      .number("output_tokens", usage.output)
      .number("total_tokens", usage.total);
  if (usage.input_details.is_object()) out.raw("input_tokens_details", dump(usage.input_details));
  return out.finish();
}

std::string image_json(const Image& image) {
  JsonObject out(image.b64_json.size() + 128);
  if (!image.url.empty()) {
    out.member("url", image.url);
  } else {
    out.member("b64_json", image.b64_json);
  }
  if (!image.revised_prompt.empty()) out.member("revised_prompt", image.revised_prompt);
  return out.finish();
}

const std::string& value_or_default(const std::string& value, const std::string& otherwise) {
  return value.empty() ? otherwise : value;
}

}  // namespace

void add(ImageReply& to, ImageReply reply) {
  if (to.created == 0) to.created = reply.created;
  std::move(reply.images.begin(), reply.images.end(), std::back_inserter(to.images));
  if (to.extra.is_null()) to.extra = std::move(reply.extra);
  if (!reply.usage) return;
  if (!to.usage) {
    to.usage = std::move(reply.usage);
    return;
  }
  to.usage->input_details = nullptr;
  to.usage->input += reply.usage->input;
  to.usage->output += reply.usage->output;
  to.usage->total += reply.usage->total;
}

std::string image_reply_json(const ImageReply& reply) {
  std::string out = "{\"created\":" + std::to_string(reply.created) + ",\"data\":[";
  for (const Image& image : reply.images) {
    if (out.back() != '[') out += ',';
    out += image_json(image);
  }
  out += ']';
  if (reply.usage) out.append(",\"usage\":").append(usage_json(*reply.usage));
  append_extra(out, reply.extra, kImageReplyMembers);
  return out += '}';
}

std::string image_event_text(const ImageEvent& event, const ImageRequest& request, std::int64_t now) {
  const char* const type = event.completed ? "image_generation.completed" : "image_generation.partial_image";
  JsonObject data(event.b64_json.size() + 256);
  data.member("type", type).member("b64_json", event.b64_json);
  if (!event.completed) data.number("partial_image_index", event.partial_index);
  data.number("created_at", event.created_at > 0 ? event.created_at : now)
      .member("size", value_or_default(event.size, request.word("size", "auto")))
      .member("quality", value_or_default(event.quality, request.word("quality", "auto")))
      .member("background", value_or_default(event.background, request.word("background", "auto")))
      .member("output_format", value_or_default(event.output_format, request.word("output_format", "png")));
  if (event.completed) data.raw("usage", usage_json(event.usage.value_or(ImageUsage())));
  if (!event.dropped_params.empty()) data.member("dropped_params", event.dropped_params);
  return std::string("event: ").append(type).append("\ndata: ").append(data.finish()).append("\n\n");
}

}  // namespace millrace::schemas
