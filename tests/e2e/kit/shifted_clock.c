/* Preloaded into one program: its wall clock is off by the seconds that the file $AGENTBOX_TEST_CLOCK holds, from moment to
 * moment; the other clocks go on as they do where somebody sets the date. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* By system calls alone: a sanitizer asks for the time before it is ready to have its other functions called. */
static long shift(void) {
  char text[32] = "";
  const char* path = getenv("AGENTBOX_TEST_CLOCK");
  const long fd = path == NULL ? -1 : syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return 0;
  }
  const long size = syscall(SYS_read, fd, text, sizeof text - 1);
  syscall(SYS_close, fd);
  long seconds = 0;
  for (long i = text[0] == '-' ? 1 : 0; i < size && text[i] >= '0' && text[i] <= '9'; ++i) {
    seconds = seconds * 10 + (text[i] - '0');
  }
  return text[0] == '-' ? -seconds : seconds;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int rc = (int)syscall(SYS_clock_gettime, clock, now);
  if (rc == 0 && clock == CLOCK_REALTIME) {
    now->tv_sec += shift();
  }
  return rc;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  struct timespec precise;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) {
    return -1;
  }
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* stored) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (stored != NULL) {
    *stored = now.tv_sec;
  }
  return now.tv_sec;
}
