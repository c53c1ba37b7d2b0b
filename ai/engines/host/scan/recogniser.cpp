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

#include "ai/engines/host/scan/comb_reader.h"
#include "ai/engines/host/scan/leftover_reader.h"
#include "ai/engines/host/scan/number_reader.h"
#include "ai/engines/host/scan/part_reader.h"
#include "ai/engines/host/scan/recognised_words.h"
#include "ai/engines/host/scan/sign_reader.h"
#include "ai/engines/host/scan/sign_shapes.h"
#include "ai/engines/host/scan/table_reader.h"
#include "ai/engines/layout/markers.h"
#include "ai/engines/layout/number_columns.h"
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

// Whether so little of the time is left that nothing should be read a second time.
bool is_short_of_time(const PageTime& time) { return cpu_used() > time.cpu_end - time.cpu / 2; }

bool picture_block(tesseract::PolyBlockType type) {
  return type == tesseract::PT_FLOWING_IMAGE || type == tesseract::PT_HEADING_IMAGE ||
         type == tesseract::PT_PULLOUT_IMAGE;
}

// Whether the recogniser turned the word to read it.
bool is_on_end(const tesseract::LTRResultIterator& at) {
  auto turn = tesseract::ORIENTATION_PAGE_UP;
  auto direction = tesseract::WRITING_DIRECTION_LEFT_TO_RIGHT;
  auto order = tesseract::TEXTLINE_ORDER_TOP_TO_BOTTOM;
  float skew = 0;
  at.Orientation(&turn, &direction, &order, &skew);
  return turn == tesseract::ORIENTATION_PAGE_LEFT || turn == tesseract::ORIENTATION_PAGE_RIGHT;
}

// Counts the words that tell by their shape or by their place in their line whether they run from left to
// right. Words on end are readable too, but their order is wrong.
class Directions {
 public:
  void add(const Word& word, bool first_of_line, bool on_end) {
    constexpr std::size_t kSeveral = 3;
    const bool several = schemas::characters(word.text) >= kSeveral;
    const Box before = std::exchange(before_, word.box);
    if (!several && first_of_line && !on_end) return;
    ++telling_;
    const bool tall = word.box.height() > word.box.width();
    const bool below = std::fabs(word.box.middle_y() - before.middle_y()) >
                       std::fabs(word.box.middle_x() - before.middle_x());
    if (on_end || (several ? tall : below)) ++on_end_;
  }
  bool mostly_on_end() const { return 2 * on_end_ > telling_; }

 private:
  Box before_;
  std::size_t telling_ = 0, on_end_ = 0;
};

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

// Lines that were pale are removed if they are read badly; a warning names how many lines were not read.
void check_pale_and_unread(const Prepared& prepared, Recognised& recognition) {
  if (recognition.late || recognition.sideways) return;
  remove_badly_read(pale_boxes(prepared), recognition.text.words);
  std::vector<Box> others = recognition.figures;
  for (const Grid& grid : recognition.grids) others.push_back(grid.box());
  const auto lines = unread_lines(prepared.letter_boxes, recognition.text.words, others);
  if (lines.empty()) return;
  const bool one = lines.size() == 1;
  recognition.text.warnings.push_back(
      {std::string(schemas::kPageWarningUnsure),
       (one ? "one line of the page looks like text and was"
            : std::to_string(lines.size()) + " lines of the page look like text and were") +
           std::string(" not read: compare the text with the page")});
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
  // Paragraphs are found before the words are read, not from their text: that would walk from the beginning
  // of the page at each word, and checks no time.
  api->SetVariable("paragraph_text_based", "0");
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
  const auto at = first_word(*api_);
  if (!at) return placed;
  Directions directions;
  int block = 0;
  do {
    if (at->IsAtBeginningOf(tesseract::RIL_BLOCK)) ++block;
    if (at->Empty(tesseract::RIL_WORD)) continue;
    auto word = word_at(*at, scale);
    if (!word) continue;
    directions.add(*word, at->IsAtBeginningOf(tesseract::RIL_TEXTLINE), is_on_end(*at));
    use_row_height(*at, scale, word->box);
    placed.push_back({word->box, block});
    result.text.words.push_back(std::move(*word));
  } while (at->Next(tesseract::RIL_WORD));
  result.sideways = directions.mostly_on_end();
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
  const base::Status status = run(time);
  if (!status && status.error().code != Code::kPageTimeout) return status.error();
  Look seen{nothing_on(prepared), {}};
  const auto placed = collect(prepared.scale, seen.recognition);
  if (!status) {
    if (seen.recognition.text.words.empty() && prepared.tables.empty()) return status.error();
    seen.recognition.late = status.error();
  }
  seen.recognition.confidence = api_->MeanTextConf();
  seen.left = unread_letters(prepared.letter_boxes, placed, seen.recognition.figures);
  return seen;
}

