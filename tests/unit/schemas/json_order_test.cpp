#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "schemas/json/json_body.h"
#include "schemas/json/json_tree.h"
#include "schemas/json/ordered_object.h"

namespace millrace::schemas::json_order_test {
namespace {

using Object = OrderedObject<std::string, int>;
using Names = std::vector<std::string>;

// Member 0 has the last name, so that the order of insertion differs from the order of the names.
std::string name_of(std::size_t number) { return "m" + std::to_string(99'999 - number); }

Object object_of(std::size_t size) {
  Object object;
  for (std::size_t i = 0; i < size; ++i) object.emplace(name_of(i), static_cast<int>(i));
  return object;
}

template <class Any>
Names names(const Any& object) {
  Names out;
  for (const auto& member : object) out.push_back(member.first);
  return out;
}

Names first_names(std::size_t size) {
  Names out;
  for (std::size_t i = 0; i < size; ++i) out.push_back(name_of(i));
  return out;
}

// An empty object, small ones, and those just below, at and above the size from which there is an index.
class ObjectOfSize : public ::testing::TestWithParam<std::size_t> {
 protected:
  const std::size_t size_ = GetParam();
  Object object_ = object_of(size_);
};

TEST_P(ObjectOfSize, KeepsTheOrderOfInsertion) {
  EXPECT_EQ(names(object_), first_names(size_));
  EXPECT_EQ(object_.size(), size_);
  EXPECT_EQ(object_.empty(), size_ == 0);
  EXPECT_EQ(object_.find("x"), object_.end());
  for (std::size_t i = 0; i < size_; ++i) {
    ASSERT_EQ(object_.count(name_of(i)), 1U);
    EXPECT_EQ(std::as_const(object_).find(name_of(i))->second, static_cast<int>(i));
  }
}

TEST_P(ObjectOfSize, AnExistingNameKeepsItsPlace) {
  for (std::size_t i = 0; i < size_; ++i) {
    EXPECT_FALSE(object_.emplace(name_of(i), -1).second);
    EXPECT_EQ(object_[name_of(i)], static_cast<int>(i));
    object_[name_of(i)] = 7;
  }
  EXPECT_EQ(names(object_), first_names(size_));
  EXPECT_EQ(object_["new"], 0);
  EXPECT_EQ(names(object_).back(), "new");
}

TEST_P(ObjectOfSize, ReferencesStayValidWhileMembersAreAddedAndWhenItIsMoved) {
  std::vector<const int*> places;
  for (const auto& member : object_) places.push_back(&member.second);
  for (int i = 0; i < 40; ++i) object_.emplace("more" + std::to_string(i), i);
  Object moved = std::move(object_);
  Object assigned;
  assigned = std::move(moved);
  for (std::size_t i = 0; i < size_; ++i) EXPECT_EQ(places[i], &assigned.find(name_of(i))->second);
}

TEST_P(ObjectOfSize, ACopyIsIndependent) {
  Object copy = object_;
  object_.clear();
  EXPECT_TRUE(object_.empty());
  EXPECT_EQ(object_.find(name_of(0)), object_.end());
  object_.emplace(name_of(0), 5);
  EXPECT_EQ(object_.size(), 1U);
  EXPECT_EQ(names(copy), first_names(size_));
  for (std::size_t i = 0; i < size_; ++i) EXPECT_EQ(copy.find(name_of(i))->second, static_cast<int>(i));
  object_ = copy;
  EXPECT_TRUE(object_ == copy);
}

TEST_P(ObjectOfSize, ErasingKeepsTheOrderOfTheRest) {
  Names rest = first_names(size_);
  for (std::size_t i = 0; i < size_; i += 3) {
    EXPECT_EQ(object_.erase(name_of(i)), 1U);
    EXPECT_EQ(object_.erase(name_of(i)), 0U);
    EXPECT_EQ(object_.find(name_of(i)), object_.end());
    std::erase(rest, name_of(i));
  }
  EXPECT_EQ(names(object_), rest);
  for (const std::string& name : rest) EXPECT_EQ(object_.count(name), 1U);
  EXPECT_EQ(object_.erase(object_.begin(), object_.end()), object_.end());
  EXPECT_TRUE(object_.empty());
  object_.emplace(name_of(0), 1);
  EXPECT_EQ(object_.count(name_of(0)), 1U);
}

TEST_P(ObjectOfSize, ARenamedMemberKeepsItsPlaceAndItsValue) {
  Names expected = first_names(size_);
  for (std::size_t i = 0; i < size_; i += 2) {
    expected[i] = "new" + std::to_string(i);
    object_.rename(object_.find(name_of(i)), expected[i]);
    EXPECT_EQ(object_.find(name_of(i)), object_.end());
    EXPECT_EQ(object_.find(expected[i])->second, static_cast<int>(i));
  }
  EXPECT_EQ(names(object_), expected);
}

TEST_P(ObjectOfSize, ComparisonDoesNotDependOnTheOrder) {
  Object reversed;
  for (std::size_t i = size_; i-- > 0;) reversed.emplace(name_of(i), static_cast<int>(i));
  EXPECT_TRUE(object_ == reversed);
  EXPECT_TRUE((object_ <=> reversed) == 0);
  reversed["new"] = 1;
  EXPECT_FALSE(object_ == reversed);
  EXPECT_FALSE((object_ <=> reversed) == 0);
  if (size_ == 0) return;
  reversed = object_;
  reversed[name_of(size_ / 2)] = -1;
  EXPECT_FALSE(object_ == reversed);
  EXPECT_TRUE(reversed < object_);
}

TEST_P(ObjectOfSize, IsInTheOrderOfAMap) {
  const std::map<std::string, int> map(object_.begin(), object_.end());
  std::map<std::string, int> other = map;
  Object same = object_;
  for (const auto& [name, value] : std::vector<std::pair<std::string, int>>{{"a", 1}, {"z", 2}, {"m5", 0}}) {
    other[name] = value;
    same[name] = value;
    EXPECT_EQ(map < other, object_ < same);
    EXPECT_EQ(other < map, same < object_);
  }
}

INSTANTIATE_TEST_SUITE_P(Json, ObjectOfSize,
                         ::testing::Values(0, 1, 3, kIndexedFrom - 1, kIndexedFrom, kIndexedFrom + 1, 1000));

// Each text has its members in an order that is not the order of their names.
constexpr std::string_view kOrdered[] = {
    R"({"z":1,"a":{"y":[{"c":1,"b":2}],"x":null},"":0,"m":"n"})",
    R"({"reasoning":"r","evidence":[],"answer":{"b":{"d":1,"c":2},"a":3}})",
    R"({"9":1,"10":2,"é":3,"Z":4,"a b":5})",
};

TEST(JsonOrder, EachReaderAndWriterKeepsIt) {
  for (const std::string_view text : kOrdered) {
    std::string body(text);
    const auto read = read_json(body);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(dump(read->value), text);
    const auto parsed = parse_json(text, 64);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(dump(*parsed), text);
    EXPECT_EQ(parsed->dump(), text);
    EXPECT_EQ(Json::parse(text).dump(), text);
  }
  const std::string_view odd = R"({"z":"\ud83d\ude00","a":1})";  // read by the slower parser
  EXPECT_EQ(dump(*parse_json(odd, 64)), R"({"z":"😀","a":1})");
}

TEST(JsonOrder, OfAMemberThatATextHasTwiceTheLastValueCountsAtTheFirstPlace) {
  EXPECT_EQ(dump(*parse_json(R"({"b":{"x":1},"a":2,"b":[3]})", 64)), R"({"b":[3],"a":2})");
}

TEST(JsonOrder, LiteralsUpdatesAndCopiesKeepIt) {
  Json value = {{"z", 1}, {"a", {{"y", 2}, {"b", 3}}}};
  value["m"] = 4;
  value.update({{"a", 5}, {"c", 6}});
  const Json copy = value;
  value.erase("z");
  EXPECT_EQ(copy.dump(), R"({"z":1,"a":5,"m":4,"c":6})");
  EXPECT_EQ(value.dump(), R"({"a":5,"m":4,"c":6})");
  EXPECT_EQ(Json(copy), Json::parse(R"({"c":6,"m":4,"a":5,"z":1})"));
}

TEST(JsonOrder, NestedObjectsCompareWithoutIt) {
  const Json one = Json::parse(R"([{"b":{"x":1,"y":2},"a":[]}])");
  const Json other = Json::parse(R"([{"a":[],"b":{"y":2,"x":1}}])");
  EXPECT_EQ(one, other);
  EXPECT_FALSE(one < other || other < one);
  EXPECT_NE(one, Json::parse(R"([{"a":[],"b":{"y":2,"x":3}}])"));
}

// nlohmann::ordered_json takes some 25 s for this body.
TEST(JsonOrder, AnObjectWithManyMembersIsReadInShortTime) {
  std::string body = "{";
  for (std::size_t i = 0; i < 99'000; ++i) body += (i > 0 ? ",\"" : "\"") + name_of(i) + "\":0";
  body += '}';
  const std::string text = body;
  const auto began = std::chrono::steady_clock::now();
  const auto read = read_json(body);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(dump(read->value), text);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
}

}  // namespace
}  // namespace millrace::schemas::json_order_test
