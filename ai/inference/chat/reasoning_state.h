#pragma once
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"

namespace millrace::inference {

// State that providers require back together with their tool calls, such as signatures of thoughts. Keyed by
// tenant and call id, because clients send back only the ids. The least recently used entries are evicted
// first. Loop thread only.
class ReasoningStateCache {
 public:
  explicit ReasoningStateCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void remember(const std::string& tenant, std::string_view provider,
                const std::vector<std::string>& call_ids, const std::string& text);
  // Adds the state to the assistant messages of `request` that `provider` produced for this tenant. Removes
  // it from those that another provider produced. Leaves messages of unknown origin unchanged.
  void fill(schemas::ChatRequest& request, std::string_view provider);
  std::size_t bytes() const { return bytes_; }

 private:
  using Key = std::pair<std::string, std::string>;  // tenant, call's id
  struct Entry {
    Key key;
    std::string provider, text;
    std::size_t bytes() const {
      return (key.first.size() + key.second.size()) * 2 + text.size() + kEntryBytes;
    }
  };
  static constexpr std::size_t kEntryBytes = 256;  // overhead of an entry besides its texts
  const Entry* find(const Key& key);
  void forget(std::list<Entry>::iterator entry);

  std::size_t bytes_max_, bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::map<Key, std::list<Entry>::iterator> by_key_;
};

// Collects the state from the pieces or choices of one answer; `remember` stores it at the end.
class ReasoningStateReader {
 public:
  void receive(const schemas::ChatPiece& piece);
  void receive(const schemas::ChatReply& reply);
  void remember(ReasoningStateCache& cache, const std::string& tenant, std::string_view provider) const;

 private:
  struct Collected {
    std::vector<std::string> call_ids;
    std::string text;
  };
  std::map<int, Collected> choices_;
};

}  // namespace millrace::inference
