#include "ai/providers/model_list.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "ai/providers/call.h"
#include "ai/providers/json_access.h"
#include "ai/providers/wire_text.h"
#include "platform/base/clock.h"

namespace millrace::providers {
namespace {

constexpr std::size_t kTextMax = 255;
constexpr std::string_view kGeminiPrefix = "models/";

std::string short_text(const Json& row, std::string_view name) {
  return std::string(cut_text(text_of(row, name), kTextMax));
}

std::int64_t created_of(const Json& row) {
  if (const auto seconds = integer_of(row, "created")) return std::max<std::int64_t>(*seconds, 0);
  base::WallTime time{};
  if (!base::parse_rfc3339(text_of(row, "created_at"), time)) return 0;
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

ListedModel model_of(const Json& row, Family family) {
  ListedModel model;
  if (family == Family::kGemini) {
    std::string_view name = text_of(row, "name");
    if (name.starts_with(kGeminiPrefix)) name.remove_prefix(kGeminiPrefix.size());
    model.id = name;
    model.display_name = short_text(row, "displayName");
    return model;
  }
  model.id = text_of(row, "id");
  model.display_name = short_text(row, "display_name");
  model.owned_by = short_text(row, "owned_by");
  model.created = created_of(row);
  return model;
}

}  // namespace

net::HttpRequest model_list_request(const Target& target) {
  WireRequest wire{.path = "/models", .headers = {}, .body = {}, .dropped = {}};
  switch (target.preset->family) {
    case Family::kAnthropic:
      wire.path = versioned_path(target.base_url, "/v1", "/models?limit=1000");
      wire.headers.emplace_back(kAnthropicVersion.first, kAnthropicVersion.second);
      break;
    case Family::kGemini:
      wire.path = versioned_path(target.base_url, "/v1beta", "/models?pageSize=1000");
      break;
    case Family::kOpenai:
    case Family::kMock:
      break;
  }
  net::HttpRequest request = http_request(target, std::move(wire));
  request.method = "GET";
  request.body_bytes_max = kModelListBytesMax;
  return request;
}

base::Result<std::vector<ListedModel>> read_model_list(const Target& target, std::string_view body) {
  const Family family = target.preset->family;
  const auto list = parse_wire(body);
  const Json* rows = list ? member(*list, family == Family::kGemini ? "models" : "data") : nullptr;
  if (rows == nullptr || !rows->is_array()) return not_a_reply(target);
  std::vector<ListedModel> models;
  for (const Json& row : *rows) {
    if (models.size() == kListedModelsMax) break;
    ListedModel model = model_of(row, family);
    if (!model.id.empty() && model.id.size() <= kTextMax) models.push_back(std::move(model));
  }
  return models;
}

}  // namespace millrace::providers
