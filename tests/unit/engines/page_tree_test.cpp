#include <atomic>

#include <gtest/gtest.h>

#include "ai/engines/host/documents/pdf.h"
#include "tests/support/pdf_maker.h"

namespace millrace::engines::host {
namespace {

using millrace::support::PdfMaker;

std::string three_pages() {
  return PdfMaker().text_page({"one"}).text_page({"two"}).text_page({"three"}).claim_pages(1).bytes();
}

// Three pages in an object stream with a cross-reference stream, as writers produce since PDF 1.5.
std::string packed(const std::string& length_of_members = {}) {
  const std::vector<std::string> objects{"<</Type/Catalog/Pages 2 0 R>>",
                                         "<</Type/Pages/Count 1/Kids[3 0 R 4 0 R]>>",
                                         "<</Type/Page/Parent 2 0 R>>",
                                         "<</Type/Pages/Count 2/Parent 2 0 R/Kids[5 0 R 6 0 R]>>",
                                         "<</Type/Page>>",
                                         "<</Type/Page>>"};
  std::string head;
  std::string body;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    head += std::to_string(i + 1) + " " + std::to_string(body.size()) + " ";
    body += objects[i] + " ";
  }
  const std::string members = head + body;
  std::string file = "%PDF-1.5\n";
  const std::size_t members_at = file.size();
  file += "7 0 obj <</Type/ObjStm/N 6/First " + std::to_string(head.size()) + "/Length " +
          (length_of_members.empty() ? std::to_string(members.size()) : length_of_members) + ">> stream\n" +
          members + "\nendstream endobj\n";
  const std::size_t table_at = file.size();
  std::string rows(4, '\0');
  for (char i = 0; i < 6; ++i) rows += {2, 0, 7, i};
  for (const std::size_t at : {members_at, table_at}) {
    rows += {1, static_cast<char>(at / 256), static_cast<char>(at % 256), 0};
  }
  file += "8 0 obj <</Type/XRef/Size 9/W[1 2 1]/Root 1 0 R/Length " + std::to_string(rows.size()) +
          ">> stream\n" + rows + "\nendstream endobj\n";
  return file + "startxref\n" + std::to_string(table_at) + "\n%%EOF\n";
}

TEST(PageTree, MorePagesThanTheCountAreFoundInAPlainFile) {
  EXPECT_TRUE(holds_more_pages(three_pages(), 1));
  EXPECT_TRUE(holds_more_pages(three_pages(), 2));
  EXPECT_FALSE(holds_more_pages(three_pages(), 3));
}

TEST(PageTree, MorePagesThanTheCountAreFoundInObjectStreamsAndBelowOtherNodes) {
  ASSERT_LT(packed().size(), 1000U);
  EXPECT_TRUE(holds_more_pages(packed(), 2));
  EXPECT_FALSE(holds_more_pages(packed(), 3));
}

TEST(PageTree, AnObjectStreamWhoseLengthStandsInItselfEnds) {
  EXPECT_FALSE(holds_more_pages(packed("5 0 R"), 1));
}

TEST(PageTree, AnUpdateThatTakesPagesAwayIsBelieved) {
  std::string file = three_pages();
  const std::size_t old_table = file.rfind("xref\n0 ");
  const std::size_t root_at = file.rfind("/Root ") + 6;
  const std::string root = file.substr(root_at, file.find(' ', root_at) - root_at);
  const std::string tree = std::to_string(std::stoi(root) - 1);
  const std::size_t kids_at = file.rfind("/Kids [ ") + 8;
  const std::string kid = file.substr(kids_at, file.find(" R", kids_at) + 2 - kids_at);
  const std::size_t node_at = file.size();
  file += tree + " 0 obj\n<< /Type /Pages /Count 1 /Kids [" + kid + "] >>\nendobj\n";
  const std::size_t table_at = file.size();
  char row[32];
  std::snprintf(row, sizeof row, "%010zu 00000 n \n", node_at);
  file += "xref\n" + tree + " 1\n" + row + "trailer\n<< /Size 99 /Root " + root + " 0 R /Prev " +
          std::to_string(old_table) + " >>\nstartxref\n" + std::to_string(table_at) + "\n%%EOF\n";
  EXPECT_FALSE(holds_more_pages(file, 1));
  EXPECT_TRUE(holds_more_pages(three_pages(), 1));
}

TEST(PageTree, NothingIsReportedOfAFileWithDamagedTables) {
  const std::string good = three_pages();
  EXPECT_FALSE(holds_more_pages(good.substr(0, good.size() - 60), 1)) << "the file is truncated";
  EXPECT_FALSE(holds_more_pages("", 0));
  EXPECT_FALSE(holds_more_pages("%PDF-1.7\nstartxref\n9\n%%EOF", 0));
}

TEST(PageTree, EveryCutAndEveryChangedByteOfAFileEndsInAnAnswer) {
  for (const std::string& whole : {three_pages(), packed()}) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      holds_more_pages(whole.substr(0, i), 1);
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ 0x15);
      holds_more_pages(changed, 1);
    }
  }
}

