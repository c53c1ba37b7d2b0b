#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ai/engines/speech/speech_engine_folder.h"
#include "platform/process/child.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/engines/transcription_fixture.h"

// Damaged engines and models: what the operator reads, and that the child survives.
namespace millrace::engines {
namespace {

namespace fs = std::filesystem;
using base::Code;
using testing::recording_of;
using testing::spoken;
using testing::TranscriptionRun;

constexpr const char* kEncoder = "moonshine-en/encoder_model.ort";
constexpr const char* kDecoder = "moonshine-en/decoder_model_merged.ort";
constexpr const char* kTokens = "moonshine-en/tokens.txt";
constexpr const char* kLibrary = "lib/libsherpa-onnx-c-api.so";

// A copy of the speech engine's folder, whose files are links until they are changed.
class EngineCopy {
 public:
  explicit EngineCopy(const fs::path& whole) : whole_(whole) {
    for (const char* folder : {"lib", "moonshine-en"}) fs::create_directory(path() / folder);
    for (const char* file : {"version", "lib/libonnxruntime.so", kLibrary, kEncoder, kDecoder, kTokens})
      fs::create_symlink(whole / file, path() / file);
  }
  fs::path path() const { return dir_.path(); }
  std::string model_folder() const { return (path() / "moonshine-en").string(); }

