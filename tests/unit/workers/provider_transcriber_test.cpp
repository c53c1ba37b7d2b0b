#include "workers/speech/provider_transcriber.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/answer.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"

namespace millrace::workers {
namespace {

namespace remote = inference::testing;
using support::Answer;
using RecordingPtr = std::shared_ptr<const engines::Recording>;

// A recording that calls `gone` when its last reference is released.
RecordingPtr watched_recording(std::function<void(base::Result<bool>)> gone) {
  base::Fd fd(::memfd_create("recording", MFD_CLOEXEC));
  constexpr std::string_view kBytes("RIFF\x24\0\0\0WAVEfmt ", 16);
  EXPECT_EQ(static_cast<ssize_t>(kBytes.size()), ::write(fd.get(), kBytes.data(), kBytes.size()));
  RecordingPtr made = engines::Recording::from(std::move(fd), "acme").value();
  const engines::Recording* raw = made.get();
  return {raw, [made, gone = std::move(gone)](const engines::Recording*) mutable {
            made.reset();
            gone(true);
          }};
}

// One call of a model. Its upstream sends `reply`; if that is empty, the upstream waits until the caller
// disconnects.
class ProviderTranscriberFixture {
 public:
  explicit ProviderTranscriberFixture(const std::string& reply)
      : upstream({reply}),
        dependencies(remote::only_model("team/whisper", "openai", upstream.base_url())),
        pool({}) {}

  ProviderTranscriber::Cancel transcribe(const std::string& model = "team/whisper") {
    schemas::TranscriptionSpec spec;
    spec.model = model;
    return ProviderTranscriber({dependencies.chat, dependencies.loop}, pool)
        .transcribe(spec, "default", watched_recording(recording_gone.take()), 60, {}, heard.take());
  }
  bool recording_is_let_go() { return recording_gone.wait().has_value(); }

  Answer<schemas::Transcript> heard;
  Answer<bool> recording_gone;
  remote::ScriptedUpstream upstream;
  remote::ChatFixture dependencies;
  base::Pool pool;
};

TEST(ProviderTranscriber, ATranscribedRecordingIsFreed) {
  ProviderTranscriberFixture call(remote::http(200, R"({"text":"from afar"})"));
  const ProviderTranscriber::Cancel cancel = call.transcribe();
  const auto heard = call.heard.wait();
  ASSERT_TRUE(heard) << heard.error().message;
  EXPECT_EQ(heard->text, "from afar");
  EXPECT_TRUE(call.recording_is_let_go());
}

TEST(ProviderTranscriber, AModelThatIsNotThereIsNotFound) {
  ProviderTranscriberFixture call("");
  call.transcribe("team/gone");
  const auto heard = call.heard.wait();
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, base::Code::kModelNotFound);
  EXPECT_TRUE(call.recording_is_let_go());
}

TEST(ProviderTranscriber, ARefusedRecordingIsFreed) {
  ProviderTranscriberFixture call(remote::http(400, R"({"error":{"message":"no such thing"}})"));
  const ProviderTranscriber::Cancel cancel = call.transcribe();
  const auto heard = call.heard.wait();
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, base::Code::kBadRequest);
  EXPECT_TRUE(call.recording_is_let_go());
}

TEST(ProviderTranscriber, ARecordingWhoseCallIsCancelledIsFreed) {
  ProviderTranscriberFixture call("");
  const ProviderTranscriber::Cancel cancel = call.transcribe();
  ASSERT_TRUE(call.upstream.wait_for_requests(1));
  cancel();
  const auto heard = call.heard.wait();
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, base::Code::kJobCancelled);
  EXPECT_TRUE(call.recording_is_let_go());
}

}  // namespace
}  // namespace millrace::workers
