#include "ai/engines/host/scan/language_check.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <tesseract/baseapi.h>

#include "ai/engines/layout/code_points.h"
#include "ai/engines/layout/language.h"
#include "ai/engines/layout/letter_pairs.h"

namespace millrace::engines::host {
namespace {

constexpr std::size_t kCharactersMin = 60;
constexpr int kDoubtful = 75;      // confidence
constexpr float kNonsense = 4.2F;  // bits of a letter pair; most text in a language that is set costs less
constexpr float kScriptSure = 1;   // Tesseract's confidence in a script: it is near 0 for pages without text
constexpr int kScriptDpi = 200;

// A script by Tesseract's name, and the language that is most often written in it.
struct Script {
  std::string_view name, language;
};
constexpr std::array<Script, 19> kScripts{{{"Cyrillic", "rus"},
                                           {"Greek", "ell"},
                                           {"Arabic", "ara"},
                                           {"Hebrew", "heb"},
                                           {"Han", "chi_sim"},
                                           {"Japanese", "jpn"},
                                           {"Hiragana", "jpn"},
                                           {"Katakana", "jpn"},
                                           {"Korean", "kor"},
                                           {"Hangul", "kor"},
                                           {"Thai", "tha"},
                                           {"Devanagari", "hin"},
                                           {"Bengali", "ben"},
                                           {"Tamil", "tam"},
                                           {"Telugu", "tel"},
                                           {"Kannada", "kan"},
                                           {"Malayalam", "mal"},
                                           {"Georgian", "kat"},
                                           {"Armenian", "hye"}}};

// Whether the words are as unlikely as those that are read in another script.
bool is_nonsense(const PageText& text) {
  PairCost cost;
  std::size_t characters = 0;
  for (const Word& word : text.words) {
    const auto codes = code_points(word.text);
    characters += codes.size();
    cost.add(codes);
  }
  return characters >= kCharactersMin && cost.mean() >= kNonsense;
}

std::optional<Script> script_of(const Picture& gray) {
  tesseract::TessBaseAPI api;
  if (!gray || api.Init(nullptr, "osd", tesseract::OEM_TESSERACT_ONLY) != 0) return std::nullopt;
  api.SetVariable("debug_file", "/dev/null");
  api.SetPageSegMode(tesseract::PSM_OSD_ONLY);
  api.SetImage(gray.get());
  api.SetSourceResolution(kScriptDpi);
  int degrees = 0;
  float turned = 0, sure = 0;
  const char* name = nullptr;
  if (!api.DetectOrientationScript(&degrees, &turned, &name, &sure) || name == nullptr) return std::nullopt;
  const auto script = std::ranges::find(kScripts, std::string_view(name), &Script::name);
  if (script == kScripts.end() || sure < kScriptSure) return std::nullopt;
  return *script;
}

bool is_installed(std::string_view language) {
  tesseract::TessBaseAPI api;
  std::vector<std::string> all;
  if (api.Init(nullptr, "osd", tesseract::OEM_TESSERACT_ONLY) == 0) api.GetAvailableLanguagesAsVector(&all);
  return std::ranges::find(all, language) != all.end();
}

bool has_language(const std::string& set, std::string_view language) {
  return ("+" + set + "+").find("+" + std::string(language) + "+") != std::string::npos;
}

// "the page looks German: install tesseract-ocr-deu, and set ocr.languages to eng,deu"
schemas::PageWarning warning_of(std::string_view looks, std::string_view language, std::string set) {
  std::string package(language);
  std::ranges::replace(package, '_', '-');
  std::ranges::replace(set, '+', ',');
  std::string message = "the page looks ";
  message += looks;
  message += is_installed(language) ? ": " : ": install tesseract-ocr-" + package + ", and ";
  return {std::string(schemas::kPageWarningLanguage),
          message + "set ocr.languages to " + set + "," + std::string(language)};
}

}  // namespace

std::optional<schemas::PageWarning> language_warning(const Reading& reading, const Picture& gray,
                                                     const std::string& set) {
  const Recognised& recognised = reading.recognised;
  if (recognised.confidence < kDoubtful && is_nonsense(recognised.text) && !is_long(gray)) {
    const auto script = script_of(turned(gray, reading.quarter_turns));
    if (script && !has_language(set, script->language))
      return warning_of(script->name, script->language, set);
  }
  const auto language = other_language(recognised.text, set);
  if (!language) return std::nullopt;
  return warning_of(language->name, language->code, set);
}

}  // namespace millrace::engines::host
