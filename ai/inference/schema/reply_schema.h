#pragma once
#include <memory>
#include <string_view>

#include "platform/base/result.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/json/json.h"

namespace millrace::inference {

struct SchemaForm;

inline constexpr std::size_t kDocumentBytesMax = 8u << 20;  // largest answer that can be checked

// The schema of a request with response_format json_schema and `strict`; answers must match it. Immutable.
class ReplySchema {
 public:
  using Ptr = std::shared_ptr<const ReplySchema>;
  // `body` is that of a ChatRequest. Null: it has no schema, or one without `strict`. kInvalidField: the
  // schema is invalid or exceeds a bound.
  static base::Result<Ptr> of(const schemas::Json& body);

  ReplySchema(const ReplySchema&) = delete;
  ReplySchema& operator=(const ReplySchema&) = delete;
  ~ReplySchema();

  // Checks each complete choice. Skips refusals, tool calls, and choices that were cut off or filtered.
  // kUpstream: a choice is not JSON, breaks the schema (the message names the place in the document), or
  // needs too many steps to check.
  base::Status check(const schemas::ChatReply& reply) const;
  base::Status check(std::string_view document) const;
  // Approximate upper bound of the steps to check this many bytes: every part of the schema for each byte.
  std::size_t steps(std::size_t answer_bytes) const;

 private:
  explicit ReplySchema(std::unique_ptr<const SchemaForm> form);
  const std::unique_ptr<const SchemaForm> form_;
  const std::size_t steps_;  // of the schema itself
};

}  // namespace millrace::inference
