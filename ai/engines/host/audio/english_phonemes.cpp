#include "ai/engines/host/audio/english_phonemes.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>

#include <flite/flite.h>

// Debian's headers do not declare it.
extern "C" cst_voice* register_cmu_us_slt(const char* folder);

namespace millrace::engines::host {
namespace {

// flite's steps from text to phones. Each has a name by which the voice sets its function.
constexpr cst_synth_module kTextSteps[] = {{"tokenizer_func", default_tokenization},
                                           {"textanalysis_func", default_textanalysis},
                                           {"pos_tagger_func", default_pos_tagger},
                                           {"phrasing_func", default_phrasing},
                                           {"lexical_insertion_func", default_lexical_insertion},
                                           {nullptr, nullptr}};

struct PhoneRow {
  std::string_view phone;    // of flite
  std::u32string_view ipa;   // stressed, or a consonant
  std::u32string_view weak;  // unstressed; empty: the same
};
constexpr PhoneRow kPhones[] = {
    {"aa", U"ɑː", U""},    {"ae", U"æ", U""},  {"ah", U"ʌ", U"ə"},  {"ao", U"ɔː", U""},  {"aw", U"aʊ", U""},
    {"ax", U"ə", U""},     {"ay", U"aɪ", U""}, {"b", U"b", U""},    {"ch", U"tʃ", U""},  {"d", U"d", U""},
    {"dh", U"ð", U""},     {"eh", U"ɛ", U""},  {"er", U"ɜː", U"ɚ"}, {"ey", U"eɪ", U""},  {"f", U"f", U""},
    {"g", U"\u0261", U""}, {"hh", U"h", U""},  {"ih", U"ɪ", U""},   {"iy", U"iː", U"i"}, {"jh", U"dʒ", U""},
    {"k", U"k", U""},      {"l", U"l", U""},   {"m", U"m", U""},    {"n", U"n", U""},    {"ng", U"ŋ", U""},
    {"ow", U"oʊ", U""},    {"oy", U"ɔɪ", U""}, {"p", U"p", U""},    {"r", U"ɹ", U""},    {"s", U"s", U""},
    {"sh", U"ʃ", U""},     {"t", U"t", U""},   {"th", U"θ", U""},   {"uh", U"ʊ", U""},   {"uw", U"uː", U""},
    {"v", U"v", U""},      {"w", U"w", U""},   {"y", U"j", U""},    {"z", U"z", U""},    {"zh", U"ʒ", U""}};

constexpr std::string_view kVowelLetters = "aeiou";
constexpr std::string_view kMarks = ",.;:!?";

const PhoneRow* row_of(std::string_view phone) {
  const auto* const row = std::find_if(std::begin(kPhones), std::end(kPhones),
                                       [&](const PhoneRow& r) { return r.phone == phone; });
  return row == std::end(kPhones) ? nullptr : row;
}

struct FreeUtterance {
  void operator()(cst_utterance* utterance) const { delete_utterance(utterance); }
};
using Utterance = std::unique_ptr<cst_utterance, FreeUtterance>;

// Words such as "the", "of" and "and" are not stressed.
bool is_function_word(const cst_item* word) {
  return std::string_view(ffeature_string(word, "gpos")) != "content";
}

void add_syllable(const cst_item* syllable, bool can_be_stressed, std::u32string& out) {
  const bool stressed = can_be_stressed && std::string_view(ffeature_string(syllable, "stress")) == "1";
  for (const cst_item* at = item_daughter(syllable); at != nullptr; at = item_next(at)) {
    const std::string_view phone = item_feat_string(at, "name");
    const PhoneRow* row = row_of(phone);
    if (row == nullptr) continue;  // a pause
    const bool is_vowel = kVowelLetters.find(phone.front()) != std::string_view::npos;
    if (stressed && is_vowel) out += U'ˈ';
    out += !stressed && !row->weak.empty() ? row->weak : row->ipa;
  }
}

void add_word(const cst_item* word, std::u32string& out) {
  if (!out.empty()) out += U' ';
  const cst_item* syllables = item_as(word, "SylStructure");
  const cst_item* first = syllables == nullptr ? nullptr : item_daughter(syllables);
  const bool can_be_stressed = (first != nullptr && item_next(first) != nullptr) || !is_function_word(word);
  for (const cst_item* at = first; at != nullptr; at = item_next(at)) add_syllable(at, can_be_stressed, out);
}

// The first mark of the punctuation after a token, such as of `."`; 0: none.
char32_t mark_after(const cst_item* token) {
  const std::string_view after = item_feat_present(token, "punc") != 0 ? item_feat_string(token, "punc") : "";
  const auto at = after.find_first_of(kMarks);
  return at == std::string_view::npos ? U'\0' : static_cast<char32_t>(after[at]);
}

}  // namespace

std::u32string english_phonemes(const std::string& plain) {
  flite_init();
  cst_voice* voice = register_cmu_us_slt(nullptr);
  const Utterance utterance(new_utterance());
  utt_set_input_text(utterance.get(), plain.c_str());
  utt_init(utterance.get(), voice);
  std::u32string out;
  if (apply_synth_method(utterance.get(), kTextSteps) == nullptr) return out;
  const cst_item* token = relation_head(utt_relation(utterance.get(), "Token"));
  for (; token != nullptr; token = item_next(token)) {
    for (const cst_item* word = item_daughter(token); word != nullptr; word = item_next(word))
      add_word(item_as(word, "Word"), out);
    if (const char32_t mark = mark_after(token); mark != U'\0' && !out.empty()) out += mark;
  }
  return out;
}

}  // namespace millrace::engines::host
