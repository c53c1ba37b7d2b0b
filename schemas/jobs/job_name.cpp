#include "schemas/jobs/job_name.h"

#include <algorithm>

#include "schemas/json/json_body.h"
#include "schemas/json/json_tree.h"
#include "schemas/json/quick_json.h"
#include "schemas/media/ocr.h"

namespace millrace::schemas {
namespace {

// The member of the kind's spec that has the name; empty: none.
std::string_view name_member(Kind kind) {
  switch (kind) {
    case Kind::kOcr:
      return "document_name";
    case Kind::kStt:
      return "file_name";
    case Kind::kExec:
    case Kind::kMachine:
    case Kind::kChat:
      break;
  }
  return {};
}

}  // namespace

bool may_have_name(Kind kind) { return !name_member(kind).empty(); }

std::string job_name(Kind kind, std::string spec) {
  const std::string_view member = name_member(kind);
  if (member.empty() || spec.size() > kSharedParserMax) return {};
  spec.resize(json_size(spec));
  const auto text = padded(spec, kJsonPadding);
  simdjson::ondemand::document document;
  if (!is_good(shared_parser().iterate(text).get(document))) return {};
  std::string_view given;
  return is_good(document.find_field_unordered(member).get_string().get(given)) ? job_name(given)
                                                                                : std::string();
}

std::string job_name(std::string_view given) {
  std::size_t end = std::min(given.size(), kJobNameMax);
  const auto is_inside = [&](std::size_t at) {
    return (static_cast<unsigned char>(given[at]) & 0xC0U) == 0x80U;
  };
  while (end > 0 && end < given.size() && is_inside(end)) --end;
  return std::string(given.substr(0, end));
}

}  // namespace millrace::schemas
