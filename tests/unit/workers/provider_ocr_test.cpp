#include "workers/ocr/provider_ocr.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/answer.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"

namespace millrace::workers {
namespace {

namespace remote = inference::testing;
using engines::EngineResult;
using support::Answer;
using DocumentPtr = std::shared_ptr<const engines::Document>;

constexpr const char* kOnePage =
    R"({"pages":[{"index":0,"markdown":"from afar","images":[],"dimensions":null}],"model":"m"})";

// A document that calls `gone` when its last reference is released.
DocumentPtr watched_document(std::function<void(base::Result<bool>)> gone) {
  base::Fd fd(::memfd_create("document", MFD_CLOEXEC));
  constexpr std::string_view kBytes = "%PDF-1.4 a small one";
  EXPECT_EQ(static_cast<ssize_t>(kBytes.size()), ::write(fd.get(), kBytes.data(), kBytes.size()));
  DocumentPtr made = engines::Document::from(std::move(fd), "acme").value();
  const engines::Document* raw = made.get();
  return {raw, [made, gone = std::move(gone)](const engines::Document*) mutable {
            made.reset();
            gone(true);
          }};
}

// One call of a model. Its upstream sends `reply`; if that is empty, the upstream waits until the caller
// disconnects.
class ProviderOcrFixture {
 public:
  explicit ProviderOcrFixture(const std::string& reply, base::Pool::Options options = {})
      : upstream({reply}),
        dependencies(
            remote::only_model("team/reader", "mistral", upstream.base_url(), {inference::Ability::kOcr})),
        pool(options) {}

  ProviderOcr::Cancel recognise(std::vector<int> pages = {0}, const std::string& model = "team/reader") {
    return ProviderOcr({dependencies.chat, dependencies.loop}, pool)
        .recognise(
            {.tenant = "default",
             .model = model,
             .allowed_models = std::nullopt,
             .document = watched_document(document_gone.take()),
             .pages = std::move(pages),
             .image_data = false,
             .billing = {.on_charged =
                             [this](const schemas::Charge& used) { charged.push_back(used.cost); }}},
            [this](schemas::OcrPage page) {
              read_pages.push_back(std::move(page));
              reported_pages = std::this_thread::get_id();
            },
            [end = ended.take()](EngineResult how) { end(std::move(how)); });
  }
  EngineResult end() {
    auto how = ended.wait();
    EXPECT_TRUE(how.has_value());
    return how ? std::move(*how) : EngineResult{EngineResult::Kind::kCrashed, -1, std::nullopt};
  }
  std::thread::id loop_thread() {
    std::thread::id id;
    dependencies.on_loop([&id] { id = std::this_thread::get_id(); });
    return id;
  }
  bool document_is_let_go() { return document_gone.wait().has_value(); }

  std::vector<schemas::OcrPage> read_pages;  // only read after the end
  std::thread::id reported_pages;
  std::vector<schemas::NanoUsd> charged;  // only read after the end
  Answer<EngineResult> ended;
  Answer<bool> document_gone;
  remote::ScriptedUpstream upstream;
  remote::ChatFixture dependencies;
  base::Pool pool;
};

TEST(ProviderOcr, ADocumentThatWasReadIsFreed) {
  ProviderOcrFixture far_call(remote::http(200, kOnePage));
  const ProviderOcr::Cancel cancel = far_call.recognise();
  EXPECT_EQ(far_call.end().kind, EngineResult::Kind::kDone);
  ASSERT_EQ(far_call.read_pages.size(), 1u);
  EXPECT_EQ(far_call.read_pages[0].markdown, "from afar");
  EXPECT_TRUE(far_call.document_is_let_go());
}

TEST(ProviderOcr, EachEndReportsItsChargesOnce) {
  for (const int status : {200, 400}) {
    ProviderOcrFixture far_call(remote::http(status, kOnePage));
    const ProviderOcr::Cancel cancel = far_call.recognise();
    far_call.end();
    EXPECT_EQ(far_call.charged, std::vector<schemas::NanoUsd>{0}) << status;
  }
}

TEST(ProviderOcr, APageThatDidNotComeIsAFailedOne) {
  ProviderOcrFixture far_call(remote::http(200, kOnePage));
  far_call.recognise({0, 1});
  EXPECT_EQ(far_call.end().kind, EngineResult::Kind::kDone);
  ASSERT_EQ(far_call.read_pages.size(), 2u);
  EXPECT_EQ(far_call.read_pages[1].index, 1);
  ASSERT_TRUE(far_call.read_pages[1].error.has_value());
  EXPECT_EQ(far_call.read_pages[1].error->code, base::Code::kPageFailed);
}

TEST(ProviderOcr, MembersOfTheDocumentComeWithTheFirstRequestedPage) {
  const std::string reply = R"({"pages":[{"index":7,"markdown":"other"},{"index":1,"markdown":"b"},)"
                            R"({"index":0,"markdown":"a"}],"document_annotation":"{}"})";
  ProviderOcrFixture far_call(remote::http(200, reply));
  far_call.recognise({0, 1});
  far_call.end();
  ASSERT_EQ(far_call.read_pages.size(), 2u);
  EXPECT_EQ(far_call.read_pages[0].document, (schemas::OcrMembers{{"document_annotation", R"("{}")"}}));
  EXPECT_TRUE(far_call.read_pages[1].document.empty());
}

TEST(ProviderOcr, AModelThatIsNotThereIsNotFound) {
  ProviderOcrFixture far_call("");
  far_call.recognise({0}, "team/gone");
  const EngineResult how = far_call.end();
  ASSERT_TRUE(how.error.has_value());
  EXPECT_EQ(how.error->code, base::Code::kModelNotFound);
  EXPECT_TRUE(far_call.document_is_let_go());
}

// The pool's lane is full. The page must not be written on the loop that serves streams.
TEST(ProviderOcr, NoneComesOnTheLoopOfTheChats) {
  ProviderOcrFixture far_call(remote::http(200, kOnePage), {.threads = 2, .queue_max = 0});
  far_call.recognise();
  EXPECT_EQ(far_call.end().kind, EngineResult::Kind::kDone);
  ASSERT_EQ(far_call.read_pages.size(), 1u);
  EXPECT_NE(far_call.reported_pages, far_call.loop_thread());
}

TEST(ProviderOcr, ARefusedDocumentIsFreed) {
  ProviderOcrFixture far_call(remote::http(400, R"({"message":"no such thing"})"));
  const ProviderOcr::Cancel cancel = far_call.recognise();
  const EngineResult how = far_call.end();
  EXPECT_EQ(how.kind, EngineResult::Kind::kFailed);
  ASSERT_TRUE(how.error.has_value());
  EXPECT_EQ(how.error->code, base::Code::kBadRequest);
  EXPECT_TRUE(far_call.document_is_let_go());
}

TEST(ProviderOcr, ADocumentWhoseCallIsCancelledIsFreed) {
  ProviderOcrFixture far_call("");
  const ProviderOcr::Cancel cancel = far_call.recognise();
  ASSERT_TRUE(far_call.upstream.wait_for_requests(1));
  cancel();
  EXPECT_EQ(far_call.end().kind, EngineResult::Kind::kCancelled);
  EXPECT_TRUE(far_call.document_is_let_go());
}

}  // namespace
}  // namespace millrace::workers
