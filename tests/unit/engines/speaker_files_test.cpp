#include "ai/engines/speech/speaker_files.h"

#include <map>
#include <memory>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "ai/engines/speech/transcriber.h"
#include "tests/support/temp_dir.h"

namespace millrace::engines {
namespace {

// A field of a protocol buffer that has bytes.
std::string bytes_field(int number, const std::string& value) {
  std::string out;
  for (unsigned n : {static_cast<unsigned>(number) << 3 | 2, static_cast<unsigned>(value.size())}) {
    for (; n > 127; n >>= 7) out += static_cast<char>(n % 128 + 128);
    out += static_cast<char>(n);
  }
  return out + value;
}

// An ONNX file with an empty graph and this metadata.
std::string onnx_with(const std::map<std::string, std::string>& metadata) {
  std::string out = bytes_field(7, "");
  for (const auto& [key, value] : metadata)
    out += bytes_field(14, bytes_field(1, key) + bytes_field(2, value));
  return out;
}

const std::map<std::string, std::string> kSegmentation{
    {"num_speakers", "3"},           {"powerset_max_classes", "2"}, {"num_classes", "7"},
    {"sample_rate", "16000"},        {"window_size", "160000"},     {"receptive_field_size", "991"},
    {"receptive_field_shift", "270"}};
const std::map<std::string, std::string> kEmbedding{
    {"framework", "wespeaker"}, {"output_dim", "192"}, {"sample_rate", "16000"}};

class SpeakerFilesTest : public ::testing::Test {
 protected:
  SpeakerFilesTest() {
    write("segmentation.onnx", onnx_with(kSegmentation));
    write("embedding.onnx", onnx_with(kEmbedding));
  }
  void write(const std::string& name, const std::string& content) const { dir_.write(name, content); }
  std::string path(const std::string& name) const { return dir_.str() + "/" + name; }
  SpeakerFiles files() const { return {path("segmentation.onnx"), path("embedding.onnx")}; }
  // What is wrong, without the folder; empty: nothing.
  std::string fault() const {
    const base::Status good = check_speaker_files(files());
    if (good) return {};
    std::string text = good.error().message;
    if (const auto at = text.find(dir_.str() + "/"); at != std::string::npos)
      text.erase(at, dir_.str().size() + 1);
    return text;
  }

  const support::TempDir dir_;
};

TEST_F(SpeakerFilesTest, WholeFilesOfTheRightFamiliesAreGood) { EXPECT_EQ(fault(), ""); }

TEST_F(SpeakerFilesTest, AMissingFileIsNamed) {
  dir_.write("embedding.onnx", "");
  EXPECT_EQ(fault(), "the model's file embedding.onnx is empty");
}

TEST_F(SpeakerFilesTest, ATruncatedFileIsNamed) {
  const std::string whole = onnx_with(kSegmentation);
  write("segmentation.onnx", whole.substr(0, whole.size() - 10));
  EXPECT_EQ(fault().substr(0, 48), "the model's file segmentation.onnx is cut off: i");
}

TEST_F(SpeakerFilesTest, AForeignFileIsNamedWithWhatItLacks) {
  write("segmentation.onnx", onnx_with(kEmbedding));
  EXPECT_EQ(
      fault(),
      "the file segmentation.onnx is not a model for segmentation in sherpa-onnx's layout: its metadata "
      "has no num_speakers");
  write("segmentation.onnx", onnx_with(kSegmentation));
  write("embedding.onnx", onnx_with(kSegmentation));
  EXPECT_EQ(fault(),
            "the file embedding.onnx is not a model for voices in sherpa-onnx's layout: its metadata has no "
            "framework");
  auto other = kEmbedding;
  other["framework"] = "other";
  write("embedding.onnx", onnx_with(other));
  EXPECT_EQ(fault(), "the file embedding.onnx is a model of \"other\", not of wespeaker, 3d-speaker or nemo");
  write("embedding.onnx", "this is no model");
  EXPECT_EQ(fault(), "the model's file embedding.onnx is not a model in ONNX format");
}

TEST_F(SpeakerFilesTest, ASegmentationOfAnotherSampleRateIsRefused) {
  auto other = kSegmentation;
  other["sample_rate"] = "8000";
  write("segmentation.onnx", onnx_with(other));
  EXPECT_EQ(fault(), "the file segmentation.onnx is for a sample rate of 8000 Hz, not of 16000 Hz");
}

TEST_F(SpeakerFilesTest, AnErrorIsExplainedWithTheFilesThatCauseIt) {
  const auto base = std::make_shared<const LoadableModel>(
      SpeechModelLayout::kNemoCtc,
      std::vector<SpeechFile>{{std::string(kLibraryRole), "/lib/a.so"}, {"tokens", "/nemo/tokens.txt"}});
  const Recognition how{std::make_shared<const LoadableModel>(
                            base, std::vector<SpeechFile>{{std::string(kSegmentationRole), "/s/first.onnx"},
                                                          {std::string(kEmbeddingRole), "/s/second.onnx"}}),
                        {}};
  const auto text = [&](const std::string& message, bool is_of_speakers) {
    const base::Error error = base::error(base::Code::kInternal, message);
    EXPECT_EQ(is_fault_of_speaker_files(error, how), is_of_speakers) << message;
    EXPECT_FALSE(is_fault_of_speaker_files(error, {base, {}})) << message;
    return explained(error, how);
  };
  EXPECT_EQ(text("the speech model cannot be loaded", false),
            "the speech model cannot be loaded; its files are in /nemo");
  EXPECT_EQ(text("the file /nemo/tokens.txt is empty", false), "the file /nemo/tokens.txt is empty");
  EXPECT_EQ(text("the models of stt.speakers cannot be loaded", true),
            "the models of stt.speakers cannot be loaded; their files are /s/first.onnx and /s/second.onnx");
  EXPECT_EQ(text("the file /s/second.onnx is empty", true), "the file /s/second.onnx is empty");
}

ino_t inode_of(const base::Fd& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 ? status.st_ino : 0;
}

TEST_F(SpeakerFilesTest, AModelWithFurtherFilesSharesTheCopiesOfItsOwn) {
  write("tokens.txt", "a 0\n");
  const auto base = std::make_shared<const LoadableModel>(
      SpeechModelLayout::kNemoCtc, std::vector<SpeechFile>{{"tokens", path("tokens.txt")}});
  const LoadableModel both(base, {{std::string(kEmbeddingRole), path("embedding.onnx")}});
  EXPECT_EQ(both.layout(), SpeechModelLayout::kNemoCtc);
  ASSERT_EQ(both.files().size(), 2u);
  EXPECT_EQ(both.files()[0].role, "tokens");
  const auto plain = base->copies();
  const auto copies = both.copies();
  ASSERT_TRUE(plain && copies);
  ASSERT_EQ((*copies)->size(), 2u);
  EXPECT_EQ(inode_of((**copies)[0]), inode_of((**plain)[0]));
  EXPECT_NE(inode_of((**copies)[1]), inode_of((**plain)[0]));
}

}  // namespace
}  // namespace millrace::engines