  void remove(const char* file) const { fs::remove_all(path() / file); }
  void link(const char* file, const char* other) const {
    remove(file);
    fs::create_symlink(whole_ / other, path() / file);
  }
  void write(const char* file, const std::string& content) const {
    remove(file);
    std::ofstream(path() / file, std::ios::binary) << content;
  }
  std::string content(const char* file) const {
    std::ifstream in(path() / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void cut(const char* file, std::size_t bytes) const { write(file, content(file).substr(0, bytes)); }

 private:
  const fs::path whole_;
  const support::TempDir dir_;
};

class SpeechModelFaults : public testing::TranscriberTest {
 protected:
  void SetUp() override {
    const fs::path whole =
        find_speech_engine(fs::path(testing::engine_options().engine_path).parent_path().string());
    if (whole.empty()) GTEST_SKIP() << "the speech engine is not installed";
    copy_.emplace(whole);
  }
  std::string folder() const { return copy_->path().string(); }

  // Why the default model in the copy cannot be used; empty: it can.
  std::string refusal() const {
    const auto model = loadable_model(folder(), moonshine_model(folder()));
    return model ? std::string() : model.error().message;
  }
  // The same files as a model of the operator, whose content is not known.
  void use_as_model_of_the_operator() {
    const auto model =
        loadable_model(folder(), {"dictation", SpeechModelFamily::kMoonshine, copy_->model_folder(), {"en"}});
    ASSERT_TRUE(model) << model.error().message;
    how_ = {*model, {.language = "en"}};
  }
  // How the transcription of a second of speech fails; empty: it does not.
  base::Error failure() {
    if (wav_.empty()) wav_ = spoken(spawner_, "Nobody had lived in the house.");
    TranscriptionRun run;
    EXPECT_TRUE(
        transcriber_->transcribe(*recording_of(wav_), how_, {{0, 0, 1'500}}, run.on_piece(), run.on_end()));
    const EngineResult end = run.wait_end();
    EXPECT_NE(end.kind, EngineResult::Kind::kCrashed);
    if (end.error) return *end.error;
    return run.pieces.at(0).error.value_or(base::error(Code::kJobCancelled, ""));
  }
  void expect_that_the_child_works() {
    how_ = {};
    EXPECT_EQ(failure().message, "") << "PocketSphinx answers";
    EXPECT_EQ(pool_->counts().children_crashed, 0U);
    EXPECT_EQ(pool_->counts().children_started, 1U);
  }
  void compile_library(const std::string& source) {
    const support::TempDir dir;
    const auto text = dir.write("library.c", source);
    copy_->remove(kLibrary);
    const process::Command command{
        .argv = {"/usr/bin/cc", "-shared", "-o", (copy_->path() / kLibrary).string(), text.string()},
        .environment = {"PATH=/usr/bin"},
        .fds = {}};
    ASSERT_TRUE(process::capture(spawner_, command, {.wall = std::chrono::minutes(1)}));
  }

  std::optional<EngineCopy> copy_;
  std::string wav_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(SpeechModelFaults, ADefaultModelThatIsNotTheFetchedOneIsRefusedWithItsFileAndTheWayOut) {
  EXPECT_EQ(refusal(), "");
  copy_->cut(kEncoder, 1'000'000);
  EXPECT_TRUE(has(refusal(), "encoder_model.ort has 1000000 bytes instead of 20661976; run scripts/setup"))
      << refusal();
  copy_->write(kEncoder, "");
  EXPECT_TRUE(has(refusal(), "encoder_model.ort is empty")) << refusal();
  copy_->remove(kEncoder);
  EXPECT_TRUE(has(refusal(), "has no encoder")) << refusal();
  fs::create_directory(copy_->path() / kEncoder);
  EXPECT_TRUE(has(refusal(), "has no encoder")) << refusal();
  copy_->link(kEncoder, kDecoder);
  EXPECT_TRUE(has(refusal(), "has 42703232 bytes instead of 20661976")) << refusal();
}

TEST_F(SpeechModelFaults, AnEngineThatIsNotTheExpectedOneIsRefused) {
  copy_->write("version", "sherpa-onnx-core 1.9.0, moonshine-cpp 0.1.4\n");
  EXPECT_TRUE(has(refusal(), "has version 1.9.0, this program needs 2.0.1")) << refusal();
  copy_->remove("version");
  EXPECT_TRUE(has(refusal(), "has version unknown")) << refusal();
  const auto none = loadable_model("/nonexistent/speech", moonshine_model("/nonexistent/speech"));
  ASSERT_FALSE(none);
  EXPECT_TRUE(has(none.error().message, "/nonexistent/speech, does not exist: correct stt.engine"))
      << none.error().message;
}

TEST_F(SpeechModelFaults, AFileThatChangesWhileTheGatewayRunsIsNotLoaded) {
  copy_->write(kTokens, copy_->content(kTokens));
  const auto model = loadable_model(folder(), moonshine_model(folder()));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_TRUE((*model)->copies());
  EXPECT_TRUE((*model)->check_contents());
  std::string other = copy_->content(kTokens);
  ++other[1'000];
  copy_->write(kTokens, other);
  for (const base::Error& error : {(*model)->copies().error(), (*model)->check_contents().error()}) {
    EXPECT_EQ(error.code, Code::kInternal);
    EXPECT_TRUE(has(error.message, "tokens.txt is damaged: its SHA-256")) << error.message;
  }
  copy_->remove(kTokens);
  EXPECT_TRUE(has((*model)->copies().error().message, "tokens.txt is missing"));
}

TEST_F(SpeechModelFaults, WhatTheGatewayCannotReadUsesUpNoChild) {
  copy_->write(kTokens, copy_->content(kTokens));
  make();
  how_ = {*loadable_model(folder(), moonshine_model(folder())), {.language = "en"}};
  copy_->cut(kTokens, 1'000);
  const base::Error error = failure();
  EXPECT_EQ(error.code, Code::kInternal);
  EXPECT_TRUE(has(error.message, "tokens.txt has 1000 bytes instead of 532090")) << error.message;
  expect_that_the_child_works();
}

TEST_F(SpeechModelFaults, AModelForWhichTheLibraryExitsOrCrashesLeavesTheChildAlive) {
  make();
  std::string tokens = copy_->content(kTokens);
  tokens.replace(0, 4, "@@@@");  // the library exits for what is not base64
  copy_->write(kTokens, tokens);
  use_as_model_of_the_operator();
  base::Error error = failure();
  EXPECT_EQ(error.code, Code::kInternal);
  EXPECT_TRUE(has(error.message, "the speech model cannot be loaded")) << error.message;
  EXPECT_TRUE(has(error.details, "Unknown character")) << error.details;
  EXPECT_TRUE(has(explained(error, how_), "its files are in " + copy_->model_folder()));

  copy_->link(kTokens, kTokens);
  copy_->cut(kEncoder, 1'000'000);
  use_as_model_of_the_operator();
  error = failure();
  EXPECT_TRUE(has(error.message, "the speech model cannot be loaded")) << error.message;
  EXPECT_TRUE(has(error.details, "verification failed")) << error.details;

  copy_->link(kEncoder, kEncoder);
  copy_->link(kDecoder, kEncoder);  // here it crashes
  use_as_model_of_the_operator();
  EXPECT_EQ(failure().code, Code::kPieceFailed);

  copy_->link(kEncoder, kDecoder);  // and here it catches an exception and returns an empty text
  copy_->link(kDecoder, kDecoder);
  use_as_model_of_the_operator();
  error = failure();
  EXPECT_EQ(error.code, Code::kPieceFailed);
  EXPECT_TRUE(has(error.details, "Unexpected input data type")) << error.message << ": " << error.details;
  expect_that_the_child_works();
}

TEST_F(SpeechModelFaults, ALibraryOfAnotherVersionOrWithoutAFunctionIsNotUsed) {
  auto options = testing::engine_options();
  options.children = 1;
  const auto failure_with = [&](const std::string& source) {
    compile_library(source);
    make(options);
    use_as_model_of_the_operator();
    const base::Error error = failure();
    EXPECT_EQ(error.code, Code::kInternal);
    expect_that_the_child_works();
    return error;
  };
  const auto version = [](const std::string& number) {
    return "const char* SherpaOnnxGetVersionStr(void) { return \"" + number + "\"; }\n";
  };
  EXPECT_TRUE(has(failure_with(version("1.9.0")).message, "has version 1.9.0, this program needs 2.0.1"));
  EXPECT_TRUE(has(failure_with(version("2.0.1")).message, "no function SherpaOnnxCreateOfflineRecognizer"));
  EXPECT_TRUE(has(
      failure_with("#include <stdlib.h>\n__attribute__((constructor)) void end(void) { abort(); }").message,
      "its files are damaged"));
}

TEST_F(SpeechModelFaults, ALibraryThatIsCutOffIsNotUsed) {
  copy_->cut(kLibrary, 4'096);
  make();
  use_as_model_of_the_operator();
  const base::Error error = failure();
  EXPECT_TRUE(has(error.message, "the speech engine cannot be loaded: its files are damaged"))
      << error.message;
  EXPECT_FALSE(has(error.message, "/tmp")) << "a path of the jail helps nobody: " << error.message;
  expect_that_the_child_works();
}

TEST_F(SpeechModelFaults, AModelThatNeedsMoreMemoryThanItMayHaveFailsInsteadOfWritingNothing) {
  auto options = testing::engine_options();
  if (options.jail.limits.memory_bytes == 0) GTEST_SKIP() << "sanitizers need more memory than any limit";
  options.jail.limits.memory_bytes = std::uint64_t{256} << 20;
  make(options);
  how_ = {*loadable_model(folder(), moonshine_model(folder())), {.language = "en"}};
  const base::Error error = failure();
  EXPECT_EQ(error.code, Code::kOutOfMemory);
  EXPECT_TRUE(has(error.message, "(256 MiB): raise stt.memory")) << error.message;
  expect_that_the_child_works();
}

// The copy of the engine process that recognises a piece; -1: there is none now.
pid_t recognising_copy() {
  const pid_t engine = testing::engine_child_of_this_process();
  if (engine < 0) return -1;
  std::ifstream children("/proc/" + std::to_string(engine) + "/task/" + std::to_string(engine) + "/children");
  for (pid_t child = 0; children >> child;) {
    std::string name;
    std::ifstream("/proc/" + std::to_string(child) + "/comm") >> name;
    if (name == "millrace-engine") return child;
  }
  return -1;
}

TEST_F(SpeechModelFaults, AMachineShortOfMemoryIsNotTheRecordingsFault) {
  auto options = testing::engine_options();
  options.in_background = false;
  make(options);
  how_ = {*loadable_model(folder(), moonshine_model(folder())), {.language = "en"}};
  ASSERT_EQ(failure().message, "") << "from now on the child has the library, and no copy tries it";
  const std::string noise = testing::generated(spawner_, "anoisesrc=r=16000:d=20", "wav");
  // If the test is late, it meets the child at a later piece.
  std::vector<schemas::AudioPiece> pieces;
  for (int i = 0; i < 8; ++i) pieces.push_back({i, 0, 20'000});
  TranscriptionRun run;
  ASSERT_TRUE(transcriber_->transcribe(*recording_of(noise), how_, pieces, run.on_piece(), run.on_end()));
  pid_t copy = -1;
  const auto until = std::chrono::steady_clock::now() + testing::kCallTimeLimit;
  while (copy < 0 && std::chrono::steady_clock::now() < until) {
    copy = recognising_copy();
    std::this_thread::yield();
  }
  ASSERT_GT(copy, 0);
  ASSERT_EQ(::kill(copy, SIGKILL), 0);  // as the kernel does
  const EngineResult end = run.wait_end();
  ASSERT_EQ(end.kind, EngineResult::Kind::kFailed);
  EXPECT_EQ(end.error->code, Code::kOverloaded) << "the job waits, and uses up no attempt";
  EXPECT_TRUE(has(end.error->message, "short of memory")) << end.error->message;
  EXPECT_LT(run.pieces.size(), pieces.size());
  for (const auto& [index, piece] : run.pieces) EXPECT_FALSE(piece.error) << index;
  expect_that_the_child_works();
}

TEST(ModelContent, ANetworkMustHaveItsFormatAndItsEnd) {
  const support::TempDir dir;
  const auto refusal = [&dir](const char* name, const std::string& content) {
    const base::Status good = check_model_file("model", dir.write(name, content).string());
    return good ? std::string() : good.error().message;
  };
  const std::string graph = "\x3a\x06graph.";
  EXPECT_EQ(refusal("model.onnx", "\x08\x08" + graph), "");
  EXPECT_EQ(refusal("model.onnx", "\x08\x08\x12\x07pytorch" + graph + "\x28\x01"), "");
  EXPECT_TRUE(has(refusal("model.onnx", "\x08\x08\x3a\x06gra"), "is cut off: it has 7 of at least 10 bytes"));
  EXPECT_TRUE(has(refusal("model.onnx", "\x08\x08\x12\x07pytorch"), "it has no graph"));
  EXPECT_TRUE(has(refusal("model.onnx", "<!DOCTYPE html>"), "is not a model in ONNX format"));
  EXPECT_TRUE(has(refusal("model.onnx", std::string(12, '\xff')), "is not a model in ONNX format"));
  EXPECT_EQ(refusal("model.ort", std::string("\x18\0\0\0ORTM....", 12)), "");
  EXPECT_TRUE(has(refusal("model.ort", "\x08\x08" + graph), "is not a model in ORT format"));
}

TEST(ModelContent, TokensAreNumberedWithoutAGap) {
  const support::TempDir dir;
  const auto refusal = [&dir](const std::string& content) {
    const base::Status good = check_model_file("tokens", dir.write("tokens.txt", content).string());
    return good ? std::string() : good.error().message;
  };
  EXPECT_EQ(refusal("<blk> 0\n\xe2\x96\x81the 1\r\nYQ==\t2\n"), "");
  EXPECT_EQ(refusal("a 0\n 1\n= 2\n"), "") << "a space, and a token without bytes";
  EXPECT_TRUE(has(refusal("a 0\nc 2\n"), "no line has the number 1, but one has 2"));
  EXPECT_TRUE(has(refusal("a 0\nb\n"), "line 2 is not a token and its number"));
  EXPECT_TRUE(has(refusal("a 0\nb c 1\n"), "line 2"));
  EXPECT_TRUE(has(refusal("a 0\nb -1\n"), "line 2"));
  EXPECT_TRUE(has(refusal("a 99999999999\n"), "line 1"));
  EXPECT_TRUE(has(refusal(""), "is empty"));
}

}  // namespace
}  // namespace millrace::engines
