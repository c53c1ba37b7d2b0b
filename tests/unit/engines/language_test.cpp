#include "ai/engines/layout/language.h"

#include <sstream>

#include <gtest/gtest.h>

namespace millrace::engines {
namespace {

PageText page_with_text(const std::string& text) {
  PageText page;
  std::istringstream words(text);
  for (std::string each; words >> each;) page.words.push_back({{0, 0, 10, 10}, each});
  return page;
}

std::string looks_like(const std::string& text, const std::string& set = "eng") {
  const auto language = other_language(page_with_text(text), set);
  return language ? std::string(language->code) : "";
}

// As the recogniser reads it with the data of English.
const std::string kGerman =
    "Die Miihle steht am Flu8, und das Rad dreht sich langsam, wenn das Wasser niedrig ist; im Friihjahr "
    "lauft "
    "sie Tag und Nacht. Gré&ere Sacke fiir die Backerei miissen iiber die Briicke getragen werden.";
const std::string kEnglish =
    "The mill stands by the river and the wheel turns slowly when the water is low; in spring it runs day "
    "and "
    "night, and larger sacks for the bakery have to be carried over the bridge.";

TEST(OtherLanguage, GermanReadAsEnglishIsNoticed) {
  EXPECT_EQ(looks_like(kGerman), "deu");
  EXPECT_EQ(looks_like(kGerman, "eng+fra"), "deu");
}

TEST(OtherLanguage, ALanguageThatIsSetIsNone) {
  EXPECT_EQ(looks_like(kEnglish), "");
  EXPECT_EQ(looks_like(kGerman, "deu"), "");
  EXPECT_EQ(looks_like(kGerman, "eng+deu"), "");
  EXPECT_EQ(looks_like(kEnglish, "deu+fra"), "eng");
}

TEST(OtherLanguage, ASetLanguageThatIsNotKnownMayBeThatOfThePage) {
  for (const std::string set : {"cat", "eng+glg", "afr", "script/Latin"})
    EXPECT_EQ(looks_like(kGerman, set), "") << set;
  for (const std::string set : {"rus", "eng+jpn", "osd+chi_sim"})
    EXPECT_EQ(looks_like(kGerman, set), "deu") << set;
}

TEST(OtherScript, AnyLanguageOfTheScriptMayBeThatOfThePage) {
  for (const auto& [script, set] : {std::pair{"Cyrillic", "eng+ukr"},
                                    {"Arabic", "fas"},
                                    {"Han", "chi_tra+eng"},
                                    {"Han", "jpn"},
                                    {"Korean", "kor"},
                                    {"Devanagari", "nep"}})
    EXPECT_FALSE(other_script(script, set)) << script << ' ' << set;
  for (const auto& [script, code] : {std::pair{"Cyrillic", "rus"}, {"Greek", "ell"}, {"Han", "chi_sim"}}) {
    const auto other = other_script(script, "eng+tha");
    ASSERT_TRUE(other) << script;
    EXPECT_EQ(other->code, code);
    EXPECT_EQ(other->name, script);
  }
  EXPECT_FALSE(other_script("Latin", "eng"));
  EXPECT_FALSE(other_script("", ""));
}

TEST(OtherLanguage, AFewWordsOrAQuotationAreNotEnough) {
  EXPECT_EQ(looks_like(""), "");
  EXPECT_EQ(looks_like("Die Miihle steht am Flu8 und das Rad dreht sich"), "");
  EXPECT_EQ(looks_like(kEnglish + " " + kEnglish + " Die Miihle steht am Flu8, und das Rad dreht sich."), "");
}

TEST(OtherLanguage, APageInTwoLanguagesIsNone) { EXPECT_EQ(looks_like(kEnglish + " " + kGerman), ""); }

TEST(OtherLanguage, NumbersNamesAndCodeAreNoLanguage) {
  std::string amounts, names, code;
  for (int i = 0; i < 60; ++i) {
    amounts += std::to_string(i * 37) + ".50 ";
    names += "Anna Sharp BX-" + std::to_string(i) + " ";
    code += "for (int i = 0; i < n; ++i) { total += price[i]; } ";
  }
  EXPECT_EQ(looks_like(amounts), "");
  EXPECT_EQ(looks_like(names), "");
  EXPECT_EQ(looks_like(code, "deu"), "");
}

TEST(OtherLanguage, EachKnownLanguageIsFound) {
  EXPECT_EQ(
      looks_like("Le moulin est sur la rive et la roue tourne avec les eaux du fleuve, mais pas dans une "
                 "année de grande sécheresse ; les sacs pour la boulangerie sont par le pont."),
      "fra");
  EXPECT_EQ(
      looks_like("El molino está junto al río y la rueda gira con el agua que baja de los montes, pero no en "
                 "una época de sequía; los sacos para la panadería se llevan por el puente."),
      "spa");
  EXPECT_EQ(
      looks_like("Il mulino si trova sul fiume e la ruota gira con le acque che scendono dai monti, ma non "
                 "nel tempo della siccità; i sacchi per il forno sono portati alla città con un carro."),
      "ita");
  EXPECT_EQ(
      looks_like("De molen staat aan het water en het rad draait met de stroom die van de bergen komt, maar "
                 "niet in een droge tijd; de zakken voor de bakker zijn op een wagen."),
      "nld");
}

}  // namespace
}  // namespace millrace::engines
