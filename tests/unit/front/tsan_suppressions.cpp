#if defined(__SANITIZE_THREAD__)
// Debian's Pistache is not instrumented, so ThreadSanitizer cannot see how its threads hand things over: the
// queue by which the acceptor gives an fd to a worker, and the reference count by which either of the two may
// be the one that frees a peer with its PeerData.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:Pistache::Polling::Epoll::addFd\n"
         "race:PeerData\n";
}
#endif
