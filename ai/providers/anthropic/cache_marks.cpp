#include "ai/providers/anthropic/cache_marks.h"

#include <vector>

#include "ai/providers/history.h"

namespace millrace::providers {
namespace {

constexpr const char* kMark = "cache_control";

bool may_have_mark(const Json& block) {
  const std::string_view type = text_of(block, "type");
  return type != "thinking" && type != "redacted_thinking";
}

void collect(Json& blocks, std::vector<Json*>& marked) {
  if (!blocks.is_array()) return;
  for (Json& block : blocks) {
    if (const auto inner = block.find("content"); inner != block.end()) collect(*inner, marked);
    if (block.contains(kMark)) marked.push_back(&block);
  }
}

}  // namespace

bool mark_last(Json& blocks, const Json& mark) {
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (!may_have_mark(*block)) continue;
    (*block)[kMark] = mark;
    return true;
  }
  return false;
}

void limit_cache_marks(Json& wire, Parameters& report) {
  std::vector<Json*> marked;
  if (const auto tools = wire.find("tools"); tools != wire.end()) collect(*tools, marked);
  const std::size_t of_tools = marked.size();
  if (const auto system = wire.find("system"); system != wire.end()) collect(*system, marked);
  if (const auto messages = wire.find("messages"); messages != wire.end()) collect(*messages, marked);
  for (std::size_t i = 0; i + kCacheMarksMax < marked.size(); ++i) {
    marked[i]->erase(kMark);
    report.clamped(history_name(i < of_tools ? HistoryPlace::kTool : HistoryPlace::kMessage, kMark));
  }
}

}  // namespace millrace::providers
