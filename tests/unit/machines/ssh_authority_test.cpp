#include "machines/keys/ssh_authority.h"

#include <filesystem>
#include <set>
#include <thread>

#include <sys/stat.h>

#include "tests/unit/machines/ssh_tools.h"

namespace millrace::machines {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

mode_t mode_of(const std::string& path) {
  struct stat found {};
  EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
  return found.st_mode & 07777;
}

base::WallTime at(const char* text) {
  base::WallTime time;
  EXPECT_TRUE(base::parse_rfc3339(text, time));
  return time;
}

class Authority : public SshTools {
 protected:
  void SetUp() override {
    auto opened = SshAuthority::open(dir_.str());
    ASSERT_TRUE(opened) << opened.error().message;
    authority_ = *opened;
  }
  std::string file(const std::string& name) const { return dir_.str() + "/ca/" + name; }
  std::string open_failure() {
    auto opened = SshAuthority::open(dir_.str());
    return opened ? "opened" : opened.error().message;
  }
  UserCertificate user(const PublicKey& key, std::uint64_t serial = 42) const {
    return {key, serial, "ssh-session", "dm-machine", at("2026-02-03T04:05:06Z"), at("2026-02-03T04:21:06Z"),
            true};
  }
  // The status of this certificate in the revocation list, as sshd would find it.
  std::string looked_up(const std::string& list, const std::string& certificate) {
    const std::string krl = dir_.write("list.krl", list).string();
    const std::string cert = dir_.write("looked-cert.pub", certificate + "\n").string();
    const process::Captured captured = ran({"ssh-keygen", "-Q", "-f", krl, cert});
    EXPECT_EQ(captured.err, "");
    return captured.exit.ok() ? "ok" : captured.out.find("REVOKED") != std::string::npos ? "revoked" : "?";
  }

  std::shared_ptr<const SshAuthority> authority_;
};

TEST_F(Authority, TheKeysAreTwoAndStayAndAreTheirOwnersAlone) {
  EXPECT_NE(authority_->user_ca(), authority_->host_ca());
  EXPECT_EQ(mode_of(dir_.str() + "/ca"), 0711U);
  for (const auto& [name, line] :
       {std::pair{"user_ca", authority_->user_ca()}, std::pair{"host_ca", authority_->host_ca()}}) {
    EXPECT_EQ(mode_of(file(name)), 0600U);
    EXPECT_THAT(line_in(file(name) + ".pub"), HasSubstr(line));
    EXPECT_EQ(output_of({"ssh-keygen", "-y", "-f", file(name)}), line + "\n")
        << "OpenSSH must be able to read the file";
  }
  const auto again = SshAuthority::open(dir_.str());
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->user_ca(), authority_->user_ca());
  EXPECT_EQ((*again)->host_ca(), authority_->host_ca());
}

TEST_F(Authority, KeysOfSshKeygenAreTaken) {
  const std::string made = key_file("theirs", {"-t", "ed25519"});
  fs::copy_file(made, file("user_ca"), fs::copy_options::overwrite_existing);
  const auto opened = SshAuthority::open(dir_.str());
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->user_ca() + " a comment", line_in(made + ".pub"));
}

TEST(AuthorityAtFirst, ManyThatOpenItAtOnceGetTheSameKeys) {
  const support::TempDir dir;
  std::vector<std::string> keys(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& key : keys) {
      threads.emplace_back([&] {
        const auto opened = SshAuthority::open(dir.str());
        key = opened ? (*opened)->user_ca() + (*opened)->host_ca() : opened.error().message;
      });
    }
  }
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 1U) << keys.front();
  const auto files = std::distance(fs::directory_iterator(dir.str() + "/ca"), fs::directory_iterator());
  EXPECT_EQ(files, 4) << "no other file remains";
}

TEST_F(Authority, AFileThatIsDamagedOrReadableByOthersIsReportedAndKept) {
  const std::string whole = text_in(file("user_ca"));
  for (std::string text :
       {std::string(), std::string("nonsense"), whole.substr(0, 100), std::string(whole).replace(120, 1, "~"),
        std::string(whole).replace(330, 4, "AAAA")}) {
    dir_.write("ca/user_ca", text);
    EXPECT_THAT(open_failure(), HasSubstr("user_ca is damaged"));
    EXPECT_EQ(text_in(file("user_ca")), text);
  }
  dir_.write("ca/user_ca", whole);
  EXPECT_EQ(open_failure(), "opened");
  ::chmod(file("user_ca").c_str(), 0640);
  EXPECT_THAT(open_failure(), HasSubstr("can be read by other users"));
}

