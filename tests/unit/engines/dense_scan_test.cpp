#include <chrono>
#include <ctime>

#include <gtest/gtest.h>
#include <leptonica/allheaders.h>
#include <tesseract/baseapi.h>
#include <tesseract/resultiterator.h>

#include "ai/engines/host/scan/recognised_words.h"
#include "ai/engines/host/scan/scan_reader.h"
#include "tests/support/pdf_maker.h"
#include "tests/unit/engines/real_documents.h"

namespace millrace::engines::host {
namespace {

using std::chrono::milliseconds;

// A page of `lines` lines of prose as a scan at 150 dpi.
Picture prose_of(process::Spawner& spawner, int lines) {
  std::string content;
  for (int line = 0; line < lines; ++line) {
    content +=
        "BT /F1 9 Tf 40 " + std::to_string(800 - 10 * line) +
        " Td (the party shall pay for water within thirty days of the contract, by law liable or not " +
        std::to_string(1000 + line) + ") Tj ET\n";
  }
  const auto raster =
      testing::raster_of(spawner, support::PdfMaker().page(std::move(content), 595, 842).bytes(), 150);
  return picture_of({1, raster.width, raster.height, 0}, raster.gray);
}

milliseconds cpu_now() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::duration_cast<milliseconds>(std::chrono::seconds(now.tv_sec) +
                                                  std::chrono::nanoseconds(now.tv_nsec));
}

TEST(DenseScan, AWrongGuessOfTheOrientationLeavesTimeForTheRightOne) {
  process::Spawner spawner;
  EngineLimits limits = testing::patient_limits();
  Recogniser recogniser(limits, "eng");
  ASSERT_TRUE(recogniser.ready());
  ScanReader reader(limits, recogniser);
  const Picture page = prose_of(spawner, 30);
  const milliseconds begin = cpu_now();
  ASSERT_TRUE(reader.read(page, prepare(page, 0)));
  const milliseconds once = cpu_now() - begin;
  limits.page_cpu = once * 17 / 10;  // not enough for two readings
  const auto reading = reader.read(page, prepare(page, 2));
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->quarter_turns, 0);
  EXPECT_GE(reading->recognised.confidence, kSureConfidence);
}

// In reading order each step walks from the beginning of the page: 9000 words took a minute.
TEST(DenseScan, WordsFromLeftToRightAreWalkedInPlainOrder) {
  process::Spawner spawner;
  const Picture page = prose_of(spawner, 3);
  tesseract::TessBaseAPI api;
  ASSERT_EQ(api.Init(nullptr, "eng", tesseract::OEM_LSTM_ONLY), 0);
  api.SetImage(page.get());
  api.SetSourceResolution(kAssumedDpi);
  ASSERT_EQ(api.Recognize(nullptr), 0);
  const auto at = first_word(api);
  ASSERT_NE(at, nullptr);
  EXPECT_EQ(dynamic_cast<const tesseract::ResultIterator*>(at.get()), nullptr);
  const std::unique_ptr<tesseract::ResultIterator> ordered(api.GetIterator());
  std::size_t words = 0;
  bool more = true;
  for (; more; more = at->Next(tesseract::RIL_WORD) && ordered->Next(tesseract::RIL_WORD), ++words)
    EXPECT_EQ(text_at(*at, tesseract::RIL_WORD), text_at(*ordered, tesseract::RIL_WORD));
  EXPECT_GT(words, 45U);
}

}  // namespace
}  // namespace millrace::engines::host
