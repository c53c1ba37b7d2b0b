#include "ai/engines/layout/quantities.h"

#include <sstream>

#include <gtest/gtest.h>

namespace millrace::engines {
namespace {

// Words of 6 units a letter with a space between them, at this position.
void add_item_line(PageText& page, float x, float y, const std::string& text) {
  std::istringstream words(text);
  for (std::string each; words >> each; x += 6) {
    const float end = x + 6 * static_cast<float>(each.size());
    page.words.push_back({{x, y, end, y + 10}, each});
    x = end;
  }
}

std::vector<std::string> texts_in_order(const PageText& page) {
  std::vector<std::string> texts;
  for (const Word& word : page.words) texts.push_back(word.text);
  return texts;
}

TEST(Quantities, TheQuantityAndThePriceOfAnItemAreOneWord) {
  PageText page;
  add_item_line(page, 0, 0, "Milk 2 x 1.15");
  add_item_line(page, 200, 0, "2.30");
  add_item_line(page, 0, 15, "Apples 0.842 kg x 2.99/kg");
  add_item_line(page, 0, 30, "Soap 3x 0.99");
  join_quantities(page);
  EXPECT_EQ(texts_in_order(page), (std::vector<std::string>{"Milk", "2 x 1.15", "2.30", "Apples",
                                                            "0.842 kg x 2.99/kg", "Soap", "3x 0.99"}));
}

TEST(Quantities, NumbersOfOtherColumnsAndSizesStay) {
  PageText page;
  for (float y = 0; y < 60; y += 15) {
    add_item_line(page, 0, y, "2 x");
    add_item_line(page, 100, y, "1.15");
    add_item_line(page, 200, y, "40 x 60 cm");
  }
  const auto before = texts_in_order(page);
  join_quantities(page);
  EXPECT_EQ(texts_in_order(page), before);
}

}  // namespace
}  // namespace millrace::engines
