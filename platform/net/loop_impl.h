#pragma once
// The Asio side of Loop, for this room's sources only.
#include <thread>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include "platform/net/loop.h"

namespace millrace::net {

struct Loop::Impl {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::thread::id thread_id;
  std::jthread thread;
};

}  // namespace millrace::net
