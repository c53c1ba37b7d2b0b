#include "ai/inference/chat/reasoning_state.h"

#include <utility>

namespace millrace::inference {
namespace {

using schemas::Json;

// The id of the first call in an assistant's message, or empty.
std::string first_call_id(const Json& message) {
  if (!message.is_object()) return {};
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array() || calls->empty() || !calls->front().is_object())
    return {};
  const auto id = calls->front().find("id");
  return id != calls->front().end() && id->is_string() ? id->get<std::string>() : std::string();
}

}  // namespace

void ReasoningStateCache::remember(const std::string& tenant, std::string_view provider,
                                   const std::vector<std::string>& call_ids, const std::string& text) {
  if (text.empty()) return;
  for (const std::string& id : call_ids) {
    if (id.empty()) continue;
    const Key key(tenant, id);
    if (const auto old = by_key_.find(key); old != by_key_.end()) forget(old->second);
    entries_.push_front({key, std::string(provider), text});
    by_key_[key] = entries_.begin();
    bytes_ += entries_.front().bytes();
  }
  while (bytes_ > bytes_max_ && !entries_.empty()) forget(std::prev(entries_.end()));
}

void ReasoningStateCache::forget(std::list<Entry>::iterator entry) {
  bytes_ -= entry->bytes();
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

const ReasoningStateCache::Entry* ReasoningStateCache::find(const Key& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return &entries_.front();
}

void ReasoningStateCache::fill(schemas::ChatRequest& request, std::string_view provider) {
  if (entries_.empty()) return;
  const auto messages = request.body.find("messages");
  if (messages == request.body.end() || !messages->is_array()) return;
  for (Json& message : *messages) {
    std::string id = first_call_id(message);
    const Entry* entry = id.empty() ? nullptr : find({request.tenant, std::move(id)});
    if (entry == nullptr) continue;
    if (entry->provider == provider) {
      message[schemas::kReasoningStateMember] = entry->text;
    } else {
      message.erase(schemas::kReasoningStateMember);
    }
  }
}

void ReasoningStateReader::receive(const schemas::ChatPiece& piece) {
  for (const schemas::ToolCallPiece& call : piece.tool_calls) {
    if (!call.id.empty()) choices_[piece.index].call_ids.push_back(call.id);
  }
  if (!piece.reasoning_state.empty()) choices_[piece.index].text += piece.reasoning_state;
}

void ReasoningStateReader::receive(const schemas::ChatReply& reply) {
  for (const schemas::ChatChoice& choice : reply.choices) {
    if (choice.reasoning_state.empty()) continue;
    Collected& collected = choices_[choice.index];
    collected.text = choice.reasoning_state;
    for (const schemas::ToolCall& call : choice.tool_calls) collected.call_ids.push_back(call.id);
  }
}

void ReasoningStateReader::remember(ReasoningStateCache& cache, const std::string& tenant,
                                    std::string_view provider) const {
  for (const auto& [index, collected] : choices_)
    cache.remember(tenant, provider, collected.call_ids, collected.text);
}

}  // namespace millrace::inference
