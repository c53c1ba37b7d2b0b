#pragma once
#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"

namespace millrace::inference {

// Identifies a call for which state is kept. The ids of Anthropic and Gemini are unique. Other providers
// number their calls anew in each conversation, so `digest` is a hash of the last user's text and of the
// call's name and arguments; for the first two it is 0.
struct StateKey {
  std::string tenant, call_id;
  std::uint64_t digest = 0;
  friend auto operator<=>(const StateKey&, const StateKey&) = default;
};

// State that providers require back together with their tool calls, such as signatures of thoughts. Keyed by
// tenant and call, because clients do not send the state back. The least recently used entries are evicted
// first. Loop thread only.
class ReasoningStateCache {
 public:
  explicit ReasoningStateCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void remember(const StateKey& key, std::string_view provider, const std::string& text);
  // Adds the state to the assistant messages of `request` that `provider` produced for this tenant. Removes
  // it from those that another provider produced. Leaves messages of unknown origin unchanged.
  void fill(schemas::ChatRequest& request, std::string_view provider);
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    StateKey key;
    std::string provider, text;
    std::size_t bytes() const {
      return (key.tenant.size() + key.call_id.size()) * 2 + text.size() + kEntryBytes;
    }
  };
  static constexpr std::size_t kEntryBytes = 256;  // overhead of an entry besides its texts
  const Entry* find(const StateKey& key);
  void forget(std::list<Entry>::iterator entry);

  std::size_t bytes_max_, bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::map<StateKey, std::list<Entry>::iterator> by_key_;
};

// Collects the state from the pieces or choices of one answer; `remember` stores it at the end.
class ReasoningStateReader {
 public:
  ReasoningStateReader() = default;
  explicit ReasoningStateReader(const schemas::ChatRequest& request);  // that is answered

  void receive(const schemas::ChatPiece& piece);
  void receive(const schemas::ChatReply& reply);
  void remember(ReasoningStateCache& cache, const std::string& tenant, std::string_view provider) const;

 private:
  struct Call {
    std::string id;
    std::uint64_t digest;
  };
  struct Collected {
    std::map<int, Call> calls;
    std::string text;
  };
  void receive(Collected& choice, int index, const std::string& id, std::string_view name,
               std::string_view arguments) const;

  std::uint64_t conversation_ = 0;
  std::map<int, Collected> choices_;
};

}  // namespace millrace::inference
