// Linux interfaces that the Glibc module does not import.
#pragma once
#include <pthread.h>
#include <signal.h>
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
