#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/settings_text.h"
#include "tests/support/temp_dir.h"

namespace millrace::app::effective_settings_test {
namespace {

std::string value_of(const std::vector<base::Config::EffectiveValue>& lines, std::string_view path) {
  for (const auto& line : lines) {
    if (line.path == path) return line.value;
  }
  return "no such setting";
}

std::vector<base::Config::EffectiveValue> effective(std::map<std::string, std::string> flags) {
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

TEST(EffectiveSettings, TheDefaultDataDirectoryIsReportedBesideAMistake) {
  const auto lines = effective({{"config", "/nowhere/millrace.yaml"}});
  EXPECT_EQ(default_data_dir(), value_of(lines, "data"));
  EXPECT_THAT(value_of(lines, "slots"), testing::StartsWith("("));
}

// The position of the third column in each line.
std::vector<std::size_t> source_columns(const std::string& text) {
  std::vector<std::size_t> out;
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t value = line.find_first_not_of(' ', line.find("  "));
    out.push_back(line.find_first_not_of(' ', line.find("  ", value)));
  }
  return out;
}

TEST(EffectiveSettings, ColumnsStandUnderTheirHeadAndTheSourceIsNamed) {
  const std::string text =
      settings_text({{"a", "1", "default"},
                     {"chat.first_byte_timeout", "5m", "/etc/millrace.yaml:12"},
                     {"listen", "a value of forty characters at the longest", "--listen"},
                     {"b", "2", "MILLRACE_B"}});
  EXPECT_THAT(text, testing::StartsWith("SETTING                  VALUE "));
  EXPECT_THAT(text, testing::HasSubstr("  file /etc/millrace.yaml:12\n"));
  EXPECT_THAT(text, testing::HasSubstr("  flag --listen\n"));
  EXPECT_THAT(text, testing::HasSubstr("  environment MILLRACE_B\n"));
  EXPECT_THAT(text, testing::HasSubstr("  default\n"));
}

TEST(EffectiveSettings, TheSourcesOfAllSettingsStandBelowEachOther) {
  const support::TempDir folder;
  const auto lines = effective({{"config", folder.write("m.yaml", "listen: 127.0.0.1:0\n").string()}});
  const auto columns = source_columns(settings_text(lines));
  ASSERT_EQ(lines.size() + 1, columns.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].value.size() > 40) continue;
    EXPECT_EQ(columns.front(), columns[i + 1]) << lines[i].path;
  }
}

TEST(EffectiveSettings, AProviderIsShownWithWhereItsKeyIsFromAndNoSecret) {
  const support::TempDir folder;
  folder.write("key", "sk-in-a-file\n");
  const std::string yaml = "providers:\n  openai: {api_key: 'file:" + folder.str() +
                           "/key'}\nmodels:\n- {name: mine, provider: openai, base_url: "
                           "'http://me:hidden@host/v1'}\n";
  const auto lines = effective({{"config", folder.write("m.yaml", yaml).string()}});
  EXPECT_EQ("https://api.openai.com/v1, key ****", value_of(lines, "providers.openai"));
  EXPECT_EQ("openai mine at http://me:****@host/v1", value_of(lines, "models.mine"));
  EXPECT_THAT(settings_text(lines), testing::HasSubstr("  file " + folder.str() + "/m.yaml:2\n"));
  EXPECT_THAT(settings_text(lines), testing::Not(testing::HasSubstr("hidden")));
}

}  // namespace
}  // namespace millrace::app::effective_settings_test
