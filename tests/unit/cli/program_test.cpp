#include "app/cli/program.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;

TEST(Program, IsCalledByItsNameOnlyWhereThatNameFindsIt) {
  const support::TempDir folder;
  const fs::path self = folder.write("built/millrace", "this");
  const fs::path other = folder.write("other/millrace", "another");
  fs::create_directories(folder.path() / "bin");
  fs::create_symlink(self, folder.path() / "bin/millrace");
  const std::string bin = folder.str() + "/bin", none = folder.str() + "/none";
  EXPECT_EQ("millrace", program_name(self, none + ":" + bin));
  EXPECT_EQ(self.string(), program_name(self, none));
  EXPECT_EQ(self.string(), program_name(self, ""));
  EXPECT_EQ(self.string(), program_name(self, other.parent_path().string() + ":" + bin));
}

TEST(Program, AWordIsQuotedWhereTheShellWouldReadMoreIntoIt) {
  EXPECT_EQ("http://127.0.0.1:8080", shell_word("http://127.0.0.1:8080"));
  EXPECT_EQ("'a b'", shell_word("a b"));
  EXPECT_EQ("'it'\\''s $HOME'", shell_word("it's $HOME"));
  EXPECT_EQ("''", shell_word(""));
}

TEST(Program, AWordWithWhatATerminalActsOnIsWrittenWithEscapes) {
  EXPECT_EQ(R"($'red\x1b[31m\x0a it\'s \\ \xe2\x80\xae.pdf')",
            shell_word("red\x1b[31m\n it's \\ \u202e.pdf"));
  EXPECT_EQ("'märz 1.pdf'", shell_word("märz 1.pdf"));
}

TEST(Program, OptionsThatDifferAreRepeatedAndAKeyNever) {
  EXPECT_EQ("", client_options({}));
  ClientOptions options;
  options.url = "http://10.0.0.1:80";
  options.key = "mr_live_secret";
  options.data = "my data";
  options.json = options.quiet = options.no_color = true;
  EXPECT_EQ(" --url http://10.0.0.1:80 --data 'my data' --json --quiet --no-color", client_options(options));
  options.key_typed = true;
  EXPECT_EQ(" --url http://10.0.0.1:80 --data 'my data' --key KEY", gateway_options(options));
}

TEST(LocalGateway, IsOneWhoseWholeHostIsALoopbackAddress) {
  for (const char* url : {"http://127.0.0.1:8080", "http://127.8.9.1", "https://localhost:1/v1",
                          "http://[::1]:9", "http://localhost?x", "http://127.0.0.1/"}) {
    EXPECT_TRUE(is_local_gateway(url)) << url;
  }
  for (const char* url : {"http://127.0.0.1.evil.com",
                          "http://127.0.0.1.evil.com:8080/",
                          "http://localhost.evil.com",
                          "http://127.0.0.1@evil.com",
                          "http://127.0.0.1:80@evil.com/",
                          "http://127.0.0.1\\@evil.com",
                          "http://evil.com/http://127.0.0.1",
                          "http://evil.com#127.0.0.1",
                          "http://[::1].evil.com",
                          "http://[::2]",
                          "http://10.0.0.1",
                          "http://128.0.0.1",
                          "ftp://127.0.0.1",
                          "127.0.0.1:8080",
                          "",
                          "http://",
                          "http:///127.0.0.1",
                          "http:// 127.0.0.1",
                          "http://127.0.0.1%00.evil.com",
                          "http://127.0.0.1:x"}) {
    EXPECT_FALSE(is_local_gateway(url)) << url;
  }
}

}  // namespace
}  // namespace millrace::cli
