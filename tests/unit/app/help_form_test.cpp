#include <map>
#include <string_view>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/commands/client_commands.h"
#include "app/commands/help.h"
#include "app/config/settings.h"

namespace millrace::app::help_form_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HelpForm, OptionsSayWhatTheyTakeAndNotHowTheyAreChecked) {
  CLI::App app;
  app.formatter(help_form());
  CLI::App* ls = app.add_subcommand("ls", "Lists");
  int limit = 0;
  std::string name, format;
  ls->add_option("--limit", limit, "At most so many")->check(CLI::Range(1, 100));
  ls->add_option("--name", name, "Whose")->required();
  CLI::Option* form =
      ls->add_option("--format", format, "text or srt")->check(CLI::IsMember({"text", "srt"}));
  bool raw = false;
  ls->add_flag("--raw", raw, "As it is")->excludes(form);
  const std::string help = ls->help();
  EXPECT_THAT(help, HasSubstr("--limit N  "));
  EXPECT_THAT(help, HasSubstr("--name TEXT (required)  "));
  EXPECT_THAT(help, HasSubstr("--format TEXT  "));
  EXPECT_THAT(help, HasSubstr("--raw  "));
  EXPECT_THAT(help, Not(HasSubstr("INT")));
}

TEST(HelpForm, ACommandIsListedByOneNameAndUnderstoodByTheOther) {
  CLI::App app{"test", "millrace"};
  app.formatter(help_form());
  bool listed = false;
  add_list_command(app, "Lists")->callback([&] { listed = true; });
  EXPECT_THAT(app.help(), HasSubstr("  ls  "));
  EXPECT_THAT(app.help(), Not(HasSubstr("list")));
  app.parse(std::vector<std::string>{"list"});
  EXPECT_TRUE(listed);
}

TEST(HelpForm, EverySettingNamesItsUnit) {
  std::map<std::string_view, std::string> words;
  for (const base::Setting& setting : settings_table()) words[setting.path] = value_word(setting);
  EXPECT_EQ("DIR", words["data"]);
  EXPECT_EQ("HOST:PORT", words["listen"]);
  EXPECT_EQ("text|json", words["log.format"]);
  EXPECT_EQ("SIZE", words["store.wal_max"]);
  EXPECT_EQ("DURATION", words["ocr.wait"]);
  EXPECT_EQ("N", words["chat.tries"]);
  EXPECT_EQ("true|false", words["mock"]);
  EXPECT_EQ("LIST", words["slots"]);
}

}  // namespace
}  // namespace millrace::app::help_form_test
