#include "ai/engines/layout/language.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>

namespace millrace::engines {
namespace {

constexpr std::size_t kWordsMin = 25;
constexpr std::size_t kDifferentMin = 4;
constexpr float kFrequentPart = 0.12F;  // of the words: prose has more
constexpr std::size_t kClearly = 2;     // times the frequent words of a language that is set

// The words are without accents, which a recogniser of another language loses, and of two letters or more.
struct Frequent {
  Language language;
  std::string_view words;  // a space around each
};
constexpr std::array<Frequent, 16> kFrequent{{
    {{"eng", "English"},
     " the of and to in is that for with this are not be on by from as it was or which at "},
    {{"deu", "German"},
     " der die das und nicht ist von mit den zu ein eine im auf des dem sich wird auch als wenn werden oder "
     "bei sind aus nach "},
    {{"fra", "French"},
     " de la le les des et est un une dans du que pour pas qui sur au avec par plus ne se sont "},
    {{"spa", "Spanish"}, " de la el los las del en que un una se no por con para su al como es "},
    {{"ita", "Italian"}, " di il la che per un una non del della con si sono nel le dei gli da come alla "},
    {{"por", "Portuguese"}, " de os as do da dos das que em um uma para com no na por se ao como mais "},
    {{"nld", "Dutch"}, " de het een van en in is niet dat op te voor met zijn als aan er die ook bij "},
    {{"pol", "Polish"}, " nie na do jest to od po za jak przez dla ale lub tak co si jego oraz "},
    {{"ces", "Czech"}, " je na se ze to do pro jako by za ale nebo jsou po byl ve "},
    {{"swe", "Swedish"}, " och att det som en av den med till inte ett om har de var vid "},
    {{"dan", "Danish"}, " og at det som en af den med til ikke et er der har de var fra "},
    {{"nor", "Norwegian"}, " og det som en av den med til ikke et er har fra hvis om seg "},
    {{"fin", "Finnish"}, " ja on ei se oli joka kun mutta sen ole tai kuin ovat niin ne vain "},
    {{"hun", "Hungarian"}, " az nem hogy egy volt meg van csak mint ha vagy ez azt is "},
    {{"tur", "Turkish"}, " bir ve bu ile olarak daha gibi olan ne en veya her da "},
    {{"ron", "Romanian"}, " de la nu este cu un pe care din se mai sau sunt ca "},
}};

// A script by Tesseract's name, and the languages that are written in it; first the most frequent one.
struct ScriptLanguages {
  std::string_view script, languages;
};
constexpr std::string_view kJapanese = "jpn jpn_vert script/Japanese script/Japanese_vert";
constexpr std::string_view kKorean = "kor kor_vert script/Hangul script/Hangul_vert";
constexpr std::array<ScriptLanguages, 19> kScripts{
    {{"Cyrillic", "rus ukr bel bul srp mkd kaz kir mon tat tgk uzb_cyrl aze_cyrl script/Cyrillic"},
     {"Greek", "ell grc script/Greek"},
     {"Arabic", "ara fas urd pus snd uig script/Arabic"},
     {"Hebrew", "heb yid script/Hebrew"},
     {"Han",
      "chi_sim chi_tra chi_sim_vert chi_tra_vert jpn jpn_vert script/HanS script/HanT script/HanS_vert "
      "script/HanT_vert script/Japanese script/Japanese_vert"},
     {"Japanese", kJapanese},
     {"Hiragana", kJapanese},
     {"Katakana", kJapanese},
     {"Korean", kKorean},
     {"Hangul", kKorean},
     {"Thai", "tha script/Thai"},
     {"Devanagari", "hin mar nep san script/Devanagari"},
     {"Bengali", "ben asm script/Bengali"},
     {"Tamil", "tam script/Tamil"},
     {"Telugu", "tel script/Telugu"},
     {"Kannada", "kan script/Kannada"},
     {"Malayalam", "mal script/Malayalam"},
     {"Georgian", "kat kat_old script/Georgian"},
     {"Armenian", "hye script/Armenian"}}};

// Languages that are not written in Latin letters, by Tesseract's names; a space around each.
constexpr std::string_view kNotLatin =
    " amh ara asm aze_cyrl bel ben bod bul chi_sim chi_sim_vert chi_tra chi_tra_vert chr div dzo ell equ fas "
    "grc guj heb hin hye iku jpn jpn_vert kan kat kat_old kaz khm kir kor kor_vert lao mal mar mkd mon mya "
    "nep "
    "ori osd pan pus rus san sin snd srp syr tam tat tel tgk tha tir uig ukr urd uzb_cyrl yid ";

// In small letters, without the marks around it; empty: it is no word of ASCII letters.
std::string plain_word(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto first = std::ranges::find_if(text, is_letter);
  const auto end = std::find_if(text.rbegin(), std::make_reverse_iterator(first), is_letter).base();
  std::string word(first, end);
  if (!std::ranges::all_of(word, is_letter)) return {};
  for (char& c : word) c = static_cast<char>(c | 0x20);
  return word;
}

bool is_set(std::string_view code, std::string_view set) {
  for (std::size_t at = 0; at <= set.size();) {
    const std::size_t end = std::min(set.find('+', at), set.size());
    if (set.substr(at, end - at) == code) return true;
    at = end + 1;
  }
  return false;
}

// Whether one of the languages has Latin letters and unknown words: the text may be in it.
bool has_unknown(std::string_view set) {
  for (std::size_t at = 0; at < set.size();) {
    const std::size_t end = std::min(set.find('+', at), set.size());
    const std::string_view code = set.substr(at, end - at);
    const bool known =
        std::ranges::any_of(kFrequent, [code](const Frequent& each) { return each.language.code == code; });
    const bool other_script = kNotLatin.find(" " + std::string(code) + " ") != std::string_view::npos;
    if (!known && !other_script) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

std::optional<Language> other_script(std::string_view script, std::string_view set) {
  const auto found = std::ranges::find(kScripts, script, &ScriptLanguages::script);
  if (found == kScripts.end()) return std::nullopt;
  std::string_view left = found->languages;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(' '), left.size());
    if (is_set(left.substr(0, end), set)) return std::nullopt;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return Language{found->languages.substr(0, found->languages.find(' ')), found->script};
}

std::optional<Language> other_language(const PageText& page, std::string_view set) {
  if (has_unknown(set)) return std::nullopt;
  std::array<std::size_t, kFrequent.size()> counts{};
  std::array<std::set<std::size_t>, kFrequent.size()> different;
  std::size_t words = 0;
  for (const Word& word : page.words) {
    const std::string plain = word.figure ? std::string() : " " + plain_word(word.text) + " ";
    if (plain.size() < 4) continue;
    ++words;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::size_t at = kFrequent[i].words.find(plain);
      if (at == std::string_view::npos) continue;
      ++counts[i];
      different[i].insert(at);
    }
  }
  const auto best = std::ranges::max_element(counts);
  const auto which = static_cast<std::size_t>(best - counts.begin());
  const bool enough = words >= kWordsMin && different[which].size() >= kDifferentMin &&
                      static_cast<float>(*best) >= kFrequentPart * static_cast<float>(words);
  if (!enough) return std::nullopt;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (is_set(kFrequent[i].language.code, set) && *best < kClearly * counts[i]) return std::nullopt;
  }
  return kFrequent[which].language;
}

}  // namespace millrace::engines
