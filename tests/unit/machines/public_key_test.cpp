#include "machines/keys/public_key.h"

#include <algorithm>

#include "machines/keys/ssh_wire.h"
#include "platform/base/base64.h"
#include "tests/unit/machines/ssh_tools.h"

namespace millrace::machines {
namespace {

const std::vector<std::string> kMadeTypes = {"ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256",
                                             "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"};
const std::vector<std::string> kSecurityTypes = {"sk-ssh-ed25519@openssh.com",
                                                 "sk-ecdsa-sha2-nistp256@openssh.com"};

class PublicKeys : public SshTools {
 protected:
  // The error for a line. It must not contain the line.
  static std::string refusal(const std::string& line) {
    const auto key = public_key_from(line);
    if (key) return "taken";
    EXPECT_EQ(key.error().code, base::Code::kInvalidField);
    EXPECT_EQ(key.error().param, "public_key");
    EXPECT_NE(key.error().message.find("ssh-keygen -t ed25519"), std::string::npos);
    const std::size_t text = line.find("AAAA");
    if (text != std::string::npos && line.size() - text > 16) {
      EXPECT_EQ(key.error().message.find(line.substr(text, 16)), std::string::npos);
    }
    return key.error().message;
  }
  std::string key_line(const std::string& name, std::vector<std::string> kind) {
    return line_in(key_file(name, std::move(kind)) + ".pub");
  }
  static std::string line_of(const std::string& type, const std::string& blob) {
    return type + " " + base::base64_encode(blob);
  }
};

std::string second_word(const std::string& line) {
  const std::size_t begin = line.find(' ') + 1;
  return line.substr(begin, line.find(' ', begin) - begin);
}

std::string rsa_blob(std::size_t bytes, std::string exponent = std::string("\1\0\1", 3)) {
  std::string modulus(bytes + 1, '\xff');
  modulus.front() = '\0';
  return wire_strings({"ssh-rsa", exponent, modulus});
}

using testing::HasSubstr;

TEST_F(PublicKeys, EveryTypeThatSshKeygenMakesIsReadAsItReadsIt) {
  for (const std::string& type : kMadeTypes) {
    const std::string path = key_file(type, words_of_kind(type));
    const auto key = public_key_from(text_in(path + ".pub"));
    ASSERT_TRUE(key) << type << ": " << key.error().message;
    EXPECT_EQ(key->type, type);
    EXPECT_EQ(key->comment, "a comment");
    EXPECT_EQ(key->line() + " a comment", line_in(path + ".pub"));
    EXPECT_THAT(output_of({"ssh-keygen", "-l", "-f", path + ".pub"}),
                HasSubstr(" " + key->fingerprint() + " "));
  }
}

TEST_F(PublicKeys, SecurityKeysAreReadAsSshKeygenReadsThem) {
  for (const std::string& type : kSecurityTypes) {
    const std::string line = security_key_line(type);
    const auto key = public_key_from(line);
    ASSERT_TRUE(key) << type << ": " << key.error().message;
    EXPECT_EQ(key->type, type);
    const std::string path = dir_.write("sk.pub", line + "\n").string();
    EXPECT_THAT(output_of({"ssh-keygen", "-l", "-f", path}), HasSubstr(" " + key->fingerprint() + " "));
  }
}

TEST_F(PublicKeys, SpacesAroundTheLineAndWordsInItsCommentDoNoHarm) {
  const std::string line = key_line("id", {"-t", "ed25519"});
  for (const std::string& variant : {"  " + line + " \t", line + "\r\n", line + " ssh-laptop ssh-rsa key"}) {
    EXPECT_TRUE(public_key_from(variant)) << variant;
  }
  const auto bare = public_key_from(line.substr(0, line.find(' ', 20)));
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->comment, "");
}

TEST_F(PublicKeys, ShortRsaAndDsaKeysAreRefusedByName) {
  EXPECT_THAT(refusal(key_line("r1", {"-t", "rsa", "-b", "1024"})), HasSubstr("an RSA key of 1024 bits"));
  EXPECT_THAT(refusal(key_line("r2", {"-t", "rsa", "-b", "2048"})), HasSubstr("an RSA key of 2048 bits"));
  EXPECT_THAT(refusal(key_line("dsa", {"-t", "dsa"})), HasSubstr("a DSA key"));
}

TEST_F(PublicKeys, RsaKeysEndAtTheirBounds) {
  EXPECT_EQ(refusal(line_of("ssh-rsa", rsa_blob(384))), "taken");
  EXPECT_EQ(refusal(line_of("ssh-rsa", rsa_blob(2048))), "taken");
  EXPECT_THAT(refusal(line_of("ssh-rsa", rsa_blob(383))), HasSubstr("the minimum is 3072"));
  EXPECT_THAT(refusal(line_of("ssh-rsa", rsa_blob(2049))), HasSubstr("the maximum is 16384"));
  for (const std::string& exponent : {std::string("\1"), std::string("\2"), std::string(9, '\1')}) {
    EXPECT_THAT(refusal(line_of("ssh-rsa", rsa_blob(384, exponent))), HasSubstr("exponent"));
  }
  for (const std::string& exponent : {std::string(), std::string("\xff"), std::string("\0\1", 2)}) {
    EXPECT_THAT(refusal(line_of("ssh-rsa", rsa_blob(384, exponent))), HasSubstr("damaged"));
  }
}

TEST_F(PublicKeys, APrivateKeyIsRefusedAndNotShown) {
  const std::string text = text_in(key_file("id", {"-t", "ed25519"}));
  EXPECT_THAT(refusal(text), HasSubstr("is a private key"));
  EXPECT_EQ(refusal(text).find(text.substr(40, 20)), std::string::npos);
  EXPECT_THAT(refusal(text.substr(0, text.find('\n'))), HasSubstr("is a private key"));
}

TEST_F(PublicKeys, OneKeyIsTakenAndNothingBeforeIt) {
  const std::string line = key_line("id", {"-t", "ed25519"});
  EXPECT_THAT(refusal(line + "\n" + line), HasSubstr("more than one line"));
  EXPECT_THAT(refusal(line + " " + line), HasSubstr("send exactly one key"));
  EXPECT_THAT(refusal("no-pty " + line), HasSubstr("options are not supported"));
  EXPECT_THAT(refusal("command=\"rm -rf /\",no-pty " + line), HasSubstr("options are not supported"));
  EXPECT_THAT(refusal("cert-authority " + line), HasSubstr("options are not supported"));
  EXPECT_THAT(refusal("@cert-authority * " + line), HasSubstr("known_hosts"));
}

TEST_F(PublicKeys, ACertificateIsRefusedForItsKey) {
  const std::string ca = key_file("ca", {"-t", "ed25519"}), id = key_file("id", {"-t", "ed25519"});
  output_of({"ssh-keygen", "-q", "-s", ca, "-I", "x", "-n", "x", id + ".pub"});
  EXPECT_THAT(refusal(line_in(id + "-cert.pub")), HasSubstr("is a certificate: send the key"));
}

TEST_F(PublicKeys, WhatIsNotWholeIsRefused) {
  const std::string line = key_line("id", {"-t", "ed25519"});
  const std::string text = second_word(line), blob = *base::base64_decode(text);
  for (std::size_t kept = 0; kept < text.size(); ++kept) {
    EXPECT_NE(refusal("ssh-ed25519 " + text.substr(0, kept)), "taken") << kept;
  }
  EXPECT_THAT(refusal(line_of("ssh-ed25519", blob + "x")), HasSubstr("there is data after its last field"));
  EXPECT_THAT(refusal(line_of("ssh-ed25519", wire_strings({"ssh-ed25519", std::string(31, 'a')}))),
              HasSubstr("damaged"));
  EXPECT_THAT(refusal("ssh-rsa " + text), HasSubstr("has a different type"));
  EXPECT_THAT(refusal("ssh-ed25519 " + text + "===="), HasSubstr("base64"));
  EXPECT_THAT(refusal("ssh-ed25519"), HasSubstr("damaged"));
  EXPECT_THAT(refusal("ssh-ed448 AAAACXNzaC1lZDQ0OA=="), HasSubstr("has an unsupported type"));
}

TEST_F(PublicKeys, APointOffTheCurveIsRefused) {
  for (const std::string type : {"ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"}) {
    const std::string line = key_line(type, words_of_kind(type));
    std::string blob = *base::base64_decode(second_word(line));
    blob.back() = static_cast<char>(blob.back() ^ 1);
    EXPECT_THAT(refusal(line_of(type, blob)), HasSubstr("not on the curve")) << type;
  }
  const std::string infinity = wire_strings({"ecdsa-sha2-nistp256", "nistp256", std::string(1, '\0')});
  EXPECT_THAT(refusal(line_of("ecdsa-sha2-nistp256", infinity)), HasSubstr("not on the curve"));
  const std::string crossed = wire_strings({"ecdsa-sha2-nistp256", "nistp384", std::string(65, '\4')});
  EXPECT_THAT(refusal(line_of("ecdsa-sha2-nistp256", crossed)), HasSubstr("damaged"));
}

TEST_F(PublicKeys, ControlCharactersAndHugeLinesAreRefused) {
  const std::string line = key_line("id", {"-t", "ed25519"});
  std::string with_nul = line;
  with_nul[30] = '\0';
  EXPECT_THAT(refusal(with_nul), HasSubstr("control character"));
  EXPECT_THAT(refusal(line + "\rx"), HasSubstr("control character"));
  EXPECT_THAT(refusal(line + " \x1b[2J"), HasSubstr("control character"));
  EXPECT_THAT(refusal(line.substr(0, 30) + "\r\n" + line.substr(30)), HasSubstr("more than one line"));
  EXPECT_THAT(refusal("ssh-rsa " + std::string(64 << 10, 'A')), HasSubstr("longer than any key"));
  for (const std::string nothing : {"", "   ", "\n"}) EXPECT_THAT(refusal(nothing), HasSubstr("is empty"));
  EXPECT_THAT(refusal("# my key"), HasSubstr("comment"));
  EXPECT_THAT(refusal("hello world"), HasSubstr("TYPE BASE64"));
}

// For every changed byte: if the line is accepted, OpenSSH certificates can hold the key.
TEST_F(PublicKeys, ALineWithAnyOneByteChangedIsReadOrRefusedAndNeverShown) {
  const std::string line = security_key_line("sk-ecdsa-sha2-nistp256@openssh.com");
  for (std::size_t at = 0; at < line.size(); ++at) {
    for (const char byte : {'\0', '\n', ' ', 'A', '/', '=', '\x7f', '\xff'}) {
      std::string changed = line;
      changed[at] = byte;
      const auto key = public_key_from(changed);
      const std::string text = key ? key->line() : key.error().message;
      const std::string same = changed.substr(0, text.size());
      EXPECT_EQ(key ? same : "", key ? text : "") << at;
      EXPECT_TRUE(key || text.find(changed.substr(60, 20)) == std::string::npos) << at;
    }
  }
}

}  // namespace
}  // namespace millrace::machines
