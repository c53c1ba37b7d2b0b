#include "ai/inference/schema/reply_schema.h"

#include <optional>
#include <string>
#include <utility>

#include "ai/inference/chat/chat.h"
#include "ai/inference/schema/schema_check.h"
#include "ai/inference/schema/schema_form.h"
#include "ai/providers/json_access.h"
#include "schemas/json/json_body.h"

namespace millrace::inference {
namespace {

using schemas::Json;

// Error details that distinguish a broken schema from other upstream errors.
constexpr std::string_view kBroken = R"({"breaks":"response_format"})";

base::Error broken(const std::string& what) {
  base::Error error =
      base::error(base::Code::kUpstream, "the model's answer breaks the schema of response_format: " + what,
                  "response_format");
  error.details = kBroken;
  return error;
}

const Json* strict_schema(const Json& body) {
  const Json* format = providers::member(providers::member(body, "response_format"), "json_schema");
  return format != nullptr && providers::is_true(providers::member(format, "strict"))
             ? providers::member(format, "schema")
             : nullptr;
}

}  // namespace

bool breaks_schema(const base::Error& error) { return error.details == kBroken; }

ReplySchema::ReplySchema(SchemaForm::Ptr form) : form_(std::move(form)), steps_(json_steps(form_->whole)) {}
ReplySchema::~ReplySchema() = default;

base::Result<ReplySchema::Ptr> ReplySchema::of(const Json& body) {
  const Json* given = strict_schema(body);
  if (given == nullptr) return Ptr();
  if (schemas::dump(*given).size() > kSchemaBytesMax)
    return schema_error("", "is longer than " + std::to_string(kSchemaBytesMax) + " bytes");
  base::Result<SchemaForm::Ptr> form = schema_form(*given);
  if (!form) return form.error();
  return Ptr(new ReplySchema(*std::move(form)));
}

std::size_t ReplySchema::steps(std::size_t answer_bytes) const { return (answer_bytes + 1) * steps_; }

base::Status ReplySchema::check(const schemas::ChatReply& reply) const {
  for (const schemas::ChatChoice& choice : reply.choices) {
    const bool is_answer =
        choice.finish_reason == "stop" && choice.tool_calls.empty() && choice.refusal.value_or("").empty();
    if (!is_answer) continue;
    if (base::Status good = check(choice.content.value_or("")); !good) return good;
  }
  return {};
}

base::Status ReplySchema::check(std::string_view document) const {
  if (document.size() > kDocumentBytesMax)
    return broken("it is longer than " + std::to_string(kDocumentBytesMax) + " bytes");
  const std::optional<Json> value = providers::parse_wire(document);
  if (!value) return broken("it is not a JSON document");
  const auto fault = SchemaCheck(*form_).check(*value);
  if (!fault) return {};
  return broken(fault->place + ": " + fault->what);
}

}  // namespace millrace::inference
