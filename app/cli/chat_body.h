#pragma once
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "platform/base/result.h"

// What `millrace chat` asks: the body of POST /v1/chat/completions.
namespace millrace::cli {

// How an answer is wanted; absent ones are left to the model.
struct ChatManner {
  std::string model = {};
  std::optional<int> max_tokens = {};
  std::optional<double> temperature = {};
  bool stream = false;
  bool usage = false;  // of a stream: with its tokens
  bool deferred = false;
};
std::string chat_body(const ChatManner& manner, const nlohmann::json& messages);

nlohmann::json message_of(const char* role, const std::string& text);
// Of the user; `image_urls` stand before the text.
nlohmann::json user_message(const std::string& text, const std::vector<std::string>& image_urls);

// An http or https URL as it is; else the file's bytes as a data URI of the type that they show. kNotFound:
// it cannot be read; kDocumentTooLarge; kInvalidField: no PNG, JPEG, GIF or WebP.
base::Result<std::string> image_url_of(const std::string& file_or_url);

}  // namespace millrace::cli
