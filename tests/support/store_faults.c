// Fault injection for the files of one data directory, as a library for LD_PRELOAD
// (tests/support/store_faults.py). It makes syncs fail with EIO and writes fail when the test says so, it can
// move the wall clock, and it can record what changes the files, with each sync and its outcome, so that the test can build what a power
// cut leaves. From the environment:
//   STORE_FAULTS_DIR      the data directory; other files are left alone, and so is the log's index (-shm)
//   STORE_FAULTS_CONTROL  a file of struct control, which all processes and the test map
//   STORE_FAULTS_RECORD   optional: the record. A sync is then not carried out: the record alone says what is
//   durable STORE_FAULTS_ROLE     optional: the name of this process for control.role
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum file_class { DATABASE, LOG, BLOB, FOLDER, OTHER, CLASSES, NOT_OURS };

struct control {
  struct {
    _Atomic int32_t failing;  // so many syncs will fail; -1: all
    _Atomic uint32_t hits;    // so many have failed
    _Atomic int32_t refusal;  // the errno of all writes and allocations; 0: they succeed
  } classes[CLASSES];
  char role[32];  // empty: in every process
  _Atomic uint64_t record_end;
  _Atomic int64_t clock_offset_ms;  // by which the wall clock is ahead
};

struct entry {
  uint32_t magic;
  uint8_t kind, failed;
  uint16_t path_bytes, second_path_bytes, unused;
  uint32_t data_bytes;
  uint64_t inode, offset, length;
};  // then the paths and the data

static const char* folder;
static const char* role;
static size_t folder_bytes;
static struct control* control;
static int record = -1;
static pthread_mutex_t threads = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void set_up(void) {
  const char* control_path = getenv("STORE_FAULTS_CONTROL");
  const char* record_path = getenv("STORE_FAULTS_RECORD");
  if (getenv("STORE_FAULTS_DIR") == NULL || control_path == NULL) return;
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, control_path, O_RDWR | O_CLOEXEC, 0);
  void* mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || mapped == MAP_FAILED) return;
  syscall(SYS_close, fd);
  if (record_path != NULL)
    record = (int)syscall(SYS_openat, AT_FDCWD, record_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  role = getenv("STORE_FAULTS_ROLE");
  folder_bytes = strlen(getenv("STORE_FAULTS_DIR"));
  control = mapped;
  folder = getenv("STORE_FAULTS_DIR");
}

// One operation of one process at a time, from the operation itself to its entry.
static void lock_record(void) {
  pthread_mutex_lock(&threads);
  flock(record, LOCK_EX);
}

static void unlock_record(void) {
  const int kept = errno;
  flock(record, LOCK_UN);
  pthread_mutex_unlock(&threads);
  errno = kept;
}

// What a killed process left of its last entry is overwritten by the next one.
static void put(char kind, int failed, const char* path, const char* second_path, struct stat about,
                uint64_t offset, uint64_t length, const void* data, size_t data_bytes) {
  const int kept = errno;
  const struct entry head = {0x53464c54,
                             (uint8_t)kind,
                             (uint8_t)failed,
                             (uint16_t)strlen(path),
                             (uint16_t)strlen(second_path),
                             0,
                             (uint32_t)data_bytes,
                             about.st_ino,
                             offset,
                             length};
  uint64_t end = control->record_end;
  const struct {
    const void* bytes;
    size_t size;
  } parts[] = {{&head, sizeof head},
               {path, head.path_bytes},
               {second_path, head.second_path_bytes},
               {data, data_bytes}};
  for (size_t n = 0; n < 4; ++n) {
    if (parts[n].size > 0 && syscall(SYS_pwrite64, record, parts[n].bytes, parts[n].size, end) < 0) abort();
    end += parts[n].size;
  }
  control->record_end = end;
  errno = kept;
}

static enum file_class class_of_path(const char* path) {
  if (folder == NULL || strncmp(path, folder, folder_bytes) != 0) return NOT_OURS;
  const char* rest = path + folder_bytes;
  if (*rest != '/') return *rest == '\0' ? FOLDER : NOT_OURS;
  const size_t size = strlen(rest);
  if (size > 4 && strcmp(rest + size - 4, "-shm") == 0) return NOT_OURS;
  if (size > 10 && strcmp(rest + size - 10, " (deleted)") == 0) return NOT_OURS;
  if (strcmp(rest, "/millrace.db") == 0) return DATABASE;
  if (strcmp(rest, "/millrace.db-wal") == 0) return LOG;
  return strncmp(rest, "/blobs/", 7) == 0 ? BLOB : OTHER;
}

// The present path of a descriptor.
static enum file_class class_of(int fd, char path[PATH_MAX], struct stat* about) {
  if (folder == NULL || fd < 0) return NOT_OURS;
  const int kept = errno;
  char link_path[32];
  snprintf(link_path, sizeof link_path, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link_path, path, PATH_MAX - 1);
  enum file_class class = NOT_OURS;
  if (size > 0) {
    path[size] = '\0';
    class = class_of_path(path);
  }
  if (class != NOT_OURS && fstat(fd, about) != 0) class = NOT_OURS;
  if (class != NOT_OURS && S_ISDIR(about->st_mode)) class = FOLDER;
  errno = kept;
  return class;
}

