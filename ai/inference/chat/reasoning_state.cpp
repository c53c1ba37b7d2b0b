#include "ai/inference/chat/reasoning_state.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace millrace::inference {

using schemas::Json;

void ReasoningStateCache::remember(const std::string& tenant, const std::vector<CallDigest>& calls,
                                   std::string_view provider, const std::string& text) {
  if (text.empty() || calls.empty()) return;
  bool is_known = false;
  for (const CallDigest& call : calls) {
    const auto found = by_call_.find({std::string(provider), call});
    if (found == by_call_.end()) continue;
    is_known = true;
    Entry& entry = *found->second;
    entries_.splice(entries_.begin(), entries_, found->second);
    if (entry.tenant == tenant && entry.text == text) continue;
    bytes_ -= entry.text.size();
    entry.text = std::string();
  }
  if (is_known) return;
  entries_.push_front({calls, tenant, std::string(provider), text});
  for (const CallDigest& call : calls) by_call_[{entries_.front().provider, call}] = entries_.begin();
  bytes_ += entries_.front().bytes();
  while (bytes_ > bytes_max_ && !entries_.empty()) forget(std::prev(entries_.end()));
}

void ReasoningStateCache::forget(Entries::iterator entry) {
  bytes_ -= entry->bytes();
  for (const CallDigest& call : entry->calls) by_call_.erase({entry->provider, call});
  entries_.erase(entry);
}

// Null unless all calls are of one answer, whose state is known.
const ReasoningStateCache::Entry* ReasoningStateCache::find(const std::string& tenant,
                                                            std::string_view provider,
                                                            const std::vector<CallDigest>& calls) {
  const auto found = [&](const CallDigest& call) { return by_call_.find({std::string(provider), call}); };
  const auto first = calls.empty() ? by_call_.end() : found(calls.front());
  if (first == by_call_.end()) return nullptr;
  const Entries::iterator entry = first->second;
  const bool is_one = std::ranges::all_of(calls, [&](const CallDigest& call) {
    const auto at = found(call);
    return at != by_call_.end() && at->second == entry;
  });
  if (!is_one || entry->tenant != tenant) return nullptr;
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->text.empty() ? nullptr : &*entry;
}

std::vector<std::size_t> ReasoningStateCache::fill(schemas::ChatRequest& request,
                                                   const Conversation& conversation,
                                                   std::string_view provider) {
  std::vector<std::size_t> filled;
  if (entries_.empty() || conversation.turns().empty()) return filled;
  Json& messages = request.body["messages"];
  for (const Conversation::Turn& turn : conversation.turns()) {
    if (turn.message >= messages.size()) break;
    Json& message = messages[turn.message];
    if (message.contains(schemas::kReasoningStateMember)) continue;
    const Entry* entry = find(request.tenant, provider, turn.calls);
    if (entry == nullptr) continue;
    message[schemas::kReasoningStateMember] = entry->text;
    filled.push_back(turn.message);
  }
  return filled;
}

void FilledState::fill(schemas::ChatRequest& request, const Conversation& conversation,
                       std::string_view provider) {
  if (provider_ != provider) {
    for (const std::size_t message : std::exchange(messages_, {}))
      request.body["messages"][message].erase(schemas::kReasoningStateMember);
    provider_ = provider;
  }
  const std::vector<std::size_t> filled = cache_.fill(request, conversation, provider);
  messages_.insert(messages_.end(), filled.begin(), filled.end());
}

void ReasoningStateReader::receive(Collected& choice, const schemas::ToolCallPiece& piece) {
  Call& call = choice.calls[piece.index];
  call_bytes_ += piece.id.size() + piece.type.size() + piece.name.size() + piece.arguments.size();
  if (call_bytes_ > kCallTextMax) {
    call = {};
    return;
  }
  call.id += piece.id;
  call.type += piece.type;
  call.name += piece.name;
  call.arguments += piece.arguments;
}

void ReasoningStateReader::receive(const schemas::ChatPiece& piece) {
  if (piece.tool_calls.empty() && piece.reasoning_state.empty()) return;
  Collected& choice = choices_[piece.index];
  for (const schemas::ToolCallPiece& call : piece.tool_calls) receive(choice, call);
  choice.text += piece.reasoning_state;
}

void ReasoningStateReader::receive(const schemas::ChatReply& reply) {
  for (const schemas::ChatChoice& choice : reply.choices) {
    if (choice.reasoning_state.empty()) continue;
    Collected& collected = choices_[choice.index];
    collected = {.calls = {}, .text = choice.reasoning_state};
    for (const schemas::ToolCall& call : choice.tool_calls) {
      const int index = static_cast<int>(collected.calls.size());
      receive(
          collected,
          {.index = index, .id = call.id, .type = call.type, .name = call.name, .arguments = call.arguments});
    }
  }
}

void ReasoningStateReader::remember(ReasoningStateCache& cache, const Conversation& conversation,
                                    const std::string& tenant, std::string_view provider) const {
  if (call_bytes_ > kCallTextMax) return;
  for (const auto& [index, collected] : choices_) {
    if (collected.text.empty()) continue;
    std::vector<CallDigest> digests;
    for (const auto& [place, call] : collected.calls) {
      const auto digest = conversation.digest_of({call.id, call.name, call.arguments, call.type == "custom"});
      if (digest) digests.push_back(*digest);
    }
    cache.remember(tenant, digests, provider, collected.text);
  }
}

}  // namespace millrace::inference
