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

using providers::is_true;
using providers::member;
using providers::text_of;
using schemas::Json;

// Error details that distinguish a broken schema from other upstream errors.
constexpr std::string_view kBrokenFormat = R"({"breaks":"response_format"})";
constexpr std::string_view kBrokenTool = R"({"breaks":"tools"})";

base::Error broken(const std::string& message, std::string_view parameter, std::string_view details) {
  base::Error error = base::error(base::Code::kUpstream, message, std::string(parameter));
  error.details = details;
  error.is_content_fault = true;
  return error;
}

base::Result<SchemaForm::Ptr> form_of(const Json& schema) {
  if (schemas::dump(schema).size() > kSchemaBytesMax)
    return schema_error("", "is longer than " + std::to_string(kSchemaBytesMax) + " bytes");
  return schema_form(schema);
}

// What is wrong with a document; nullopt: nothing.
std::optional<std::string> fault_of(const SchemaForm& form, std::string_view document) {
  if (document.size() > kDocumentBytesMax)
    return "it is longer than " + std::to_string(kDocumentBytesMax) + " bytes";
  std::optional<Json> value = providers::parse_wire(document);
  if (!value) return "it is not a JSON document";
  schemas::round_numbers(*value);
  const auto fault = SchemaCheck(form).check(*value);
  return fault ? std::optional(fault->place + ": " + fault->what) : std::nullopt;
}

}  // namespace

bool breaks_schema(const base::Error& error) {
  return error.details == kBrokenFormat || error.details == kBrokenTool;
}

ReplySchema::ReplySchema() = default;
ReplySchema::~ReplySchema() = default;

base::Result<ReplySchema::Ptr> ReplySchema::of(const Json& body) {
  const std::shared_ptr<ReplySchema> made(new ReplySchema());
  const Json* format = member(member(body, "response_format"), "json_schema");
  if (const Json* schema = member(format, "schema")) {
    made->is_strict_ = is_true(member(format, "strict"));
    base::Result<SchemaForm::Ptr> form = form_of(*schema);
    if (!form && made->is_strict_) return form.error();
    if (form) made->format_ = *std::move(form);
  }
  if (const Json* tools = member(body, "tools"); tools != nullptr && tools->is_array())
    made->take_tools(*tools);
  if (made->format_) made->steps_ += json_steps(made->format_->whole);
  for (const auto& [name, form] : made->tools_) made->steps_ += json_steps(form->whole);
  return made->format_ || !made->tools_.empty() ? Ptr(made) : Ptr();
}

void ReplySchema::take_tools(const Json& tools) {
  for (const Json& tool : tools) {
    const Json* function = member(tool, "function");
    const Json* schema = member(function, "parameters");
    if (schema == nullptr || !is_true(member(function, "strict"))) continue;
    if (base::Result<SchemaForm::Ptr> form = form_of(*schema))
      tools_.emplace(text_of(member(function, "name")), *std::move(form));
  }
}

ReplySchema::Parts ReplySchema::available(Parts requested) const {
  return {.format = requested.format && format_ != nullptr, .calls = requested.calls && !tools_.empty()};
}

std::size_t ReplySchema::steps(std::size_t answer_bytes) const { return (answer_bytes + 1) * steps_; }

base::Status ReplySchema::check(const schemas::ChatReply& reply, Parts parts) const {
  for (const schemas::ChatChoice& choice : reply.choices) {
    if (parts.calls) {
      if (base::Status good = check_calls(choice); !good) return good;
    }
    const bool is_answer =
        choice.finish_reason == "stop" && choice.tool_calls.empty() && choice.refusal.value_or("").empty();
    if (!parts.format || !is_answer) continue;
    if (base::Status good = check(choice.content.value_or("")); !good) return good;
  }
  return {};
}

base::Status ReplySchema::check_calls(const schemas::ChatChoice& choice) const {
  if (choice.finish_reason != "tool_calls" && choice.finish_reason != "stop") return {};
  for (const schemas::ToolCall& call : choice.tool_calls) {
    const auto known = tools_.find(call.name);
    if (known == tools_.end()) continue;
    const std::string_view arguments = call.arguments.empty() ? "{}" : std::string_view(call.arguments);
    if (const auto fault = fault_of(*known->second, arguments))
      return broken(
          "the model's call of '" + call.name + "' breaks the schema of this strict tool: " + *fault, "tools",
          kBrokenTool);
  }
  return {};
}

base::Status ReplySchema::check(std::string_view document) const {
  if (const auto fault = fault_of(*format_, document))
    return broken("the model's answer breaks the schema of response_format: " + *fault, "response_format",
                  kBrokenFormat);
  return {};
}

}  // namespace millrace::inference
