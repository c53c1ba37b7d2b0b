#include <future>
#include <mutex>
#include <vector>

#include <unistd.h>

#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using base::Code;

const std::string kJpeg = "\xFF\xD8\xFF picture";

// Renders each page as its number and the document's bytes.
PagePictures numbered() {
  PagePictures out;
  out.draw = [](const std::string& /*tenant*/, const storage::OpenFile& file, int page,
                const PagePictures::Done& done) -> base::Result<PagePictures::Stop> {
    std::string bytes(64, '\0');
    bytes.resize(static_cast<std::size_t>(::pread(file.fd(), bytes.data(), bytes.size(), 0)));
    if (page > 1) {
      done(base::error(Code::kInvalidField, "page is not in the document", "pages"));
    } else {
      done(kJpeg + std::to_string(page) + bytes);
    }
    return PagePictures::Stop([] {});
  };
  return out;
}

class Pictures : public Served {
 protected:
  void begin(PagePictures with, Options options = {}) {
    pictures = std::move(with);
    start(std::move(options));
  }
  std::string submitted(const std::string& body) { return post("/v1/ocr", body, kAsync).json()["id"]; }
  Answer picture(const std::string& job, const std::string& page) {
    return get("/v1/jobs/" + job + "/pages/" + page + "/picture");
  }
};

TEST_F(Pictures, APageIsDrawnFromTheDocumentThatItsJobHasKept) {
  begin(numbered());
  const std::string job = submitted(ocr_body(pdf_of(12)));
  const Answer answer = picture(job, "1");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body, kJpeg + "1" + pdf_of(12));
  EXPECT_EQ(answer.header("content-type"), "image/jpeg");
  EXPECT_EQ(answer.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(answer.header("cache-control"), "private, no-store");
  EXPECT_EQ(answer.header("x-millrace-job"), job);
}

