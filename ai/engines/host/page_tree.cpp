#include "ai/engines/host/page_tree.h"

#include <set>

#include "ai/engines/host/pdf_objects.h"

namespace millrace::engines::host {
namespace {

constexpr std::size_t kNodesMax = 100'000;

const PdfDict* dict_in(const std::optional<PdfValue>& value) {
  return value ? value->as<PdfDict>() : nullptr;
}

// The references among a node's kids go onto `open`. False: they are not as they should be.
bool add_kids(PdfObjects& objects, const PdfValue& kids, std::vector<std::int64_t>& open) {
  const auto list = objects.resolved(kids);
  const auto* array = list ? list->as<PdfArray>() : nullptr;
  if (array == nullptr) return false;
  for (const PdfValue& kid : *array) {
    const auto* ref = kid.as<PdfRef>();
    if (ref == nullptr) return false;
    open.push_back(ref->number);
  }
  return true;
}

}  // namespace

bool holds_more_pages(std::string_view pdf, int count) {
  auto objects = PdfObjects::read(pdf);
  const PdfValue* root = objects ? entry(objects->trailer(), "Root") : nullptr;
  const auto catalog = root == nullptr ? std::nullopt : objects->resolved(*root);
  const PdfValue* pages = dict_in(catalog) == nullptr ? nullptr : entry(*dict_in(catalog), "Pages");
  const auto* top = pages == nullptr ? nullptr : pages->as<PdfRef>();
  if (top == nullptr) return false;
  std::vector<std::int64_t> open{top->number};
  std::set<std::int64_t> seen;
  int found = 0;
  while (!open.empty() && seen.size() < kNodesMax) {
    const std::int64_t number = open.back();
    open.pop_back();
    if (!seen.insert(number).second) continue;
    const auto node = objects->object(number);
    if (!node) return false;
    const PdfDict* dict = dict_in(node);
    if (dict == nullptr) continue;
    const PdfValue* kids = entry(*dict, "Kids");
    if (kids == nullptr) {
      if (is_name(entry(*dict, "Type"), "Page") && ++found > count) return true;
    } else if (!add_kids(*objects, *kids, open)) {
      return false;
    }
  }
  return false;
}

}  // namespace millrace::engines::host
