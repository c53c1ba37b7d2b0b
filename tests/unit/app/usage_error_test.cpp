#include "app/commands/usage_error.h"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::app::usage_error_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class UsageError : public testing::Test {
 protected:
  UsageError() {
    app_.require_subcommand(1);
    CLI::App* jobs = app_.add_subcommand("jobs", "Jobs");
    jobs->require_subcommand(1);
    CLI::App* ls = jobs->add_subcommand("ls", "Lists");
    ls->add_option("--limit", limit_, "How many");
    ls->add_flag("-q,--quiet", quiet_, "Silent");
    CLI::App* show = jobs->add_subcommand("show", "One");
    show->add_option("id", id_, "Job")->required();
    app_.add_subcommand("serve", "Serves");
    app_.add_subcommand("manual", "Pages for packages")->group("");
  }

  std::string said(std::vector<std::string> words) {
    if (std::string problem = missing_value(app_, words); !problem.empty()) return problem;
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    try {
      app_.parse(reversed);
    } catch (const CLI::ParseError& error) {
      return usage_error(app_, error, words);
    }
    return "it was read";
  }

  CLI::App app_{"test", "millrace"};
  int limit_ = 0;
  bool quiet_ = false;
  std::string id_;
};

TEST_F(UsageError, ACommandThatNoHelpListsIsNotOfferedEither) {
  EXPECT_THAT(said({"foo"}), HasSubstr("there are: jobs, serve\n"));
  EXPECT_THAT(said({"manul"}), Not(HasSubstr("manual")));
  EXPECT_EQ(said({"manual"}), "it was read");
}

TEST_F(UsageError, AWrongCommandGetsTheNearestOfItsGroup) {
  EXPECT_THAT(said({"sevre"}), HasSubstr("`millrace` has no command \"sevre\"; did you mean `serve`?\n"));
  EXPECT_THAT(said({"jobs", "lss"}),
              HasSubstr("`millrace jobs` has no command \"lss\"; did you mean `jobs ls`?\n"));
}

TEST_F(UsageError, AFlagIsLookedForInTheCommandByEachOfItsNames) {
  app_.get_subcommand("jobs")->get_subcommand("ls")->alias("list");
  EXPECT_THAT(said({"jobs", "list", "--limt", "3"}),
              HasSubstr("`millrace jobs ls` has no flag --limt; did you mean `--limit`?"));
}

TEST_F(UsageError, ACommandWithoutItsGroupIsFoundInIt) {
  EXPECT_THAT(said({"ls"}), HasSubstr("has no command \"ls\"; did you mean `jobs ls`?\n"));
}

TEST_F(UsageError, WhereNothingIsNearWhatThereIsIsListed) {
  EXPECT_THAT(said({"brew"}), HasSubstr("has no command \"brew\"; there are: jobs, serve\n"));
  EXPECT_THAT(said({"jobs", "brew"}), HasSubstr("; there are: ls, show\n"));
}

TEST_F(UsageError, AWrongFlagGetsTheNearestOfItsCommand) {
  EXPECT_THAT(said({"jobs", "ls", "--limt", "5"}),
              HasSubstr("`millrace jobs ls` has no flag --limt; did you mean `--limit`?\n"));
  EXPECT_THAT(said({"jobs", "ls", "-q", "--limit", "5", "--queit=1"}),
              HasSubstr("did you mean `--quiet`?\n"));
  const std::string far = said({"jobs", "ls", "--brew"});
  EXPECT_THAT(far, HasSubstr("has no flag --brew\n"));
  EXPECT_THAT(far, HasSubstr(" jobs ls --help` lists commands and flags.\n"));
}

TEST_F(UsageError, AFlagBeforeItsCommandGetsAnErrorThatSaysWhereItBelongs) {
  EXPECT_THAT(said({"--limit", "5", "jobs", "ls"}),
              HasSubstr("`millrace` has no flag --limit; flags go after the command\n"));
}