TEST_F(Pictures, ALargeDocumentIsReadFromItsFile) {
  begin(numbered());
  const std::string job = submitted(ocr_body(pdf_of(100'000)));
  EXPECT_EQ(picture(job, "0").body, kJpeg + "0" + pdf_of(100'000).substr(0, 64));
}

TEST_F(Pictures, NeitherAnothersJobNorAPageThatIsNotThereHasAPicture) {
  begin(numbered());
  const std::string job = submitted(ocr_body(pdf_of(12)));
  EXPECT_EQ(picture(job, "2").status, 404);
  EXPECT_EQ(picture(job, "-1").status, 404);
  EXPECT_EQ(picture(job, "1x").status, 404);
  EXPECT_EQ(picture("ocr-0192f0a1-7c1e-7000-8000-000000000001", "0").status, 404);
  owner = key(schemas::ScopeSet::of_a_new_key(), "other");
  EXPECT_EQ(picture(job, "0").status, 404);
}

TEST_F(Pictures, ADocumentThatIsNotFetchedYetSaysSo) {
  begin(numbered());
  const std::string job = submitted(R"({"document":{"document_url":"https://example.com/a.pdf"}})");
  const Answer answer = picture(job, "0");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.json()["error"]["code"], "result_expired");
}

TEST_F(Pictures, WithoutAnEngineTheAnswerSaysWhyThereIsNone) {
  begin({.draw = {}, .off = "pictures.children is 0"});
  const Answer answer = picture(submitted(ocr_body(pdf_of(12))), "0");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.json()["error"]["message"], "pictures.children is 0");
}

// Renders nothing until `draw_all`.
struct Slow {
  std::mutex mutex;
  std::vector<PagePictures::Done> waiting;
  std::size_t stopped = 0;

  PagePictures pictures() {
    PagePictures out;
    out.draw = [this](const std::string& /*tenant*/, const storage::OpenFile&, int,
                      PagePictures::Done done) -> base::Result<PagePictures::Stop> {
      const std::lock_guard lock(mutex);
      waiting.push_back(std::move(done));
      return PagePictures::Stop([this] {
        const std::lock_guard again(mutex);
        ++stopped;
      });
    };
    return out;
  }
  std::size_t count() {
    const std::lock_guard lock(mutex);
    return waiting.size();
  }
  std::size_t stops() {
    const std::lock_guard lock(mutex);
    return stopped;
  }
  void draw_all() {
    std::vector<PagePictures::Done> now;
    {
      const std::lock_guard lock(mutex);
      now.swap(waiting);
    }
    for (const PagePictures::Done& done : now) done(kJpeg);
  }
};

TEST_F(Pictures, ATenantThatWaitsForAsManyAsItMayLeavesTheOthersTheirPlaces) {
  Slow slow;
  begin(slow.pictures(), {.pictures_per_tenant = 2});
  const std::string job = submitted(ocr_body(pdf_of(12)));
  const std::string their_key = key(schemas::ScopeSet::of_a_new_key(), "other");
  const std::string theirs = send({.method = "POST",
                                   .path = "/v1/ocr",
                                   .key = their_key,
                                   .headers = kAsync,
                                   .body = ocr_body(pdf_of(12))})
                                 .json()["id"];
  auto first = std::async(std::launch::async, [&] { return picture(job, "0").status; });
  auto second = std::async(std::launch::async, [&] { return picture(job, "1").status; });
  EXPECT_TRUE(support::wait_until([&] { return slow.count() == 2; }));
  const Answer third = picture(job, "0");
  EXPECT_EQ(third.status, 429);
  EXPECT_NE(third.body.find("pictures.per_tenant"), std::string::npos) << third.body;
  EXPECT_EQ(third.header("retry-after-ms"), "2000");
  auto other = std::async(std::launch::async, [&] {
    return send({.path = "/v1/jobs/" + theirs + "/pages/0/picture", .key = their_key}).status;
  });
  EXPECT_TRUE(support::wait_until([&] { return slow.count() == 3; }));
  slow.draw_all();
  for (auto* each : {&first, &second, &other}) EXPECT_EQ(each->get(), 200);
  auto again = std::async(std::launch::async, [&] { return picture(job, "0").status; });
  EXPECT_TRUE(support::wait_until([&] { return slow.count() == 1; }));
  slow.draw_all();
  EXPECT_EQ(again.get(), 200) << "the slots are free again";
}

TEST_F(Pictures, AClientThatHasGoneHoldsNoPlace) {
  Slow slow;
  begin(slow.pictures(), {.pictures_per_tenant = 1});
  const std::string path = "/v1/jobs/" + submitted(ocr_body(pdf_of(12))) + "/pages/0/picture";
  {
    Connection leaving(server->port());
    leaving.send({.path = path, .key = owner});
    EXPECT_TRUE(support::wait_until([&] { return slow.count() == 1; }));
    EXPECT_EQ(get(path).status, 429);
  }
  EXPECT_TRUE(support::wait_until([&] { return slow.stops() == 1; }));
  auto next = std::async(std::launch::async, [&] {
    Answer answer;
    support::wait_until([&] { return (answer = get(path)).status != 429; });
    return answer.status;
  });
  EXPECT_TRUE(support::wait_until([&] { return slow.count() == 2; }))
      << "the first picture is still being rendered";
  slow.draw_all();
  EXPECT_EQ(next.get(), 200);
}

TEST_F(Pictures, ManyAtOnceGetRetryAfter) {
  PagePictures full;
  full.draw = [](const std::string& /*tenant*/, const storage::OpenFile&, int, const PagePictures::Done&) {
    base::Error error = base::error(Code::kOverloaded, "too many");
    error.retry_after = std::chrono::seconds(2);
    return base::Result<PagePictures::Stop>(error);
  };
  begin(std::move(full));
  const Answer answer = picture(submitted(ocr_body(pdf_of(12))), "0");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.header("retry-after-ms"), "2000");
}

}  // namespace
}  // namespace millrace::api::test
