// Linux interfaces that the Glibc module does not import.
#pragma once
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

// glibc hides these behind _GNU_SOURCE.
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *deadline);
extern const char *strerrorname_np(int number);
extern const char *strerrordesc_np(int number);

// netdb.h, behind _GNU_SOURCE as well.
enum { HAREBELL_EAI_NODATA = -5, HAREBELL_EAI_ADDRFAMILY = -9 };

// spawn.h, sys/pidfd.h and unistd.h: the same.
#include <spawn.h>
extern int pipe2(int ends[2], int flags);
extern int pidfd_open(pid_t process, unsigned int flags);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern const char *sigabbrev_np(int signal);
