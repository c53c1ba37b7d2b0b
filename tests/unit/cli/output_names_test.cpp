#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/cli/batch/batch_inputs.h"
#include "tests/support/temp_dir.h"

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class OutputNames : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(out_); }

  BatchInput input(const std::string& name) {
    const fs::path path = root_ / "in" / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    return {path, path.filename()};
  }
  // The output names of one run, relative to the output folder. The run writes all of them.
  std::vector<std::string> run(const std::vector<std::string>& files, const std::string& ending = ".md") {
    std::vector<BatchInput> inputs;
    for (const std::string& file : files) inputs.push_back(input(file));
    auto resume = ResumeFile::open(out_, "ocr").value();
    name_outputs(inputs, out_, ending, resume);
    EXPECT_TRUE(resume.save());
    std::vector<std::string> names;
    for (const BatchInput& each : inputs) {
      names.push_back(each.output.lexically_relative(out_).string());
      std::ofstream(each.output) << each.file;
    }
    return names;
  }

  support::TempDir folder_;
  fs::path root_{folder_.path()};
  fs::path out_{root_ / "out"};
};

TEST_F(OutputNames, InputsOfOneRunNeverShareAnOutput) {
  EXPECT_THAT(run({"scan.pdf", "scan.png", "other/scan.pdf", "scan.pdf.2.pdf"}),
              ElementsAre("scan.pdf.md", "scan.png.md", "scan.pdf.2.md", "scan.pdf.2.pdf.md"));
}

TEST_F(OutputNames, TheSameNameInAnotherFolderDoesNotTakeTheOutputOfAnEarlierRun) {
  EXPECT_THAT(run({"jan/invoice.pdf"}), ElementsAre("invoice.md"));
  EXPECT_THAT(run({"feb/invoice.pdf"}), ElementsAre("invoice.pdf.md"));
  EXPECT_THAT(run({"mar/invoice.pdf", "jan/invoice.pdf"}), ElementsAre("invoice.pdf.2.md", "invoice.md"));
}

TEST_F(OutputNames, AnInputKeepsItsOutputWhateverComesToLieBesideIt) {
  EXPECT_THAT(run({"x.pdf"}), ElementsAre("x.md"));
  EXPECT_THAT(run({"x.png", "x.pdf"}), ElementsAre("x.png.md", "x.md"));
  EXPECT_THAT(run({"x.pdf"}), ElementsAre("x.md"));
}

TEST_F(OutputNames, AnInputHasAnOutputOfItsOwnForEachForm) {
  std::ofstream(out_ / "talk.txt") << "by hand";
  EXPECT_THAT(run({"talk.wav"}, ".srt"), ElementsAre("talk.srt"));
  EXPECT_THAT(run({"talk.wav"}, ".txt"), ElementsAre("talk.wav.txt"));
  EXPECT_THAT(run({"talk.wav"}, ".srt"), ElementsAre("talk.srt"));
}

TEST_F(OutputNames, AFileThatMillraceDidNotWriteIsLeftAlone) {
  std::ofstream(out_ / "README.md") << "by hand";
  EXPECT_THAT(run({"README.pdf"}), ElementsAre("README.pdf.md"));
  EXPECT_THAT(run({"README.pdf"}), ElementsAre("README.pdf.md"));
}

TEST_F(OutputNames, AnInputIsTheSameHoweverItIsWritten) {
  auto resume = ResumeFile::open(out_, "ocr").value();
  const BatchInput scan = input("scan.pdf");
  const std::string key = resume.entry(scan.file, ".md", "v1").key;
  EXPECT_EQ(key, resume.entry(root_ / "in/../in/./scan.pdf", ".md", "v1").key);
  EXPECT_EQ(key, resume.entry(fs::relative(scan.file), ".md", "v1").key);
}