TEST_F(Authority, OneKeyForBothIsRefused) {
  fs::copy_file(file("user_ca"), file("host_ca"), fs::copy_options::overwrite_existing);
  EXPECT_THAT(open_failure(), HasSubstr("they must differ"));
}

TEST_F(Authority, AnEncryptedKeyIsRefused) {
  output_of({"ssh-keygen", "-q", "-p", "-P", "", "-N", "a passphrase", "-f", file("host_ca")});
  EXPECT_THAT(open_failure(), HasSubstr("host_ca is damaged, encrypted"));
}

TEST_F(Authority, CertificatesOfEveryKeyTypeAreReadBackBySshKeygen) {
  std::vector<std::string> lines;
  for (const std::string type :
       {"ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"}) {
    lines.push_back(line_in(key_file(type, words_of_kind(type)) + ".pub"));
  }
  for (const std::string type : {"sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"}) {
    lines.push_back(security_key_line(type));
  }
  const auto ca = public_key_from(authority_->user_ca());
  ASSERT_TRUE(ca);
  for (const std::string& line : lines) {
    const auto key = public_key_from(line);
    ASSERT_TRUE(key) << key.error().message;
    const std::string shows = shown(authority_->sign(user(*key)));
    const std::string type = key->type.substr(0, key->type.find('@')) + "-cert-v01@openssh.com";
    EXPECT_THAT(shows, HasSubstr("Type: " + type + " user certificate"));
    EXPECT_THAT(shows, HasSubstr("-CERT " + key->fingerprint() + "\n"));
    EXPECT_THAT(shows, HasSubstr("Signing CA: ED25519 " + ca->fingerprint()));
    EXPECT_THAT(shows, HasSubstr("Key ID: \"ssh-session\"\n        Serial: 42\n"
                                 "        Valid: from 2026-02-03T04:05:06 to 2026-02-03T04:21:06\n"
                                 "        Principals: \n                dm-machine\n"
                                 "        Critical Options: (none)\n"
                                 "        Extensions: \n                permit-pty\n"));
  }
}

TEST_F(Authority, ACertificateWithoutATerminalHasNoExtensions) {
  UserCertificate certificate = user(make_key_pair().public_key);
  certificate.pty = false;
  EXPECT_THAT(shown(authority_->sign(certificate)), HasSubstr("Extensions: (none)"));
}

TEST_F(Authority, ACertificateWithoutPrincipalsIsRefused) {
  UserCertificate certificate = user(make_key_pair().public_key);
  certificate.principal.clear();
  EXPECT_THAT(shown(authority_->sign(certificate)), Not(HasSubstr("Principals: (none)")));
  EXPECT_THAT(shown(authority_->sign(HostCertificate{certificate.key, 1, "h", {}, {}, {}})),
              Not(HasSubstr("Principals: (none)")));
}

TEST_F(Authority, HostCertificatesAreOfTheOtherAuthorityAndNameTheHost) {
  const SshKeyPair pair = make_key_pair();
  const std::string shows = shown(authority_->sign(HostCertificate{pair.public_key,
                                                                   18'446'744'073'709'551'615U,
                                                                   "box",
                                                                   {"box.example", "10.0.0.7"},
                                                                   at("2026-02-03T04:05:06Z"),
                                                                   at("2027-02-03T04:05:06Z")}));
  EXPECT_THAT(shows, HasSubstr("ssh-ed25519-cert-v01@openssh.com host certificate"));
  EXPECT_THAT(shows,
              HasSubstr("Signing CA: ED25519 " + public_key_from(authority_->host_ca())->fingerprint()));
  EXPECT_THAT(shows, HasSubstr("Serial: 18446744073709551615"));
  EXPECT_THAT(shows, HasSubstr("box.example\n                10.0.0.7\n"));
  EXPECT_THAT(shows, HasSubstr("Extensions: (none)"));
}

TEST_F(Authority, APairIsReadBySshKeygen) {
  const SshKeyPair pair = make_key_pair();
  const std::string path = dir_.write("pair", pair.private_key).string();
  ::chmod(path.c_str(), 0600);
  EXPECT_EQ(output_of({"ssh-keygen", "-y", "-f", path}), pair.public_key.line() + "\n");
  EXPECT_NE(make_key_pair().public_key.blob, pair.public_key.blob);
}

