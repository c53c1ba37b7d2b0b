#pragma once
#include <string>
#include <string_view>

namespace millrace::schemas {

// A spoken language by its ISO 639-1 code, and its English name. Cantonese and Hawaiian, which models know
// but which have no such code, are listed by the codes that the models use: "yue", "haw".
struct SpokenLanguage {
  std::string_view code, name;
};

// The language with this code, also with a region ("de", "de-CH", "pt_BR"), or with this English name
// ("German"), in upper or lower case. "eng" is English. Null: there is none.
const SpokenLanguage* find_language(std::string_view text);

// "German (de)"; an unknown code as it is.
std::string shown_language(std::string_view code);

}  // namespace millrace::schemas
