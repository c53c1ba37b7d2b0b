#include "ai/engines/ocr/ocr_engine.h"
#include "tests/support/pdf_maker.h"
#include "tests/unit/engines/pool_fixture.h"

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

// The size of the first frame of a JPEG file; 0 by 0: not a JPEG file.
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

class PagePictureTest : public testing::PoolTest {
 protected:
  void SetUp() override { make_pool(); }

  Drawn draw(const std::string& bytes, int page) {
    auto document = testing::document_of(bytes);
    if (!document) return document.error();
    testing::InfoProbe<std::string> drawn;
    const auto ticket = OcrEngine(*pool_).draw(*document, page, kSide, drawn.on_info());
    if (!ticket) return ticket.error();
    EXPECT_TRUE(drawn.wait([&] { return drawn.info.has_value(); }));
    return drawn.info ? *std::move(drawn.info) : Drawn(base::error(Code::kInternal, "no answer"));
  }
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
