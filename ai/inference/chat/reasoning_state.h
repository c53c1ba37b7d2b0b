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

// What providers want to see again with the tool calls that they have made (signatures of thoughts), by the
// tenant and the
// calls' ids, since clients send back only those. The least used are forgotten first. Loop thread only.
class ReasoningStateCache {
 public:
  explicit ReasoningStateCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void remember(const std::string& tenant, std::string_view provider,
                const std::vector<std::string>& call_ids, const std::string& text);
  // Puts it into the assistant's messages of `request` that `provider` has made for its tenant, and takes it
  // out of those that another has. A message of unknown origin stays as it is.
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
  static constexpr std::size_t kEntryBytes = 256;  // what an entry takes beside its texts
  const Entry* find(const Key& key);
  void forget(std::list<Entry>::iterator entry);

  std::size_t bytes_max_, bytes_ = 0;
  std::list<Entry> entries_;  // the newest use first
  std::map<Key, std::list<Entry>::iterator> by_key_;
};

// Hears the pieces or the choices of one answer and remembers at its end.
class ReasoningStateReader {
 public:
  void receive(const schemas::ChatPiece& piece);
  void receive(const schemas::ChatReply& reply);
  void remember(ReasoningStateCache& continuity, const std::string& tenant, std::string_view provider) const;

 private:
  struct Collected {
    std::vector<std::string> call_ids;
    std::string text;
  };
  std::map<int, Collected> choices_;
};

}  // namespace millrace::inference