TEST(PageTree, PagesThatNameEachOtherAsKidsAreWalkedOnce) {
  PdfMaker maker;
  maker.text_page({"only one"});
  std::string file = maker.bytes();
  const std::size_t kids = file.rfind("/Kids [ ");
  const std::size_t root_at = file.rfind("/Root ") + 6;
  const std::string tree = std::to_string(std::stoi(file.substr(root_at)) - 1);
  ASSERT_EQ(tree.size(), 1U);
  file[kids + 8] = tree[0];  // its own child
  EXPECT_FALSE(holds_more_pages(file, 0));
}

// A chain of nodes; the last one has a page.
std::string deep_tree(int levels) {
  std::string file = "%PDF-1.4\n";
  std::string table;
  const auto add = [&](int number, const std::string& object) {
    char row[32];
    std::snprintf(row, sizeof row, "%010zu 00000 n \n", file.size());
    table += row;
    file += std::to_string(number) + " 0 obj " + object + " endobj\n";
  };
  add(1, "<</Type/Catalog/Pages 2 0 R>>");
  for (int level = 0; level < levels; ++level) {
    const std::string parent = level == 0 ? "" : "/Parent " + std::to_string(level + 1) + " 0 R";
    add(level + 2, "<</Type/Pages/Count 1" + parent + "/Kids[" + std::to_string(level + 3) + " 0 R]>>");
  }
  add(levels + 2, "<</Type/Page/MediaBox[0 0 99 99]/Parent " + std::to_string(levels + 1) + " 0 R>>");
  const std::string size = std::to_string(levels + 3);
  const std::size_t table_at = file.size();
  return file + "xref\n0 " + size + "\n0000000000 65535 f \n" + table + "trailer <</Root 1 0 R/Size " + size +
         ">>\nstartxref\n" + std::to_string(table_at) + "\n%%EOF\n";
}

TEST(PageTree, ATreeThatIsDeeperThanTheStackIsABombAndEndsOnlyACopyOfTheProcess) {
  constexpr std::chrono::milliseconds kCpu{100'000};
  EXPECT_TRUE(check_page_count(deep_tree(10), 1, kCpu));
  EXPECT_EQ(check_page_count(three_pages(), 1, kCpu).error().code, base::Code::kDocumentPageCount);
  const base::Status deep = check_page_count(deep_tree(100'000), 1, kCpu);
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, base::Code::kDocumentBomb);
}

TEST(PageTree, PagesThatAreNestedTooDeepAreNamedBeforePopplerReadsThem) {
  constexpr std::chrono::milliseconds kCpu{100'000};
  EXPECT_TRUE(check_page_nesting(deep_tree(kPageNestingMax), kCpu));
  EXPECT_TRUE(check_page_nesting(three_pages(), kCpu));
  EXPECT_TRUE(check_page_nesting("%PDF-1.7 damaged", kCpu)) << "left to the later checks";
  for (const int levels : {kPageNestingMax + 1, 100'000}) {
    const base::Status deep = check_page_nesting(deep_tree(levels), kCpu);
    ASSERT_FALSE(deep);
    EXPECT_EQ(deep.error().code, base::Code::kDocumentBomb);
    EXPECT_NE(deep.error().message.find("nests its pages deeper than 1000 levels"), std::string::npos);
  }
}

TEST(PageTree, ATreeThatRunsInCirclesIsNotDeep) {
  std::string file = deep_tree(10);
  const std::size_t kid = file.find("/Kids[8 0 R]");
  ASSERT_NE(kid, std::string::npos);
  file[kid + 6] = '3';
  EXPECT_TRUE(check_page_nesting(file, std::chrono::milliseconds{100'000}));
}

TEST(PageTree, AReadingThatTakesTooLongIsABomb) {
  const auto never_ends = [] {
    for (const std::atomic<bool> ended{false}; !ended;) {
    }
    return 0;
  };
  EXPECT_EQ(run_in_copy(std::chrono::milliseconds(1), never_ends), std::nullopt);
}

}  // namespace
}  // namespace millrace::engines::host