TEST_F(Authority, TheListRevokesItsSerialsAndNoOthers) {
  const PublicKey key = make_key_pair().public_key;
  const std::vector<std::uint64_t> revoked{9, 5, 0, 7, 8, 5, 1'000'000, 18'446'744'073'709'551'615U};
  const std::string list = authority_->revocation_list(revoked, 3, at("2026-02-03T04:05:06Z"));
  for (const std::uint64_t serial : {5U, 7U, 8U, 9U, 1'000'000U}) {
    EXPECT_EQ(looked_up(list, authority_->sign(user(key, serial))), "revoked") << serial;
  }
  for (const std::uint64_t serial : {0U, 1U, 4U, 6U, 10U, 999'999U}) {
    EXPECT_EQ(looked_up(list, authority_->sign(user(key, serial))), "ok") << serial;
  }
  EXPECT_EQ(looked_up(list, authority_->sign(user(key, 18'446'744'073'709'551'615U))), "revoked");
}

TEST_F(Authority, TheListRevokesNothingOfAnotherAuthority) {
  const support::TempDir other_dir;
  const auto other = SshAuthority::open(other_dir.str());
  ASSERT_TRUE(other);
  const std::string list = authority_->revocation_list({42}, 1, at("2026-02-03T04:05:06Z"));
  EXPECT_EQ(looked_up(list, (*other)->sign(user(make_key_pair().public_key))), "ok");
}

TEST_F(Authority, AnEmptyListIsAList) {
  const std::string list = authority_->revocation_list({}, 0, at("2026-02-03T04:05:06Z"));
  EXPECT_EQ(looked_up(list, authority_->sign(user(make_key_pair().public_key))), "ok");
}

TEST_F(Authority, TheListIsReplacedAtOnceWhereSshdReadsIt) {
  const PublicKey key = make_key_pair().public_key;
  ASSERT_TRUE(authority_->write_revocation_list({1}, 1, at("2026-02-03T04:05:06Z")));
  ASSERT_TRUE(authority_->write_revocation_list({1, 2}, 2, at("2026-02-03T04:05:07Z")));
  EXPECT_EQ(mode_of(file("revoked.krl")), 0644U);
  EXPECT_EQ(looked_up(text_in(file("revoked.krl")), authority_->sign(user(key, 2))), "revoked");
  const auto files = std::distance(fs::directory_iterator(dir_.str() + "/ca"), fs::directory_iterator());
  EXPECT_EQ(files, 5);
}

TEST_F(Authority, AnOlderListNeverReplacesANewerOne) {
  const PublicKey key = make_key_pair().public_key;
  const base::WallTime now = at("2026-02-03T04:05:06Z");
  ASSERT_TRUE(authority_->write_revocation_list({1, 2}, 9, now));
  ASSERT_TRUE(authority_->write_revocation_list({1}, 8, now));
  EXPECT_EQ(looked_up(text_in(file("revoked.krl")), authority_->sign(user(key, 2))), "revoked");
  ASSERT_TRUE(authority_->write_revocation_list({1}, 9, now))
      << "the same version: session 2 has expired meanwhile";
  EXPECT_EQ(looked_up(text_in(file("revoked.krl")), authority_->sign(user(key, 2))), "ok");
}

TEST_F(Authority, AFileThatIsNoListIsReplaced) {
  const PublicKey key = make_key_pair().public_key;
  for (const std::string& wrong :
       {std::string(), std::string("SSHKRL\n"), std::string(64, '\xff'), std::string("no list")}) {
    dir_.write("ca/revoked.krl", wrong);
    ASSERT_TRUE(authority_->write_revocation_list({2}, 1, at("2026-02-03T04:05:06Z")));
    EXPECT_EQ(looked_up(text_in(file("revoked.krl")), authority_->sign(user(key, 2))), "revoked") << wrong;
  }
}

// Each thread has a separate authority, as each process has.
TEST_F(Authority, OfManyThatWriteAtOnceTheNewestListIsWhatStays) {
  constexpr std::uint64_t kWriters = 8, kRounds = 10;
  std::vector<std::jthread> writers;
  for (std::uint64_t w = 0; w < kWriters; ++w) {
    writers.emplace_back([this, w] {
      const auto own = SshAuthority::open(dir_.str());
      ASSERT_TRUE(own);
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const std::uint64_t version = round * kWriters + w + 1;
        EXPECT_TRUE((*own)->write_revocation_list({version}, version, at("2026-02-03T04:05:06Z")));
      }
    });
  }
  writers.clear();
  const std::string newest = authority_->sign(user(make_key_pair().public_key, kWriters * kRounds));
  EXPECT_EQ(looked_up(text_in(file("revoked.krl")), newest), "revoked");
}

}  // namespace
}  // namespace millrace::machines
