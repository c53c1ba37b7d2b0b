#include <algorithm>

#include "api/call.h"
#include "api/handlers.h"
#include "platform/base/nearest.h"
#include "schemas/json_text.h"
#include "schemas/ocr_request.h"

namespace millrace::api {
namespace {

using schemas::JsonObject;

// 2025-01-01T00:00:00Z: when the engine's first version was made.
constexpr std::int64_t kCreated = 1'735'689'600;

std::string model_json(std::string_view id) {
  return JsonObject()
      .member("id", id)
      .member("object", "model")
      .number("created", kCreated)
      .member("created_at", base::rfc3339(base::wall_from(kCreated * 1000)))
      .member("owned_by", "millrace")
      .member("provider", "millrace")
      .member("display_name", id == schemas::kOcrModel ? "Millrace OCR" : "Millrace OCR (another name)")
      .member("type", "base")
      .raw("capabilities", R"({"chat":false,"embeddings":false,"images":false,"audio":false,"ocr":true})")
      .finish();
}

}  // namespace

void list_models(Context&, CallPtr call) {
  std::string data = "[";
  for (std::string_view id : schemas::ocr_model_names())
    data.append(data.size() > 1 ? "," : "").append(model_json(id));
  call->reply(json_reply(200, JsonObject().member("object", "list").raw("data", data + "]").finish()));
}

void get_model(Context&, CallPtr call) {
  const std::string& id = call->params.front();
  const auto names = schemas::ocr_model_names();
  if (std::find(names.begin(), names.end(), id) != names.end())
    return call->reply(json_reply(200, model_json(id)));
  const std::string_view near = base::nearest(id, names);
  call->fail(base::error(base::Code::kModelNotFound,
                         "The model '" + id + "' does not exist; did you mean '" +
                             std::string(near.empty() ? schemas::kOcrModel : near) + "'?",
                         "model"));
}

}  // namespace millrace::api
