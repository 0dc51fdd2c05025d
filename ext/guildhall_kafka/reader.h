/* Guildhall::Kafka::Reading::Reader: takes messages from librdkafka's queues without the GVL. */
#ifndef GUILDHALL_KAFKA_READER_H
#define GUILDHALL_KAFKA_READER_H

#include <ruby.h>

void guildhall_init_kafka_reader(VALUE reading);

#endif
