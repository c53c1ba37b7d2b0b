#include "app/config/blob_settings.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/settings.h"
#include "tests/support/temp_dir.h"

namespace millrace::app::blob_settings_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class BlobSettingsTest : public testing::Test {
 protected:
  LoadedSettings load(std::map<std::string, std::string> flags) const {
    flags.emplace("data", dir_.str());
    return load_settings(flags);
  }
  static std::string mistakes_of(const LoadedSettings& loaded) {
    std::string out;
    for (const auto& mistake : loaded.mistakes) out += mistake.place + ": " + mistake.message + "\n";
    return out;
  }

  support::TempDir dir_;
  std::map<std::string, std::string> whole_ = {
      {"blobs.url", "s3://millrace/prefix"},
      {"blobs.endpoint", "https://s3.lan"},
      {"blobs.access-key", "file:" + dir_.write("access", "AKIA\n").string()},
      {"blobs.secret-key", "file:" + dir_.write("secret", "hidden-text\n").string()}};
};

TEST_F(BlobSettingsTest, WithoutAUrlBlobsAreFiles) {
  const LoadedSettings loaded = load({});
  ASSERT_TRUE(loaded.settings) << mistakes_of(loaded);
  EXPECT_FALSE(loaded.settings->blobs);
}

TEST_F(BlobSettingsTest, AWholeConfigurationHasTheKeysOfItsFiles) {
  const LoadedSettings loaded = load(whole_);
  ASSERT_TRUE(loaded.settings) << mistakes_of(loaded);
  const BlobSettings& blobs = loaded.settings->blobs.value();
  EXPECT_EQ(blobs.location.bucket, "millrace");
  EXPECT_EQ(blobs.location.prefix, "prefix/");
  EXPECT_EQ(blobs.credentials.region, "us-east-1");
  EXPECT_EQ(blobs.credentials.access_key.reveal(), "AKIA");
  EXPECT_EQ(blobs.credentials.secret_key.reveal(), "hidden-text");
  EXPECT_EQ(blobs.cache_bytes_max, std::int64_t{10} << 30);
}

TEST_F(BlobSettingsTest, HalfAConfigurationIsRefused) {
  for (const auto& [missing, value] : whole_) {
    auto flags = whole_;
    flags.erase(missing);
    const LoadedSettings loaded = load(flags);
    EXPECT_FALSE(loaded.settings) << missing;
    if (missing == "blobs.url") {
      EXPECT_THAT(mistakes_of(loaded), HasSubstr("blobs.endpoint: has no effect without blobs.url"));
    } else {
      EXPECT_THAT(mistakes_of(loaded), HasSubstr("--blobs.url: blobs.url: needs blobs.")) << missing;
    }
  }
}

TEST_F(BlobSettingsTest, AKeyInTheConfigurationItselfIsRefusedAndNotRepeated) {
  whole_["blobs.secret-key"] = "hidden-text";
  const LoadedSettings loaded = load(whole_);
  EXPECT_FALSE(loaded.settings);
  EXPECT_THAT(mistakes_of(loaded), HasSubstr("--blobs.secret-key: blobs.secret_key: "));
  EXPECT_THAT(mistakes_of(loaded), Not(HasSubstr("hidden-text")));
}

TEST_F(BlobSettingsTest, AKeyFileThatCannotBeReadIsNamed) {
  whole_["blobs.access-key"] = "file:" + dir_.str() + "/missing";
  EXPECT_THAT(mistakes_of(load(whole_)), HasSubstr("blobs.access_key: the file " + dir_.str() + "/missing"));
}

TEST_F(BlobSettingsTest, AWrongUrlEndpointOrRegionIsRefusedByName) {
  for (const std::string name : {"url", "endpoint", "region"}) {
    auto flags = whole_;
    flags["blobs." + name] = "!";
    const LoadedSettings loaded = load(flags);
    EXPECT_FALSE(loaded.settings) << name;
    EXPECT_THAT(mistakes_of(loaded), HasSubstr("--blobs." + name + ": blobs." + name + ": "));
  }
}

TEST_F(BlobSettingsTest, EffectiveSettingsHideTheKeys) {
  const LoadedSettings loaded = load(whole_);
  for (const auto& line : loaded.config.effective()) {
    if (line.path.starts_with("blobs.") && line.path.ends_with("_key")) {
      EXPECT_EQ(line.value, "****") << line.path;
    }
  }
}

}  // namespace
}  // namespace millrace::app::blob_settings_test
