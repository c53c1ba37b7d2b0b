#include "ai/providers/call_ids.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "platform/base/crypto.h"
#include "platform/base/ids.h"

namespace millrace::providers {
namespace {

constexpr std::string_view kPrefix = "call_";
constexpr std::size_t kIdBytes = 12;

}  // namespace

std::string new_call_id() { return std::string(kPrefix) + base::hex(base::random_bytes(kIdBytes)); }

bool is_new_call_id(std::string_view id) {
  if (!id.starts_with(kPrefix)) return false;
  id.remove_prefix(kPrefix.size());
  return id.size() == 2 * kIdBytes && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string CallIds::unique(std::string id) {
  if (id.empty() || taken_.contains(id)) id = new_call_id();
  taken_.insert(id);
  return id;
}

namespace {

constexpr std::size_t kMistralIdLength = 9;  // letters and digits
constexpr std::size_t kOpenaiIdMax = 40;

std::string mistral_id(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  constexpr std::string_view kLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string out;
  for (; out.size() < kMistralIdLength; hash /= kLetters.size())
    out.push_back(kLetters[hash % kLetters.size()]);
  return out;
}

// Calls `visit` with each id and what it becomes.
template <class Messages, class Visit>
void each_call_id(FittedCallIds& ids, Messages& messages, Visit&& visit) {
  const auto visit_text = [&](auto& object, const char* name, auto&& fitted) {
    const auto id = object.is_object() ? object.find(name) : object.end();
    if (id == object.end() || !id->is_string()) return;
    visit(*id, fitted(id->template get_ref<const std::string&>()));
  };
  for (auto& message : messages) {
    if (!message.is_object()) continue;
    visit_text(message, "tool_call_id", [&](const std::string& id) { return ids.result(id); });
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || !calls->is_array()) continue;
    ids.begin_answer();
    for (auto& call : *calls) visit_text(call, "id", [&](const std::string& id) { return ids.call(id); });
  }
}

}  // namespace

bool FittedCallIds::has_rule() const {
  const bool is_local = preset_.dialect == Dialect::kLocal || preset_.dialect == Dialect::kMock;
  return !is_local || preset_.name == "openrouter";
}

bool FittedCallIds::fits(std::string_view id) const {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (preset_.dialect == Dialect::kMistral)
    return id.size() == kMistralIdLength && std::ranges::all_of(id, is_word);
  // OpenRouter passes ids on to OpenAI.
  if (preset_.dialect == Dialect::kOpenai || preset_.name == "openrouter") return id.size() <= kOpenaiIdMax;
  return true;
}

std::string FittedCallIds::made(const std::string& id, int number) const {
  const std::string text = number == 0 ? id : id + "#" + std::to_string(number);
  if (preset_.dialect == Dialect::kMistral) return mistral_id(text);
  constexpr std::size_t kHexDigits = 32;  // not the form of new_call_id
  return std::string(kPrefix) + base::hex(base::sha256(text)).substr(0, kHexDigits);
}

std::string FittedCallIds::unique(const std::string& id) {
  if (fits(id) && taken_.insert(id).second) return id;
  int& number = numbers_[id];
  std::string fitted;
  do {
    fitted = made(id, number++);
  } while (!taken_.insert(fitted).second);
  return fitted;
}

std::string FittedCallIds::call(const std::string& id) {
  Calls& calls = calls_[id];
  if (calls.answer != answer_) calls = {.answer = answer_};
  return calls.fitted.emplace_back(unique(id));
}

std::string FittedCallIds::result(const std::string& id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return fits(id) ? id : made(id, 0);
  Calls& calls = found->second;
  return calls.fitted[std::min(calls.results++, calls.fitted.size() - 1)];
}

void fit_call_ids(const Preset& preset, Json& messages) {
  FittedCallIds ids(preset);
  if (!ids.has_rule()) return;
  each_call_id(ids, messages, [](Json& id, std::string fitted) { id = std::move(fitted); });
}

bool needs_call_ids(const Preset& preset, const Json& messages) {
  FittedCallIds ids(preset);
  bool differs = false;
  if (!ids.has_rule()) return false;
  each_call_id(ids, messages, [&](const Json& id, const std::string& fitted) { differs |= id != fitted; });
  return differs;
}

}  // namespace millrace::providers
