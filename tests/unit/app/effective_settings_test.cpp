#include "app/effective_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace millrace::app {
namespace {

std::string value_of(const std::vector<base::Config::Line>& lines, std::string_view path) {
  for (const auto& line : lines) {
    if (line.path == path) return line.value;
  }
  return "no such setting";
}

std::vector<base::Config::Line> effective(std::map<std::string, std::string> flags) {
  return effective_settings(load_settings(flags));
}

TEST(EffectiveSettings, WhatIsLeftToTheProgramIsShownAsItWasChosen) {
  const support::TempDir folder;
  const auto lines = effective({{"data", folder.str()}, {"slots", "3"}});
  EXPECT_EQ(folder.str(), value_of(lines, "data"));
  EXPECT_THAT(value_of(lines, "slots"), testing::HasSubstr("ocr=3"));
  EXPECT_THAT(value_of(lines, "log.format"), testing::AnyOf("text", "json"));
  EXPECT_EQ("text", value_of(effective({{"data", folder.str()}, {"log-format", "text"}}), "log.format"));
}

TEST(EffectiveSettings, NoValueIsEmpty) {
  const support::TempDir folder;
  const auto lines = effective({{"data", folder.str()}});
  for (const auto& line : lines) EXPECT_FALSE(line.value.empty()) << line.path;
  EXPECT_EQ("(the listener)", value_of(lines, "public_url"));
  EXPECT_EQ("-", value_of(lines, "kafka.brokers"));
}

TEST(EffectiveSettings, BesideAMistakeTheDefaultOfTheDataDirectoryIsStillSaid) {
  const auto lines = effective({{"config", "/nowhere/millrace.yaml"}});
  EXPECT_EQ(default_data_dir(), value_of(lines, "data"));
  EXPECT_THAT(value_of(lines, "slots"), testing::StartsWith("("));
}

}  // namespace
}  // namespace millrace::app
