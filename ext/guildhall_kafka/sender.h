/* See sender.c. */
#ifndef GUILDHALL_KAFKA_SENDER_H
#define GUILDHALL_KAFKA_SENDER_H

#include <ruby.h>
#include "librdkafka.h"

void guildhall_init_kafka_sender(VALUE guildhall, VALUE kafka);

#endif
