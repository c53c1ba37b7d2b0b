#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// A language by Tesseract's name ("deu") and in English ("German").
struct Language {
  std::string_view code, name;
};

// The language of recognised text with Latin letters, by its most frequent words: they are recognised well
// enough without the data of their language. nullopt: the text is too short, or most of it is in none of the
// known languages or in one of `set` ("eng+deu"), or one of `set` has Latin letters and is none of them.
std::optional<Language> other_language(const PageText& page, std::string_view set);

// The language that is most often written in a script, by Tesseract's name ("Cyrillic"), with that name.
// nullopt: the script is not known, or one of the languages of `set` is written in it.
std::optional<Language> other_script(std::string_view script, std::string_view set);

}  // namespace millrace::engines
