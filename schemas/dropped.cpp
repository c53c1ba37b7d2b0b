#include "schemas/dropped.h"

#include <set>
#include <string_view>

namespace millrace::schemas {
namespace {

constexpr std::size_t kTextMax = 2048;        // bytes: a header size that every client accepts
constexpr std::size_t kDroppedNameMax = 128;  // of one name

constexpr std::string_view kCut = "...";

// True: a header token may contain `c`, and it does not begin an escape.
bool is_plain(char c) {
  constexpr std::string_view kMarks = "!#$&'*+-.^_`|~";
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') || kMarks.find(c) != std::string_view::npos;
}

std::string_view mark(DroppedParam::How how) {
  switch (how) {
    case DroppedParam::How::kDropped:
      return "";
    case DroppedParam::How::kClamped:
      return ";clamped";
    case DroppedParam::How::kEmulated:
      return ";emulated";
  }
  return "";
}

std::string shown_name(std::string_view name) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  if (name.empty()) return R"("")";
  std::string out;
  for (const char c : name) {
    if (out.size() + 3 > kDroppedNameMax) return out.append(kCut);
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c)) {
      out += c;
    } else {
      out.append({'%', kHex[byte >> 4], kHex[byte & 15]});
    }
  }
  return out;
}

}  // namespace

std::string dropped_text(const DroppedParams& dropped) {
  std::string out;
  std::set<std::string_view> listed;
  for (const DroppedParam& each : dropped) {
    if (!listed.insert(each.name).second) continue;
    const std::string name = shown_name(each.name);
    const std::string_view how = mark(each.how);
    if (out.size() + name.size() + how.size() + 4 + kCut.size() > kTextMax)
      return out.append(", ").append(kCut);
    if (!out.empty()) out += ", ";
    out.append(name).append(how);
  }
  return out;
}

}  // namespace millrace::schemas
