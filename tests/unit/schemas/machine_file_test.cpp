#include "schemas/machines/machine_file.h"

#include <set>

#include <gtest/gtest.h>

#include "schemas/machines/execution.h"

namespace millrace::schemas {
namespace {

std::string sandbox_path(std::string_view sent) {
  const auto path = machine_file_path(sent, MachineDriver::kSandbox);
  return path ? *path : "refused: " + path.error().error.message;
}

TEST(MachineFilePath, BeginsAtTheMachinesFolder) {
  for (const char* good : {"a", "a/b.txt", ".hidden", "a..b", "...", "-rf", "a b/ü\n", "workspace/a"}) {
    EXPECT_EQ(sandbox_path(good), good);
  }
  EXPECT_EQ(sandbox_path("/workspace/a/b"), "a/b");
  EXPECT_EQ(machine_file_path("a/b", MachineDriver::kSsh).value(), "a/b");
  EXPECT_FALSE(machine_file_path("/workspace/a", MachineDriver::kSsh)) << "a host has no /workspace of ours";
}

TEST(MachineFilePath, NothingElseIsAccepted) {
  const std::string nul("a\0b", 3), long_part(256, 'x');
  std::string long_path;
  while (long_path.size() <= kFilePathMax) long_path += "folder/";
  const std::vector<std::string> wrong = {
      "",     "/",       "a/",           "/workspace/", "/workspace", "/etc/passwd", "..",
      "../a", "a/..",    "a//b",         "./a",         "a/./b",      "a/../../b",   "/workspace/../etc",
      nul,    long_part, long_path + "x"};
  for (const std::string& path : wrong) {
    const auto read = machine_file_path(path, MachineDriver::kSandbox);
    ASSERT_FALSE(read) << path;
    EXPECT_EQ(read.error().error.code, base::Code::kInvalidField);
    ASSERT_EQ(read.error().problems.size(), 1u);
    EXPECT_EQ(read.error().problems.front().loc, (std::vector<std::string>{"path", "path"}));
  }
}

TEST(FileExit, EachHasItsOwnNumberAndItsOwnError) {
  for (const FileAction action : {FileAction::kPut, FileAction::kGet, FileAction::kDelete}) {
    std::set<std::string> messages;
    std::set<int> numbers;
    for (const FileExitName& each : kFileExits) {
      const base::Error error = file_error(action, static_cast<int>(each.exit), "a/b");
      EXPECT_NE(error.message.find("`a/b`"), std::string::npos);
      const bool is_own_fault = each.exit != FileExit::kCutOff;
      EXPECT_EQ(base::info(error.code).http_status < 500, is_own_fault) << each.name;
      messages.insert(error.message);
      numbers.insert(static_cast<int>(each.exit));
    }
    EXPECT_EQ(messages.size(), kFileExits.size());
    EXPECT_EQ(numbers.size(), kFileExits.size());
    for (const int other : {1, 2, 69, 80, 126, 127, 255})
      EXPECT_EQ(file_error(action, other, "a").code, base::Code::kCommandFailed) << other;
  }
}

TEST(FileExit, SpeaksOfWritingOnlyWhereSomethingIsWritten) {
  const auto text = [](FileAction action, FileExit exit) {
    return file_error(action, static_cast<int>(exit), "a").message;
  };
  EXPECT_NE(text(FileAction::kGet, FileExit::kRefused).find("cannot be read"), std::string::npos);
  EXPECT_NE(text(FileAction::kPut, FileExit::kRefused).find("cannot be changed"), std::string::npos);
  EXPECT_NE(text(FileAction::kDelete, FileExit::kRefused).find("cannot be changed"), std::string::npos);
  EXPECT_EQ(text(FileAction::kGet, FileExit::kNotRead).find("full"), std::string::npos);
  EXPECT_EQ(text(FileAction::kPut, FileExit::kCutOff).find("full"), std::string::npos);
}

TEST(FileAction, IsKeptInTheSpecOfItsExecution) {
  for (const FileAction action : {FileAction::kPut, FileAction::kGet, FileAction::kDelete}) {
    ExecutionSpec spec;
    spec.command = {std::string(name(action)), "a"};
    spec.file = action;
    EXPECT_EQ(execution_spec_from_json(to_json(spec))->file, action);
  }
  ExecutionSpec plain;
  plain.command = {"put", "a"};
  EXPECT_FALSE(execution_spec_from_json(to_json(plain))->file) << "a client's command";
  std::string odd = to_json(plain);
  odd.back() = ',';
  EXPECT_FALSE(execution_spec_from_json(odd + R"("file":"move"})"));
  EXPECT_FALSE(execution_spec_from_json(odd + R"("file":1})"));
}

}  // namespace
}  // namespace millrace::schemas
