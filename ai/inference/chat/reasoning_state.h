#pragma once
#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/inference/chat/conversation.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"

namespace millrace::inference {

// State that providers require back together with their tool calls, such as signatures of thoughts. Clients
// do not send it back. It is found by the digests of an answer's calls, which cover the whole conversation
// before them, because ids of calls may repeat: in other conversations and in later turns. If answers of one
// provider with different states have the same digest, none of them is filled in. The least recently used
// entries are evicted first. Loop thread only.
class ReasoningStateCache {
 public:
  explicit ReasoningStateCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // `calls`: all calls of one answer.
  void remember(const std::string& tenant, const std::vector<CallDigest>& calls, std::string_view provider,
                const std::string& text);
  // Adds the state to the assistant messages of `request` that `provider` produced for this tenant, unless
  // they have one. `conversation`: of the messages that the client has sent, which `request` begins with.
  // Returns the indices of these messages.
  std::vector<std::size_t> fill(schemas::ChatRequest& request, const Conversation& conversation,
                                std::string_view provider);
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::vector<CallDigest> calls;
    std::string tenant, provider, text;  // text: empty if the state is ambiguous
    std::size_t bytes() const {
      return tenant.size() + text.size() + calls.size() * kCallBytes + kEntryBytes;
    }
  };
  using Entries = std::list<Entry>;
  static constexpr std::size_t kEntryBytes = 256;  // overhead of an entry besides its texts and calls
  static constexpr std::size_t kCallBytes = 128;   // of one call: its digest, and its node in the map
  using Key = std::pair<std::string, CallDigest>;  // provider and call
  const Entry* find(const std::string& tenant, std::string_view provider,
                    const std::vector<CallDigest>& calls);
  void forget(Entries::iterator entry);

  std::size_t bytes_max_, bytes_ = 0;
  Entries entries_;  // most recently used first
  std::map<Key, Entries::iterator> by_call_;
};

// What one request of a run gets from the cache. When it goes to another provider, the state of the provider
// before is removed. One per run; the calls have the same conversation.
class FilledState {
 public:
  explicit FilledState(ReasoningStateCache& cache) : cache_(cache) {}
  void fill(schemas::ChatRequest& request, const Conversation& conversation, std::string_view provider);

 private:
  ReasoningStateCache& cache_;
  std::string provider_;
  std::vector<std::size_t> messages_;  // that have state of provider_
};

// Collects the state and the calls from the pieces or choices of one answer; `remember` stores them at the
// end, if the calls have at most kCallTextMax bytes.
class ReasoningStateReader {
 public:
  static constexpr std::size_t kCallTextMax = 1u << 20;

  void receive(const schemas::ChatPiece& piece);
  void receive(const schemas::ChatReply& reply);
  // `conversation`: that was answered.
  void remember(ReasoningStateCache& cache, const Conversation& conversation, const std::string& tenant,
                std::string_view provider) const;

 private:
  struct Call {
    std::string id, type, name, arguments;
  };
  struct Collected {
    std::map<int, Call> calls;
    std::string text;
  };
  void receive(Collected& choice, const schemas::ToolCallPiece& piece);

  std::map<int, Collected> choices_;
  std::size_t call_bytes_ = 0;
};

}  // namespace millrace::inference
