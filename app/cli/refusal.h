#pragma once
#include <chrono>
#include <string>

#include "app/cli/client.h"

// What a gateway says when it does not do what was asked, in any of its three forms (contract.md §3).
namespace millrace::cli {

// Fills `code` and `message` from the body; what the body does not say stays as it is.
void read_refusal(const std::string& body, ClientError& error);

// When to ask again: `retry-after-ms`, else `retry-after`, within a minute; a second if neither is there.
std::chrono::milliseconds retry_after(const net::HttpReply& reply);

}  // namespace millrace::cli
