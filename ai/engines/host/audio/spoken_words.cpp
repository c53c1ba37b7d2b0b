#include "ai/engines/host/audio/spoken_words.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "ai/engines/host/audio/voice.h"

namespace millrace::engines::host {
namespace {

using Readings = std::vector<SpokenWords>;

bool is_decimal(char c) { return c >= '0' && c <= '9'; }
bool is_alphabetic(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_white(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct Abbreviation {
  std::string_view written;   // lower case, without full stops
  std::string_view readings;  // "drive|doctor"
};

// Words that the dictionary reads in full (mr, mrs, jr) are not here.
constexpr Abbreviation kAbbreviations[] = {
    {"dr", "doctor|drive"},
    {"st", "saint|street"},
    {"vs", "versus"},
    {"etc", "et cetera"},
    {"eg", "for example|e g"},
    {"ie", "that is|i e"},
    {"no", "no|number"},
    {"prof", "professor"},
    {"gen", "general"},
    {"capt", "captain"},
    {"sgt", "sergeant"},
    {"lt", "lieutenant"},
    {"rev", "reverend"},
    {"hon", "honorable"},
    {"dept", "department"},
    {"approx", "approximately"},
    {"km", "kilometers|kilometer|k m"},
    {"kg", "kilograms|kilogram|kilos"},
    {"cm", "centimeters|centimeter"},
    {"mm", "millimeters|millimeter"},
    {"lb", "pounds|pound"},
    {"lbs", "pounds"},
    {"ft", "feet|foot"},
    {"mph", "miles per hour|m p h"},
    {"gb", "gigabytes|gigabyte|g b"},
    {"mb", "megabytes|megabyte|m b"},
};

// Letters that mean something else directly behind a number.
constexpr Abbreviation kSuffixes[] = {
    {"k", "k|thousand"}, {"m", "m|million|meters"}, {"b", "b|billion"},    {"bn", "billion"},
    {"x", "x|times"},    {"g", "g|grams"},          {"in", "inches|inch"}, {"h", "h|hours|hour"},
    {"hz", "hertz"},     {"c", "c|celsius"},        {"f", "f|fahrenheit"},
};

// The readings of an abbreviation; empty: it is none.
template <std::size_t kCount>
Readings find_in(const Abbreviation (&all)[kCount], std::string_view word) {
  const auto* const found =
      std::find_if(std::begin(all), std::end(all), [&](const Abbreviation& a) { return a.written == word; });
  if (found == std::end(all)) return {};
  Readings readings{{""}};
  for (const char c : found->readings) {
    if (c == '|') {
      readings.push_back({""});
    } else if (c == ' ') {
      readings.back().emplace_back();
    } else {
      readings.back().back() += c;
    }
  }
  return readings;
}

constexpr std::size_t kReadingsMax = 32;  // of one part; more are left out

void add(Readings& readings, SpokenWords reading) {
  if (reading.empty() || readings.size() >= kReadingsMax) return;
  if (std::find(readings.begin(), readings.end(), reading) == readings.end()) {
    readings.push_back(std::move(reading));
  }
}

SpokenWords joined(SpokenWords first, const SpokenWords& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The value of a Roman numeral from 2 to 39; 0: it is none.
unsigned roman(std::string_view letters) {
  constexpr std::string_view kUnits[] = {"", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"};
  unsigned tens = 0;
  while (tens < 3 && letters.starts_with('X')) {
    ++tens;
    letters.remove_prefix(1);
  }
  const auto* const unit = std::find(std::begin(kUnits), std::end(kUnits), letters);
  if (unit == std::end(kUnits)) return 0;
  return tens * 10 + static_cast<unsigned>(unit - std::begin(kUnits));
}

// Finds the spoken parts of one written word, of which the text is ASCII.
class WordReader {
 public:
  // `amount`: the word before was an amount of money, so that this one may be followed by the currency
  // ("$5 million").
  // `unit`: the plural of the currency of which the word has the sign, written as "$".
  WordReader(std::string_view text, std::string_view unit, std::string_view amount)
      : text_(text), unit_(unit), amount_(amount) {}

  std::vector<SpokenPart> parts() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_decimal(c) || (c == '.' && is_decimal(next()) && !is_decimal(before()))) {
        read_number();
      } else if (is_alphabetic(c)) {
        read_letters();
      } else {
        read_sign(c);
        ++at_;
      }
    }
    return std::move(parts_);
  }
  bool is_amount() const { return is_amount_; }

 private:
  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }
  char before() const { return at_ > 0 ? text_[at_ - 1] : '\0'; }
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  std::string_view digits() {
    const std::size_t from = at_;
    while (is_decimal(here())) ++at_;
    return text_.substr(from, at_ - from);
  }

  void read_sign(char sign);
  void read_letters();
  void read_number();
  std::string whole_number(bool& grouped);
  Readings integer_readings(const std::string& number, bool grouped) const;
  Readings with_fraction(const Readings& whole, std::string_view fraction) const;
  Readings money(const std::string& whole, std::string_view fraction, const Readings& plain) const;
  Readings with_suffix(Readings readings);
  void push(Readings readings);

  std::string_view text_;
  std::string_view unit_, amount_;
  std::size_t at_ = 0;
  std::vector<SpokenPart> parts_;
  Readings prefixes_;  // words that may precede the next part
  bool is_amount_ = false;
};

// Adds a part, in all its readings, with what may precede it.
void WordReader::push(Readings readings) {
  if (readings.empty()) return;
  Readings all = readings;
  for (const SpokenWords& prefix : prefixes_) {
    for (const SpokenWords& reading : readings) add(all, joined(prefix, reading));
  }
  prefixes_.clear();
  parts_.push_back({std::move(all)});
}

void WordReader::read_sign(char sign) {
  const bool between = at_ > 0 && at_ + 1 < text_.size();
  switch (sign) {
    case '$':
      is_amount_ = true;
      return;
    case '%':
      return push({{"percent"}, {"per", "cent"}});
    case '&':
      return push({{"and"}});
    case '+':
      return push({{"plus"}});
    case '=':
      return push({{"equals"}, {"is"}});
    case '@':
      return push({{"at"}});
    case '#':
      prefixes_ = {{"number"}, {"hash"}, {"pound"}, {"hashtag"}};
      return;
    case '/':
      if (between) prefixes_ = {{"slash"}, {"over"}, {"or"}, {"per"}};
      return;
    case '.':
      if (between && (is_alphabetic(next()) || is_decimal(next()))) prefixes_ = {{"dot"}, {"point"}};
      return;
    case '-':
      if (is_decimal(next())) {
        prefixes_ = is_decimal(before()) ? Readings{{"to"}, {"dash"}, {"minus"}}
                                         : Readings{{"minus"}, {"negative"}, {"dash"}};
      }
      return;
    default:
      return;
  }
}

SpokenWords spelled_out(std::string_view letters) {
  SpokenWords words;
  for (const char c : letters) {
    if (is_alphabetic(c))
      words.emplace_back(1, static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return words;
}

std::string lowered(std::string_view letters) {
  std::string lower;
  for (const char c : letters) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

Readings roman_readings(unsigned value) {
  const SpokenWords nth = ordinal(cardinal(value));
  return {cardinal(value), nth, joined({"the"}, nth)};
}

constexpr std::size_t kSpelledLettersMax = 6;

// How a run of letters and apostrophes is read that is no abbreviation.
Readings letter_readings(std::string_view letters) {
  Readings readings;
  add(readings, {lowered(letters)});
  const auto vowel = [](char c) {
    return std::string_view("aeiouyAEIOUY").find(c) != std::string_view::npos;
  };
  const bool capitals = letters.size() > 1 && std::all_of(letters.begin(), letters.end(), is_upper);
  const bool no_vowel = letters.size() > 1 && std::none_of(letters.begin(), letters.end(), vowel);
  if (letters.size() <= kSpelledLettersMax && (capitals || no_vowel)) add(readings, spelled_out(letters));
  if (const unsigned value = capitals ? roman(letters) : 0; value > 1) {
    for (SpokenWords& reading : roman_readings(value)) add(readings, std::move(reading));
  }
  return readings;
}

void WordReader::read_letters() {
  const bool after_digit = is_decimal(before());
  const std::size_t from = at_;
  // "U.S.A." and "e.g.": single letters with full stops.
  while (is_alphabetic(here()) && next() == '.') at_ += 2;
  const bool initials = at_ - from > 2 && !is_alphabetic(here());
  if (!initials) {
    at_ = from;
    while (is_alphabetic(here()) || (here() == '\'' && is_alphabetic(next()) && at_ > from)) ++at_;
  }
  const std::string_view run = text_.substr(from, at_ - from);
  std::string lower;
  for (const std::string& letter : initials ? spelled_out(run) : SpokenWords{lowered(run)}) lower += letter;
  Readings readings;
  if (after_digit) readings = find_in(kSuffixes, lower);
  if (readings.empty()) {
    readings = find_in(kAbbreviations, lower);
    if (initials) add(readings, spelled_out(run));
    for (SpokenWords& reading : letter_readings(initials ? lower : run)) add(readings, std::move(reading));
  }
  if (!amount_.empty() && parts_.empty()) {
    const Readings alone = readings;
    for (const SpokenWords& reading : alone) add(readings, joined(reading, {std::string(amount_)}));
  }
  push(std::move(readings));
}

// The digits of a whole number, without the commas between groups of three.
std::string WordReader::whole_number(bool& grouped) {
  std::string number(digits());
  grouped = false;
  while (here() == ',' && at_ + 3 < text_.size() && is_decimal(text_[at_ + 1]) &&
         is_decimal(text_[at_ + 2]) && is_decimal(text_[at_ + 3]) &&
         (at_ + 4 >= text_.size() || !is_decimal(text_[at_ + 4]))) {
    ++at_;
    number += digits();
    grouped = true;
  }
  return number;
}

constexpr std::size_t kCardinalDigits = 15;  // of kCardinalMax
constexpr std::size_t kDigitsMax = 12;       // with more digits, a cardinal is not also read digit by digit

Readings WordReader::integer_readings(const std::string& number, bool grouped) const {
  Readings readings;
  if (number.size() <= kCardinalDigits && (number[0] != '0' || number.size() == 1)) {
    const std::uint64_t value = std::stoull(number);
    add(readings, cardinal(value));
    add(readings, cardinal(value, true));
  }
  if (grouped) return readings;
  add(readings, in_pairs(number));
  if (number.size() <= kDigitsMax || readings.empty()) {
    add(readings, digit_by_digit(number));
    add(readings, digit_by_digit(number, "oh"));
  }
  if (number == "00") add(readings, {"o'clock"});
  return readings;
}

Readings WordReader::with_fraction(const Readings& whole, std::string_view fraction) const {
  Readings readings;
  for (const char* zero : {"zero", "oh"}) {
    const SpokenWords tail = joined({"point"}, digit_by_digit(fraction, zero));
    for (const SpokenWords& reading : whole) add(readings, joined(reading, tail));
    if (whole.empty()) add(readings, tail);
  }
  return readings;
}

// `plain`: the readings of the number without its currency; they stay, because the currency may be spoken
// behind the next word, or not at all.
Readings WordReader::money(const std::string& whole, std::string_view fraction, const Readings& plain) const {
  Readings readings = plain;
  const std::string many(unit_);
  const std::string one = many.substr(0, many.size() - 1);
  for (const SpokenWords& reading : plain) {
    add(readings, joined(reading, {many}));
    if (whole == "1") add(readings, joined(reading, {one}));
  }
  if (fraction.size() != 2 || whole.empty() || whole.size() > kCardinalDigits) return readings;
  const SpokenWords cents = cardinal(std::stoull(std::string(fraction)));
  for (const bool with_and : {false, true}) {
    const SpokenWords amount = cardinal(std::stoull(whole), with_and);
    const std::string& unit = whole == "1" ? one : many;
    add(readings, joined(amount, cents));
    add(readings, joined(joined(amount, {unit}), cents));
    for (const char* cent : {"cents", "cent"}) {
      add(readings, joined(joined(joined(amount, {unit}), cents), {cent}));
      add(readings, joined(joined(joined(amount, {unit, "and"}), cents), {cent}));
    }
  }
  return readings;
}

// "21st", "1980s".
Readings WordReader::with_suffix(Readings readings) {
  const std::size_t from = at_;
  if (here() == '\'' && next() == 's') ++at_;
  while (is_alphabetic(here())) ++at_;
  std::string suffix = lowered(text_.substr(from, at_ - from));
  if (suffix.starts_with('\'')) suffix.erase(0, 1);
  const bool nth = suffix == "st" || suffix == "nd" || suffix == "rd" || suffix == "th";
  if (!nth && suffix != "s") {
    at_ = from;
    return readings;
  }
  Readings changed;
  for (SpokenWords& reading : readings) {
    add(changed, nth ? ordinal(std::move(reading)) : plural(std::move(reading)));
  }
  return changed;
}

void WordReader::read_number() {
  const char lead = before();
  bool grouped = false;
  const std::string whole = here() == '.' ? std::string() : whole_number(grouped);
  std::string_view fraction;
  if (here() == '.' && is_decimal(next())) {
    ++at_;
    fraction = digits();
  }
  Readings readings = whole.empty() ? Readings() : integer_readings(whole, grouped);
  if (!fraction.empty()) readings = with_fraction(readings, fraction);
  if (is_amount_) readings = money(whole, fraction, readings);
  if (fraction.empty()) readings = with_suffix(std::move(readings));
  if (lead == '/' && !whole.empty() && whole.size() <= 2) {  // "3/4"
    const SpokenWords nth = ordinal(cardinal(std::stoull(whole)));
    if (whole == "2") add(readings, {"half"});
    if (whole == "4") add(readings, {"quarter"});
    if (whole == "4") add(readings, {"quarters"});
    add(readings, nth);
    add(readings, plural(nth));
  }
  if (lead == ':' && whole == "00" && !parts_.empty()) {  // "5:00": often read as "five"
    const Readings hour = std::move(parts_.back().readings);
    Readings all = hour;
    for (const SpokenWords& first : hour) {
      for (const SpokenWords& second : readings) add(all, joined(first, second));
    }
    parts_.pop_back();
    readings = std::move(all);
  }
  push(std::move(readings));
}

struct Currency {
  std::string_view sign;
  std::string_view plural;
};
constexpr Currency kCurrencies[] = {{"$", "dollars"}, {"\u00a3", "pounds"}, {"\u20ac", "euros"}};

// Finds the parts of `word`. Returns the currency if it is an amount of money, else "".
std::string_view read_word(WrittenWord& word, std::string_view amount) {
  std::string text = word.written;
  std::string_view unit;
  for (const Currency& currency : kCurrencies) {
    const auto at = text.find(currency.sign);
    if (at == std::string::npos) continue;
    text.replace(at, currency.sign.size(), "$");
    unit = currency.plural;
  }
  const std::string ascii = plain_text(text);
  WordReader reader(ascii, unit, amount);
  word.parts = reader.parts();
  return reader.is_amount() ? unit : std::string_view();
}

}  // namespace

std::vector<WrittenWord> written_words(std::string_view text) {
  std::vector<WrittenWord> words;
  std::string_view amount;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    while (at < text.size() && !is_white(text[at])) ++at;
    if (at > from) {
      const std::string_view written = text.substr(from, at - from);
      words.push_back({std::string(written), {}});
      amount = read_word(words.back(), amount);
    }
    ++at;
  }
  return words;
}

}  // namespace millrace::engines::host
