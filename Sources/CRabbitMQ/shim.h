#pragma once
#include <amqp.h>
#include <amqp_framing.h>
