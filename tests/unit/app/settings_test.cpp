#include "app/config/settings.h"

#include <array>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/temp_dir.h"

namespace millrace::app::settings_test {
namespace {

using base::Setting;
using base::SettingType;
using std::chrono::hours;
using std::chrono::seconds;
using testing::HasSubstr;

// Sets an environment variable for one test.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~Variable() { ::unsetenv(name_.c_str()); }  // NOLINT(concurrency-mt-unsafe)
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
};

class SettingsTable : public testing::Test {
 protected:
  // Loads the settings with a new data directory. The configuration file is `yaml` unless that is empty.
  LoadedSettings load(std::map<std::string, std::string> flags = {}, const std::string& yaml = {}) {
    if (!yaml.empty()) flags["config"] = folder_.write("given.yaml", yaml).string();
    flags.emplace("data", folder_.str());
    return load_settings(flags);
  }
  support::TempDir folder_;
};

// Settings that accept every text: a path, a URL, a name.
const std::set<std::string_view> kAnything = {"data",
                                              "public_url",
                                              "ready_file",
                                              "worker.name",
                                              "fetch.allow_hosts",
                                              "webhooks.allowed_hosts",
                                              "images.default_model",
                                              "stt.engine",
                                              "secrets.dir"};

// A value that this setting refuses. Empty: it accepts every text.
std::string wrong_value(const Setting& setting) {
  if (kAnything.contains(setting.path)) return {};
  if (setting.path == "kafka.brokers") return "broker-without-port";
  if (setting.path == "slots") return "ocr=none";
  if (setting.path == "ssh.public_host") return "*.example";
  return "!";
}

// A value in the setting's unit, `step` above its minimum.
std::string number(const Setting& setting, std::int64_t step) {
  switch (setting.type) {
    case SettingType::kDuration:
      return std::to_string(setting.min + step) + "ms";
    case SettingType::kBytes:
    case SettingType::kInteger:
      return std::to_string(setting.min + step);
    case SettingType::kString:
    case SettingType::kBool:
    case SettingType::kList:
      break;
  }
  return {};
}

bool is_number(const Setting& setting) { return !number(setting, 0).empty(); }

// Three valid values, all different if possible.
std::array<std::string, 3> right_values(const Setting& setting) {
  if (is_number(setting)) return {number(setting, 0), number(setting, 1), number(setting, 0)};
  if (setting.type == SettingType::kBool) return {"true", "false", "true"};
  if (!setting.choices.empty()) {
    const std::string first(setting.choices.substr(0, setting.choices.find('|')));
    const std::string last(setting.choices.substr(setting.choices.rfind('|') + 1));
    return {first, last, first};
  }
  if (setting.path == "slots") return {"ocr=1", "ocr=2", "ocr=3"};
  if (setting.path == "ocr.languages") return {"deu", "fra", "chi_sim"};
  if (setting.path.starts_with("ssh.")) return {"127.0.0.1", "127.0.0.2", "::1"};
  return {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"};
}

std::string in_file(const Setting& setting, const std::string& value) {
  return std::string(setting.path) + ": '" + value + "'\n";
}

std::string value_of(const base::Config& config, const Setting& setting) {
  for (const auto& line : config.effective()) {
    if (line.path == setting.path) return line.value;
  }
  return "no such setting";
}

std::string mistakes_of(const LoadedSettings& loaded) {
  std::string out;
  for (const auto& mistake : loaded.mistakes) out += mistake.place + ": " + mistake.message + "\n";
  return out;
}

TEST_F(SettingsTable, EveryDefaultIsRightAndShownInFull) {
  const LoadedSettings none = load();
  ASSERT_TRUE(none.settings) << mistakes_of(none);
  EXPECT_TRUE(none.mistakes.empty()) << mistakes_of(none);
  for (const Setting& setting : settings_table()) {
    EXPECT_FALSE(setting.help.empty()) << setting.path;
    EXPECT_EQ(value_of(none.config, setting), setting.path == "data" ? folder_.str() : setting.default_text);
    if (setting.default_text.empty()) continue;
    const LoadedSettings said = load({{base::flag_name(setting), std::string(setting.default_text)}});
    EXPECT_TRUE(said.settings) << setting.path << ": " << mistakes_of(said);
  }
}

TEST_F(SettingsTable, ADefaultMeansWhatItSays) {
  const Settings s = load().settings.value();
  EXPECT_EQ(s.listen.host, "127.0.0.1");
  EXPECT_EQ(s.listen.port, 8080);
  EXPECT_TRUE(s.kafka_brokers.empty());
  EXPECT_EQ(s.wal_max_bytes, std::int64_t{64} << 20);
  EXPECT_EQ(s.disk_free_min_bytes, std::int64_t{512} << 20);
  EXPECT_EQ(s.http_body_budget_bytes, std::int64_t{512} << 20);
  EXPECT_EQ(s.http_reply_budget_bytes, std::int64_t{512} << 20);
  EXPECT_EQ(s.ocr_reply_max_bytes, std::int64_t{256} << 20);
  EXPECT_EQ(s.retention_results, hours(24));
  EXPECT_EQ(s.retention_jobs, hours(7 * 24));
  EXPECT_EQ(s.ocr_wait, seconds(120));
  EXPECT_EQ(s.drain_timeout, seconds(30));
  EXPECT_EQ(s.ocr_languages, "eng");
  EXPECT_FALSE(s.ocr_unjailed);
  EXPECT_EQ(s.requests_per_minute, 0);
  EXPECT_GE(s.slots.at(schemas::Kind::kOcr), 1);
}

TEST_F(SettingsTable, TheGatewayIsKnownByItsOwnNamesAndThoseOfTheOperator) {
  const Settings s = load({{"listen", "gateway.lan:8080"},
                           {"public-url", "https://ai.example.com:8443/base/"},
                           {"metrics.listen", "metrics.lan:9464"},
                           {"http.hosts", "one.example,two.example"}})
                         .settings.value();
  for (const char* name : {"gateway.lan", "ai.example.com", "metrics.lan", "one.example", "two.example"})
    EXPECT_THAT(s.http_hosts, testing::Contains(name));
  std::array<char, 256> own{};
  ASSERT_EQ(::gethostname(own.data(), own.size() - 1), 0);
  EXPECT_THAT(s.http_hosts, testing::Contains(own.data()));
}

TEST_F(SettingsTable, RecordingsHaveNoMoreSlotsThanFitIntoMemory) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  EXPECT_EQ(transcription_slots_max(0, kGiB), 1);
  EXPECT_EQ(transcription_slots_max(kGiB, kGiB), 1);
  EXPECT_EQ(transcription_slots_max(4 * kGiB, kGiB), 3) << "and one process beyond the slots";
  EXPECT_EQ(transcription_slots_max(64 * kGiB, kGiB), 69);
  EXPECT_EQ(transcription_slots_max(16 * kGiB, 4 * kGiB), 2) << "a larger model";
  const Settings s = load().settings.value();
  EXPECT_LE(s.slots.at(schemas::Kind::kStt), s.slots.at(schemas::Kind::kOcr));
  EXPECT_EQ(load({{"stt.memory", "1024GiB"}}).settings.value().slots.at(schemas::Kind::kStt), 1);
  EXPECT_EQ(load({{"slots", "stt=9"}}).settings.value().slots.at(schemas::Kind::kStt), 9);
}

TEST_F(SettingsTable, NothingIsOpenAndNoProxyIsTrustedByDefault) {
  const Settings s = load().settings.value();
  EXPECT_FALSE(s.metrics_open);
  EXPECT_TRUE(s.http_cors_origins.empty());
  EXPECT_TRUE(s.http_trusted_proxies.empty());
}

TEST_F(SettingsTable, AWrongValueIsRefusedByNameWhereverItStands) {
  for (const Setting& setting : settings_table()) {
    const std::string wrong = wrong_value(setting);
    if (wrong.empty()) continue;
    const std::string path(setting.path);
    const LoadedSettings flag = load({{base::flag_name(setting), wrong}});
    EXPECT_FALSE(flag.settings) << path;
    EXPECT_THAT(mistakes_of(flag), HasSubstr("--" + base::flag_name(setting) + ": " + path));
    const LoadedSettings file = load({}, in_file(setting, wrong));
    EXPECT_FALSE(file.settings) << path;
    EXPECT_THAT(mistakes_of(file), HasSubstr("given.yaml:1: " + path));
    const Variable variable(base::env_name(setting), wrong);
    const LoadedSettings environment = load();
    EXPECT_FALSE(environment.settings) << path;
    EXPECT_THAT(mistakes_of(environment), HasSubstr(base::env_name(setting) + ": " + path));
  }
}

TEST_F(SettingsTable, ANumberOutsideItsBoundsIsRefusedByNameAndOneAtABoundIsTaken) {
  for (const Setting& setting : settings_table()) {
    if (!is_number(setting)) continue;
    const std::string flag = base::flag_name(setting);
    std::vector<std::string> outside;
    if (setting.min > 0) outside.push_back(number(setting, -1));
    const bool bounded = setting.max != std::numeric_limits<std::int64_t>::max();
    if (bounded) outside.push_back(number(setting, setting.max - setting.min + 1));
    for (const std::string& value : outside) {
      const LoadedSettings loaded = load({{flag, value}});
      EXPECT_FALSE(loaded.settings) << flag << " " << value;
      EXPECT_THAT(mistakes_of(loaded), HasSubstr(std::string(setting.path)));
    }
    const std::string most = bounded ? number(setting, setting.max - setting.min) : number(setting, 0);
    for (const std::string& value : {number(setting, 0), most}) {
      // Rules that combine settings have separate tests.
      const std::string other = setting.path == "retention.jobs" ? "retention.results" : "retention.orphans";
      std::map<std::string, std::string> flags = {{flag, value}, {other, "60s"}};
      if (setting.path == "http.reply_budget") flags.emplace("ocr.reply-max", "1MiB");
      if (setting.path == "store.disk_free_min") flags.emplace("store.wal-max", "1MiB");
      if (setting.path == "store.wal_max") flags.emplace("store.disk-free-min", "16GiB");
      const LoadedSettings loaded = load(flags);
      const bool shorter = setting.path == "retention.jobs" && value == number(setting, 0);
      EXPECT_EQ(loaded.settings.has_value(), !shorter) << flag << " " << value << mistakes_of(loaded);
    }
  }
}

TEST_F(SettingsTable, AFlagOverridesTheEnvironmentWhichOverridesTheFile) {
  for (const Setting& setting : settings_table()) {
    if (setting.path == "data") continue;  // it also decides which file is read
    const auto [in_yaml, in_environment, in_flag] = right_values(setting);
    const std::string yaml = in_file(setting, in_yaml);
    const auto check = [&](const LoadedSettings& loaded, const std::string& value,
                           const std::string& origin) {
      EXPECT_EQ(value_of(loaded.config, setting), setting.secret ? "****" : value) << setting.path;
      EXPECT_THAT(loaded.config.origin(setting.path), testing::EndsWith(origin)) << setting.path;
    };
    check(load({}, yaml), in_yaml, "given.yaml:1");
    const Variable variable(base::env_name(setting), in_environment);
    check(load({}, yaml), in_environment, base::env_name(setting));
    check(load({{base::flag_name(setting), in_flag}}, yaml), in_flag, "--" + base::flag_name(setting));
  }
}

TEST_F(SettingsTable, AFlagGivesTheValueOfASecretSettingWhichIsNotShown) {
  const LoadedSettings loaded = load({{"store.url", "postgresql://me:hidden@host/db"}});
  ASSERT_TRUE(loaded.settings) << mistakes_of(loaded);
  EXPECT_EQ(loaded.settings->store_url, "postgresql://me:hidden@host/db");
  for (const auto& line : loaded.config.effective())
    EXPECT_THAT(line.value, testing::Not(HasSubstr("hidden")));
}

TEST_F(SettingsTable, NoTwoSettingsShareAFlagOrAVariable) {
  std::set<std::string> flags = {"config"}, variables;
  for (const Setting& setting : settings_table()) {
    EXPECT_TRUE(flags.insert(base::flag_name(setting)).second) << setting.path;
    EXPECT_TRUE(variables.insert(base::env_name(setting)).second) << setting.path;
    const bool flag_alias = !setting.flag_alias.empty() && setting.flag_alias != base::flag_name(setting);
    if (flag_alias) {
      EXPECT_TRUE(flags.emplace(setting.flag_alias).second) << setting.path;
    }
    if (!setting.env_alias.empty()) {
      EXPECT_TRUE(variables.emplace(setting.env_alias).second) << setting.path;
    }
  }
}

TEST_F(SettingsTable, AnEmptyDataFlagIsNotTheDefault) {
  const LoadedSettings loaded = load({{"data", ""}});
  EXPECT_FALSE(loaded.settings);
  EXPECT_THAT(mistakes_of(loaded), HasSubstr("--data: data: \"\" is no folder"));
}

TEST_F(SettingsTable, JobsAreNotForgottenBeforeTheirResults) {
  const LoadedSettings loaded = load({{"retention.jobs", "1h"}, {"retention.results", "2h"}});
  EXPECT_FALSE(loaded.settings);
  EXPECT_THAT(mistakes_of(loaded), HasSubstr("--retention.jobs: retention.jobs must not be shorter"));
  EXPECT_TRUE(load({{"retention.jobs", "2h"}, {"retention.results", "2h"}}).settings);
}

TEST_F(SettingsTable, TheLargestReplyFitsIntoTheBudget) {
  const LoadedSettings loaded = load({{"http.reply-budget", "100MiB"}});
  EXPECT_FALSE(loaded.settings);
  EXPECT_THAT(mistakes_of(loaded), HasSubstr("http.reply_budget must not be smaller than ocr.reply_max"));
  EXPECT_TRUE(load({{"http.reply-budget", "100MiB"}, {"ocr.reply-max", "100MiB"}}).settings);
}

TEST_F(SettingsTable, ANearlyFullDiskHasSpaceForTheLog) {
  const LoadedSettings loaded = load({{"store.disk-free-min", "32MiB"}});
  EXPECT_FALSE(loaded.settings);
  EXPECT_THAT(mistakes_of(loaded), HasSubstr("store.disk_free_min must not be smaller than store.wal_max"));
  EXPECT_TRUE(load({{"store.disk-free-min", "32MiB"}, {"store.wal-max", "32MiB"}}).settings);
}

TEST_F(SettingsTable, SpeakersNeedTheSpeechEngine) {
  const auto mistakes_with = [this](const std::string& engine) {
    std::string all;
    const std::string yaml =
        "stt:\n  speakers: {segmentation: /nonexistent/a.onnx, embedding: /b.onnx}\n" + engine;
    for (const auto& mistake : load({}, yaml).mistakes) {
      EXPECT_FALSE(mistake.fatal) << mistake.message;
      if (mistake.message.find("is missing") == std::string::npos) all += mistake.message;
    }
    return all;
  };
  EXPECT_EQ(mistakes_with("  engine: none\n"),
            "stt.speakers has no effect with stt.engine: none; remove one of them");
  EXPECT_EQ(mistakes_with(""), "");
}

TEST_F(SettingsTable, TheFileOfTheDataDirectoryIsReadUnlessOneIsNamed) {
  folder_.write("millrace.yaml", "drain.timeout: 7s\n");
  const LoadedSettings own = load();
  EXPECT_EQ(own.file, folder_.str() + "/millrace.yaml");
  EXPECT_EQ(own.settings.value().drain_timeout, seconds(7));
  EXPECT_EQ(load({}, "drain.timeout: 8s\n").settings.value().drain_timeout, seconds(8));
  const std::string named = folder_.write("other.yaml", "drain.timeout: 9s\n").string();
  const Variable variable("MILLRACE_CONFIG", named);
  EXPECT_EQ(load().settings.value().drain_timeout, seconds(9));
}

TEST_F(SettingsTable, ANamedFileThatIsNotThereIsAMistake) {
  const LoadedSettings loaded = load({{"config", folder_.str() + "/none.yaml"}});
  EXPECT_FALSE(loaded.settings);
  EXPECT_THAT(mistakes_of(loaded), HasSubstr("none.yaml: the configuration file cannot be read"));
}

TEST_F(SettingsTable, SlotsAreGivenByKindAndTheKindIsChecked) {
  EXPECT_EQ(load({{"slots", "ocr=3"}}).settings.value().slots.at(schemas::Kind::kOcr), 3);
  for (const char* wrong :
       {"ocr", "ocr=", "ocr=0", "ocr=1025", "ocr=2x", "=2", "brew=1", "machine=2", "0", "1025", "2x"}) {
    const LoadedSettings loaded = load({{"slots", wrong}});
    EXPECT_FALSE(loaded.settings) << wrong;
    EXPECT_THAT(mistakes_of(loaded), HasSubstr("slots: \"" + std::string(wrong) + "\""));
  }
}

TEST_F(SettingsTable, LanguagesOfScansAreAListOrWrittenAsTesseractWritesThem) {
  for (const char* written : {"chi_sim,eng", "chi_sim+eng"})
    EXPECT_EQ(load({{"ocr.languages", written}}).settings.value().ocr_languages, "chi_sim+eng");
  EXPECT_EQ(load({}, "ocr: {languages: [deu, eng]}\n").settings.value().ocr_languages, "deu+eng");
  for (const char* wrong : {"de-DE", "German", "../eng", "_eng", "deu++eng"}) {
    const LoadedSettings loaded = load({{"ocr.languages", wrong}});
    EXPECT_FALSE(loaded.settings) << wrong;
    EXPECT_THAT(mistakes_of(loaded), HasSubstr("ocr.languages: `")) << wrong;
  }
  EXPECT_THAT(mistakes_of(load({}, "ocr: {languages: []}\n")), HasSubstr("at least one language"));
}

TEST_F(SettingsTable, ABareNumberOfSlotsIsForEveryKindThatIsNotNamed) {
  for (const schemas::Kind kind : {schemas::Kind::kOcr, schemas::Kind::kExec})
    EXPECT_EQ(load({{"slots", "7"}}).settings.value().slots.at(kind), 7);
  EXPECT_EQ(load({{"slots", "ocr=3,7"}}).settings.value().slots.at(schemas::Kind::kOcr), 3);
  EXPECT_EQ(load({}, "slots: 5\n").settings.value().slots.at(schemas::Kind::kOcr), 5);
}

TEST_F(SettingsTable, KafkaTakesItsBrokersAndPartitionsFromThem) {
  const Settings s = load({{"kafka", "a:1,b:2"}, {"kafka.partitions", "3"}}).settings.value();
  const bus::KafkaCluster cluster = kafka_cluster(s);
  EXPECT_THAT(cluster.brokers, testing::ElementsAre("a:1", "b:2"));
  EXPECT_EQ(cluster.partitions, 3);
  EXPECT_EQ(cluster.message_timeout, seconds(30));
}

TEST_F(SettingsTable, MachinesAreOfTheFileAloneAndTheirMistakesStopTheStart) {
  const std::string id = "dm-0192f0a1-7c1e-7000-8000-000000000001";
  const LoadedSettings right = load({}, "machines:\n- {id: " + id + ", name: one}\n");
  ASSERT_TRUE(right.settings) << mistakes_of(right);
  ASSERT_EQ(right.settings->machines.size(), 1u);
  EXPECT_THAT(right.machine_places, testing::ElementsAre(testing::EndsWith("given.yaml:2")));
  const LoadedSettings wrong = load({}, "machines:\n- {id: " + id + "}\n");
  EXPECT_FALSE(wrong.settings);
  EXPECT_THAT(mistakes_of(wrong), HasSubstr("given.yaml:2: machines.name: is missing"));
  EXPECT_THAT(mistakes_of(load({{"machines", "one"}})), HasSubstr("--machines: no such flag"));
  EXPECT_THAT(mistakes_of(load({}, "machnes: []\n")), HasSubstr("did you mean machines?"));
}

TEST_F(SettingsTable, MachinesAreReloadedUnlessTheFileHasAMistake) {
  const std::string id = "dm-0192f0a1-7c1e-7000-8000-000000000001";
  std::map<std::string, std::string> flags = {{"data", folder_.str()}};
  EXPECT_TRUE(machines_from_file(flags).value().empty());
  folder_.write("millrace.yaml", "machines:\n- {id: " + id + ", name: one}\n");
  EXPECT_EQ(machines_from_file(flags).value().at(0).name, "one");
  folder_.write("millrace.yaml", "machines:\n- {id: " + id + ", nmae: one}\n");
  const auto refused = machines_from_file(flags);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("millrace.yaml:2: machines.nmae: no such key"));
}

TEST_F(SettingsTable, APublicUrlHasNoSlashAtItsEnd) {
  EXPECT_EQ(load({{"public-url", "https://x.example/m//"}}).settings.value().public_url,
            "https://x.example/m");
}

TEST_F(SettingsTable, MistakesComeInTheOrderOfTheirLinesAndThoseOfNoFileLast) {
  const LoadedSettings loaded = load({{"http.threads", "none"}},
                                     "listen: nowhere\nmachines:\n- id: dm-1\n  name: a\nlog:\n  level: "
                                     "loud\nstoer: 1\nretention: {jobs: 1h, results: 2h}\n");
  std::vector<std::string> places;
  for (const auto& mistake : loaded.mistakes) {
    const std::size_t colon = mistake.place.rfind(':');
    places.push_back(colon == std::string::npos ? mistake.place : mistake.place.substr(colon));
  }
  EXPECT_THAT(places, testing::ElementsAre(":1", ":3", ":6", ":7", ":8", "--http.threads"));
}

}  // namespace
}  // namespace millrace::app::settings_test
