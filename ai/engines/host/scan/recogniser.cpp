#include "ai/engines/host/scan/recogniser.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <leptonica/allheaders.h>
#include <tesseract/baseapi.h>
#include <tesseract/ocrclass.h>
#include <tesseract/resultiterator.h>

#include "ai/engines/host/scan/recognised_words.h"
#include "ai/engines/host/scan/table_reader.h"
#include "schemas/json/json_text.h"

namespace millrace::engines::host {
namespace {

constexpr float kTornGap = 0.5F;  // of the row's height; columns are further apart
constexpr float kSameRow = 0.3F;
constexpr std::size_t kTornMin = 2;
constexpr std::size_t kLettersMin = 6;
constexpr std::size_t kLettersPart = 50;  // one in this many letters

bool holds(const Box& word, const Box& letter) {
  return letter.middle_x() > word.x0 - 1 && letter.middle_x() < word.x1 + 1 && letter.y1 > word.y0 &&
         letter.y0 < word.y1;
}

bool torn_apart(const Placed& one, const Placed& next) {
  if (one.block == next.block) return false;
  const float height = std::max(one.box.height(), next.box.height());
  return std::fabs(one.box.middle_y() - next.box.middle_y()) < kSameRow * height &&
         std::fabs(next.box.x0 - one.box.x1) < kTornGap * height;
}

}  // namespace

UnreadLetters unread_letters(const std::vector<Box>& letters, const std::vector<Placed>& words,
                             const std::vector<Box>& pictures) {
  UnreadLetters left;
  if (words.size() > kLeftoversMax || letters.size() > kLeftoversMax) return left;
  for (const Box& letter : letters) {
    const auto holds_it = [&letter](const Box& box) { return holds(box, letter); };
    const bool read = std::ranges::any_of(words, holds_it, &Placed::box);
    if (!read && std::ranges::none_of(pictures, holds_it)) ++left.letters;
  }
  for (const Placed& word : words) {
    const auto goes_on = [&word](const Placed& next) { return torn_apart(word, next); };
    if (std::ranges::any_of(words, goes_on)) ++left.torn;
  }
  return left;
}

bool needs_second_pass(const UnreadLetters& left, std::size_t letters) {
  return left.torn >= kTornMin || left.letters >= std::max(kLettersMin, letters / kLettersPart);
}

namespace {

using base::Code;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr float kFigurePart = 0.01F;  // of the page: smaller pictures are ornaments
constexpr int kAboutAsSure = 5;       // tolerance in confidence
milliseconds cpu_used() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) +
         std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(now.tv_nsec));
}

// Tesseract calls this between words.
bool too_late(void* time, int /*words*/) {
  const auto* end = static_cast<const PageTime*>(time);
  return cpu_used() > end->cpu_end || Steady::now() > end->wall_end;
}

bool picture_block(tesseract::PolyBlockType type) {
  return type == tesseract::PT_FLOWING_IMAGE || type == tesseract::PT_HEADING_IMAGE ||
         type == tesseract::PT_PULLOUT_IMAGE;
}

// Whether a word of several letters is taller than wide: it is readable, but does not run from left to right.
bool on_end(const Word& word) {
  constexpr std::size_t kSeveral = 3;
  return schemas::characters(word.text) >= kSeveral && word.box.height() > word.box.width();
}

// Tesseract silently skips languages without data as long as one is present.
std::optional<std::string> first_missing(const tesseract::TessBaseAPI* api, const std::string& languages) {
  std::vector<std::string> loaded;
  if (api != nullptr) api->GetLoadedLanguagesAsVector(&loaded);
  std::istringstream list(languages);
  for (std::string each; std::getline(list, each, '+');) {
    if (std::ranges::find(loaded, each) == loaded.end()) return each;
  }
  return std::nullopt;
}

// The Debian package of a language.
std::string package_of(std::string language) {
  std::ranges::replace(language, '_', '-');
  return "tesseract-ocr-" + language;
}

Recognised nothing_on(const Prepared& prepared) {
  Recognised nothing;
  nothing.text.width = static_cast<float>(prepared.width);
  nothing.text.height = static_cast<float>(prepared.height);
  nothing.text.recognised = true;
  return nothing;
}

}  // namespace

Recogniser::Recogniser(const EngineLimits& limits, std::string languages)
    : limits_(limits), languages_(std::move(languages)) {}
Recogniser::~Recogniser() = default;

base::Status Recogniser::ready() {
  if (api_) return {};
  auto api = std::make_unique<tesseract::TessBaseAPI>();
  const bool begun = api->Init(nullptr, languages_.c_str(), tesseract::OEM_LSTM_ONLY) == 0;
  if (const auto missing = first_missing(begun ? api.get() : nullptr, languages_)) {
    return base::error(Code::kInternal, "the recogniser's data for the language " + *missing +
                                            " is not installed: apt-get install " + package_of(*missing));
  }
  api->SetVariable("debug_file", "/dev/null");
  api_ = std::move(api);
  return {};
}

PageTime Recogniser::time_for(milliseconds cpu) const {
  return {cpu, cpu_used() + cpu, Steady::now() + limits_.page_wall};
}

base::Error Recogniser::late(const PageTime& time) const {
  const bool by_cpu = cpu_used() > time.cpu_end;
  const auto limit = std::chrono::duration_cast<std::chrono::seconds>(by_cpu ? time.cpu : limits_.page_wall);
  const std::string seconds = std::to_string(limit.count());
  return base::error(Code::kPageTimeout,
                     by_cpu ? "the page takes more than " + seconds + " s of processor time to recognise"
                            : "the page was not recognised within " + seconds +
                                  " s (ocr.page_timeout): the machine is busy");
}

