#include <gtest/gtest.h>

#include "ai/inference/chat/tool_loop.h"

namespace millrace::inference {
namespace {

using schemas::Json;

schemas::ChatPiece piece_of(std::string text, Json extra = nullptr) {
  schemas::ChatPiece piece;
  piece.content = std::move(text);
  piece.extra = std::move(extra);
  return piece;
}

Json citing(int begin, int end) {
  Json cited = {{"start_index", begin}, {"end_index", end}, {"url", "https://a/"}, {"title", "a"}};
  return {{"annotations", Json::array({{{"type", "url_citation"}, {"url_citation", std::move(cited)}}})}};
}

TEST(TurnFilters, CitationsOfALaterTurnCountTheTextOfThoseBefore) {
  TurnFilter filter([](const std::string&) { return false; });
  filter.begin(false);
  EXPECT_EQ(citing(0, 2), filter.filter_piece(piece_of("üb", citing(0, 2)))->extra);
  filter.begin(false);
  EXPECT_EQ(citing(5, 7), filter.filter_piece(piece_of("cde", citing(1, 3)))->extra)
      << "with the blank line between the texts";
  const auto turn = filter.take();
  // The turn goes back to the model, so its offsets count from its own start.
  EXPECT_EQ(citing(1, 3), turn.choices.at(0).extra);
}

TEST(TurnFilters, OddAnnotationsPassAsTheyAre) {
  TurnFilter filter([](const std::string&) { return false; });
  filter.begin(false);
  filter.filter_piece(piece_of("text"));
  filter.begin(true);
  for (const char* odd : {R"({"annotations":7})", R"({"annotations":[7,{}]})", R"({"other":1})",
                          R"({"annotations":[{"url_citation":{"start_index":"x","end_index":-1}}]})"})
    EXPECT_EQ(Json::parse(odd), filter.filter_piece(piece_of("a", Json::parse(odd)))->extra);
}

TEST(TurnFilters, UnknownMembersThatAreNoListsAreHeldUntilTheTurnIsTheLast) {
  TurnFilter filter([](const std::string&) { return false; });
  filter.begin(false);
  const auto sent = filter.filter_piece(piece_of("a", Json::parse(R"({"odd":"x","list":[1]})")));
  EXPECT_EQ(Json::parse(R"({"list":[1]})"), sent->extra);
  EXPECT_TRUE(filter.filter_piece(piece_of("b", Json::parse(R"({"odd":"y"})")))->extra.is_null());
  EXPECT_EQ(Json::parse(R"({"odd":"xy","list":[1]})"), filter.take().choices.at(0).extra)
      << "pieces of one turn are joined";
  EXPECT_EQ(2u, filter.take_held().size());
  filter.filter_piece(piece_of("c", Json::parse(R"({"odd":"z"})")));
  filter.begin(true);
  EXPECT_TRUE(filter.take_held().empty());
  EXPECT_EQ(Json::parse(R"({"odd":1})"),
            filter.filter_piece(piece_of("d", Json::parse(R"({"odd":1})")))->extra);
}

}  // namespace
}  // namespace millrace::inference
