#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "platform/base/result.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/json/json.h"

namespace millrace::inference {

struct SchemaForm;

inline constexpr std::size_t kDocumentBytesMax = 8u << 20;  // largest answer that can be checked

// The schemas of a request that its answers must match: that of response_format json_schema, and those of
// tools with `strict`. Immutable.
class ReplySchema {
 public:
  using Ptr = std::shared_ptr<const ReplySchema>;
  // What is checked in an answer.
  struct Parts {
    bool format = false;  // the content
    bool calls = false;   // the arguments of calls of strict tools
    explicit operator bool() const { return format || calls; }
  };

  // `body` is that of a ChatRequest. Null: it has no schema that can be checked. kInvalidField: the schema of
  // response_format has `strict`, and is invalid or exceeds a bound. Others of this kind are not checked.
  static base::Result<Ptr> of(const schemas::Json& body);

  ReplySchema(const ReplySchema&) = delete;
  ReplySchema& operator=(const ReplySchema&) = delete;
  ~ReplySchema();

  // True if the request demands exactly this format.
  bool is_strict() const { return is_strict_; }
  // The parts of `requested` that there are schemas for.
  Parts available(Parts requested) const;

  // Checks each complete choice. Skips refusals, and choices that were cut off or filtered. kUpstream: a
  // content or an argument is not JSON, breaks the schema (the message names the place in the document), or
  // needs too many steps to check.
  base::Status check(const schemas::ChatReply& reply, Parts parts) const;
  base::Status check(std::string_view document) const;  // the content
  // Approximate upper bound of the steps to check this many bytes: every part of the schemas for each byte.
  std::size_t steps(std::size_t answer_bytes) const;

 private:
  ReplySchema();
  void take_tools(const schemas::Json& tools);
  base::Status check_calls(const schemas::ChatChoice& choice) const;

  std::unique_ptr<const SchemaForm> format_;  // null: none
  std::map<std::string, std::unique_ptr<const SchemaForm>, std::less<>> tools_;
  bool is_strict_ = false;
  std::size_t steps_ = 0;  // of the schemas themselves
};

}  // namespace millrace::inference
