#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

// OpenSSH's format of private key files ("openssh-key-v1"), for one unencrypted Ed25519 key.
namespace millrace::machines {

inline constexpr std::string_view kEd25519Type = "ssh-ed25519";
inline constexpr std::size_t kEd25519PointBytes = 32;
using Ed25519Seed = std::array<std::uint8_t, 32>;

struct Ed25519FileKey {
  Ed25519Seed seed{};  // a secret: the caller wipes it
  std::string point;   // the public half, 32 bytes
};

std::string openssh_file(const Ed25519FileKey& key);
// False: it is not such a file.
bool read_openssh_file(std::string_view text, Ed25519FileKey& key);

}  // namespace millrace::machines
