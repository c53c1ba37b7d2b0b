#pragma once
#include <string>
#include <string_view>

namespace millrace::engines {

// Position of a text in markdown.
enum class Place {
  kParagraph,  // each of its lines (separated by kLineBreak) begins a line of markdown
  kItem,       // after "- " or "1. "
  kLoose,  // after a mark that markdown does not recognise, such as "a)": adjacent lines form one paragraph
  kAmongLoose,  // after "- " or "1. " in a list with such marks
  kHeading,     // after "# "
  kCell,        // table cell
};

// Escapes text so that CommonMark and GitHub markdown render it unchanged: nothing is interpreted as a
// picture, a link, HTML, a character reference, emphasis, code, or the beginning of a block. Only characters
// that would be interpreted are escaped. Plain addresses, which some renderers turn into links, get no
// further escapes. Soft hyphens and spaces around a line are dropped. A line break in a paragraph becomes two
// spaces and a newline. A pure function; linear.
std::string literal(std::string_view text, Place place);

}  // namespace millrace::engines
