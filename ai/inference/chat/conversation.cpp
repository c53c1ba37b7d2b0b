#include "ai/inference/chat/conversation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "ai/providers/json_access.h"
#include "platform/base/ids.h"
#include "schemas/json/json_body.h"

namespace millrace::inference {
namespace {

using providers::member;
using providers::text_of;
using schemas::Json;

// Random, so that nobody can write a conversation with the hash of another one.
std::uint64_t hash_seed() {
  static const std::uint64_t seed = [] {
    std::uint64_t bits = 0;
    const std::string bytes = base::random_bytes(sizeof bits);
    std::memcpy(&bits, bytes.data(), sizeof bits);
    return bits;
  }();
  return seed;
}

class ConversationHash {
 public:
  ConversationHash() { XXH3_128bits_reset_withSeed(&state_, hash_seed()); }

  CallDigest result() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return {hash.low64, hash.high64};
  }
  void add_bytes(std::string_view bytes) { XXH3_128bits_update(&state_, bytes.data(), bytes.size()); }
  void add_tag(char tag) { add_bytes({&tag, 1}); }
  void add_number(std::uint64_t number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    add_bytes({bytes, sizeof bytes});
  }
  void add_text(std::string_view text) {
    add_number(text.size());
    add_bytes(text);
  }
  void add_digest(const CallDigest& digest) {
    add_number(digest.low);
    add_number(digest.high);
  }

  // Numbers of the same value are the same, however they are spelled.
  void add_value(const Json& value) {
    if (value.is_object()) return add_members(value);
    if (value.is_array()) {
      add_tag('a');
      add_number(value.size());
      for (const Json& each : value) add_value(each);
    } else if (value.is_string()) {
      add_tag('s');
      add_text(text_of(&value));
    } else if (value.is_number_float()) {
      add_double(value.get<double>());
    } else if (value.is_number()) {
      add_integer(value.get<std::uint64_t>(), !value.is_number_unsigned() && value.get<std::int64_t>() < 0);
    } else if (schemas::spelling_of(value)) {
      Json rounded = value;
      schemas::round_numbers(rounded);
      add_double(rounded.get<double>());
    } else {
      add_tag(!value.is_boolean() ? 'n' : value.get<bool>() ? 't' : 'f');
    }
  }

  // In the order of their names, without `left_out`.
  void add_members(const Json& object, std::string_view left_out = {}) {
    std::vector<std::pair<std::string_view, const Json*>> members;
    members.reserve(object.size());
    for (const auto& [name, value] : object.items()) {
      if (left_out.empty() || name != left_out) members.emplace_back(name, &value);
    }
    std::ranges::sort(members);
    add_tag('o');
    add_number(members.size());
    for (const auto& [name, value] : members) {
      add_text(name);
      add_value(*value);
    }
  }

 private:
  // `bits`: of the integer, in two's complement.
  void add_integer(std::uint64_t bits, bool is_negative) {
    add_tag(is_negative ? '-' : 'i');
    add_number(bits);
  }

  // A whole number that fits into 64 bits counts as an integer.
  void add_double(double number) {
    constexpr double kSignedEnd = 0x1p63, kUnsignedEnd = 0x1p64;
    const bool is_whole = std::trunc(number) == number;
    if (is_whole && number >= 0 && number < kUnsignedEnd)
      return add_integer(static_cast<std::uint64_t>(number), false);
    if (is_whole && number < 0 && number >= -kSignedEnd)
      return add_integer(static_cast<std::uint64_t>(static_cast<std::int64_t>(number)), true);
    add_tag('d');
    add_number(std::bit_cast<std::uint64_t>(number));
  }

  XXH3_state_t state_;
};

// Adjacent texts are one text.
CallDigest content_digest(const Json* content) {
  ConversationHash hash;
  std::uint64_t bytes = 0;
  const auto add = [&](std::string_view text) {
    hash.add_bytes(text);
    bytes += text.size();
  };
  add(text_of(content));
  if (content != nullptr && content->is_array()) {
    for (const Json& part : *content) {
      const std::string_view type = text_of(part, "type");
      if (type == "thinking") continue;
      if (type == "text") {
        add(text_of(part, "text"));
        continue;
      }
      ConversationHash other;
      if (part.is_object()) other.add_members(part, "cache_control");
      hash.add_number(std::exchange(bytes, 0));
      hash.add_tag('p');
      hash.add_digest(other.result());
    }
  }
  hash.add_number(bytes);
  return hash.result();
}

void add_arguments(ConversationHash& hash, std::string_view text) {
  const bool is_empty = text.find_first_not_of(" \t\r\n") == std::string_view::npos;
  const std::optional<Json> parsed = is_empty ? std::optional(Json()) : providers::parse_wire(text);
  if (!parsed) {
    hash.add_tag('r');
    hash.add_text(text);
  } else {
    hash.add_value(parsed->is_null() ? Json::object() : *parsed);
  }
}

void add_call(ConversationHash& hash, const Conversation::Call& call) {
  hash.add_text(call.id);
  hash.add_text(call.name);
  if (!call.custom) return add_arguments(hash, call.arguments);
  hash.add_tag('c');
  hash.add_text(call.arguments);
}

// `arguments` outlives the result: it holds arguments that are no text.
Conversation::Call call_of(const Json& call, std::string& arguments) {
  Conversation::Call out{.id = text_of(call, "id"), .name = {}, .arguments = {}};
  const Json* function = member(call, "function");
  out.custom = function == nullptr && member(call, "custom") != nullptr;
  if (out.custom) function = member(call, "custom");
  out.name = text_of(member(function, "name"));
  const Json* given = member(function, out.custom ? "input" : "arguments");
  out.arguments = text_of(given);
  if (given == nullptr || given->is_string()) return out;
  arguments = schemas::dump(*given);
  out.arguments = arguments;
  return out;
}

const Json* calls_of(const Json& message) {
  const Json* calls = member(message, "tool_calls");
  return calls != nullptr && calls->is_array() && !calls->empty() ? calls : nullptr;
}

CallDigest call_digest(const CallDigest& before, const Conversation::Call& call) {
  ConversationHash hash;
  hash.add_digest(before);
  add_call(hash, call);
  return hash.result();
}

void add_message(ConversationHash& hash, const Json& message) {
  for (const std::string_view name : {"role", "name", "tool_call_id", "refusal"})
    hash.add_text(text_of(message, name));
  hash.add_digest(content_digest(member(message, "content")));
  const Json* calls = calls_of(message);
  hash.add_number(calls == nullptr ? 0 : calls->size());
  if (calls == nullptr) return;
  std::string arguments;
  for (const Json& call : *calls) add_call(hash, call_of(call, arguments));
}

}  // namespace

Conversation::Conversation(const schemas::ChatRequest& request) {
  const Json* messages = member(request.body, "messages");
  if (messages == nullptr || !messages->is_array()) return;
  ConversationHash hash;
  hash.add_text(request.tenant);
  std::string arguments;
  for (std::size_t i = 0; i < messages->size(); ++i) {
    const Json& message = (*messages)[i];
    if (const Json* calls = calls_of(message)) {
      const CallDigest before = hash.result();
      Turn& turn = turns_.emplace_back(Turn{.message = i});
      for (const Json& call : *calls) turn.calls.push_back(call_digest(before, call_of(call, arguments)));
    }
    add_message(hash, message);
  }
  all_messages_ = hash.result();
}

std::optional<CallDigest> Conversation::digest_of(const Call& call) const {
  if (!all_messages_) return std::nullopt;
  return call_digest(*all_messages_, call);
}

}  // namespace millrace::inference
