/* Preloaded into a program, it disturbs calls of the system library. FAULT_CALL names the call: malloc,
   pthread_create, open, read, write, rename, link, unlink, allocate (posix_fallocate), fsync or mkdir, each
   with its relatives. FAULT_AT is the number of the call from 1 on. FAULT_HOW says what happens there:
   "error", the default: the call fails with FAULT_ERRNO (default EIO); "on": it and all later ones fail;
   "end": read finds the end of the file; "short": from this call on, each read or write takes half of the
   bytes that it could; "kill": the process is killed before the call; "term": it is asked to end after the
   call, and has time to do so, where the call is rename. Calls are counted from the start of main in the
   process and in those that it forks. FAULT_COUNT names a file into which the number of calls is written at
   the end. FAULT_OPENS names a file to which each path that is opened is added. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static atomic_long calls;
static long disturbed;
static int failure, isOn;
static char name[32], how[8] = "error";

__attribute__((constructor(65535))) static void begin(void)
{
  const char* const call = getenv("FAULT_CALL");
  const char* const at = getenv("FAULT_AT");
  const char* const error = getenv("FAULT_ERRNO");
  const char* const kind = getenv("FAULT_HOW");
  if (call)
    strncpy(name, call, sizeof name - 1);
  if (kind)
    strncpy(how, kind, sizeof how - 1);
  disturbed = at ? atol(at) : 0;
  failure = error ? atoi(error) : EIO;
}

static int (*realMain)(int, char**, char**);

static int countedMain(int count, char** words, char** environment)
{
  isOn = name[0] != '\0';
  const int code = realMain(count, words, environment);
  isOn = 0;
  return code;
}

int __libc_start_main(int (*program)(int, char**, char**), int count, char** words, void (*first)(void),
                      void (*last)(void), void (*atExit)(void), void* stack)
{
  int (*const real)(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void), void (*)(void),
                    void*) = dlsym(RTLD_NEXT, "__libc_start_main");
  realMain = program;
  return real(countedMain, count, words, first, last, atExit, stack);
}

__attribute__((destructor)) static void end(void)
{
  const char* const path = getenv("FAULT_COUNT");
  isOn = 0;
  FILE* const file = path ? fopen(path, "w") : NULL;
  if (file) {
    fprintf(file, "%ld\n", atomic_load(&calls));
    fclose(file);
  }
}

static int is(const char* kind)
{
  return strcmp(how, kind) == 0;
}

/* Whether this call is the one that is disturbed, or, where reads are short, one after it. */
static int isHit(const char* call)
{
  if (!isOn || strcmp(call, name) != 0)
    return 0;
  const long number = atomic_fetch_add(&calls, 1) + 1;
  if (disturbed == 0 || (is("short") || is("on") ? number < disturbed : number != disturbed))
    return 0;
  if (is("kill"))
    kill(getpid(), SIGKILL);
  return 1;
}

static int fails(const char* call)
{
  if (!isHit(call) || (!is("error") && !is("on")))
    return 0;
  errno = failure;
  return 1;
}

/* Calls real(count), a read or write of so many bytes, or disturbs it. */
#define TRANSFER(call, count, real)                                                                          \
  {                                                                                                          \
    if (isHit(call)) {                                                                                       \
      if (is("error") || is("on")) {                                                                         \
        errno = failure;                                                                                     \
        return -1;                                                                                           \
      }                                                                                                      \
      if (is("end"))                                                                                         \
        return 0;                                                                                            \
      count = count > 1 ? count / 2 : count;                                                                 \
    }                                                                                                        \
    return real;                                                                                             \
  }

static void* next(const char* call)
{
  return dlsym(RTLD_NEXT, call);
}

void* malloc(size_t bytes)
{
  if (!fails("malloc"))
    return __libc_malloc(bytes);
  errno = ENOMEM;
  return NULL;
}

void* calloc(size_t count, size_t bytes)
{
  if (!fails("malloc"))
    return __libc_calloc(count, bytes);
  errno = ENOMEM;
  return NULL;
}

void* realloc(void* old, size_t bytes)
{
  if (!fails("malloc"))
    return __libc_realloc(old, bytes);
  errno = ENOMEM;
  return NULL;
}

