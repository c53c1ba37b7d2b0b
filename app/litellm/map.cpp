#include "app/litellm/map.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace millrace::app {
namespace {

constexpr std::int64_t kImportedCountMax = 1'000'000'000;

template <class Number>
std::optional<Number> litellm_number(const std::string& text) {
  Number value{};
  const char* last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, value);
  if (problem != std::errc() || end != last) return std::nullopt;
  return value;
}

}  // namespace

LitellmMap::LitellmMap(const base::ConfigNode& node, std::string name, std::vector<std::string>& notes)
    : node_(node), name_(std::move(name)), notes_(notes) {
  using Kind = base::ConfigNode::Kind;
  if (node.kind != Kind::kMap && node.kind != Kind::kNone)
    notes_.push_back(node.place + ": " + name_ + ": left out: a map is expected here");
}

const base::ConfigNode* LitellmMap::find(std::string_view key) const {
  if (node_.kind != base::ConfigNode::Kind::kMap) return nullptr;
  const auto found = std::ranges::find(node_.items, key, &base::ConfigNode::key);
  return found == node_.items.end() ? nullptr : &*found;
}

const base::ConfigNode* LitellmMap::take(std::string_view key) {
  taken_.emplace(key);
  const base::ConfigNode* found = find(key);
  return found == nullptr || found->kind == base::ConfigNode::Kind::kNone ? nullptr : found;
}

std::optional<std::string> LitellmMap::text(std::string_view key) {
  const base::ConfigNode* found = take(key);
  if (found == nullptr) return std::nullopt;
  if (found->kind == base::ConfigNode::Kind::kText) return found->text;
  note(key, "left out: a single value is expected here");
  return std::nullopt;
}

std::optional<std::int64_t> LitellmMap::whole(std::string_view key) {
  const auto given = text(key);
  if (!given) return std::nullopt;
  const auto value = litellm_number<std::int64_t>(*given);
  if (value && *value >= 1 && *value <= kImportedCountMax) return value;
  note(key, "left out: a whole number from 1 to 1,000,000,000 is expected here");
  return std::nullopt;
}

std::optional<double> LitellmMap::number(std::string_view key) {
  const auto given = text(key);
  if (!given) return std::nullopt;
  const auto value = litellm_number<double>(*given);
  if (value && *value >= 0 && std::isfinite(*value)) return value;
  note(key, "left out: a number is expected here");
  return std::nullopt;
}

void LitellmMap::note(std::string_view key, const std::string& why) {
  const base::ConfigNode* found = find(key);
  notes_.push_back((found == nullptr ? node_.place : found->place) + ": " + name_ + "." + std::string(key) +
                   ": " + why);
}

void LitellmMap::note_unread_members() {
  if (node_.kind != base::ConfigNode::Kind::kMap) return;
  for (const base::ConfigNode& member : node_.items) {
    if (!taken_.contains(member.key)) note(member.key, "left out: Millrace has no such setting");
  }
}

}  // namespace millrace::app
