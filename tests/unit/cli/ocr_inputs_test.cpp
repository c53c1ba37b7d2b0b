#include "app/cli/ocr_inputs.h"

#include <fstream>

#include <gtest/gtest.h>

#include "app/cli/resume_file.h"
#include "tests/support/temp_dir.h"

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;

class OcrInputs : public testing::Test {
 protected:
  fs::path file(const std::string& name) {
    const fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    return path;
  }
  support::TempDir folder_;
  fs::path root_{folder_.path()};
};

TEST_F(OcrInputs, AFolderGivesItsDocumentsInOrderAndKeepsSubFolders) {
  file("in/b.PDF");
  file("in/a/c.jpeg");
  file("in/notes.txt");
  const auto inputs = collect_inputs({(root_ / "in").string()}, "out");
  ASSERT_TRUE(inputs);
  ASSERT_EQ(2u, inputs->size());
  EXPECT_EQ("out/a/c.md", (*inputs)[0].output);
  EXPECT_EQ("out/b.md", (*inputs)[1].output);
}

TEST_F(OcrInputs, TwoInputsNeverShareAnOutput) {
  file("in/scan.pdf");
  file("in/scan.png");
  file("other/scan.pdf");
  const auto inputs = collect_inputs({(root_ / "in").string(), (root_ / "other/scan.pdf").string()}, "out");
  ASSERT_TRUE(inputs);
  ASSERT_EQ(3u, inputs->size());
  EXPECT_EQ("out/scan.pdf.md", (*inputs)[0].output);
  EXPECT_EQ("out/scan.png.md", (*inputs)[1].output);
  EXPECT_EQ("out/scan.pdf.2.md", (*inputs)[2].output);
}

TEST_F(OcrInputs, AMissingPathAndAFolderWithoutDocumentsAreErrorsThatNameThem) {
  fs::create_directories(root_ / "empty");
  const auto missing = collect_inputs({"/no/such/file.pdf"}, "out");
  ASSERT_FALSE(missing);
  EXPECT_NE(std::string::npos, missing.error().message.find("/no/such/file.pdf"));
  EXPECT_FALSE(collect_inputs({(root_ / "empty").string()}, "out"));
}

TEST_F(OcrInputs, AKeyIsKeptUntilTheFileChanges) {
  auto resume = ResumeFile::open(root_);
  ASSERT_TRUE(resume);
  const std::string key = resume->entry("a.pdf", "v1").key;
  ASSERT_TRUE(resume->save());
  auto again = ResumeFile::open(root_);
  ASSERT_TRUE(again);
  EXPECT_EQ(key, again->entry("a.pdf", "v1").key);
  EXPECT_NE(key, again->entry("a.pdf", "v2").key);
}

TEST_F(OcrInputs, AStrangeResumeFileIsAnErrorAndNotOverwritten) {
  file(".millrace-ocr.json");
  EXPECT_FALSE(ResumeFile::open(root_));
}

}  // namespace
}  // namespace millrace::cli
