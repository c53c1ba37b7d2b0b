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
// ("German"), in upper or lower case. "eng" is English; "nb", Bokmål, is Norwegian: models call it "no".
// Null: there is none.
const SpokenLanguage* find_language(std::string_view text);

// Whisper's name of the language, in lower case: "german". `text`: as for find_language, or the token of a
// model, "<|de|>". Empty: it is not known.
std::string spoken_name(std::string_view text);

// "German (de)"; an unknown code as it is.
std::string shown_language(std::string_view code);

}  // namespace millrace::schemas