// The absolute path of what a call names; whether it is recorded.
static int names_ours(int at, const char* name, char path[PATH_MAX]) {
  char base[PATH_MAX] = "";
  struct stat about;
  if (record < 0 || name == NULL) return 0;
  if (name[0] != '/') {
    if (at != AT_FDCWD) {
      if (class_of(at, base, &about) == NOT_OURS) return 0;
    } else if (getcwd(base, sizeof base) == NULL) {
      return 0;
    }
  }
  const int size = snprintf(path, PATH_MAX, "%s%s%s", base, name[0] == '/' ? "" : "/", name);
  return size < PATH_MAX && class_of_path(path) != NOT_OURS;
}

static struct stat inode_of(const char* path) {
  const int kept = errno;
  struct stat about = {0};
  lstat(path, &about);
  errno = kept;
  return about;
}

// The wall clock

int clock_gettime(clockid_t id, struct timespec* out) {
  const int code = (int)syscall(SYS_clock_gettime, id, out);
  const int is_wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
  if (code != 0 || !is_wall || control == NULL) return code;
  const int64_t ns = out->tv_nsec + control->clock_offset_ms % 1000 * 1000000;
  out->tv_sec += control->clock_offset_ms / 1000 + (ns >= 1000000000) - (ns < 0);
  out->tv_nsec = (ns + 1000000000) % 1000000000;
  return 0;
}

// Syncs

static int is_to_fail(enum file_class class) {
  if (control->role[0] != '\0' && (role == NULL || strcmp(role, control->role) != 0)) return 0;
  int32_t failing = control->classes[class].failing;
  while (failing > 0 &&
         !atomic_compare_exchange_weak(&control->classes[class].failing, &failing, failing - 1)) {
  }
  if (failing == 0) return 0;
  ++control->classes[class].hits;
  return 1;
}

static int sync_fd(int fd, long call) {
  char path[PATH_MAX];
  struct stat about;
  const enum file_class class = class_of(fd, path, &about);
  if (class == NOT_OURS) return (int)syscall(call, fd);
  if (record >= 0) lock_record();
  const int fails = is_to_fail(class);
  if (record >= 0) {
    put(class == FOLDER ? 'F' : 'S', fails, path, "", about, 0, 0, NULL, 0);
    unlock_record();
  }
  if (fails) errno = EIO;
  if (fails) return -1;
  return record >= 0 ? 0 : (int)syscall(call, fd);
}

int fsync(int fd) { return sync_fd(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_fd(fd, SYS_fdatasync); }

// Contents

// The errno of a write to files of this class; 0: it is carried out.
static int refusal_of(enum file_class class) {
  return class == NOT_OURS ? 0 : control->classes[class].refusal;
}

static ssize_t write_at(int fd, const void* bytes, size_t size, off_t at, int has_place) {
  char path[PATH_MAX];
  struct stat about;
  const enum file_class class = class_of(fd, path, &about);
  if (refusal_of(class) != 0) {
    errno = refusal_of(class);
    return -1;
  }
  const int is_ours = record >= 0 && class != NOT_OURS;
  if (is_ours) {
    lock_record();
    off_t place = at;
    if (!has_place) place = (fcntl(fd, F_GETFL) & O_APPEND) != 0 ? about.st_size : lseek(fd, 0, SEEK_CUR);
    put('W', 0, path, "", about, (uint64_t)place, size, bytes,
        size);  // first, lest a kill leaves a write without one
  }
  const ssize_t wrote =
      has_place ? syscall(SYS_pwrite64, fd, bytes, size, at) : syscall(SYS_write, fd, bytes, size);
  if (is_ours) unlock_record();
  return wrote;
}

ssize_t write(int fd, const void* bytes, size_t size) { return write_at(fd, bytes, size, 0, 0); }
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) { return write_at(fd, bytes, size, at, 1); }
ssize_t pwrite64(int fd, const void* bytes, size_t size, off_t at) {
  return write_at(fd, bytes, size, at, 1);
}

