#include "ai/providers/gemini/candidate.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ai/providers/upstream_error.h"
#include "ai/providers/wire_text.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"
#include "schemas/json/json_body.h"

namespace millrace::providers {
namespace {

// The source of a chunk: the web, a retrieved document, or a map.
const Json* source_of(const Json& chunk) {
  constexpr std::array<std::string_view, 3> kKinds{"web", "retrievedContext", "maps"};
  for (const std::string_view kind : kKinds) {
    if (const Json* source = member(chunk, kind); source != nullptr) return source;
  }
  return nullptr;
}

std::size_t place_of(const Json& segment, std::string_view name) {
  return static_cast<std::size_t>(std::max<std::int64_t>(integer_of(segment, name).value_or(0), 0));
}

const Json* list_of(const Json* object, std::string_view name) {
  const Json* list = member(object, name);
  return list != nullptr && list->is_array() ? list : nullptr;
}

}  // namespace

void GeminiCitations::begin_part() {
  if (events_ == 1) parts_.push_back(text_.bytes());
}

void GeminiCitations::keep(const Json& segment, std::string_view url, std::string_view title) {
  if (segments_.size() >= kCitationsMax || !is_citable(url)) return;
  segments_.push_back({place_of(segment, "partIndex"), place_of(segment, "startIndex"),
                       place_of(segment, "endIndex"), std::string(url),
                       std::string(cut_text(title, kCitedTitleMax))});
}

void GeminiCitations::take_support(const Json& support, const Json& chunks) {
  const Json* segment = member(support, "segment");
  const Json* indices = list_of(&support, "groundingChunkIndices");
  if (segment == nullptr || indices == nullptr) return;
  for (const Json& each : *indices) {
    const auto index = integer_of(&each).value_or(-1);
    if (index < 0 || index >= static_cast<std::int64_t>(chunks.size())) continue;
    const Json* source = source_of(chunks[static_cast<std::size_t>(index)]);
    if (source != nullptr) keep(*segment, text_of(*source, "uri"), text_of(*source, "title"));
  }
}

// Sources of texts that the answer quotes (citationMetadata).
void GeminiCitations::take_sources(const Json* sources) {
  if (sources == nullptr) return;
  for (const Json& each : *sources) keep(each, text_of(each, "uri"), text_of(each, "title"));
}

void GeminiCitations::take(const Json& candidate) {
  const Json* grounding = member(candidate, "groundingMetadata");
  const Json* chunks = list_of(grounding, "groundingChunks");
  const Json* supports = list_of(grounding, "groundingSupports");
  if (chunks != nullptr && supports != nullptr) {
    for (const Json& support : *supports) take_support(support, *chunks);
  }
  take_sources(list_of(member(candidate, "citationMetadata"), "citationSources"));
  if (chunks != nullptr) chunks_ = *chunks;
}

// If no segment has a source, the sources count for the whole answer.
void GeminiCitations::end() {
  for (const Segment& each : segments_) {
    const std::size_t base = events_ == 1 && each.part < parts_.size() ? parts_[each.part] : 0;
    const std::size_t begin = text_.characters_before(base + each.begin);
    list_.add(begin, std::max(begin, text_.characters_before(base + each.end)), each.url, each.title);
  }
  segments_.clear();
  if (!list_.empty()) return;
  for (const Json& chunk : std::exchange(chunks_, Json::array())) {
    const Json* source = source_of(chunk);
    if (source != nullptr)
      list_.add(0, text_.characters(), text_of(*source, "uri"), text_of(*source, "title"));
  }
}

void GeminiReasoningState::call(std::string_view id, std::string_view signature) {
  if (!signature.empty()) signatures_["calls"][std::string(id)] = signature;
}

void GeminiReasoningState::text(std::string_view signature) {
  if (!signature.empty()) signatures_["text"] = signature;
}

std::string GeminiReasoningState::take() {
  if (signatures_.empty()) return {};
  Json kept = std::exchange(signatures_, Json::object());
  kept["provider"] = "gemini";
  return schemas::dump(kept);
}

GeminiReasoningState GeminiReasoningState::read(std::string_view reasoning_state) {
  GeminiReasoningState read;
  std::optional<Json> kept = reasoning_state.empty() ? std::nullopt : parse_wire(reasoning_state);
  if (kept && text_of(*kept, "provider") == "gemini") read.signatures_ = *std::move(kept);
  return read;
}

std::string_view GeminiReasoningState::of_call(std::string_view id) const {
  return text_of(member(member(signatures_, "calls"), id));
}

std::string_view GeminiReasoningState::of_text() const { return text_of(signatures_, "text"); }

Json signature_content(std::string_view signature) {
  return {{"google", {{"thought_signature", signature}}}};
}

std::string_view given_signature(const Json& object) {
  const Json* google = member(member(object, "extra_content"), "google");
  return text_of(member(google, "thought_signature"));
}

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

Json token_logprob(const Json& node) {
  const std::string_view token = text_of(node, "token");
  const Json* log = member(node, "logProbability");
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
  if (base::Status kept = keep_reason(target, candidate); !kept) return kept.error();
  return out.content || !out.reasoning.empty() || !out.tool_calls.empty() || !out.logprobs.is_null() ||
         !out.extra.is_null();
}

void GeminiCandidate::end(schemas::ChatPiece& out) {
  out.index = index_;
  if (!finished()) return;
  citations_.end();
  citations_.add_to(out.extra);
  out.finish_reason = finish_reason_ == "stop" && calls_ > 0 ? "tool_calls" : finish_reason_;
  if (!has_content_ && calls_ == 0) out.content = "";
  const std::string_view signature = reasoning_state_.of_text();
  if (calls_ == 0 && !signature.empty()) out.extra["extra_content"] = signature_content(signature);
  out.reasoning_state = reasoning_state_.take();
}

void GeminiCandidate::take_part(const Json& part, schemas::ChatPiece& out) {
  const std::string_view signature = text_of(part, "thoughtSignature");
  citations_.begin_part();
  if (const Json* call = member(part, "functionCall")) {
    take_call(*call, signature, out);
  } else if (is_true(member(part, "thought"))) {  // images, too: drafts of those that follow
    out.reasoning += text_of(part, "text");
  } else if (const Json* data = member(part, "inlineData")) {
    take_media(*data, signature, out);
  } else {
    reasoning_state_.text(signature);
    const std::string_view text = text_of(part, "text");
    if (!text.empty()) out.content = out.content.value_or("").append(text);
    citations_.add_text(text);
  }
}

void GeminiCandidate::take_call(const Json& call, std::string_view signature, schemas::ChatPiece& out) {
  schemas::ToolCallPiece piece;
  piece.index = calls_++;
  piece.id = ids_.unique(std::string(text_of(call, "id")));
  piece.type = "function";
  piece.name = text_of(call, "name");
  const Json* args = member(call, "args");
  piece.arguments = args != nullptr ? schemas::dump(*args) : "{}";
  reasoning_state_.call(piece.id, signature);
  out.tool_calls.push_back(std::move(piece));
}

// Images in OpenRouter's format, audio in OpenAI's.
void GeminiCandidate::take_media(const Json& data, std::string_view signature, schemas::ChatPiece& out) {
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
  Json image = {{"type", "image_url"}, {"image_url", {{"url", std::move(url)}}}};
  if (!signature.empty()) image["extra_content"] = signature_content(signature);
  out.extra["images"].push_back(std::move(image));
}

// A reason that means more than "stop" counts.
base::Status GeminiCandidate::keep_reason(const Target& target, const Json& candidate) {
  const std::string_view reason = text_of(candidate, "finishReason");
  if (reason.empty()) return {};
  if (holds(kFailed, reason)) {
    const std::string_view why = text_of(candidate, "finishMessage");
    std::string words(reason);
    if (!why.empty()) words.append(": ").append(why);
    return failed_answer(target, words);
  }
  if (finish_reason_.empty() || finish_reason_ == "stop")
    finish_reason_ = reason == "MAX_TOKENS" ? "length" : gemini_filters(reason) ? "content_filter" : "stop";
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

const Json* gemini_error_of(const Json& node) {
  if (node.is_array() && !node.empty()) return member(node.front(), "error");
  return member(node, "error");
}

base::Error gemini_error(const Target& target, const Json& error) {
  const auto code = static_cast<int>(std::clamp<std::int64_t>(integer_of(error, "code").value_or(0), 0, 999));
  return stream_error(target, code, upstream_text(text_of(error, "message")));
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
