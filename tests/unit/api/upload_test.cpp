#include "api/admission/upload.h"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

#include "schemas/media/transcription.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/api/audio.h"

namespace millrace::api::test {
namespace {

using Flow = front::BodySink::Flow;

constexpr std::size_t kMegabyte = 1u << 20;

// An upload without a server. The test acts as the front end.
class Uploads : public ::testing::Test {
 protected:
  // Passes bytes as the front end does, until the upload pauses or needs no more. Returns the number of bytes
  // passed.
  std::size_t give(std::string_view bytes) {
    std::size_t given = 0;
    request = Flow::kMore;
    while (request == Flow::kMore && given < bytes.size()) {
      const std::string_view piece = bytes.substr(given, 4096);
      request = upload->take(piece);
      given += piece.size();
    }
    return given;
  }
  void wait_for_space() {
    const auto capacity = std::make_shared<std::promise<void>>();
    upload->on_capacity([capacity] { capacity->set_value(); });
    capacity->get_future().wait();
  }
  tl::expected<Form, schemas::Refusal> end() {
    std::promise<tl::expected<Form, schemas::Refusal>> ended;
    upload->finish([&ended](auto form) { ended.set_value(std::move(form)); });
    return ended.get_future().get();
  }

  support::TempDir folder;
  std::unique_ptr<storage::Blobs> blobs = std::move(*storage::open_file_blobs(folder.str(), 0));
  base::Pool pool{{.threads = 1}};
  std::shared_ptr<Upload> upload =
      std::make_shared<Upload>(pool, *blobs, kRecordingRules, "form-boundary", 0);
  Flow request = Flow::kMore;
};

TEST_F(Uploads, PauseWhileNothingIsProcessed) {
  const std::string form = good_form(8 * kMegabyte).text();
  EXPECT_LE(give(form), kMegabyte);
  EXPECT_EQ(request, Flow::kPause);
  std::atomic<bool> told{false};
  upload->on_capacity([&told] { told = true; });
  EXPECT_FALSE(told);
  upload->cancel();
  EXPECT_TRUE(told);
  EXPECT_EQ(upload->take("x"), Flow::kDiscardRest);
}

TEST_F(Uploads, ResumeAsDataIsWrittenAndLoseNothing) {
  const std::string form = good_form(8 * kMegabyte).text();
  std::size_t given = give(form);
  ASSERT_EQ(request, Flow::kPause);
  upload->start();
  while (given < form.size()) {
    wait_for_space();
    given += give(std::string_view(form).substr(given));
  }
  const auto whole = end();
  ASSERT_TRUE(whole);
  EXPECT_EQ(*blobs->read(whole->file->ref()), wav_of(8 * kMegabyte));
}

TEST_F(Uploads, ThatAreRefusedDoNotPause) {
  upload->start();
  const std::string form = FormText().file(std::string(8 * kMegabyte, 'x')).text();
  std::size_t given = give(form);
  while (request != Flow::kDiscardRest && given < form.size()) {
    wait_for_space();
    given += give(std::string_view(form).substr(given));
  }
  EXPECT_EQ(request, Flow::kDiscardRest);
  EXPECT_EQ(end().error().error.code, base::Code::kAudioUnsupported);
}

}  // namespace
}  // namespace millrace::api::test