int ftruncate(int fd, off_t size) {
  char path[PATH_MAX];
  struct stat about;
  const int is_ours = record >= 0 && class_of(fd, path, &about) != NOT_OURS;
  if (is_ours) lock_record();
  const int code = (int)syscall(SYS_ftruncate, fd, size);
  if (is_ours && code == 0) put('T', 0, path, "", about, 0, (uint64_t)size, NULL, 0);
  if (is_ours) unlock_record();
  return code;
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

int fallocate(int fd, int mode, off_t at, off_t size) {
  char path[PATH_MAX];
  struct stat about;
  const enum file_class class = class_of(fd, path, &about);
  if (refusal_of(class) != 0) {
    errno = refusal_of(class);
    return -1;
  }
  const int is_ours = record >= 0 && class != NOT_OURS;
  if (is_ours && (mode & ~FALLOC_FL_KEEP_SIZE) != 0) abort();  // the record has no holes
  if (is_ours) lock_record();
  const int code = (int)syscall(SYS_fallocate, fd, mode, at, size);
  if (is_ours && code == 0 && mode == 0) put('A', 0, path, "", about, (uint64_t)at, (uint64_t)size, NULL, 0);
  if (is_ours) unlock_record();
  return code;
}
int fallocate64(int fd, int mode, off_t at, off_t size) { return fallocate(fd, mode, at, size); }

// Entries of folders

static int open_at(int at, const char* name, int flags, mode_t mode) {
  char path[PATH_MAX];
  const int makes = (flags & (O_CREAT | O_TRUNC)) != 0 && names_ours(at, name, path);
  if (!makes) return (int)syscall(SYS_openat, at, name, flags, mode);
  lock_record();
  const struct stat before = inode_of(path);
  const int fd = (int)syscall(SYS_openat, at, name, flags, mode);
  if (fd >= 0 && before.st_ino == 0) put('C', 0, path, "", inode_of(path), 0, 0, NULL, 0);
  if (fd >= 0 && before.st_ino != 0 && (flags & O_TRUNC) != 0) put('T', 0, path, "", before, 0, 0, NULL, 0);
  unlock_record();
  return fd;
}

#define MODE_OF(flags)                          \
  mode_t mode = 0;                              \
  if (((flags) & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list rest;                               \
    va_start(rest, flags);                      \
    mode = va_arg(rest, mode_t);                \
    va_end(rest);                               \
  }
int open(const char* name, int flags, ...) {
  MODE_OF(flags)
  return open_at(AT_FDCWD, name, flags, mode);
}
int open64(const char* name, int flags, ...) {
  MODE_OF(flags)
  return open_at(AT_FDCWD, name, flags, mode);
}
int openat(int at, const char* name, int flags, ...) {
  MODE_OF(flags)
  return open_at(at, name, flags, mode);
}
int openat64(int at, const char* name, int flags, ...) {
  MODE_OF(flags)
  return open_at(at, name, flags, mode);
}

static int make_at(char kind, int at, const char* name, mode_t mode, dev_t device) {
  char path[PATH_MAX];
  const int is_ours = names_ours(at, name, path);
  if (is_ours) lock_record();
  const int code = (int)(kind == 'M' ? syscall(SYS_mkdirat, at, name, mode)
                                     : syscall(SYS_mknodat, at, name, mode, device));
  if (is_ours && code == 0) put(kind, 0, path, "", inode_of(path), 0, 0, NULL, 0);
  if (is_ours) unlock_record();
  return code;
}
int mkdir(const char* name, mode_t mode) { return make_at('M', AT_FDCWD, name, mode, 0); }
int mkdirat(int at, const char* name, mode_t mode) { return make_at('M', at, name, mode, 0); }
int mknod(const char* name, mode_t mode, dev_t device) { return make_at('C', AT_FDCWD, name, mode, device); }

static int rename_at(int at, const char* from, int to_at, const char* to, unsigned flags) {
  char path[PATH_MAX], target[PATH_MAX];
  const int is_ours = names_ours(at, from, path) & names_ours(to_at, to, target);
  if (is_ours) lock_record();
  const int code = (int)syscall(SYS_renameat2, at, from, to_at, to, flags);
  if (is_ours && code == 0) put('R', 0, path, target, inode_of(target), 0, 0, NULL, 0);
  if (is_ours) unlock_record();
  return code;
}
int rename(const char* from, const char* to) { return rename_at(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int at, const char* from, int to_at, const char* to) {
  return rename_at(at, from, to_at, to, 0);
}
int renameat2(int at, const char* from, int to_at, const char* to, unsigned flags) {
  return rename_at(at, from, to_at, to, flags);
}

int link(const char* from, const char* to) {
  char path[PATH_MAX], target[PATH_MAX];
  const int is_ours = names_ours(AT_FDCWD, from, path) & names_ours(AT_FDCWD, to, target);
  if (is_ours) lock_record();
  const int code = (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
  if (is_ours && code == 0) put('L', 0, path, target, inode_of(target), 0, 0, NULL, 0);
  if (is_ours) unlock_record();
  return code;
}

static int unlink_at(int at, const char* name, int flags) {
  char path[PATH_MAX];
  const int is_ours = names_ours(at, name, path);
  if (is_ours) lock_record();
  const struct stat about = is_ours ? inode_of(path) : (struct stat){0};
  const int code = (int)syscall(SYS_unlinkat, at, name, flags);
  if (is_ours && code == 0) put('U', 0, path, "", about, 0, 0, NULL, 0);
  if (is_ours) unlock_record();
  return code;
}
int unlink(const char* name) { return unlink_at(AT_FDCWD, name, 0); }
int rmdir(const char* name) { return unlink_at(AT_FDCWD, name, AT_REMOVEDIR); }
int unlinkat(int at, const char* name, int flags) { return unlink_at(at, name, flags); }
