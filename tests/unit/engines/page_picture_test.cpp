#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "ai/engines/ocr_engine.h"
#include "tests/support/pdf_maker.h"
#include "tests/unit/engines/real_documents.h"

namespace millrace::engines {
namespace {

using base::Code;
using millrace::support::PdfMaker;
using Drawn = base::Result<std::string>;

constexpr int kSide = 300;
const std::vector<std::string> kWords{"Delivery note 88", "Twelve sacks of flour"};

struct JpegSize {
  int width = 0, height = 0;
};

// Of the first frame of a JPEG file; 0 by 0: it is none.
JpegSize size_of_jpeg(const std::string& bytes) {
  const auto at = [&bytes](std::size_t i) {
    return static_cast<int>(static_cast<unsigned char>(bytes.at(i)));
  };
  for (std::size_t i = 2; i + 9 < bytes.size() && at(i) == 0xFF;) {
    const int marker = at(i + 1);
    if (marker == 0xC0 || marker == 0xC2)
      return {.width = at(i + 7) * 256 + at(i + 8), .height = at(i + 5) * 256 + at(i + 6)};
    i += 2 + static_cast<std::size_t>(at(i + 2) * 256 + at(i + 3));
  }
  return {};
}

class PagePictureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    EnginePool::Options options = testing::engine_options();
    const auto probe = process::Jail::probe(spawner_, options.jail);
    ASSERT_TRUE(probe.usable) << probe.reason;
    auto pool = EnginePool::make(spawner_, std::move(options), probe.confinement);
    ASSERT_TRUE(pool) << pool.error().message;
    pool_ = std::move(*pool);
  }

  Drawn draw(const std::string& bytes, int page) {
    auto document = testing::document_of(bytes);
    if (!document) return document.error();
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Drawn> drawn;
    const auto ticket = OcrEngine(*pool_).draw(*document, page, kSide, [&](Drawn result) {
      const std::lock_guard lock(mutex);
      drawn.emplace(std::move(result));
      changed.notify_all();
    });
    if (!ticket) return ticket.error();
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::minutes(2), [&] { return drawn.has_value(); }));
    return drawn ? *std::move(drawn) : Drawn(base::error(Code::kInternal, "no answer"));
  }

  process::Spawner spawner_;
  std::unique_ptr<EnginePool> pool_;
};

TEST_F(PagePictureTest, APageOfAPdfIsAJpegThatFitsIntoTheSide) {
  const std::string pdf = PdfMaker().text_page(kWords, 14).text_page(kWords, 20).bytes();
  const auto picture = draw(pdf, 1);
  ASSERT_TRUE(picture) << picture.error().message;
  const JpegSize size = size_of_jpeg(*picture);
  EXPECT_EQ(size.height, kSide);
  EXPECT_GT(size.width, kSide / 2);
  EXPECT_LT(size.width, kSide);
}

TEST_F(PagePictureTest, AnImageIsScaledDown) {
  const std::string pdf = PdfMaker().text_page(kWords, 14).bytes();
  const auto picture = draw(testing::picture_of(spawner_, pdf, 100, "png"), 0);
  ASSERT_TRUE(picture) << picture.error().message;
  EXPECT_EQ(size_of_jpeg(*picture).height, kSide);
}

TEST_F(PagePictureTest, APageThatIsNotThereIsAnInvalidField) {
  const std::string pdf = PdfMaker().text_page(kWords, 14).bytes();
  const auto picture = draw(pdf, 1);
  ASSERT_FALSE(picture);
  EXPECT_EQ(picture.error().code, Code::kInvalidField);
}

TEST_F(PagePictureTest, ADamagedDocumentHasNoPictureAndTheNextOneIsDrawnAllTheSame) {
  const auto broken = draw("%PDF-1.4\nnothing more", 0);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, Code::kDocumentDamaged);
  EXPECT_TRUE(draw(PdfMaker().text_page(kWords, 14).bytes(), 0));
}

}  // namespace
}  // namespace millrace::engines
