#pragma once
#include <memory>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "platform/base/result.h"
#include "schemas/chat/chat_reply.h"

namespace millrace::inference {

struct SchemaForm;

inline constexpr std::size_t kDocumentBytesMax = 8u << 20;  // of an answer that is checked

// The schema that a request with response_format json_schema and `strict` gives its answers. Immutable.
class ReplySchema {
 public:
  using Ptr = std::shared_ptr<const ReplySchema>;
  // Null: `body` (of a ChatRequest) asks for none, or not strictly. kInvalidField: it is no schema, or past a
  // bound.
  static base::Result<Ptr> of(const nlohmann::json& body);

  ReplySchema(const ReplySchema&) = delete;
  ReplySchema& operator=(const ReplySchema&) = delete;
  ~ReplySchema();

  // Each choice that is over and is the answer itself: none of a refusal, of calls, of one that was cut or
  // filtered. kUpstream: it is no JSON, breaks the schema (with the place in the document), or would take too
  // many steps to check.
  base::Status check(const schemas::ChatReply& reply) const;
  base::Status check(std::string_view document) const;
  // About how many steps a check of so many bytes takes at most: every part of the schema for each of them.
  std::size_t steps(std::size_t answer_bytes) const;

 private:
  explicit ReplySchema(std::unique_ptr<const SchemaForm> form);
  const std::unique_ptr<const SchemaForm> form_;
  const std::size_t steps_;  // of the schema itself
};

}  // namespace millrace::inference