TEST_F(UsageError, AValueIsNoWordOfTheCommandLine) {
  EXPECT_THAT(said({"jobs", "ls", "--limit", "many"}), Not(HasSubstr("has no")));
  EXPECT_EQ(said({"jobs", "ls", "--limit", "5", "-q"}), "it was read");
}

TEST_F(UsageError, AFlagWithoutItsValueIsAnError) {
  EXPECT_THAT(said({"jobs", "ls", "--limit"}), HasSubstr("millrace: --limit needs a value\n"));
}

TEST_F(UsageError, AFlagIsNotTheValueOfTheFlagBeforeIt) {
  app_.get_subcommand("serve")->add_option("-d,--data", id_, "Folder");
  EXPECT_THAT(said({"serve", "--data", "--listen", "x"}),
              HasSubstr("millrace: --data needs a value, but --listen follows; if this is the value, write "
                        "`--data=--listen`\n"));
  EXPECT_THAT(said({"serve", "-d", "--"}), HasSubstr("-d needs a value, but -- follows; "));
  EXPECT_EQ(said({"serve", "--data=--listen"}), "it was read");
  EXPECT_EQ(said({"serve", "--data", "-"}), "it was read");
  EXPECT_EQ(said({"jobs", "show", "--", "--data"}), "it was read");
}

TEST_F(UsageError, AnArgumentTooManyGetsTheRightForm) {
  EXPECT_THAT(said({"jobs", "ls", "extra"}),
              HasSubstr("millrace: `millrace jobs ls` takes no argument: \"extra\". Usage: millrace jobs ls "
                        "[OPTIONS]\n"));
  EXPECT_THAT(said({"jobs", "show", "a", "b"}),
              HasSubstr("`millrace jobs show` takes no further argument: \"b\". Usage: millrace jobs show "));
  CLI::App* serve = app_.get_subcommand("serve");
  serve->add_option("--data", id_, "Folder");
  serve->add_option("--config", id_, "File");
  EXPECT_THAT(said({"serve", "/tmp"}),
              HasSubstr("takes no argument: \"/tmp\"; did you mean `--data /tmp`?\n"));
  EXPECT_THAT(said({"serve", "a.yaml"}), HasSubstr("did you mean `--config a.yaml`?\n"));
}

TEST_F(UsageError, MessagesOfTheLibraryAreRewritten) {
  app_.get_subcommand("jobs")
      ->get_subcommand("ls")
      ->add_option("--form", id_)
      ->check(CLI::IsMember({"a", "b"}));
  EXPECT_THAT(said({"jobs", "ls", "--limit", "1", "--limit", "2"}),
              HasSubstr("millrace: --limit is given more than once\n"));
  EXPECT_THAT(said({"jobs", "ls", "--limit", "x"}), HasSubstr("millrace: --limit is not a number: x\n"));
  EXPECT_THAT(said({"jobs", "ls", "--quiet=x"}), HasSubstr("millrace: --quiet takes no value: x\n"));
  EXPECT_THAT(said({"jobs", "ls", "--form", "c"}), HasSubstr("millrace: --form: c is not one of a,b\n"));
}

TEST_F(UsageError, WhatIsMissingIsNamedAndACommandWithoutItsSubcommandGetsItsHelp) {
  EXPECT_THAT(said({"jobs", "show"}),
              HasSubstr("millrace: id is required. Usage: millrace jobs show [OPTIONS] id\n"));
  EXPECT_THAT(said({"jobs"}), HasSubstr("Lists"));
  EXPECT_THAT(said({"jobs"}), HasSubstr("Usage: millrace jobs [OPTIONS] SUBCOMMAND\n"));
  EXPECT_THAT(said({}), HasSubstr("Usage: millrace [OPTIONS] SUBCOMMAND\n"));
}

}  // namespace
}  // namespace millrace::app::usage_error_test
