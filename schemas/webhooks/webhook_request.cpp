#include <algorithm>

#include "schemas/admin_request.h"
#include "schemas/webhooks/webhook.h"

namespace millrace::schemas {
namespace {

constexpr std::array<std::string_view, 4> kEventGroups{"*", "job.*", "batch.*", "machine.*"};
constexpr std::array<std::string_view, 2> kWebhookStatuses{"enabled", "disabled"};

bool is_event_filter(std::string_view text) {
  const std::span<const std::string_view> events = webhook_events();
  return std::ranges::find(kEventGroups, text) != kEventGroups.end() ||
         std::ranges::find(events, text) != events.end();
}

bool is_shown_kind(std::string_view text) {
  const auto kind = kind_named(text);
  return kind && *kind != Kind::kMachine;
}

// Reads a list of names, each once.
template <auto Member>
void read_names(void* object, FieldReader& reader, const Json& value, bool (*is_known)(std::string_view),
                std::string_view wrong) {
  if (!reader.is_list(value, 0, kWebhookFilterMax)) return;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside inside(reader, i);
    const auto text = reader.text(value[i]);
    if (!text || !is_known(*text)) return reader.problem(std::string(wrong), "value_error", &value[i]);
    if (std::ranges::find(names, *text) == names.end()) names.emplace_back(*text);
  }
  static_cast<WebhookChange*>(object)->*Member = std::move(names);
}

void read_events(void* object, FieldReader& reader, const Json& value) {
  read_names<&WebhookChange::events>(
      object, reader, value, &is_event_filter,
      "Input should be an event, such as `job.succeeded` or `batch.completed`, or a group: `job.*`, "
      "`batch.*`, `machine.*` or `*`");
}

void read_kinds(void* object, FieldReader& reader, const Json& value) {
  read_names<&WebhookChange::kinds>(object, reader, value, &is_shown_kind,
                                    "Input should be a kind of jobs: `chat`, `exec`, `ocr` or `stt`");
}

void store_status(void* object, FieldReader& reader, const Json& value) {
  static_cast<WebhookChange*>(object)->status =
      *reader.text(value) == "enabled" ? WebhookStatus::kEnabled : WebhookStatus::kDisabled;
}

constexpr std::string_view kEventsSchema =
    R"({"type":["array","null"],"maxItems":32,"items":{"type":"string","enum":["*","job.*","batch.*","machine.*",)"
    R"("job.succeeded","job.failed","job.cancelled","job.expired","batch.completed","batch.failed","batch.expired",)"
    R"("batch.cancelled","machine.accepted","machine.starting","machine.running","machine.stopping",)"
    R"("machine.sleeping","machine.destroying","machine.destroyed","machine.failed"]}})";
constexpr std::string_view kKindsSchema =
    R"({"type":["array","null"],"maxItems":32,"items":{"type":"string","enum":["chat","exec","ocr","stt"]}})";

constexpr Field url_field(bool required) {
  return {.name = "url",
          .required = required,
          .text =
              "Where events are sent: an https URL. Hosts of `webhooks.allowed_hosts` may be private, and "
              "use http",
          .min = 1,
          .max = kWebhookUrlMax,
          .format = "uri",
          .store = &store_in<WebhookChange, &WebhookChange::url>};
}
constexpr Field kEventsField{.name = "events",
                             .type = FieldType::kCustom,
                             .text = "The events that are sent; empty: all",
                             .default_json = "[]",
                             .schema = kEventsSchema,
                             .custom = &read_events};
constexpr Field kKindsField{.name = "kinds",
                            .type = FieldType::kCustom,
                            .text = "Of which kinds of jobs events are sent; empty: of all",
                            .default_json = "[]",
                            .schema = kKindsSchema,
                            .custom = &read_kinds};
constexpr std::array kNewWebhookFields{url_field(true), kEventsField, kKindsField};
constexpr std::array kWebhookChangeFields{
    url_field(false), kEventsField, kKindsField,
    Field{.name = "status",
          .text = "`enabled` sends what waits, also after the gateway disabled it; `disabled` keeps it",
          .choices = kWebhookStatuses,
          .store = &store_status}};

}  // namespace

tl::expected<WebhookChange, Refusal> parse_new_webhook(std::string& body) {
  return read_body<WebhookChange>(body, kNewWebhookFields);
}
tl::expected<WebhookChange, Refusal> parse_webhook_change(std::string& body) {
  return read_body<WebhookChange>(body, kWebhookChangeFields);
}
std::span<const Field> new_webhook_fields() { return kNewWebhookFields; }
std::span<const Field> webhook_change_fields() { return kWebhookChangeFields; }

}  // namespace millrace::schemas
