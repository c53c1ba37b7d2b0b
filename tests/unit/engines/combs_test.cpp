#include "ai/engines/layout/combs.h"

#include <gtest/gtest.h>

namespace millrace::engines {
namespace {

constexpr float kCell = 20;

// One character in each box; a space is an empty box.
PageText field_of(const std::string& text, Rules& rules) {
  PageText page;
  float x = 100;
  rules.down.push_back({x, 100, x + 1, 124});
  for (const char c : text) {
    if (c != ' ') page.words.push_back({{x + 7, 106, x + 13, 118}, std::string(1, c)});
    x += kCell;
    rules.down.push_back({x, 100, x + 1, 124});
  }
  return page;
}

TEST(Combs, CharactersInBoxesOfTheirOwnAreOneWord) {
  Rules rules;
  PageText page = field_of("17041961", rules);
  page.words.push_back({{20, 106, 80, 118}, "Born"});
  std::vector<CheckBox> boxes{{{100, 100, 120, 124}}, {{400, 100, 420, 124}}};
  join_boxed_characters(rules, boxes, page);
  ASSERT_EQ(page.words.size(), 2U);
  EXPECT_EQ(page.words.back().text, "17041961");
  EXPECT_EQ(boxes.size(), 1U) << "a box of the field is none to tick";
}

TEST(Combs, AnEmptyBoxIsASpace) {
  Rules rules;
  PageText page = field_of("SW1A 2AA", rules);
  std::vector<CheckBox> none;
  join_boxed_characters(rules, none, page);
  ASSERT_EQ(page.words.size(), 1U);
  EXPECT_EQ(page.words.front().text, "SW1A 2AA");
}

TEST(Combs, TheRowsOfATableAreNone) {
  Rules rules;
  PageText page = field_of("1234", rules);
  const std::size_t lines = rules.down.size();
  for (std::size_t i = 0; i < lines; ++i) {
    Box below = rules.down[i];
    below.y0 += 24, below.y1 += 24;
    rules.down.push_back(below);
  }
  std::vector<CheckBox> none;
  join_boxed_characters(rules, none, page);
  EXPECT_EQ(page.words.size(), 4U);
}

TEST(Combs, ALineAcrossTheLinesDownPartsTheRowsOfATable) {
  Rules rules;
  PageText page = field_of("1234", rules);
  for (Box& rule : rules.down) rule.y1 += 12;
  rules.across.push_back({100, 123, 300, 124});
  std::vector<CheckBox> none;
  join_boxed_characters(rules, none, page);
  EXPECT_EQ(page.words.size(), 4U);
}

TEST(Combs, CharactersWithoutLinesBetweenThemAreNone) {
  Rules rules;
  PageText page = field_of("1234", rules);
  rules.down.clear();
  std::vector<CheckBox> none;
  join_boxed_characters(rules, none, page);
  EXPECT_EQ(page.words.size(), 4U);
}

}  // namespace
}  // namespace millrace::engines
