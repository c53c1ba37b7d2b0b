#include "app/cli/json_cells.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(JsonCells, ALineOfAClientsTextMovesNoCursor) {
  EXPECT_EQ(one_line("plain ü €.pdf"), "plain ü €.pdf");
  EXPECT_EQ(one_line("a\x1b[2J\r\nb\x7f\tc"), "a [2J  b  c");
  EXPECT_EQ(one_line(std::string_view("a\0b", 3)), "a b");
  EXPECT_EQ(one_line("a\xc2\x9b"
                     "31mb\xc2\xa0"
                     "c"),
            "a 31mb\xc2\xa0"
            "c");
  EXPECT_EQ(one_line("fdp.\u202Eexe\u2066x\u2069\u2028y"), "fdp. exe x  y");
  EXPECT_EQ(one_line("\u2026\u2030"), "\u2026\u2030");
}

TEST(JsonCells, ALongLineIsCutBetweenCharacters) {
  EXPECT_EQ(one_line("abcdef", 6), "abcdef");
  EXPECT_EQ(one_line("abcdefg", 6), "abcdef…");
  EXPECT_EQ(one_line("aéé", 4), "aé…");
}

TEST(JsonCells, AListSaysHowManyRowsItLeavesOut) {
  EXPECT_EQ(more_rows_text("jobs", 50, 230, true), "50 of 230 jobs are shown; --limit 230 shows all");
  EXPECT_EQ(more_rows_text("jobs", 50, 1000, false, ", --before shows older ones"),
            "50 of more than 1000 jobs are shown; --limit shows more, --before shows older ones");
}

}  // namespace
}  // namespace millrace::cli
