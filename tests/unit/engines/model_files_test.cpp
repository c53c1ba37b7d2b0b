#include "ai/engines/speech/model_files.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace millrace::engines {
namespace {

using Family = SpeechModelFamily;
using Role = SpeechFileRole;
using Names = std::vector<std::string>;

class ModelFolder {
 public:
  explicit ModelFolder(const Names& names) {
    for (const std::string& name : names) dir_.write(name, "content of " + name);
  }
  base::Result<SpeechModelFiles> find(Family family) const {
    return find_model_files({"dictation", family, dir_.str(), {"en"}});
  }
  std::string error(Family family) const {
    const auto found = find(family);
    return found ? "(no error)" : found.error().message;
  }
  const support::TempDir& dir() const { return dir_; }

 private:
  support::TempDir dir_;
};

std::string file_name(const SpeechModelFiles& files, Role role) {
  return std::filesystem::path(files.path(role)).filename().string();
}

TEST(ModelFiles, MoonshineVersion2HasAnEncoderAndAMergedDecoder) {
  const ModelFolder folder({"encoder_model.ort", "decoder_model_merged.ort", "tokens.txt", "LICENSE"});
  const auto files = folder.find(Family::kMoonshine);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->layout, SpeechModelLayout::kMoonshineMerged);
  ASSERT_EQ(files->files.size(), 3U);
  EXPECT_EQ(file_name(*files, Role::kEncoder), "encoder_model.ort");
  EXPECT_EQ(file_name(*files, Role::kMergedDecoder), "decoder_model_merged.ort");
  EXPECT_EQ(files->path(Role::kTokens),
            std::filesystem::canonical(folder.dir().path() / "tokens.txt").string());
  EXPECT_EQ(files->path(Role::kJoiner), "");
}

TEST(ModelFiles, MoonshineVersion1HasFourNetworks) {
  const ModelFolder folder({"preprocess.onnx", "encode.int8.onnx", "uncached_decode.int8.onnx",
                            "cached_decode.int8.onnx", "tokens.txt"});
  const auto files = folder.find(Family::kMoonshine);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->layout, SpeechModelLayout::kMoonshineSplit);
  EXPECT_EQ(file_name(*files, Role::kPreprocessor), "preprocess.onnx");
  EXPECT_EQ(file_name(*files, Role::kEncoder), "encode.int8.onnx");
  EXPECT_EQ(file_name(*files, Role::kUncachedDecoder), "uncached_decode.int8.onnx");
  EXPECT_EQ(file_name(*files, Role::kCachedDecoder), "cached_decode.int8.onnx");
}

TEST(ModelFiles, WhisperPrefersInt8) {
  const ModelFolder folder({"tiny.en-encoder.onnx", "tiny.en-encoder.int8.onnx", "tiny.en-decoder.onnx",
                            "tiny.en-decoder.int8.onnx", "tiny.en-tokens.txt"});
  const auto files = folder.find(Family::kWhisper);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->layout, SpeechModelLayout::kWhisper);
  EXPECT_EQ(file_name(*files, Role::kEncoder), "tiny.en-encoder.int8.onnx");
  EXPECT_EQ(file_name(*files, Role::kDecoder), "tiny.en-decoder.int8.onnx");
  EXPECT_EQ(file_name(*files, Role::kTokens), "tiny.en-tokens.txt");
}

TEST(ModelFiles, SenseVoiceAndNemoCtcHaveOneNetwork) {
  const ModelFolder folder({"model.onnx", "model.int8.onnx", "tokens.txt"});
  const auto sense = folder.find(Family::kSenseVoice);
  ASSERT_TRUE(sense) << sense.error().message;
  EXPECT_EQ(sense->layout, SpeechModelLayout::kSenseVoice);
  EXPECT_EQ(file_name(*sense, Role::kModel), "model.int8.onnx");
  const auto nemo = folder.find(Family::kNemo);
  ASSERT_TRUE(nemo) << nemo.error().message;
  EXPECT_EQ(nemo->layout, SpeechModelLayout::kNemoCtc);
}

