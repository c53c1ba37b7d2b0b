#pragma once
#include <string>
#include <string_view>

namespace millrace::engines {

// Where a text is put in markdown.
enum class Place {
  kParagraph,   // its lines, kLineBreak between them, begin lines of markdown
  kItem,        // after "- " or "1. "
  kLoose,       // after a mark that markdown does not know, as "a)": the lines around it are of one paragraph
  kAmongLoose,  // after "- " or "1. " in a list with such marks
  kHeading,     // after "# "
  kCell,        // of a table
};

// The text as markdown that reads as the text itself, by CommonMark and GitHub's: none of it is taken for a
// picture, a link, HTML, a character by its name, emphasis, code, or the beginning of a block. Only what
// would be is escaped. Plain addresses, which some turn into links, get no escapes but those. Soft hyphens
// and the blanks around a line are dropped; a line break of a paragraph is two blanks and a new line. Pure;
// linear.
std::string literal(std::string_view text, Place place);

}  // namespace millrace::engines
