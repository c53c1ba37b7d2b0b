#include "ai/providers/gemini_candidate.h"

#include <algorithm>
#include <array>

#include "ai/providers/upstream_words.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"
#include "schemas/json_body.h"

namespace millrace::providers {
namespace {

constexpr std::array<std::string_view, 10> kFiltered = {"SAFETY",
                                                        "RECITATION",
                                                        "LANGUAGE",
                                                        "BLOCKLIST",
                                                        "PROHIBITED_CONTENT",
                                                        "SPII",
                                                        "IMAGE_SAFETY",
                                                        "IMAGE_PROHIBITED_CONTENT",
                                                        "IMAGE_RECITATION",
                                                        "MODEL_ARMOR"};
constexpr std::array<std::string_view, 5> kFailed = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL",
                                                     "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE",
                                                     "MALFORMED_RESPONSE"};

template <std::size_t kCount>
bool holds(const std::array<std::string_view, kCount>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string new_call_id() { return "call_" + base::hex(base::random_bytes(12)); }

Json token_logprob(const Json& said) {
  const std::string_view token = text_of(said, "token");
  const Json* log = member(said, "logProbability");
  Json bytes = Json::array();
  for (const char c : token) bytes.push_back(static_cast<unsigned char>(c));
  return {{"token", token},
          {"logprob", log != nullptr && log->is_number() ? *log : Json(0.0)},
          {"bytes", std::move(bytes)}};
}

}  // namespace

base::Result<bool> GeminiCandidate::read(const Target& target, const Json& candidate,
                                         schemas::ChatPiece& out) {
  out.index = index_;
  citations_.begin_event();
  if (const Json* parts = member(member(candidate, "content"), "parts");
      parts != nullptr && parts->is_array()) {
    for (const Json& part : *parts) take_part(part, out);
  }
  out.logprobs = gemini_logprobs(member(candidate, "logprobsResult"));
  has_content_ = has_content_ || out.content.has_value();
  citations_.take(candidate);
  citations_.tell(out.extra);
  if (base::Status ended = finish(target, candidate, out); !ended) return ended.error();
  return out.content || !out.reasoning.empty() || !out.tool_calls.empty() || !out.finish_reason.empty() ||
         !out.logprobs.is_null() || !out.extra.is_null();
}

void GeminiCandidate::take_part(const Json& part, schemas::ChatPiece& out) {
  const std::string_view signature = text_of(part, "thoughtSignature");
  citations_.begin_part();
  if (const Json* call = member(part, "functionCall")) {
    take_call(*call, signature, out);
  } else if (const Json* data = member(part, "inlineData")) {
    take_media(*data, out);
  } else if (is_true(member(part, "thought"))) {
    out.reasoning += text_of(part, "text");
  } else {
    continuity_.text(signature);
    const std::string_view text = text_of(part, "text");
    if (!text.empty()) out.content = out.content.value_or("").append(text);
    citations_.say(text);
  }
}

void GeminiCandidate::take_call(const Json& call, std::string_view signature, schemas::ChatPiece& out) {
  schemas::ToolCallPiece piece;
  piece.index = calls_++;
  piece.id = text_of(call, "id");
  if (piece.id.empty()) piece.id = new_call_id();
  piece.type = "function";
  piece.name = text_of(call, "name");
  const Json* args = member(call, "args");
  piece.arguments = args != nullptr ? schemas::dump(*args) : "{}";
  continuity_.call(piece.id, signature);
  out.tool_calls.push_back(std::move(piece));
}

// Pictures as OpenRouter's clients know them, sound as OpenAI's.
void GeminiCandidate::take_media(const Json& data, schemas::ChatPiece& out) {
  const std::string_view type = text_of(data, "mimeType");
  const std::string_view bytes = text_of(data, "data");
  if (out.extra.is_null()) out.extra = Json::object();
  if (type.starts_with("audio/")) {
    out.extra["audio"] = {{"id", "audio_" + base::hex(base::random_bytes(12))},
                          {"data", bytes},
                          {"expires_at", 0},
                          {"transcript", ""}};
    return;
  }
  std::string url = "data:";
  url.append(type).append(";base64,").append(bytes);
  out.extra["images"].push_back({{"type", "image_url"}, {"image_url", {{"url", std::move(url)}}}});
}

base::Status GeminiCandidate::finish(const Target& target, const Json& candidate, schemas::ChatPiece& out) {
  const std::string_view reason = text_of(candidate, "finishReason");
  if (reason.empty() || finished_) return {};
  if (holds(kFailed, reason)) {
    const std::string_view why = text_of(candidate, "finishMessage");
    std::string words(reason);
    if (!why.empty()) words.append(": ").append(why);
    return stream_error(target, 0, upstream_words(words));
  }
  finished_ = true;
  out.finish_reason = reason == "MAX_TOKENS" ? "length" : gemini_filters(reason) ? "content_filter" : "stop";
  if (out.finish_reason == "stop" && calls_ > 0) out.finish_reason = "tool_calls";
  if (!has_content_ && calls_ == 0) out.content = "";
  out.continuity = continuity_.take();
  return {};
}

std::optional<schemas::ChatUsage> gemini_usage(const Json* usage) {
  if (usage == nullptr || !usage->is_object()) return std::nullopt;
  const auto count = [&](std::string_view name) {
    return std::max<std::int64_t>(integer_of(*usage, name).value_or(0), 0);
  };
  schemas::ChatUsage counted;
  counted.prompt = count("promptTokenCount") + count("toolUsePromptTokenCount");
  counted.completion = count("candidatesTokenCount") + count("thoughtsTokenCount");
  counted.total = counted.prompt + counted.completion;
  if (member(*usage, "cachedContentTokenCount") != nullptr) counted.cached = count("cachedContentTokenCount");
  if (member(*usage, "thoughtsTokenCount") != nullptr) counted.reasoning = count("thoughtsTokenCount");
  return counted;
}

Json gemini_logprobs(const Json* result) {
  const Json* chosen = member(result, "chosenCandidates");
  const Json* top = member(result, "topCandidates");
  if (chosen == nullptr || !chosen->is_array()) return nullptr;
  Json content = Json::array();
  for (std::size_t i = 0; i < chosen->size(); ++i) {
    Json token = token_logprob((*chosen)[i]);
    token["top_logprobs"] = Json::array();
    const Json* others =
        top != nullptr && top->is_array() && i < top->size() ? member((*top)[i], "candidates") : nullptr;
    if (others != nullptr && others->is_array()) {
      for (const Json& other : *others) token["top_logprobs"].push_back(token_logprob(other));
    }
    content.push_back(std::move(token));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

const Json* gemini_error_of(const Json& said) {
  if (said.is_array() && !said.empty()) return member(said.front(), "error");
  return member(said, "error");
}

base::Error gemini_error(const Target& target, const Json& error) {
  const auto code = static_cast<int>(std::clamp<std::int64_t>(integer_of(error, "code").value_or(0), 0, 999));
  return stream_error(target, code, upstream_words(text_of(error, "message")));
}

bool gemini_filters(std::string_view finish_reason) { return holds(kFiltered, finish_reason); }

schemas::ChatPiece gemini_blocked(const Json& feedback) {
  schemas::ChatPiece piece;
  piece.content = "";
  piece.finish_reason = "content_filter";
  if (const std::string_view why = text_of(feedback, "blockReasonMessage"); !why.empty()) piece.refusal = why;
  return piece;
}

}  // namespace millrace::providers
