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

}  // namespace
}  // namespace millrace::cli
