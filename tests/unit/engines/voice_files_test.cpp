#include "ai/engines/speech/voice_files.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "ai/engines/speech/onnx_metadata.h"
#include "tests/support/temp_dir.h"

namespace millrace::engines {
namespace {

std::string proto_field(char number, const std::string& value) {
  std::string size;
  std::size_t left = value.size();
  for (; left > 127; left >>= 7U) size += static_cast<char>((left & 127U) | 128U);
  size += static_cast<char>(left);
  return static_cast<char>(number * 8 + 2) + size + value;
}

// The start of an ONNX file: a version, a graph of some kilobytes, and metadata.
std::string onnx_with(const OnnxMetadata& metadata) {
  std::string out = std::string("\x08\x08", 2) + proto_field(7, std::string(5'000, 'g'));
  for (const auto& [key, value] : metadata)
    out += proto_field(14, proto_field(1, key) + proto_field(2, value));
  return out;
}

const OnnxMetadata kPiper{
    {"comment", "piper"}, {"language", "English"}, {"n_speakers", "4"}, {"sample_rate", "22050"}};

class VoiceFolder {
 public:
  explicit VoiceFolder(const OnnxMetadata& metadata = kPiper) {
    dir_.write("en_US-joe-medium.onnx", onnx_with(metadata));
    dir_.write("tokens.txt", "_ 0\n");
  }
  base::Result<VoiceFiles> find(const std::string& language = "en") const {
    return find_voice_files({"joe", dir_.str(), {language}});
  }
  std::string error(const std::string& language = "en") const {
    const auto found = find(language);
    return found ? "(no error)" : found.error().message;
  }
  const support::TempDir& dir() const { return dir_; }
  std::string path(const std::string& name) const { return dir_.str() + "/" + name; }

 private:
  support::TempDir dir_;
};

TEST(VoiceFiles, AnEnglishVoiceNeedsNoLexicon) {
  const VoiceFolder folder;
  const auto files = folder.find();
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_TRUE(files->model.ends_with("/en_US-joe-medium.onnx"));
  EXPECT_TRUE(files->tokens.ends_with("/tokens.txt"));
  EXPECT_EQ(files->lexicon, "");
  EXPECT_EQ(files->speakers, 4);
}

TEST(VoiceFiles, AVoiceOfAnotherLanguageNeedsOne) {
  const VoiceFolder folder;
  EXPECT_EQ(folder.error("de"), "the folder " + folder.dir().str() +
                                    " has no lexicon.txt, which voices of other languages than English need");
  folder.dir().write("lexicon-de.txt", "die || d i\n");
  const auto files = folder.find("de");
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_TRUE(files->lexicon.ends_with("/lexicon-de.txt"));
}

TEST(VoiceFiles, WhatIsMissingIsNamed) {
  const VoiceFolder folder;
  std::filesystem::remove(folder.path("tokens.txt"));
  EXPECT_EQ(folder.error(), "the folder " + folder.dir().str() + " has no tokens.txt of a Piper voice");
  EXPECT_NE(
      VoiceFolder(OnnxMetadata{{"sample_rate", "16000"}}).error().find("has no n_speakers in its metadata"),
      std::string::npos);
  OnnxMetadata other = kPiper;
  other["comment"] = "melo";
  EXPECT_NE(VoiceFolder(other).error().find("is not a Piper voice (comment: melo)"), std::string::npos);
  other = kPiper;
  other["n_speakers"] = "99999";
  EXPECT_NE(VoiceFolder(other).error().find("has n_speakers 99999"), std::string::npos);
  folder.dir().write("tokens.txt", "_ 0\n");
  folder.dir().write("en_US-amy-low.onnx", onnx_with(kPiper));
  EXPECT_NE(folder.error().find("several models"), std::string::npos);
}

TEST(OnnxMetadata, AFileThatIsCutOffOrAnotherIsRefused) {
  const support::TempDir dir;
  const std::string whole = onnx_with(kPiper);
  dir.write("m.onnx", whole);
  const auto metadata = onnx_metadata(dir.str() + "/m.onnx");
  ASSERT_TRUE(metadata) << metadata.error().message;
  EXPECT_EQ(*metadata, kPiper);
  for (std::size_t size = 0; size < whole.size(); size += size < 20 ? 1 : 97) {
    dir.write("m.onnx", whole.substr(0, size));
    const auto cut = onnx_metadata(dir.str() + "/m.onnx");
    const std::size_t found = cut ? cut->size() : 0;
    EXPECT_LT(found, kPiper.size()) << size;
    const bool is_in_graph = size > 2 && size < 5'000;
    EXPECT_FALSE(cut && is_in_graph) << size;
  }
  for (const std::string& bytes : {std::string("<html>"), std::string(100, '\xFF'), std::string()}) {
    dir.write("m.onnx", bytes);
    EXPECT_FALSE(onnx_metadata(dir.str() + "/m.onnx"));
  }
  EXPECT_FALSE(onnx_metadata(dir.str() + "/none.onnx"));
}

}  // namespace
}  // namespace millrace::engines
