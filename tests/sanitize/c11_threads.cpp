// GCC 12's ThreadSanitizer knows only POSIX threads, but Debian's librdkafka uses C11 threads. A thread that
// thrd_create started has no sanitizer state, and its first instrumented call crashes. glibc's C11 types wrap
// its POSIX types. These definitions forward the C11 functions to the POSIX functions, which the sanitizer
// intercepts. They are linked into the test programs of the tsan preset before libc.
#include <cerrno>
#include <cstdint>
#include <memory>

#include <pthread.h>
#include <threads.h>

namespace {

static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));

pthread_mutex_t* posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

int status_of(int error) {
  if (error == 0) return thrd_success;
  if (error == ETIMEDOUT) return thrd_timedout;
  return error == EBUSY ? thrd_busy : thrd_error;
}

struct Start {
  thrd_start_t run;
  void* argument;
};

void* run_thread(void* opaque) {
  const std::unique_ptr<Start> start(static_cast<Start*>(opaque));
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(start->run(start->argument)));
}

}  // namespace

extern "C" {

// A test forks, and starts threads as another user in the copy.
const char* __tsan_default_options();
const char* __tsan_default_options() { return "die_after_fork=0"; }

// Only librdkafka's calls into libc are instrumented, not its own memory accesses. These calls alone look
// like races. The same is true for Pistache: its acceptor passes a peer to the reactor's thread through a
// queue. Usually the write to the eventfd next to it orders the two threads, but not if the reactor takes the
// peer before that write.
const char* __tsan_default_suppressions();
const char* __tsan_default_suppressions() {
  return "called_from_lib:librdkafka.so.1\n"
         "thread:librdkafka.so.1\n"  // of a client that does not end and is left behind
                                     // (bus/kafka/kafka_client.h)
         "race:^mtx_\n"  // librdkafka alone uses these; how it hands a mutex to another thread is not seen
         "race:^cnd_\n"
         "race:Pistache::Polling::Epoll::addFd\n"
         "race:Pistache::Tcp::Transport::handlePeerQueue(\n"
         "race:Pistache::Tcp::Transport::handlePeer(\n"
         "race:Pistache::Tcp::Transport::removePeer(\n";
}

int thrd_create(thrd_t* thread, thrd_start_t run, void* argument) {
  auto start = std::make_unique<Start>(Start{run, argument});
  const int error = pthread_create(thread, nullptr, run_thread, start.get());
  if (error == 0) static_cast<void>(start.release());
  return status_of(error);
}

int thrd_join(thrd_t thread, int* result) {
  void* value = nullptr;
  const int error = pthread_join(thread, &value);
  if (result != nullptr) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
  return status_of(error);
}

int mtx_init(mtx_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if ((type & mtx_recursive) != 0) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  const int error = pthread_mutex_init(posix(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return status_of(error);
}
void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(posix(mutex)); }
int mtx_lock(mtx_t* mutex) { return status_of(pthread_mutex_lock(posix(mutex))); }
int mtx_unlock(mtx_t* mutex) { return status_of(pthread_mutex_unlock(posix(mutex))); }

int cnd_init(cnd_t* condition) { return status_of(pthread_cond_init(posix(condition), nullptr)); }
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(posix(condition)); }
int cnd_signal(cnd_t* condition) { return status_of(pthread_cond_signal(posix(condition))); }
int cnd_broadcast(cnd_t* condition) { return status_of(pthread_cond_broadcast(posix(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return status_of(pthread_cond_wait(posix(condition), posix(mutex)));
}
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return status_of(pthread_cond_timedwait(posix(condition), posix(mutex), until));
}

}  // extern "C"
