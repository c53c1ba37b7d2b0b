#include "schemas/unknown_model.h"

#include <string>

#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

constexpr std::size_t kNameShownMax = 200;  // bytes of an unknown name in the message

}  // namespace

base::Error unknown_model(std::string_view name, std::string_view near, std::string_view why) {
  std::string message = "there is no model '" + std::string(cut_text(name, kNameShownMax)) + "': ";
  if (!near.empty()) {
    message.append("did you mean '").append(near).append("'? ");
  } else if (!why.empty()) {
    message.append(why).append("; ");
  }
  return base::error(base::Code::kModelNotFound, message.append(kModelsHint), "model");
}

}  // namespace millrace::schemas