// The words of the page and of its tables count equally towards the confidence.
base::Status Recogniser::read_table(const DrawnTable& table, const Prepared& prepared, const PageTime& time,
                                    Recognised& page) {
  const auto part = larger(table, prepared, kPartLetters);
  TableReader reader(*api_, part ? part->table : table);
  auto words = reader.read([&] { return run(time); });
  if (!words) return std::move(words.error());
  const auto scale = static_cast<float>(prepared.scale);
  const auto by = part ? static_cast<float>(part->scale) : scale;
  const float x = part ? part->x : 0, y = part ? part->y : 0;
  const std::size_t before = page.text.words.size();
  for (Word& word : *words) {
    word.box = {word.box.x0 / by + x, word.box.y0 / by + y, word.box.x1 / by + x, word.box.y1 / by + y};
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
  if (first.recognition.late || is_short_of_time(time)) return first;
  if (!needs_second_pass(first.left, prepared.letter_boxes.size())) return first;
  if (first.recognition.sideways || !first.recognition.figures.empty()) return first;
  auto again = look(Layout::kOneBlock, prepared, time);
  if (!again || again->recognition.late || again->recognition.text.words.size() > kLeftoversMax) return first;
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
  const auto scale = static_cast<float>(prepared.scale);
  for (const Box& rule : prepared.rules)
    recognition.rules.push_back({rule.x0 / scale, rule.y0 / scale, rule.x1 / scale, rule.y1 / scale});
  const auto may_read_again = [&] {
    return !recognition.sideways && !recognition.late && !is_short_of_time(time);
  };
  const auto read_what_is_left = [&] {
    if (may_read_again())
      read_leftovers(
          *api_, prepared, recognition.figures, [&] { return run(time); }, recognition.text);
  };
  read_what_is_left();
  if (may_read_again()) {
    PartReader parts(*api_, prepared, [&] { return run(time); });
    parts.read_again(table_regions(recognition.text, recognition.rules), recognition.text);
  }
  read_what_is_left();  // a second reading may lose a word
  for (const DrawnTable& table : prepared.tables) {
    if (recognition.late) break;
    auto status = read_table(table, prepared, time, recognition);
    if (!status && (status.error().code != Code::kPageTimeout || recognition.text.words.empty()))
      return std::move(status.error());
    if (!status) recognition.late = std::move(status.error());
  }
  if (recognition.late && recognition.text.words.empty()) return *std::move(recognition.late);
  if (may_read_again()) NumberReader(*api_, prepared, [&] { return run(time); }).check(recognition.text);
  std::ptrdiff_t unread =
      std::ranges::count_if(prepared.combs, [](const Comb& comb) { return comb.line != nullptr; });
  if (may_read_again())
    unread -= read_combs(
        *api_, prepared, [&] { return run(time); }, recognition.text);
  if (unread > 0) {
    recognition.text.warnings.push_back(
        {std::string(schemas::kPageWarningUnsure),
         "fields with a box for each character were not read: compare the text with the page"});
  }
  if (may_read_again())
    read_signs(
        *api_, prepared, [&] { return run(time); }, recognition.text);
  if (may_read_again()) mend_signs(prepared, recognition.text);
  check_pale_and_unread(prepared, recognition);
  even_out_heights(recognition.text.words);
  add_leaders(prepared.leaders, recognition.text.words);
  add_bullets(prepared.marks, recognition.text.words);
  add_check_boxes(prepared.check_boxes, recognition.text);
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
