#include "app/cli/chat/chat_printer.h"

#include <utility>

#include "app/cli/client.h"
#include "app/cli/json_cells.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr const char* kDim = "\x1b[2m";
constexpr const char* kNormal = "\x1b[0m";

const json& member(const json& of, const char* key) {
  static const json kNone = json::object();
  const auto found = of.find(key);
  return found != of.end() && found->is_object() ? *found : kNone;
}

bool is_control(unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; }

// U+0080 to U+009F: some terminals treat them as control characters, too.
bool is_high_control(std::string_view rest) {
  return rest.size() > 1 && rest[0] == '\xc2' && static_cast<unsigned char>(rest[1]) < 0xa0;
}

void put(const std::string& text, std::FILE* to) {
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}

}  // namespace

std::string without_controls(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_high_control(text.substr(i))) {
      ++i;
    } else if (!is_control(static_cast<unsigned char>(text[i]))) {
      out.push_back(text[i]);
    }
  }
  return out;
}

bool ChatPrinter::take(std::string_view event, std::string_view data) {
  if (event == "error") {
    received_.error = ClientError{kServerError, 0, {}, "the answer ended early", {}, false};
    read_refusal(std::string(data), *received_.error);
    return true;
  }
  if (data == "[DONE]") return received_.whole = true;
  const json chunk = json::parse(data, nullptr, false);
  if (!chunk.is_object()) return true;
  if (show_.json) put(std::string(data) + "\n", out_);
  take_chunk(chunk);
  return true;
}

void ChatPrinter::take_whole(const json& completion) {
  if (show_.json) put(completion.dump(-1, ' ', false, json::error_handler_t::replace) + "\n", out_);
  received_.whole = true;
  take_chunk(completion);
}

void ChatPrinter::take_chunk(const json& chunk) {
  if (const std::string model = text_at(chunk, "model"); !model.empty()) received_.model = model;
  if (std::string named = text_at(chunk, "dropped_params"); !named.empty())
    received_.dropped = std::move(named);
  if (chunk.contains("usage") && chunk["usage"].is_object()) received_.usage = chunk["usage"];
  if (chunk.contains("cost_usd") && chunk["cost_usd"].is_number()) received_.cost_usd = chunk["cost_usd"];
  const auto choices = chunk.find("choices");
  if (choices == chunk.end() || !choices->is_array() || choices->empty()) return;
  const json& first = choices->front();
  if (!first.is_object()) return;
  take_choice(first, member(first, first.contains("delta") ? "delta" : "message"));
}

void ChatPrinter::take_choice(const json& choice, const json& message) {
  if (const std::string why = text_at(choice, "finish_reason"); !why.empty()) received_.finish_reason = why;
  received_.refusal += text_at(message, "refusal");
  const std::string content = text_at(message, "content");
  received_.text += content;
  if (show_.json) return;
  print_reasoning(text_at(message, "reasoning_content"));
  if (!content.empty()) print_text(content);
}

void ChatPrinter::print_text(const std::string& content) {
  end_reasoning();
  put(show_.terminal ? without_controls(content) : content, out_);
  line_open_ = content.back() != '\n';
}

void ChatPrinter::print_reasoning(const std::string& thought) {
  if (thought.empty() || !show_.reasoning) return;
  if (!thinking_ && show_.color) std::fputs(kDim, err_);
  thinking_ = true;
  put(without_controls(thought), err_);
}

void ChatPrinter::end_reasoning() {
  if (!thinking_) return;
  thinking_ = false;
  std::fprintf(err_, "%s\n\n", show_.color ? kNormal : "");
  std::fflush(err_);
}

void ChatPrinter::end_line() {
  end_reasoning();
  if (line_open_) put("\n", out_);
  line_open_ = false;
}

}  // namespace millrace::cli
