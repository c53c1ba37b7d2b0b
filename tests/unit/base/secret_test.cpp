#include <functional>
#include <sstream>
#include <type_traits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platform/base/crypto.h"

namespace millrace::base::secret_test {
namespace {

template <class Stream>
concept ShowsSecrets = requires(Stream& to, const Secret& secret) { to << secret; };

// The compiler enforces it: code that did one of these would not compile.
TEST(Secrets, AreNotPrintedComparedHashedNorMadeIntoTextOrJson) {
  EXPECT_FALSE(ShowsSecrets<std::ostream>);
  EXPECT_FALSE(ShowsSecrets<std::ostringstream>);
  EXPECT_FALSE(
      (std::is_convertible_v<Secret, std::string> || std::is_convertible_v<Secret, std::string_view>));
  EXPECT_FALSE((std::is_constructible_v<nlohmann::json, Secret>));
  EXPECT_FALSE((std::is_invocable_v<std::equal_to<>, Secret, Secret>));
  EXPECT_FALSE((std::is_default_constructible_v<std::hash<Secret>>));
}

TEST(Secrets, AreMadeOnPurposeAndRevealedByName) {
  EXPECT_FALSE((std::is_convertible_v<std::string, Secret>));
  EXPECT_EQ(Secret("k").reveal(), "k");
  EXPECT_TRUE(Secret().empty());
}

}  // namespace
}  // namespace millrace::base::secret_test
