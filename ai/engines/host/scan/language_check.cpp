#include "ai/engines/host/scan/language_check.h"

#include <algorithm>
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

// By Tesseract's name; empty: none is sure.
std::string script_of(const Picture& gray) {
  tesseract::TessBaseAPI api;
  if (!gray || api.Init(nullptr, "osd", tesseract::OEM_TESSERACT_ONLY) != 0) return {};
  api.SetVariable("debug_file", "/dev/null");
  api.SetPageSegMode(tesseract::PSM_OSD_ONLY);
  api.SetImage(gray.get());
  api.SetSourceResolution(kScriptDpi);
  int degrees = 0;
  float turned = 0, sure = 0;
  const char* name = nullptr;
  const bool found = api.DetectOrientationScript(&degrees, &turned, &name, &sure);
  return found && name != nullptr && sure >= kScriptSure ? name : std::string();
}

bool is_installed(std::string_view language) {
  tesseract::TessBaseAPI api;
  std::vector<std::string> all;
  if (api.Init(nullptr, "osd", tesseract::OEM_TESSERACT_ONLY) == 0) api.GetAvailableLanguagesAsVector(&all);
  return std::ranges::find(all, language) != all.end();
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
    const auto script = other_script(script_of(turned(gray, reading.quarter_turns)), set);
    if (script) return warning_of(script->name, script->code, set);
  }
  const auto language = other_language(recognised.text, set);
  if (!language) return std::nullopt;
  return warning_of(language->name, language->code, set);
}

}  // namespace millrace::engines::host
