/* Lengthens every fsync and fdatasync of a process by SYNC_DELAY_US microseconds, to see what a ratio is on a slower disk
 * than the one at hand (decision 0020). It only waits; the real call comes first.
 *
 *   cc -O2 -shared -fPIC -o /tmp/slow-sync.so test/bench/slow-sync.c -ldl
 *   npm run build && npx tsc -p test/bench
 *   SYNC_DELAY_US=240 LD_PRELOAD=/tmp/slow-sync.so node --expose-gc dist-bench/test/bench/main.js --only P1,P3
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static long microseconds(const struct timespec *from, const struct timespec *to) {
  return (to->tv_sec - from->tv_sec) * 1000000L + (to->tv_nsec - from->tv_nsec) / 1000;
}

static void wait_longer(void) {
  const char *delay = getenv("SYNC_DELAY_US");
  long wanted = delay == NULL ? 0 : atol(delay);
  struct timespec began, now;
  clock_gettime(CLOCK_MONOTONIC, &began);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while (microseconds(&began, &now) < wanted);
}

static int slowly(const char *name, int descriptor) {
  int (*call)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  int result = call(descriptor);
  wait_longer();
  return result;
}

int fsync(int descriptor) { return slowly("fsync", descriptor); }
int fdatasync(int descriptor) { return slowly("fdatasync", descriptor); }
