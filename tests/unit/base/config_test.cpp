#include "platform/base/config.h"

#include <array>
#include <ctime>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::base::config_test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::array kTable{
    Setting{.path = "listen", .default_text = "127.0.0.1:8080", .help = "where to listen"},
    Setting{.path = "log.format",
            .default_text = "text",
            .help = "",
            .flag_alias = "log-format",
            .env_alias = "MILLRACE_LOG_FORMAT_SHORT",
            .choices = "text|json"},
    Setting{.path = "mock", .type = SettingType::kBool, .default_text = "false", .help = ""},
    Setting{.path = "kafka.brokers",
            .type = SettingType::kList,
            .default_text = "",
            .help = "",
            .flag_alias = "kafka",
            .env_alias = "MILLRACE_KAFKA",
            .max = 3},
    Setting{.path = "kafka.partitions",
            .type = SettingType::kInteger,
            .default_text = "8",
            .help = "",
            .min = 1,
            .max = 1'000},
    Setting{.path = "store.wal_max",
            .type = SettingType::kBytes,
            .default_text = "64MiB",
            .help = "",
            .min = 1 << 20,
            .max = std::int64_t{1} << 30},
    Setting{.path = "drain", .type = SettingType::kDuration, .default_text = "30s", .help = "", .min = 1'000},
    Setting{.path = "slots", .type = SettingType::kList, .default_text = "", .help = ""},
    Setting{.path = "token", .default_text = "", .help = "", .choices = "", .secret = true},
};

Config from_file(std::string text) {
  return Config::read(kTable, {.file_name = "m.yaml", .file_text = std::move(text)});
}

TEST(Config, WithoutSourcesEverySettingHasItsDefault) {
  const Config config = Config::read(kTable, {});
  EXPECT_TRUE(config.mistakes().empty());
  EXPECT_EQ(config.text("listen"), "127.0.0.1:8080");
  EXPECT_FALSE(config.boolean("mock"));
  EXPECT_EQ(config.integer("kafka.partitions"), 8);
  EXPECT_EQ(config.bytes("store.wal_max"), 64 << 20);
  EXPECT_EQ(config.duration("drain"), milliseconds(30'000));
  EXPECT_FALSE(config.is_set("kafka.brokers"));
  EXPECT_EQ(config.origin("listen"), "default");
}

TEST(Config, OneRuleGivesEverySettingItsFlagAndItsVariable) {
  EXPECT_EQ(flag_name(kTable[5]), "store.wal-max");
  EXPECT_EQ(env_name(kTable[5]), "MILLRACE_STORE_WAL_MAX");
}

TEST(Config, AFlagBeatsAVariableBeatsTheFileBeatsTheDefault) {
  ConfigSources sources{.file_name = "m.yaml", .file_text = "drain: 1m\nlisten: a:1\nmock: true\n"};
  sources.environment = {{"MILLRACE_DRAIN", "2m"}, {"MILLRACE_LISTEN", "b:2"}, {"HOME", "/root"}};
  sources.flags = {{"drain", "3m"}};
  const Config config = Config::read(kTable, sources);
  EXPECT_TRUE(config.mistakes().empty());
  EXPECT_EQ(config.duration("drain"), milliseconds(180'000));
  EXPECT_EQ(config.origin("drain"), "--drain");
  EXPECT_EQ(config.text("listen"), "b:2");
  EXPECT_EQ(config.origin("listen"), "MILLRACE_LISTEN");
  EXPECT_TRUE(config.boolean("mock"));
  EXPECT_EQ(config.origin("mock"), "m.yaml:3");
}

TEST(Config, ShortNamesOfFlagsAndVariablesWork) {
  const Config config = Config::read(
      kTable, {.environment = {{"MILLRACE_KAFKA", "a:1,b:2"}}, .flags = {{"log-format", "json"}}});
  EXPECT_TRUE(config.mistakes().empty());
  EXPECT_THAT(config.list("kafka.brokers"), ElementsAre("a:1", "b:2"));
  EXPECT_EQ(config.text("log.format"), "json");
}

TEST(Config, KeysOfTheFileMayNestOrBeDotted) {
  EXPECT_EQ(from_file("store: {wal_max: 2MiB}\n").bytes("store.wal_max"), 2 << 20);
  EXPECT_EQ(from_file("store.wal_max: 2MiB\n").bytes("store.wal_max"), 2 << 20);
  EXPECT_EQ(from_file("store:\n  wal_max: 2MiB\n").origin("store.wal_max"), "m.yaml:2");
}

TEST(Config, AListIsASequenceAMapOrWordsWithCommas) {
  EXPECT_THAT(from_file("kafka: {brokers: [a:1, b:2]}\n").list("kafka.brokers"), ElementsAre("a:1", "b:2"));
  EXPECT_THAT(from_file("kafka: {brokers: 'a:1, b:2'}\n").list("kafka.brokers"), ElementsAre("a:1", "b:2"));
  EXPECT_THAT(from_file("slots: {ocr: 2, stt: 3}\n").list("slots"), ElementsAre("ocr=2", "stt=3"));
}

TEST(Config, AnEmptyFileIsFine) {
  EXPECT_TRUE(from_file("").mistakes().empty());
  EXPECT_TRUE(from_file("# nothing\n").mistakes().empty());
  EXPECT_TRUE(from_file("kafka:\n").mistakes().empty());
}

struct Row {
  std::string_view file, place, message;
};

TEST(Config, EveryMistakeOfTheFileNamesItsLineAndTheWayOut) {
  const std::string large = "listen: " + std::string(kConfigBytesMax, 'a');
  const Row rows[] = {
      {"mock: true\nlisten: a:1\nlisetn: b:1\n", "m.yaml:3", "no such setting; did you mean listen?"},
      {"store: {wal_mx: 2MiB}\n", "m.yaml:1", "store.wal_mx: no such setting; did you mean store.wal_max?"},
      {"qqqqqqqq: 1\n", "m.yaml:1", "qqqqqqqq: no such setting"},
      {"store.wal_max: 1KiB\n", "m.yaml:1", "\"1KiB\" is below the minimum of 1MiB"},
      {"store.wal_max: 2GiB\n", "m.yaml:1", "\"2GiB\" is above the maximum of 1GiB"},
      {"store.wal_max: much\n", "m.yaml:1", "\"much\" is not a size such as 64MiB"},
      {"drain: 5\n", "m.yaml:1", "\"5\" is not a duration such as 30s"},
      {"drain: 5ms\n", "m.yaml:1", "below the minimum of 1s"},
      {"mock: maybe\n", "m.yaml:1", "is not true or false"},
      {"kafka.partitions: 1.5\n", "m.yaml:1", "is not a whole number"},
      {"kafka.partitions: 0\n", "m.yaml:1", "below the minimum of 1"},
      {"kafka.brokers: [a, b, c, d]\n", "m.yaml:1", "has more than the maximum of 3 elements"},
      {"kafka.brokers: 'a,,b'\n", "m.yaml:1", "has an empty element"},
      {"log.format: xml\n", "m.yaml:1", "is not one of text|json"},
      {"listen: [a, b]\n", "m.yaml:1", "listen: a single value is expected here"},
      {"kafka: broker:9092\n", "m.yaml:1", "kafka: is a section"},
      {"drain: 5s\ndrain: 6s\n", "m.yaml:2", "set twice"},
      {"listen: [a\n", "m.yaml:1", "not YAML: the list that begins in line 1 has no `]`"},
      {"listen: \xff\n", "m.yaml", "the file is not UTF-8"},
      {"- a\n", "m.yaml:1", "the file must be a map of settings"},
      {"mock: true\n---\nlisten: 127.0.0.1:9\n", "m.yaml:2", "a second YAML document begins here"},
      {std::string_view("mock: true\nlisten: a\0b\n", 23), "m.yaml:2", "a control character"},
      {"mock: \"\x01\"\n", "m.yaml:1", "a control character"},
      {",\n", "m.yaml:1", "a second YAML document begins here"},
      {"mock: true\n...\n,", "m.yaml:3", "a second YAML document begins here"},
      {"[a]: 1\n", "m.yaml:1", "a key must be a word"},
      {large, "m.yaml", "the file is larger than 4MiB"},
  };
  for (const Row& row : rows) {
    const Config config = from_file(std::string(row.file));
    ASSERT_EQ(config.mistakes().size(), 1U) << row.file;
    EXPECT_EQ(config.mistakes()[0].place, row.place) << row.file;
    EXPECT_THAT(config.mistakes()[0].message, HasSubstr(row.message)) << row.file;
    EXPECT_FALSE(config.usable()) << row.file;
  }
}

// Processor time, so that other processes do not matter.
std::clock_t time_of_section(std::size_t members) {
  std::string text = "models:\n";
  for (std::size_t i = 0; i < members; ++i) text += "  k" + std::to_string(i) + ": 1\n";
  const std::clock_t begun = std::clock();
  const Config config =
      Config::read(kTable, {.file_name = "m.yaml", .file_text = std::move(text), .sections = {"models"}});
  EXPECT_EQ(config.section("models").items.size(), members);
  return std::clock() - begun;
}

TEST(Config, TheTimeForASectionGrowsLikeItsSize) {
  EXPECT_LT(time_of_section(kConfigNodesMax), 8 * time_of_section(kConfigNodesMax / 4));
}

TEST(Config, AllMistakesOfAllSourcesAreCollected) {
  ConfigSources sources{.file_name = "m.yaml", .file_text = "nope: 1\ndrain: 0\n"};
  sources.environment = {{"MILLRACE_MOCK", "x"}};
  sources.flags = {{"kafka.partition", "2"}, {"kafka.partitions", "many"}};
  const Config config = Config::read(kTable, sources);
  std::vector<std::string> places;
  for (const auto& mistake : config.mistakes()) places.push_back(mistake.place);
  EXPECT_THAT(places, ElementsAre("m.yaml:1", "m.yaml:2", "MILLRACE_MOCK", "--kafka.partition",
                                  "--kafka.partitions"));
  EXPECT_THAT(config.mistakes()[3].message, HasSubstr("did you mean --kafka.partitions?"));
}

TEST(Config, AnUnknownVariableIsReportedAndStopsNothing) {
  ConfigSources sources{.environment = {{"MILLRACE_LISTNE", "a:1"}, {"MILLRACE_TRY", "1"}}};
  sources.other_variables = {"MILLRACE_TRY"};
  const Config config = Config::read(kTable, sources);
  ASSERT_EQ(config.mistakes().size(), 1U);
  EXPECT_THAT(config.mistakes()[0].message, HasSubstr("did you mean MILLRACE_LISTEN?"));
  EXPECT_TRUE(config.usable());
}

TEST(Config, AWrongValueLeavesTheWeakerOneInForce) {
  ConfigSources sources{.file_name = "m.yaml", .file_text = "drain: 1m\n", .flags = {{"drain", "soon"}}};
  EXPECT_EQ(Config::read(kTable, sources).duration("drain"), milliseconds(60'000));
}

TEST(Config, ASecretIsMaskedInTheListAndInMistakes) {
  constexpr std::array table{Setting{.path = "pin",
                                     .type = SettingType::kInteger,
                                     .default_text = "1",
                                     .help = "",
                                     .max = 10,
                                     .secret = true}};
  const Config wrong = Config::read(table, {.flags = {{"pin", "7777"}}});
  EXPECT_EQ(wrong.mistakes().at(0).message, "pin: the value is above the maximum of 10");
  const Config config = Config::read(kTable, {.flags = {{"token", "hush"}}});
  const auto lines = config.effective();
  ASSERT_EQ(lines.size(), kTable.size());
  EXPECT_EQ(lines.back().value, "****");
  EXPECT_EQ(lines.back().origin, "--token");
  EXPECT_EQ(config.text("token"), "hush");
}

TEST(Config, ReadingAsAnotherTypeIsAProgrammersError) {
  const Config config = Config::read(kTable, {});
  EXPECT_THROW(config.integer("listen"), std::logic_error);
  EXPECT_THROW(config.text("no.such"), std::logic_error);
}

Config with_section(std::string text) {
  ConfigSources sources{.file_name = "m.yaml", .file_text = std::move(text)};
  sources.sections = {"things"};
  return Config::read(kTable, sources);
}

TEST(Config, ASectionIsReadAsItStandsWithItsPlaces) {
  const Config config = with_section("mock: true\nthings:\n- name: a\n  words: [b, c]\n- d\n");
  EXPECT_TRUE(config.mistakes().empty());
  const ConfigNode& things = config.section("things");
  ASSERT_EQ(things.kind, ConfigNode::Kind::kList);
  EXPECT_EQ(things.place, "m.yaml:2");
  ASSERT_EQ(things.items.size(), 2u);
  EXPECT_EQ(things.items[0].kind, ConfigNode::Kind::kMap);
  EXPECT_EQ(things.items[0].items[0].key, "name");
  EXPECT_EQ(things.items[0].items[0].text, "a");
  EXPECT_EQ(things.items[0].items[1].place, "m.yaml:4");
  EXPECT_EQ(things.items[0].items[1].items[1].text, "c");
  EXPECT_EQ(things.items[1].text, "d");
  EXPECT_EQ(with_section("mock: true\n").section("things").kind, ConfigNode::Kind::kNone);
}

TEST(Config, ASectionIsThereOnceAndItsKeysToo) {
  const auto message = [](const std::string& text) {
    const Config config = with_section(text);
    return config.mistakes().empty() ? "none"
                                     : config.mistakes()[0].place + ": " + config.mistakes()[0].message;
  };
  EXPECT_EQ(message("things: {a: 1, a: 2}\n"), "m.yaml:1: a: set twice");
  EXPECT_EQ(message("things: {a: 1}\nthings: {b: 2}\n"), "m.yaml:2: things: set twice");
  EXPECT_EQ(message("thigns: 1\n"), "m.yaml:1: thigns: no such setting; did you mean things?");
}

TEST(Config, AnchorsMakeNoSectionWithoutAnEnd) {
  std::string text = "things:\n- &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 7; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "- &a" + std::to_string(i) + " [";
    for (int each = 0; each < 9; ++each) text += before + ", ";
    text += before + "]\n";
  }
  const Config config = with_section(text);
  ASSERT_FALSE(config.mistakes().empty());
  EXPECT_THAT(config.mistakes()[0].message,
              testing::AnyOf(HasSubstr("nested deeper"), HasSubstr("more than")));
  EXPECT_FALSE(with_section("things: [[[[[[[[[1]]]]]]]]]\n").usable());
}

}  // namespace
}  // namespace millrace::base::config_test
