#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>

#include "platform/base/clock.h"
#include "platform/base/result.h"
#include "platform/net/http/http_client.h"
#include "platform/net/loop.h"
#include "storage/s3/location.h"
#include "storage/s3/replies.h"
#include "storage/s3/signature.h"

namespace millrace::s3 {

// The bounds of one call. A reply 429 or 5xx, a time-out and a broken connection are tried again.
struct Bounds {
  int attempts_max = 4;
  std::chrono::milliseconds retry_wait{
      250};  // before the second attempt; doubles; at least half of it is kept
  std::chrono::milliseconds connect_timeout{3'000};
  std::chrono::milliseconds reply_timeout{30'000};  // plus a second for each MiB of the object
  std::chrono::seconds stall_timeout{10};
};

struct ObjectInfo {
  std::int64_t bytes = 0;
  std::string sha256_base64;  // empty: the server does not know it
};

struct BucketCheck {
  base::Status reached;   // an error: the server cannot be reached, or answers 5xx
  base::Status accepted;  // an error: it refuses the key or the bucket; which setting to correct
};

// Objects of one bucket, by their keys without the prefix. Path-style addresses; every request is signed,
// with the hash of its payload. Calls block on the network: for pool threads only. Thread-safe. Errors are
// those of reply_error; a server that cannot be reached is kOverloaded, and the message names blobs.endpoint.
class Client {
 public:
  Client(Location location, Credentials credentials, Bounds bounds);
  ~Client();  // REQUIRES: no call is running

  // Lists the bucket, in one attempt.
  BucketCheck check();
  // Stores the file's `bytes` bytes with their SHA-256, which the server checks if it knows checksums. Then
  // compares the object's size and ETag with a second request. On error, the object may exist all the same.
  base::Status put(const std::string& key, int file, std::int64_t bytes, const std::string& sha256_hex);
  // Writes the object to `file` from its start. kNotFound: there is none. kStoredDamaged: it does not have
  // `bytes` bytes.
  base::Status get(const std::string& key, std::int64_t bytes, int file);
  // kNotFound: there is none.
  base::Result<ObjectInfo> find(const std::string& key);
  // Succeeds if there is no such object.
  base::Status remove(const std::string& key);
  // Up to 1,000 objects in the order of their keys, after `continuation` (Listing::next; empty: from the
  // first).
  base::Result<Listing> list(const std::string& continuation, int limit);

  // Ends the running calls and refuses later ones.
  void stop() { stop_.request_stop(); }

  struct Call;  // for the source of this class

 private:
  base::Result<net::HttpReply> perform(const Call& call);
  // Leaves the header out for a server that knows no checksums.
  base::Result<net::HttpReply> perform_with_checksum(Call& call, const std::string& header,
                                                     const std::string& value);
  base::Result<net::HttpReply> attempt(const Call& call);
  Call list_call(const std::string& continuation, int limit) const;
  net::HttpRequest request_of(const Call& call) const;
  bool wait_before(int attempt);
  base::Status verify(const std::string& key, std::int64_t bytes, const net::HttpReply& put);
  std::string path_of(const std::string& key) const;

  const Location location_;
  const Credentials credentials_;
  const Bounds bounds_;
  const base::SystemClock clock_;
  std::atomic<bool> sends_checksum_{true};  // until the server says that it knows none
  std::stop_source stop_;
  net::Loop loop_{"s3"};
  net::HttpClient http_{loop_};
};

}  // namespace millrace::s3
