#include "ai/providers/split_character_joiner.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "schemas/json/broken_json.h"
#include "schemas/json/json_body.h"

namespace millrace::providers {
namespace {

// The hash of a text (FNV-1a) that is `more` behind the one of `hash`.
std::uint64_t hash_with(std::uint64_t hash, std::string_view more) {
  for (const char c : more) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}
constexpr std::uint64_t kEmptyHash = 0xcbf29ce484222325U;

std::string numbered(std::int64_t number) { return "#" + std::to_string(number); }

std::string indexed(const Json& node) {
  const auto index = integer_of(node, "index");
  return index ? numbered(*index) : std::string();
}

// The place of an element without an index is its position. But a part with text (Gemini, Mistral) continues
// the last such part, wherever that was.
std::string positioned(const Json& element, std::size_t position) {
  const bool has_place = integer_of(element, "index") || member(element, "text") != nullptr;
  return has_place ? std::string() : numbered(static_cast<std::int64_t>(position));
}

// Calls `visit` for each text and the hash of its place: the names of the members that lead to it. Choices,
// blocks and calls are told apart by their index, thoughts of Gemini by their mark.
template <class Visit>
void each_text(Json& node, std::uint64_t place, Visit&& visit) {
  if (auto* text = node.get_ptr<std::string*>()) {
    visit(place, *text);
  } else if (node.is_array()) {
    for (std::size_t i = 0; i < node.size(); ++i)
      each_text(node[i], hash_with(place, positioned(node[i], i)), visit);
  } else if (node.is_object()) {
    const std::uint64_t here =
        hash_with(hash_with(place, indexed(node)), is_true(member(node, "thought")) ? "!." : ".");
    for (auto& [name, value] : node.items()) each_text(value, hash_with(here, name), visit);
  }
}

}  // namespace

void SplitCharacterJoiner::take(const net::SseEvent& event) {
  const bool is_valid = schemas::is_valid_utf8_json(event.data);
  if (is_valid && held_.empty()) return out_(event);
  std::optional<Json> tree =
      is_valid ? parse_wire(event.data) : schemas::parse_broken_json(event.data, kWireDepthMax);
  Held& held = held_.emplace_back(Held{event, nullptr});
  if (!tree) held.event.data = schemas::repair_utf8_json(event.data);
  bytes_ += held.event.data.size();
  if (!tree) return flush();
  const bool is_changed = join(*tree);
  if (!is_valid || is_changed) held.tree = *std::move(tree);
  pass_on_complete();
  while (held_.size() >= kHeldEventsMax || bytes_ >= kHeldBytesMax) pass_on_oldest();
}

// Moves each incomplete character to the text that continues it, and notes those of the newest event. True:
// `tree`, of that event, has changed.
bool SplitCharacterJoiner::join(Json& tree) {
  bool is_changed = false;
  each_text(tree, kEmptyHash, [&](std::uint64_t place, std::string& text) {
    if (text.empty()) return;
    if (const auto found = incomplete_.find(place); found != incomplete_.end()) {
      std::string& before = *found->second.text;
      const std::size_t at = before.size() - schemas::incomplete_suffix(before);
      text.insert(0, before, at);
      before.resize(at);
      incomplete_.erase(found);
      is_changed = true;
    }
    if (schemas::incomplete_suffix(text) > 0) incomplete_[place] = {&text, first_ + held_.size() - 1};
  });
  return is_changed;
}

// Passes on the events before the oldest one with an incomplete character.
void SplitCharacterJoiner::pass_on_complete() {
  std::size_t end = first_ + held_.size();
  for (const auto& [place, each] : incomplete_) end = std::min(end, each.event);
  const auto rest = held_.begin() + static_cast<std::ptrdiff_t>(end - first_);
  std::vector<Held> complete(std::make_move_iterator(held_.begin()), std::make_move_iterator(rest));
  held_.erase(held_.begin(), rest);
  first_ = end;
  for (Held& each : complete) {
    bytes_ -= each.event.data.size();
    if (!each.tree.is_null()) {
      schemas::repair_texts(each.tree);
      each.event.data = schemas::dump(each.tree);
    }
    out_(each.event);
  }
  if (held_.empty()) held_ = {};  // frees its memory
}

std::optional<std::size_t> SplitCharacterJoiner::oldest() const {
  return held_.empty() ? std::nullopt : std::optional(first_);
}

void SplitCharacterJoiner::pass_on_oldest() {
  std::erase_if(incomplete_, [this](const auto& each) { return each.second.event == first_; });
  pass_on_complete();
}

void SplitCharacterJoiner::flush() {
  incomplete_.clear();
  pass_on_complete();
}

}  // namespace millrace::providers