TEST_F(OutputNames, ANameThatIsNotUtf8IsRecognisedAgain) {
  EXPECT_THAT(run({"caf\xe9.pdf", "caf\xe8.pdf", "base64:eA.pdf"}),
              ElementsAre("caf\xe9.md", "caf\xe8.md", "base64:eA.md"));
  EXPECT_THAT(run({"base64:eA.pdf", "caf\xe8.pdf", "caf\xe9.pdf"}),
              ElementsAre("base64:eA.md", "caf\xe8.md", "caf\xe9.md"));
  const auto stamped = [&](const char* key_of) {
    auto resume = ResumeFile::open(out_, "ocr").value();
    const std::string key = resume.entry(root_ / "in" / key_of, ".md", "1").key;
    EXPECT_TRUE(resume.save());
    return key;
  };
  const std::string key = stamped("caf\xe9.pdf");
  EXPECT_EQ(key, stamped("caf\xe9.pdf"));
  EXPECT_NE(key, stamped("caf\xe8.pdf"));
}

TEST_F(OutputNames, AResumeFileOfAnOlderVersionIsContinued) {
  const BatchInput scan = input("scan.pdf");
  std::ofstream(out_ / "scan.md") << "read";
  std::ofstream(out_ / ".millrace-ocr.json")
      << R"({"inputs":{")" << scan.file.string() << R"(":{"stamp":"v1","key":"k","status":"succeeded"}}})";
  EXPECT_THAT(run({"scan.pdf"}), ElementsAre("scan.md"));
  EXPECT_EQ("k", ResumeFile::open(out_, "ocr").value().entry(scan.file, ".md", "v1").key);
}

TEST_F(OutputNames, EachFormatOfAnInputIsResumedSeparately) {
  const BatchInput talk = input("talk.wav");
  auto resume = ResumeFile::open(out_, "transcribe").value();
  resume.entry(talk.file, ".srt", "as srt").status = "succeeded";
  const std::string text = resume.entry(talk.file, ".txt", "as text").key;
  ASSERT_TRUE(resume.save());
  auto again = ResumeFile::open(out_, "transcribe").value();
  EXPECT_EQ("succeeded", again.entry(talk.file, ".srt", "as srt").status);
  EXPECT_EQ(text, again.entry(talk.file, ".txt", "as text").key);
  EXPECT_EQ("", again.entry(talk.file, ".srt", "changed").status);
  EXPECT_EQ(text, again.entry(talk.file, ".txt", "as text").key);
}

TEST_F(OutputNames, AnEntryWithoutAFormatBelongsToTheFormatWithItsStamp) {
  const BatchInput talk = input("talk.wav");
  std::ofstream(out_ / ".millrace-transcribe.json")
      << R"({"version":2,"inputs":{"../in/talk.wav":{"stamp":"as text","key":"k","job":"j","status":"succeeded",)"
      << R"("pages":3,"outputs":{".srt":"talk.srt",".txt":"talk.wav.txt"}}}})";
  for (int run = 0; run < 2; ++run) {  // the second run reads the record that the first has written
    auto resume = ResumeFile::open(out_, "transcribe").value();
    EXPECT_EQ("", resume.entry(talk.file, ".srt", "as srt").status);
    const ResumeEntry& text = resume.entry(talk.file, ".txt", "as text");
    EXPECT_EQ("succeeded", text.status);
    EXPECT_EQ("k", text.key);
    EXPECT_EQ("j", text.job);
    EXPECT_EQ(3, text.pages);
    EXPECT_EQ("talk.srt", resume.output(talk.file, ".srt"));
    EXPECT_EQ("talk.wav.txt", resume.output(talk.file, ".txt"));
    ASSERT_TRUE(resume.save());
  }
}

TEST_F(OutputNames, TwoCommandsDoNotWorkForOneFolderAtOnce) {
  auto first = lock_outputs(out_, "ocr");
  ASSERT_TRUE(first);
  const auto second = lock_outputs(out_, "ocr");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, testing::HasSubstr("already works for " + out_.string()));
  EXPECT_TRUE(lock_outputs(out_, "transcribe"));
  first->reset();
  EXPECT_TRUE(lock_outputs(out_, "ocr"));
}

}  // namespace
}  // namespace millrace::cli
