#include <gtest/gtest.h>

#include "app/commands/serve.h"

namespace millrace::app::model_to_try_test {
namespace {

inference::ModelRow row(const char* name, std::vector<inference::Ability> abilities) {
  inference::ModelRow out;
  out.target.name = name;
  out.abilities = std::move(abilities);
  return out;
}

TEST(ModelToTry, IsTheMockElseTheFirstThatChats) {
  inference::ModelSettings models;
  EXPECT_EQ("", suggested_model(models));
  models.models.push_back(row("reader", {inference::Ability::kOcr}));
  EXPECT_EQ("", suggested_model(models));
  models.models.push_back(row("team/small", {}));
  EXPECT_EQ("team/small", suggested_model(models));
  models.mock = true;
  EXPECT_EQ("mock/chat", suggested_model(models));
}

}  // namespace
}  // namespace millrace::app::model_to_try_test
