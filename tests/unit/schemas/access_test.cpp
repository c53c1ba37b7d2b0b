#include "schemas/access.h"

#include <set>

#include <gtest/gtest.h>

namespace millrace::schemas::access_test {
namespace {

TEST(Scopes, EveryScopeHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kScopeCount; ++i) {
    const auto scope = static_cast<Scope>(i);
    names.insert(name(scope));
    EXPECT_EQ(scope_named(name(scope)), scope);
  }
  EXPECT_EQ(names.size(), kScopeCount);
  EXPECT_EQ(scope_named("jobs"), std::nullopt);
}

TEST(Scopes, ANewKeyHasAllButAdministrationAndMetrics) {
  EXPECT_FALSE(ScopeSet::of_a_new_key().has(Scope::kAdmin));
  EXPECT_FALSE(ScopeSet::of_a_new_key().has(Scope::kTenantAdmin));
  EXPECT_FALSE(ScopeSet::of_a_new_key().has(Scope::kMetrics));
  EXPECT_EQ(ScopeSet::of_a_new_key().names().size(), kScopeCount - 3);
  EXPECT_TRUE(ScopeSet::all().has(Scope::kAdmin));
}

TEST(Scopes, AnUnknownScopeIsRefusedNamingTheNearest) {
  const auto parsed = ScopeSet::parse({"ocr", "jobs:reed"});
  ASSERT_FALSE(parsed.has_value());
  EXPECT_NE(parsed.error().message.find("jobs:read"), std::string::npos);
  EXPECT_TRUE(ScopeSet::parse({"ocr", "jobs:read"})->has(Scope::kJobsRead));
}

TEST(KeyText, IsPrefixIdAndSecret) {
  const std::string text = make_key_text();
  EXPECT_EQ(text.size(), std::string_view("mr_live_").size() + 8 + 1 + 43);
  ASSERT_TRUE(key_id(text).has_value());
  EXPECT_EQ(*key_id(text), text.substr(8, 8));
  EXPECT_NE(text, make_key_text());
}

TEST(Scopes, AdminIncludesMetricsAndTheAdministrationOfTenantsOnly) {
  ScopeSet admin;
  admin.add(Scope::kAdmin);
  for (std::size_t i = 0; i < kScopeCount; ++i) {
    const auto scope = static_cast<Scope>(i);
    const bool included = scope == Scope::kAdmin || scope == Scope::kMetrics || scope == Scope::kTenantAdmin;
    EXPECT_EQ(admin.allows(scope), included) << name(scope);
  }
  EXPECT_EQ(admin.first_missing(ScopeSet::all()), Scope::kModels);
  EXPECT_EQ(ScopeSet::all().first_missing(ScopeSet::all()), std::nullopt);
}

TEST(KeyText, ItsChecksumFindsEveryChangedCharacter) {
  const std::string good = make_key_text();
  EXPECT_TRUE(has_checksum(good));
  for (std::size_t at = std::string_view("mr_live_").size(); at < good.size(); ++at) {
    if (good[at] == '_') continue;
    std::string typo = good;
    typo[at] = typo[at] == 'a' ? 'b' : 'a';
    EXPECT_FALSE(has_checksum(typo)) << at;
  }
}

TEST(KeyText, AnythingElseIsNoKey) {
  const std::string good = make_key_text();
  std::string broken = good;
  broken[16] = '-';
  std::string strange = good;
  strange[20] = '/';
  for (const std::string& bad :
       {std::string(), std::string("mr_live_"), good + "x", good.substr(1), broken, strange}) {
    EXPECT_EQ(key_id(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace millrace::schemas::access_test
