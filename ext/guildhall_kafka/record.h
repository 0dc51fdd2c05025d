/* Guildhall::Kafka::Record: a message's bytes and metadata, frozen and shareable. */
#ifndef GUILDHALL_KAFKA_RECORD_H
#define GUILDHALL_KAFKA_RECORD_H

#include "entry.h"

/* With the GVL. An empty Record: what can fail comes before the entry changes hands. */
VALUE guildhall_kafka_record_new(void);
/* Takes the entry over. `topic` is a frozen String; `codec` owns the entry's decoder. */
void guildhall_kafka_record_fill(VALUE record, guildhall_kafka_entry *entry, VALUE topic, VALUE codec);
/* What the reader has decoded; nil where it has not. May raise (NoMemoryError): then guildhall_kafka_record_not_wrapped comes next, and
 * the payload is left to Ruby. */
VALUE guildhall_kafka_record_wrap(VALUE record);
void guildhall_kafka_record_not_wrapped(VALUE record);
void guildhall_init_kafka_record(VALUE kafka);

#endif
