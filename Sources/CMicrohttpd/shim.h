// libmicrohttpd, and what of it takes a variable number of arguments, which Swift cannot call.
#pragma once
#include <microhttpd.h>
#include <sys/socket.h>
#include <unistd.h>

/// A daemon without threads and without a listening socket, to be run when its epoll descriptor is readable; NULL if
/// there is no memory or descriptor for it.
static inline struct MHD_Daemon *harebell_mhd_start(
    MHD_AccessHandlerCallback handler, MHD_NotifyConnectionCallback notify, void *context,
    unsigned int maximum_connections, size_t maximum_memory
) {
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handler, context,
        MHD_OPTION_NOTIFY_CONNECTION, notify, context,
        MHD_OPTION_CONNECTION_LIMIT, maximum_connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, maximum_memory,
        MHD_OPTION_END);
}

/// The descriptor that is readable when there is something to do.
static inline int harebell_mhd_epoll(struct MHD_Daemon *daemon) {
    return MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

/// Takes over a connected socket, also if it fails.
static inline enum MHD_Result harebell_mhd_add(struct MHD_Daemon *daemon, int descriptor) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getpeername(descriptor, (struct sockaddr *)&address, &length) != 0) {
        close(descriptor);
        return MHD_NO;
    }
    return MHD_add_connection(daemon, descriptor, (struct sockaddr *)&address, length);
}

/// What the connection's callback left with it.
static inline void *harebell_mhd_context(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static inline int harebell_mhd_descriptor(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}
