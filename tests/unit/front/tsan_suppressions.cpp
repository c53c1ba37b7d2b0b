#if defined(__SANITIZE_THREAD__)
// Debian's Pistache is not instrumented: ThreadSanitizer cannot see the queue by which its acceptor hands an
// fd to its worker, and takes the worker's first use of it for a race with accept4.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race:Pistache::Polling::Epoll::addFd\n"; }
#endif
