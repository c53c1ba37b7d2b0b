#include "app/model_to_try.h"

#include <algorithm>

#include "ai/inference/routing.h"

namespace millrace::app {

std::string model_to_try(const inference::ModelSettings& models) {
  if (models.mock) return "mock/chat";
  const auto chats = [](const inference::ModelRow& row) {
    return inference::serves(row, inference::Ability::kChat);
  };
  const auto found = std::find_if(models.models.begin(), models.models.end(), chats);
  return found == models.models.end() ? "" : found->target.name;
}

}  // namespace millrace::app
