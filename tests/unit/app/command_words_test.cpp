#include "app/commands/command_words.h"

#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

namespace millrace::app {
namespace {

class CommandWords : public testing::Test {
 protected:
  CommandWords() {
    CLI::App* run = app_.add_subcommand("exec", "Commands")->add_subcommand("run", "Runs");
    run->add_option("-m,--machine", text_, "Machine");
    run->add_flag("-d,--detach", flag_, "Detached");
    run->add_option("command", words_, "The command");
    CLI::App* ssh = app_.add_subcommand("ssh", "Logs in");
    ssh->add_option("machine", text_, "Machine");
    ssh->add_option("command", words_, "The command");
    ssh->add_option("-o,--ssh-option", words_, "KEY=value");
    ssh->add_flag("-T", flag_, "No terminal");
    CLI::App* serve = app_.add_subcommand("serve", "Serves");
    for (const char* name : {"--mock", "--metrics.open", "--data"})
      serve->add_option(name, text_, "A setting");
    app_.add_subcommand("ocr", "Reads")->add_option("files", words_, "Files");
  }

  std::string begun(const std::string& line) const {
    return joined(with_command_begun(app_, words_of(line)));
  }
  std::string given(const std::string& line) const {
    return joined(with_true_for_bare_flags(app_, words_of(line)));
  }

  static std::vector<std::string> words_of(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
  }
  static std::string joined(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
    return out;
  }

  CLI::App app_{"test", "millrace"};
  std::string text_;
  std::vector<std::string> words_;
  bool flag_ = false;
};

TEST_F(CommandWords, TheFirstWordThatIsNoFlagBeginsTheCommandOfExecRun) {
  EXPECT_EQ(begun("exec run ls -l /workspace"), "exec run -- ls -l /workspace");
  EXPECT_EQ(begun("exec run -m box ls -d"), "exec run -m box -- ls -d");
  EXPECT_EQ(begun("exec run -dm box ls -m"), "exec run -dm box -- ls -m");
  EXPECT_EQ(begun("exec run --machine=box -d run --detach"), "exec run --machine=box -d -- run --detach");
  EXPECT_EQ(begun("exec run -mbox exec run"), "exec run -mbox -- exec run");
}

TEST_F(CommandWords, TheFirstWordAfterTheMachineBeginsTheCommandOfSsh) {
  EXPECT_EQ(begun("ssh local ls -la"), "ssh local -- ls -la");
  EXPECT_EQ(begun("ssh -o A=b local -T rsync --server -e."), "ssh -o A=b local -T -- rsync --server -e.");
  EXPECT_EQ(begun("ssh -oA=b local ssh -T"), "ssh -oA=b local -- ssh -T");
}

TEST_F(CommandWords, OtherLinesStayAsTheyAre) {
  for (const char* line : {"", "exec", "exec run", "exec run -- ls -l", "exec run -d -- ls", "ssh local",
                           "ssh local -T", "ssh -T -- local sftp", "ocr a b -c", "nothing of ours -x"})
    EXPECT_EQ(begun(line), line);
}

TEST_F(CommandWords, ABoolSettingNeedsNoValue) {
  EXPECT_EQ(given("serve --mock"), "serve --mock=true");
  EXPECT_EQ(given("serve --mock --data D"), "serve --mock=true --data D");
  EXPECT_EQ(given("serve --data --mock"), "serve --data --mock") << "it is the value of --data";
  EXPECT_EQ(given("serve --mock false --metrics.open yes"), "serve --mock false --metrics.open yes");
  EXPECT_EQ(given("serve --mock=false --metrics.open"), "serve --mock=false --metrics.open=true");
  EXPECT_EQ(given("ocr --mock"), "ocr --mock") << "no flag of this command";
  EXPECT_EQ(given("exec run -- serve --mock"), "exec run -- serve --mock");
}

}  // namespace
}  // namespace millrace::app