void* aligned_alloc(size_t alignment, size_t bytes)
{
  if (!fails("malloc"))
    return __libc_memalign(alignment, bytes);
  errno = ENOMEM;
  return NULL;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument)
{
  static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (!real)
    real = (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))next("pthread_create");
  return fails("pthread_create") ? EAGAIN : real(thread, attributes, work, argument);
}

#define REAL(type, call, parameters)                                                                         \
  static type(*real) parameters;                                                                             \
  if (!real)                                                                                                 \
    real = (type(*) parameters)next(#call);

ssize_t read(int file, void* bytes, size_t count){REAL(ssize_t, read, (int, void*, size_t))
                                                      TRANSFER("read", count, real(file, bytes, count))}

ssize_t pread(int file, void* bytes, size_t count, off_t at){
    REAL(ssize_t, pread, (int, void*, size_t, off_t)) TRANSFER("read", count, real(file, bytes, count, at))}

ssize_t write(int file, const void* bytes, size_t count){
    REAL(ssize_t, write, (int, const void*, size_t)) TRANSFER("write", count, real(file, bytes, count))}

ssize_t pwrite(int file, const void* bytes, size_t count,
               off_t at){REAL(ssize_t, pwrite, (int, const void*, size_t, off_t))
                             TRANSFER("write", count, real(file, bytes, count, at))}

ssize_t writev(int file, const struct iovec* parts, int count)
{
  REAL(ssize_t, writev, (int, const struct iovec*, int)) TRANSFER("write", count, real(file, parts, count))
}

/* Calls that return 0, or an error as `wrong`. */
#define FAULT(call, kind, wrong, parameters, arguments)                                                      \
  int call parameters                                                                                        \
  {                                                                                                          \
    REAL(int, call, parameters)                                                                              \
    return fails(kind) ? (wrong) : real arguments;                                                           \
  }

int rename(const char* from, const char* to)
{
  REAL(int, rename, (const char*, const char*))
  const int hit = isHit("rename");
  if (hit && (is("error") || is("on"))) {
    errno = failure;
    return -1;
  }
  const int result = real(from, to);
  if (hit && is("term")) {
    kill(getpid(), SIGTERM);
    usleep(200000); // a thread that ends the program has the time to do so
  }
  return result;
}

FAULT(linkat, "link", -1, (int from, const char* old, int to, const char* new, int flags),
      (from, old, to, new, flags))
FAULT(unlink, "unlink", -1, (const char* path), (path))
FAULT(posix_fallocate, "allocate", failure, (int file, off_t from, off_t count), (file, from, count))
FAULT(fsync, "fsync", -1, (int file), (file))
FAULT(mkdir, "mkdir", -1, (const char* path, mode_t mode), (path, mode))

/* A full disk does not keep anybody from opening a file to read it. */
static int needsRoom(int writes)
{
  return writes || failure != ENOSPC;
}

/* Adds a line to the file of FAULT_OPENS. */
static void noteOpen(const char* path)
{
  const char* const list = getenv("FAULT_OPENS");
  REAL(int, open, (const char*, int, ...))
  const int file = list ? real(list, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (file < 0)
    return;
  char line[4096];
  const int length = snprintf(line, sizeof line, "%s\n", path);
  if (length > 0 && length < (int)sizeof line)
    (void)!syscall(SYS_write, file, line, length);
  syscall(SYS_close, file);
}

int open(const char* path, int flags, ...)
{
  va_list arguments;
  va_start(arguments, flags);
  const int mode = va_arg(arguments, int);
  va_end(arguments);
  REAL(int, open, (const char*, int, ...))
  noteOpen(path);
  return needsRoom((flags & O_ACCMODE) != O_RDONLY) && fails("open") ? -1 : real(path, flags, mode);
}

int open64(const char* path, int flags, ...)
{
  va_list arguments;
  va_start(arguments, flags);
  const int mode = va_arg(arguments, int);
  va_end(arguments);
  return open(path, flags, mode);
}

FILE* fopen(const char* path, const char* mode)
{
  REAL(FILE*, fopen, (const char*, const char*))
  noteOpen(path);
  return needsRoom(mode[0] != 'r') && fails("open") ? NULL : real(path, mode);
}

FILE* fopen64(const char* path, const char* mode)
{
  REAL(FILE*, fopen64, (const char*, const char*))
  noteOpen(path);
  return needsRoom(mode[0] != 'r') && fails("open") ? NULL : real(path, mode);
}
