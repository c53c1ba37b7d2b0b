#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/cli/machines/exec_command.h"

namespace millrace::cli {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(ExecList, ARowSaysHowItEndedAndWhatItWas) {
  const json execution = {{"execution_id", "exec-1"},
                          {"status", "failed"},
                          {"exit_code", 3},
                          {"created_at", "T1"},
                          {"command", {"sh", "-c", "exit 3"}}};
  const std::string row = execution_row(execution);
  EXPECT_THAT(row, HasSubstr("failed            3      T1"));
  EXPECT_THAT(row, EndsWith("sh -c 'exit 3'"));
  EXPECT_EQ(execution_header().find("COMMAND"), row.find("sh -c"));
}

TEST(ExecList, OneWithoutAnEndHasNoExitAndASignalIsNamed) {
  EXPECT_THAT(execution_row({{"status", "running"}}), HasSubstr("running           -  "));
  EXPECT_THAT(execution_row({{"status", "failed"}, {"signal", 9}}), HasSubstr("SIG9"));
}

TEST(ExecList, ALongCommandIsCutBetweenCharactersAndMovesNoCursor) {
  std::string word;
  for (int i = 0; i < 40; ++i) word += "é";
  const std::string row = execution_row({{"command", {"x\x1b[2J\ny", word}}});
  EXPECT_THAT(row, Not(HasSubstr("\x1b")));
  EXPECT_THAT(row, Not(HasSubstr("\n")));
  EXPECT_THAT(row, EndsWith("é…"));
}

}  // namespace
}  // namespace millrace::cli
