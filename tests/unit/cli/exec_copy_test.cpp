#include "app/cli/machines/exec_copy.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(ArtifactSource, IsAnExecutionAndANameWithColonsOfItsOwn) {
  const std::string id = "exec-0192f0a1-7c1e-7000-8000-000000000001";
  EXPECT_EQ(artifact_source(id + ":a:b.txt")->name, "a:b.txt");
  EXPECT_EQ(artifact_source(id + ":")->name, "");
  EXPECT_EQ(artifact_source(id + ":a")->execution, id);
  const std::vector<std::string> no_sources = {id, "a.txt", "ocr-" + id.substr(5) + ":a", ":a"};
  for (const std::string& wrong : no_sources) {
    EXPECT_FALSE(artifact_source(wrong)) << wrong;
  }
}

TEST(MachinePath, IsAMachineAndAPathButNoLocalFile) {
  EXPECT_EQ(path_in_machine("local:a/b:c")->machine, "local");
  EXPECT_EQ(path_in_machine("local:a/b:c")->path, "a/b:c");
  EXPECT_EQ(path_in_machine("local:")->path, "");
  EXPECT_EQ(path_in_machine("dm-0192f0a1-7c1e-7000-8000-000000000001:/workspace/a")->path, "/workspace/a");
  for (const char* local : {"a.txt", "./a:b", "/tmp/a:b", ":a", "-", ""})
    EXPECT_FALSE(path_in_machine(local)) << local;
}

}  // namespace
}  // namespace millrace::cli
