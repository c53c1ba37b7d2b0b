#include "ai/engines/layout/unreadable.h"

#include <map>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "ai/engines/layout/code_points.h"

namespace millrace::engines::unreadable_test {
namespace {

const std::map<std::string, std::string> kLanguages{
    {"eng",
     "All rights are reserved by the owner of this work, and nothing may be copied without a written leave"},
    {"deu", "Die Mühle steht am Fluss und das Rad dreht sich langsam, wenn das Wasser im Sommer niedrig ist"},
    {"fra",
     "Le moulin se trouve près de la rivière et la roue tourne lentement quand les eaux sont très basses"},
    {"spa",
     "El molino está junto al río y la rueda gira despacio cuando el agua baja mucho durante el verano"},
    {"ita",
     "Il mulino si trova vicino al fiume e la ruota gira piano quando le acque sono molto basse in estate"},
    {"por",
     "O moinho fica junto ao rio e a roda gira devagar quando a água está muito baixa durante o verão"},
    {"nld",
     "De molen staat aan de rivier en het rad draait langzaam wanneer het water in de zomer erg laag is"},
    {"pol",
     "Młyn stoi nad rzeką, a koło obraca się powoli, kiedy woda jest niska, wiosną pracuje dzień i noc"},
    {"ces", "Mlýn stojí u řeky a kolo se otáčí pomalu, když je voda nízká, na jaře pracuje ve dne v noci"},
    {"swe",
     "Kvarnen står vid floden och hjulet snurrar långsamt när vattnet är lågt, på våren går den dag och "
     "natt"},
    {"fin",
     "Mylly seisoo joen rannalla ja ratas pyörii hitaasti, kun vesi on matalalla, keväällä se käy yötä "
     "päivää"},
    {"tur",
     "Değirmen nehrin kıyısında durur ve su alçak olduğunda çark yavaş döner, baharda gece gündüz çalışır"}};

std::string utf8(std::uint32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
  return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

// The glyph numbers in place of letters. What would be a control character is left out, as readers do.
std::string moved(const std::string& text, int by) {
  std::string out;
  for (const std::uint32_t code : code_points(text)) {
    const int to = static_cast<int>(code) + by;
    if (code == ' ') {
      out += ' ';
    } else if (to > ' ' && to != 0x7F) {
      out += utf8(static_cast<std::uint32_t>(to));
    }
  }
  return out;
}

// Adds a line of words to the page.
void put(PageText& page, const std::string& text) {
  const int line = page.words.empty() ? 1 : page.words.back().line + 1;
  std::istringstream words(text);
  float x = 50;
  for (std::string each; words >> each;) {
    Word word{{x, 20.0F * static_cast<float>(line), x + 30, 20.0F * static_cast<float>(line) + 10}, each};
    word.line = line;
    page.words.push_back(word);
    x += 35;
  }
}

PageText page_of(const std::vector<std::string>& lines) {
  PageText page;
  for (const std::string& line : lines) put(page, line);
  return page;
}

std::string text_of(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) text += (text.empty() ? "" : " ") + word.text;
  return text;
}

std::string taken_of(const std::vector<std::string>& lines) {
  PageText page = page_of(lines);
  return text_of(take_unreadable(page));
}

TEST(Unreadable, TextOfALanguageStays) {
  for (const auto& [language, text] : kLanguages) {
    EXPECT_EQ(taken_of({text}), "") << language;
    std::string capitals = text;
    for (char& c : capitals) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    EXPECT_EQ(taken_of({capitals}), "") << language;
  }
}

TEST(Unreadable, MovedLettersAreNoText) {
  for (const auto& [language, text] : kLanguages) {
    for (int by = -40; by <= 40; ++by) {
      // A move by 32 changes small letters into capitals, which can still be read.
      if (by == 0 || by == -32) continue;
      const std::string garbled = moved(text, by);
      EXPECT_EQ(taken_of({garbled}), text_of(page_of({garbled}).words)) << language << " by " << by;
    }
  }
}

TEST(Unreadable, MovedLettersWithoutSpacesAreNoText) {
  std::string whole = kLanguages.at("eng");
  std::erase(whole, ' ');
  EXPECT_EQ(taken_of({moved(whole, -29)}), moved(whole, -29));
}

TEST(Unreadable, SoundLinesBesideThemStay) {
  PageText page = page_of({kLanguages.at("deu"), moved(kLanguages.at("eng"), -29), "Total 1,300.00 4711-X"});
  EXPECT_EQ(text_of(take_unreadable(page)), moved(kLanguages.at("eng"), -29));
  EXPECT_EQ(text_of(page.words), kLanguages.at("deu") + " Total 1,300.00 4711-X");
}

TEST(Unreadable, ShortLinesFollowTheOthersOfThePage) {
  PageText page =
      page_of({moved(kLanguages.at("eng"), -29), moved("The report", -29), "The report", "IBM DNS"});
  EXPECT_EQ(text_of(take_unreadable(page)),
            moved(kLanguages.at("eng"), -29) + " " + moved("The report", -29));
  EXPECT_EQ(text_of(page.words), "The report IBM DNS");
  EXPECT_EQ(taken_of({moved("The report", -29), moved("of the year", -29), moved("by the owner", -29)}),
            moved("The report of the year by the owner", -29));
}

TEST(Unreadable, WordsThatLostLettersAreTakenAlone) {
  PageText page =
      page_of({"This de\uE001nition has \uE010\uE011\uE012\uE013 and \uFFFD\uFFFD\uFFFDs inside"});
  EXPECT_EQ(text_of(take_unreadable(page)), "de\uE001nition \uE010\uE011\uE012\uE013 \uFFFD\uFFFD\uFFFDs");
  EXPECT_EQ(text_of(page.words), "This has and inside");
}

TEST(Unreadable, ShortWordsOfSuchALineFollow) {
  PageText page = page_of({"\uF0B7 \uE010\uE011 \uE012\uE013\uE014 \uE015 end", "\uE010\uE011 icons"});
  EXPECT_EQ(text_of(take_unreadable(page)), "\uE010\uE011 \uE012\uE013\uE014 \uE015");
  EXPECT_EQ(text_of(page.words), "\uF0B7 end \uE010\uE011 icons");
}

TEST(Unreadable, BulletsIconsAndBracketsStay) {
  EXPECT_EQ(taken_of({"\uF0B7 first", "\uF0B7second", "Print \uF02F \uE001\uE002",
                      "\uF8EE\uF8EF\uF8F0 x \uF8F9\uF8FA\uF8FB"}),
            "");
}

TEST(Unreadable, OtherScriptsStay) {
  EXPECT_EQ(
      taken_of({"Мельница стоит у реки, и колесо её медленно вертится",
                "Ο μύλος βρίσκεται δίπλα στο ποτάμι και ο τροχός γυρίζει αργά",
                "日本語の文章はここにあります。二十文字より長い。ABCです",
                "방앗간은 강가에 서 있고 바퀴는 천천히 돕니다", "טחנת הקמח עומדת ליד הנהר והגלגל מסתובב לאט",
                "تقف الطاحونة بجانب النهر وتدور العجلة ببطء",
                "Cối xay nằm bên bờ sông và bánh xe quay chậm khi nước thấp"}),
      "");
}

TEST(Unreadable, KoreanWithChineseCharactersStays) {
  EXPECT_EQ(
      taken_of({"大韓民國은 民主共和國이다. 大韓民國의 主權은 國民에게 있고 權力은 國民으로부터 나온다."}),
      "");
}

TEST(Unreadable, BytesOfAnotherEncodingAreNoText) {
  const std::string mojibake = "Ìåëüíèöà ñòîèò ó ðåêè, è êîëåñî å¸ ìåäëåííî âåðòèòñÿ";
  EXPECT_EQ(taken_of({mojibake}), mojibake);
}

TEST(Unreadable, GlyphNumbersOfALargeFontAreNoText) {
  const std::string mixed = "ก가म ท가ल ฃ나स จ다ह ฉ라प ช마ब ซ바भ";
  EXPECT_EQ(taken_of({mixed}), mixed);
}

TEST(Unreadable, CodeStays) {
  EXPECT_EQ(
      taken_of({"std::vector<std::unique_ptr<Word>> words; for (int i = 0; i < n; ++i) words[i]->x0 += dx;",
                "#define MAX(a, b) ((a) > (b) ? (a) : (b))", "int main(int argc, char** argv) { return 0; }",
                "mov %rsp,%rbp push %rbx sub $0x18,%rsp lea 0x2004(%rip),%rdi callq 1050 <puts@plt>",
                "grep -rnE '^[a-z]+' src | awk '{print $2}' | sort -u > /tmp/out.txt 2>&1",
                "SELECT t.id, COUNT(*) FROM jobs t WHERE t.status = 'q' GROUP BY 1 HAVING COUNT(*) > 3"}),
      "");
}

TEST(Unreadable, SequencesOfLettersThatAreNoWordsStay) {
  std::mt19937 random(28);
  const auto word = [&random](std::string_view letters, int least, int most) {
    std::string text;
    for (int left = std::uniform_int_distribution(least, most)(random); left > 0; --left)
      text += letters[std::uniform_int_distribution<std::size_t>(0, letters.size() - 1)(random)];
    return text;
  };
  constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", kDigits = "0123456789";
  constexpr std::string_view kHex = "0123456789abcdef", kAcids = "ACDEFGHIKLMNPQRSTVWY";
  const auto line_of = [](const auto& next) {
    std::string line;
    for (int i = 0; i < 12; ++i) line += next() + " ";
    return line;
  };
  for (int times = 0; times < 300; ++times) {
    const std::vector<std::string> lines{
        line_of([&] { return word("ACGT", 10, 10); }),
        line_of([&] { return word(kAcids, 10, 10); }),
        line_of([&] { return word(kCapitals, 2, 5); }),
        line_of([&] { return word(kCapitals, 1, 4) + "-" + word(kDigits, 2, 5) + word(kCapitals, 0, 3); }),
        line_of([&] { return word(kHex, 2, 2); }),
        line_of([&] { return word(kHex, 8, 8) + "-" + word(kHex, 12, 12); }),
        line_of([&] { return word(kDigits, 1, 4) + "." + word(kDigits, 2, 2) + " €"; }),
        line_of([&] { return word("NBRQK", 1, 1) + word("abcdefgh", 1, 1) + word("12345678", 1, 1); }),
        line_of([&] { return word("bcdfghjklmnpqrstvwxz", 2, 7); })};
    EXPECT_EQ(taken_of(lines), "");
  }
}

TEST(Unreadable, APageWithoutWordsHasNone) {
  PageText page;
  EXPECT_TRUE(take_unreadable(page).empty());
  EXPECT_EQ(taken_of({"", "7", "\x80\xff", "."}), "");
}

}  // namespace
}  // namespace millrace::engines::unreadable_test
