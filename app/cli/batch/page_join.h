#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// The markdown of a document's pages as one text. dashboard/page_join.js does the same.
namespace millrace::cli {

struct DocumentPage {
  int index = 0;  // from 0
  std::string markdown;
};

// The pages of an OCR reply. A provider's model may return tables apart from the text: they are put where it
// refers to them (`[tbl-0.md](tbl-0.md)`), or after it.
std::vector<DocumentPage> pages_of(const nlohmann::json& result);

// Removes running heads and feet. Such a line is a paragraph that is the first or the last of a page, and
// - the same on most pages: on at least three, and on more than half of all or of the left or right ones; or
// - on most pages with "page 3" in it, where that number counts the pages; or
// - on at least three pages only the number that counts them: "Page 3", "3 of 10", "3 / 10", "- 3 -", "3".
// Headings, tables, lists and images stay, as do lines with an amount of money or with a blank to fill in, a
// line without a word, and one that is all of its page. At most three lines are removed from each end of a
// page.
void drop_running_lines(std::vector<DocumentPage>& pages);

// A change of what is removed gets a new number: `millrace ocr` then writes its files again from the results
// that the gateway still has.
inline constexpr int kJoinVersion = 3;

struct PageJoin {
  // A line `<!-- page 2 -->` comes before each page but the document's first, also before one without text.
  bool page_marks = false;
  bool keep_running_lines = false;
};

// All pages, separated by an empty line, ending with a newline; empty if there is no text.
std::string joined_pages(std::vector<DocumentPage> pages, const PageJoin& join);

}  // namespace millrace::cli
