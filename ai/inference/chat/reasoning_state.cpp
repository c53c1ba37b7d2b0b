#include "ai/inference/chat/reasoning_state.h"

#include <algorithm>
#include <iterator>

#include "ai/providers/families.h"
#include "ai/providers/json_access.h"

namespace millrace::inference {
namespace {

using providers::member;
using providers::text_of;
using schemas::Json;

constexpr std::uint64_t kHashBegin = 14695981039346656037ull;  // FNV-1a

std::uint64_t hash(std::uint64_t begin, std::string_view text) {
  for (const char c : text) begin = (begin ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return begin;
}

// A hash of a user's message.
std::uint64_t hash_of_user(const Json& message) {
  const Json* content = member(message, "content");
  std::uint64_t out = hash(kHashBegin, text_of(content));
  if (content == nullptr || !content->is_array()) return out;
  for (const Json& part : *content) out = hash(out, text_of(part, "text"));
  return out;
}

bool is_user(const Json& message) { return text_of(message, "role") == "user"; }

// The first call of an assistant's message; null: none.
const Json* first_call(const Json& message) {
  const Json* calls = member(message, "tool_calls");
  return calls != nullptr && calls->is_array() && !calls->empty() ? &calls->front() : nullptr;
}

std::uint64_t digest_of(std::uint64_t conversation, const Json& call) {
  const Json* function = member(call, "function");
  if (function == nullptr) function = member(call, "custom");
  const Json* arguments = member(function, "arguments");
  if (arguments == nullptr) arguments = member(function, "input");
  return hash(hash(conversation, text_of(member(function, "name"))), text_of(arguments));
}

bool has_unique_ids(std::string_view provider) {
  const providers::Preset* preset = providers::preset_named(provider);
  return preset == nullptr || preset->family != providers::Family::kOpenai;
}

}  // namespace

void ReasoningStateCache::remember(const StateKey& key, std::string_view provider, const std::string& text) {
  if (text.empty() || key.call_id.empty()) return;
  if (const auto old = by_key_.find(key); old != by_key_.end()) forget(old->second);
  entries_.push_front({key, std::string(provider), text});
  by_key_[key] = entries_.begin();
  bytes_ += entries_.front().bytes();
  while (bytes_ > bytes_max_ && !entries_.empty()) forget(std::prev(entries_.end()));
}

void ReasoningStateCache::forget(std::list<Entry>::iterator entry) {
  bytes_ -= entry->bytes();
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

const ReasoningStateCache::Entry* ReasoningStateCache::find(const StateKey& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return &entries_.front();
}

void ReasoningStateCache::fill(schemas::ChatRequest& request, std::string_view provider) {
  if (entries_.empty()) return;
  const auto messages = request.body.find("messages");
  if (messages == request.body.end() || !messages->is_array()) return;
  const bool by_id = has_unique_ids(provider);
  std::uint64_t conversation = 0;
  for (Json& message : *messages) {
    if (is_user(message) && !by_id) conversation = hash_of_user(message);
    const Json* call = first_call(message);
    if (call == nullptr) continue;
    const std::string id(text_of(*call, "id"));
    const Entry* entry = find({request.tenant, id, by_id ? 0 : digest_of(conversation, *call)});
    if (entry != nullptr && entry->provider == provider) {
      message[schemas::kReasoningStateMember] = entry->text;
    } else if (entry != nullptr) {
      message.erase(schemas::kReasoningStateMember);
    }
  }
}

ReasoningStateReader::ReasoningStateReader(const schemas::ChatRequest& request) {
  const Json* messages = member(request.body, "messages");
  if (messages == nullptr || !messages->is_array()) return;
  const auto last = std::find_if(messages->rbegin(), messages->rend(), is_user);
  if (last != messages->rend()) conversation_ = hash_of_user(*last);
}

void ReasoningStateReader::receive(Collected& choice, int index, const std::string& id, std::string_view name,
                                   std::string_view arguments) const {
  Call& call = choice.calls.try_emplace(index, Call{id, conversation_}).first->second;
  call.digest = hash(hash(call.digest, name), arguments);
}

void ReasoningStateReader::receive(const schemas::ChatPiece& piece) {
  if (piece.tool_calls.empty() && piece.reasoning_state.empty()) return;
  Collected& choice = choices_[piece.index];
  for (const schemas::ToolCallPiece& call : piece.tool_calls)
    receive(choice, call.index, call.id, call.name, call.arguments);
  choice.text += piece.reasoning_state;
}

void ReasoningStateReader::receive(const schemas::ChatReply& reply) {
  for (const schemas::ChatChoice& choice : reply.choices) {
    if (choice.reasoning_state.empty()) continue;
    Collected& collected = choices_[choice.index];
    collected = {.calls = {}, .text = choice.reasoning_state};
    for (const schemas::ToolCall& call : choice.tool_calls)
      receive(collected, static_cast<int>(collected.calls.size()), call.id, call.name, call.arguments);
  }
}

void ReasoningStateReader::remember(ReasoningStateCache& cache, const std::string& tenant,
                                    std::string_view provider) const {
  const bool by_id = has_unique_ids(provider);
  for (const auto& [index, collected] : choices_)
    for (const auto& [number, call] : collected.calls)
      cache.remember({tenant, call.id, by_id ? 0 : call.digest}, provider, collected.text);
}

}  // namespace millrace::inference
