#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/families.h"
#include "ai/providers/json_access.h"

namespace millrace::providers {

// An id for a tool call that the provider gave none.
std::string new_call_id();
// True if the id is one of new_call_id. Providers have not issued these.
bool is_new_call_id(std::string_view id);

// The ids of the calls of one choice, as clients get them: each call has its own. Not thread-safe.
class CallIds {
 public:
  // `id` of the provider, or a new one if it is empty or that of an earlier call.
  std::string unique(std::string id);

 private:
  std::set<std::string> taken_;
};

// The ids of all calls of a conversation, as a provider accepts them: in its form, each only once. Clients
// may mix calls of several providers in one conversation, and some providers repeat their ids. The same
// conversation always gets the same ids, and a longer one gets them for its beginning. Not thread-safe.
class FittedCallIds {
 public:
  explicit FittedCallIds(const Preset& preset) : preset_(preset) {}

  // False: the provider takes any ids (local servers).
  bool has_rule() const;
  void begin_answer() { ++answer_; }  // the calls of one answer follow
  std::string call(const std::string& id);
  // The id of the call that a result belongs to: of calls with this id, the first of the latest answer that
  // has no result yet.
  std::string result(const std::string& id);

 private:
  struct Calls {
    int answer = 0;  // the latest with such a call
    std::vector<std::string> fitted = {};
    std::size_t results = 0;
  };
  bool fits(std::string_view id) const;
  std::string made(const std::string& id, int number) const;
  std::string unique(const std::string& id);

  const Preset& preset_;
  int answer_ = 0;
  std::map<std::string, Calls, std::less<>> calls_;  // by the id before
  std::map<std::string, int, std::less<>> numbers_;  // made so far of one id
  std::set<std::string, std::less<>> taken_;
};

// Fits the ids in messages of OpenAI's format.
void fit_call_ids(const Preset& preset, Json& messages);
bool needs_call_ids(const Preset& preset, const Json& messages);  // they do not fit

}  // namespace millrace::providers