base::Status Recogniser::run(PageTime time) {
  if (too_late(&time, 0)) return late(time);
  tesseract::ETEXT_DESC monitor;
  monitor.cancel = too_late;
  monitor.cancel_this = &time;
  const int failure = api_->Recognize(&monitor);
  if (too_late(&time, 0)) return late(time);
  if (failure != 0) return base::error(Code::kPageFailed, "the page cannot be recognised");
  return {};
}

std::vector<Placed> Recogniser::collect(double scale, Recognised& result) {
  std::vector<Placed> placed;
  const std::unique_ptr<tesseract::ResultIterator> at(api_->GetIterator());
  if (!at) return placed;
  std::size_t words_on_end = 0;
  int block = 0;
  do {
    if (at->IsAtBeginningOf(tesseract::RIL_BLOCK)) ++block;
    if (at->Empty(tesseract::RIL_WORD)) continue;
    auto word = word_at(*at, scale);
    if (!word) continue;
    if (on_end(*word)) ++words_on_end;
    use_row_height(*at, scale, word->box);
    placed.push_back({word->box, block});
    result.text.words.push_back(std::move(*word));
  } while (at->Next(tesseract::RIL_WORD));
  result.sideways = 2 * words_on_end > result.text.words.size();
  const float page_area = result.text.width * result.text.height;
  at->Begin();
  do {
    if (!picture_block(at->BlockType())) continue;
    const Box box = box_of(*at, tesseract::RIL_BLOCK, scale);
    if (box.width() * box.height() >= kFigurePart * page_area) result.figures.push_back(box);
  } while (at->Next(tesseract::RIL_BLOCK));
  return placed;
}

base::Result<Recogniser::Look> Recogniser::look(Layout layout, const Prepared& prepared,
                                                const PageTime& time) {
  api_->SetPageSegMode(layout == Layout::kOfAPage ? tesseract::PSM_AUTO : tesseract::PSM_SINGLE_BLOCK);
  if (auto status = run(time); !status) return std::move(status.error());
  Look seen{nothing_on(prepared), {}};
  const auto placed = collect(prepared.scale, seen.recognition);
  seen.recognition.confidence = api_->MeanTextConf();
  seen.left = unread_letters(prepared.letter_boxes, placed, seen.recognition.figures);
  return seen;
}

// The words of the page and of its tables count equally towards the confidence.
base::Status Recogniser::read_table(const DrawnTable& table, const Prepared& prepared, const PageTime& time,
                                    Recognised& page) {
  TableReader reader(*api_, table);
  auto words = reader.read([&] { return run(time); });
  if (!words) return std::move(words.error());
  const auto scale = static_cast<float>(prepared.scale);
  const std::size_t before = page.text.words.size();
  for (Word& word : *words) {
    word.box = {word.box.x0 / scale, word.box.y0 / scale, word.box.x1 / scale, word.box.y1 / scale};
    page.text.words.push_back(std::move(word));
  }
  const auto all = static_cast<int>(page.text.words.size()), old = static_cast<int>(before);
  if (all > 0) page.confidence = (page.confidence * old + reader.confidence() * (all - old)) / all;
  page.grids.push_back(table.grid);
  page.grids.back().scale(1 / scale);
  return {};
}

// Reads what the page layout omitted or split again, as one block of lines: the columns of a receipt or a
// price list are not page columns. Not used for pages with pictures, which would be read as letters.
Recogniser::Look Recogniser::best_look(Look first, const Prepared& prepared, const PageTime& time) {
  if (!needs_second_pass(first.left, prepared.letter_boxes.size())) return first;
  if (first.recognition.sideways || !first.recognition.figures.empty()) return first;
  auto again = look(Layout::kOneBlock, prepared, time);
  if (!again || again->recognition.text.words.size() > kLeftoversMax) return first;
  if (2 * again->left.count() >= first.left.count()) return first;
  // When there is nothing else, marks that are not letters are misread as letters: require more confidence
  // then.
  const int least =
      first.recognition.text.words.empty() ? kSureConfidence : first.recognition.confidence - kAboutAsSure;
  return again->recognition.confidence >= least ? std::move(*again) : std::move(first);
}

base::Result<Recognised> Recogniser::read(const Prepared& prepared, const PageTime& time) {
  api_->SetImage(prepared.gray.get());
  api_->SetSourceResolution(kAssumedDpi);
  auto first = look(Layout::kOfAPage, prepared, time);
  if (!first) return std::move(first.error());
  Recognised recognition = best_look(std::move(*first), prepared, time).recognition;
  add_bullets(prepared.marks, recognition.text.words);
  const auto scale = static_cast<float>(prepared.scale);
  for (const Box& rule : prepared.rules)
    recognition.rules.push_back({rule.x0 / scale, rule.y0 / scale, rule.x1 / scale, rule.y1 / scale});
  for (const DrawnTable& table : prepared.tables) {
    if (auto status = read_table(table, prepared, time, recognition); !status)
      return std::move(status.error());
  }
  return recognition;
}

base::Result<Recognised> Recogniser::recognise(const Prepared& prepared, const PageTime& time) {
  if (prepared.blank) return nothing_on(prepared);
  if (prepared.noise)
    return base::error(Code::kPageFailed, "the page is covered with specks: scan it in gray");
  if (!prepared.gray) return base::error(Code::kPageFailed, "the page is too large to process");
  if (auto status = ready(); !status) return std::move(status.error());
  auto recognition = read(prepared, time);
  api_->Clear();
  return recognition;
}

}  // namespace millrace::engines::host
