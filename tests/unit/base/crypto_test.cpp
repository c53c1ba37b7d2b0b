#include "platform/base/crypto.h"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "platform/base/md5.h"

namespace millrace::base::crypto_test {
namespace {

TEST(Crypto, Sha256GivesThePublishedDigests) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Crypto, PiecesGiveTheDigestOfTheWhole) {
  const std::string text(100'000, 'x');
  Sha256 pieces;
  for (std::size_t at = 0; at < text.size(); at += 777) pieces.update(std::string_view(text).substr(at, 777));
  Sha256 moved = std::move(pieces);
  EXPECT_EQ(moved.finish(), sha256(text));
}

TEST(Crypto, Md5GivesThePublishedDigests) {
  EXPECT_EQ(Md5().finish(), "d41d8cd98f00b204e9800998ecf8427e");
  Md5 pieces;
  pieces.update("a");
  pieces.update("bc");
  EXPECT_EQ(pieces.finish(), "900150983cd24fb0d6963f7d28e17f72");
}

TEST(Crypto, HmacGivesThePublishedCode) {
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256("", "")), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

// RFC 8032, 7.1, test 1.
TEST(Crypto, Ed25519GivesThePublishedKeyAndSignature) {
  constexpr unsigned char kSeed[] = {0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a,
                                     0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32,
                                     0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60};
  const std::string seed(reinterpret_cast<const char*>(kSeed), sizeof kSeed);
  EXPECT_EQ(hex(ed25519_public_key(seed)),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  EXPECT_EQ(hex(ed25519_sign(seed, "")),
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
            "d25bf5f0595bbe24655141438e7a100b");
  EXPECT_THROW(ed25519_sign("short", ""), std::invalid_argument);
}

TEST(Crypto, AFingerprintIsWhatSshKeygenPrints) {
  EXPECT_EQ(ssh_fingerprint(std::string(3, '\0')), "SHA256:cJ6AyISHokEeHuTfufIqhhSS0gxHZRUMDHlKvXD4FHw");
}

TEST(Crypto, EqualityLooksAtLengthAndContent) {
  EXPECT_TRUE(equal_constant_time("secret", "secret"));
  EXPECT_TRUE(equal_constant_time("", ""));
  EXPECT_FALSE(equal_constant_time("secret", "secreT"));
  EXPECT_FALSE(equal_constant_time("secret", "secre"));
}

TEST(Crypto, WhatWasSealedComesBackUnderItsKeyAndContextAlone) {
  const std::string key(32, 'k');
  for (const std::string& plain : {std::string(), std::string("a\0b", 3), std::string(100'000, 'x')}) {
    const std::string sealed = seal(key, "job-1", plain);
    EXPECT_EQ(sealed.size(), plain.size() + 28);
    EXPECT_EQ(unseal(key, "job-1", sealed), plain);
    EXPECT_EQ(unseal(key, "job-2", sealed), std::nullopt);
    EXPECT_EQ(unseal(std::string(32, 'K'), "job-1", sealed), std::nullopt);
  }
}

TEST(Crypto, NoBitOfWhatWasSealedMayChange) {
  const std::string key(32, 'k');
  const std::string sealed = seal(key, "job", "secret");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(unseal(key, "job", changed), std::nullopt) << i;
    EXPECT_EQ(unseal(key, "job", sealed.substr(0, i)), std::nullopt) << i;
  }
}

TEST(Crypto, TheSameTextIsNeverSealedTheSameWayTwice) {
  const std::string key(32, 'k');
  const std::string sealed = seal(key, "job", "secret");
  EXPECT_NE(seal(key, "job", "secret"), sealed);
  EXPECT_EQ(sealed.find("secret"), std::string::npos);
}

TEST(Crypto, AKeyOfAnotherSizeSealsNothing) {
  EXPECT_THROW(seal("short", "job", "secret"), std::invalid_argument);
  EXPECT_EQ(unseal("short", "job", std::string(40, 'x')), std::nullopt);
}

TEST(Crypto, HexIsLowerCase) { EXPECT_EQ(hex(std::string_view("\x00\xAF\xff", 3)), "00afff"); }

}  // namespace
}  // namespace millrace::base::crypto_test
