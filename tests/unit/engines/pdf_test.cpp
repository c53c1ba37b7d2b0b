#include "ai/engines/host/documents/pdf.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/pdf_maker.h"
#include "tests/unit/engines/real_documents.h"

namespace millrace::engines::host {
namespace {

using base::Code;
using millrace::support::PdfMaker;
using std::chrono::milliseconds;

base::Fd file_of(const std::string& pdf) {
  base::Fd file(::memfd_create("document", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), pdf.data(), pdf.size()), static_cast<ssize_t>(pdf.size()));
  return file;
}

class PdfTest : public ::testing::Test {
 protected:
  // The text layer of each page. `status_` is the status of the whole call.
  std::map<int, base::Result<PageText>> text_of(const std::string& pdf, int pages) {
    const base::Fd file = file_of(pdf);
    const Tools tools(spawner_, limits_);
    std::map<int, base::Result<PageText>> found;
    status_ = Pdf(tools, limits_, file.get())
                  .text(
                      {0, pages - 1}, [](int) {},
                      [&](int page, base::Result<PageText> text) {
                        EXPECT_TRUE(found.emplace(page, std::move(text)).second)
                            << "a page was reported twice";
                      });
    return found;
  }

  process::Spawner spawner_;
  EngineLimits limits_ = engines::testing::patient_limits();
  base::Status status_;
};

// How long a machine takes for the other pages is not known, so the limit grows until they are read.
TEST_F(PdfTest, APageWhoseTextIsLateFailsAloneAndTheOthersAreRead) {
  limits_.poppler_cpu = std::chrono::minutes(10);  // large, so the wall-clock limit ends the child
  const std::string pdf = PdfMaker()
                              .text_page({"before it"})
                              .bomb_page(9)
                              .text_page({"after it"})
                              .text_page({"the last"})
                              .bytes();
  std::map<int, base::Result<PageText>> found;
  const auto others_are_read = [&] { return found.at(0) && found.at(2) && found.at(3); };
  for (limits_.page_wall = milliseconds(400); limits_.page_wall < milliseconds(60'000);
       limits_.page_wall *= 2) {
    found = text_of(pdf, 4);
    ASSERT_TRUE(status_) << status_.error().message;
    ASSERT_EQ(found.size(), 4U);
    for (const auto& [page, text] : found) {
      if (text) continue;
      EXPECT_EQ(text.error().code, Code::kPageTimeout) << page;
      EXPECT_NE(text.error().message.find("ocr.page_timeout"), std::string::npos) << page;
    }
    if (others_are_read()) break;
  }
  EXPECT_FALSE(found.at(1));
  for (const int page : {0, 2, 3}) {
    ASSERT_TRUE(found.at(page)) << page << ": " << found.at(page).error().message;
    EXPECT_EQ(found.at(page)->words.size(), 2U);
  }
}

TEST_F(PdfTest, APageIsReadWholeWhenItsCropBoxLiesOutsideOfIt) {
  std::string pdf = PdfMaker().text_page({"the first"}).text_page({"beyond it"}).text_page({"last"}).bytes();
  const std::string box = "/MediaBox [0 0 595.000000 842.000000] /Rotate 0";
  const std::string cropped = "/MediaBox[0 0 595 842]/CropBox[700 900 800 990]";
  ASSERT_EQ(box.size(), cropped.size()) << "the table of objects stays right";
  pdf.replace(pdf.find(box, pdf.find(box) + 1), box.size(), cropped);
  const base::Fd file = file_of(pdf);
  const Tools tools(spawner_, limits_);
  Pdf document(tools, limits_, file.get());
  const auto count = document.look_at({0, 9});
  ASSERT_TRUE(count) << count.error().message;
  ASSERT_EQ(*count, 3);
  std::map<int, std::size_t> words, widths;
  ASSERT_TRUE(document.text(
      {0, 2}, [](int) {},
      [&](int page, base::Result<PageText> text) { words[page] = text ? text->words.size() : 0; }));
  document.raster(
      {0, 2}, {.dpi = 72}, [](int) {},
      [&](int page, base::Result<Picture> picture) {
        widths[page] = picture ? static_cast<std::size_t>(width(*picture)) : 0;
      });
  EXPECT_EQ(words, (std::map<int, std::size_t>{{0, 2}, {1, 2}, {2, 1}}));
  EXPECT_EQ(widths, (std::map<int, std::size_t>{{0, 595}, {1, 595}, {2, 595}}));
}

TEST_F(PdfTest, ATextLayerThatUsesUpItsComputingTimeIsABomb) {
  limits_.poppler_cpu = milliseconds(500);
  text_of(PdfMaker().bomb_page(9).bytes(), 1);
  ASSERT_FALSE(status_);
  EXPECT_EQ(status_.error().code, Code::kDocumentBomb);
}

TEST_F(PdfTest, PicturesThatCannotBeListedInTimeAreNotTakenForNone) {
  limits_.page_wall = milliseconds(200);
  const base::Fd file = file_of(PdfMaker().bomb_page(9).bytes());
  const Tools tools(spawner_, limits_);
  EXPECT_FALSE(Pdf(tools, limits_, file.get()).pictures({0, 0}));
  const base::Fd good = file_of(PdfMaker().text_page({"no picture"}).bytes());
  limits_.page_wall = milliseconds(60'000);
  const auto none = Pdf(tools, limits_, good.get()).pictures({0, 0});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

// Runs `use` in a separate process, which has no thread of another spawner.
template <class Use>
void use_tools(const Use& use) {
  process::Spawner spawner;
  const EngineLimits limits;
  const base::Fd file = file_of("of no account");
  use(Tools(spawner, limits), file.get());
  ::_exit(0);
}

TEST(ToolDeathTest, AProgramThatIsKilledFromOutsideEndsTheEngineAndSaysNothingOfTheDocument) {
  const std::vector<std::string> killed{"-c", "kill -KILL $$"};
  EXPECT_EXIT(
      use_tools([&](const Tools& tools, int fd) { static_cast<void>(tools.capture("sh", killed, fd)); }),
      ::testing::ExitedWithCode(1), "was killed");
  EXPECT_EXIT(use_tools([&](const Tools& tools, int fd) {
                auto stream = tools.start("sh", killed, fd, milliseconds(1'000));
                std::string text;
                stream->read_some(text, std::chrono::steady_clock::now() + std::chrono::minutes(1));
                static_cast<void>(stream->hit_bounds());
              }),
              ::testing::ExitedWithCode(1), "was killed");
}

}  // namespace
}  // namespace millrace::engines::host