TEST(ModelFiles, TransducersHaveAJoiner) {
  const ModelFolder folder({"encoder-epoch-99-avg-1.int8.onnx", "decoder-epoch-99-avg-1.onnx",
                            "joiner-epoch-99-avg-1.int8.onnx", "tokens.txt", "bpe.model"});
  const auto plain = folder.find(Family::kTransducer);
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->layout, SpeechModelLayout::kTransducer);
  EXPECT_EQ(file_name(*plain, Role::kJoiner), "joiner-epoch-99-avg-1.int8.onnx");
  EXPECT_EQ(file_name(*plain, Role::kDecoder), "decoder-epoch-99-avg-1.onnx");
  const auto nemo = folder.find(Family::kNemo);
  ASSERT_TRUE(nemo) << nemo.error().message;
  EXPECT_EQ(nemo->layout, SpeechModelLayout::kNemoTransducer);
}

TEST(ModelFiles, AMissingFileIsNamedWithItsFolder) {
  const ModelFolder folder({"encoder_model.ort", "tokens.txt"});
  EXPECT_EQ(folder.error(Family::kMoonshine),
            "the folder " + folder.dir().str() +
                " has no merged_decoder (decoder*merged*.@(onnx|ort)) of a model of the family moonshine");
  const ModelFolder split({"preprocess.onnx", "encode.onnx", "cached_decode.onnx", "tokens.txt"});
  EXPECT_NE(split.error(Family::kMoonshine).find("has no uncached_decoder"), std::string::npos);
  EXPECT_NE(ModelFolder({}).error(Family::kWhisper).find("has no encoder (*encoder*.onnx)"),
            std::string::npos);
  EXPECT_NE(ModelFolder({"encoder.onnx", "joiner.onnx", "tokens.txt"})
                .error(Family::kNemo)
                .find("has no decoder (decoder*.onnx) of a model of the family nemo"),
            std::string::npos);
}

TEST(ModelFiles, AFolderOfAnotherFamilyIsNamed) {
  const ModelFolder transducer({"encoder.onnx", "decoder.onnx", "joiner.onnx", "tokens.txt"});
  EXPECT_NE(
      transducer.error(Family::kWhisper).find("looks like a model of the family transducer, not whisper"),
      std::string::npos);
  const ModelFolder moonshine({"encoder_model.onnx", "decoder_model_merged.onnx", "tokens.txt"});
  EXPECT_NE(moonshine.error(Family::kWhisper).find("looks like a model of the family moonshine"),
            std::string::npos);
  const ModelFolder whisper({"base-encoder.int8.onnx", "base-decoder.int8.onnx", "base-tokens.txt"});
  EXPECT_NE(whisper.error(Family::kMoonshine).find("looks like a model of the family whisper"),
            std::string::npos);
  EXPECT_NE(whisper.error(Family::kSenseVoice).find("looks like a model of the family whisper"),
            std::string::npos);
}

TEST(ModelFiles, SeveralModelsInOneFolderAreRefused) {
  const ModelFolder folder({"tiny-encoder.int8.onnx", "tiny-decoder.int8.onnx", "base-encoder.onnx",
                            "base-decoder.onnx", "tiny-tokens.txt"});
  EXPECT_NE(folder.error(Family::kWhisper)
                .find("holds files of several models (base-encoder.onnx, tiny-encoder.int8.onnx)"),
            std::string::npos);
}

TEST(ModelFiles, BrokenDownloadsAreNamed) {
  const ModelFolder folder({"model.onnx"});
  folder.dir().write("tokens.txt", "");
  EXPECT_NE(folder.error(Family::kSenseVoice).find("tokens.txt is empty"), std::string::npos);
  folder.dir().write("tokens.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  EXPECT_NE(folder.error(Family::kSenseVoice).find("is a Git LFS pointer"), std::string::npos);
}

TEST(ModelFiles, AFolderThatCannotBeReadIsAnError) {
  const auto missing = find_model_files({"dictation", Family::kWhisper, "/nonexistent/whisper", {"en"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "the model's folder /nonexistent/whisper cannot be read: No such file or directory");
  const ModelFolder folder({"tokens.txt"});
  for (std::size_t i = 0; i < kModelFolderEntriesMax; ++i) {
    folder.dir().write("f" + std::to_string(i), "x");
  }
  EXPECT_NE(folder.error(Family::kWhisper).find("has more than 1000 entries"), std::string::npos);
}

TEST(ModelFiles, SymbolicLinksAreResolved) {
  const ModelFolder blobs({"0123"});
  const ModelFolder folder({"tokens.txt"});
  std::filesystem::create_symlink(blobs.dir().path() / "0123", folder.dir().path() / "model.onnx");
  const auto files = folder.find(Family::kSenseVoice);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->path(Role::kModel), std::filesystem::canonical(blobs.dir().path() / "0123").string());
}

}  // namespace
}  // namespace millrace::engines
