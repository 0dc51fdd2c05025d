/* Initialises the native parts of the gem guildhall-kafka. Loaded by guildhall/kafka/reading.rb, after ReadError. */
#include <ruby.h>
#include <ruby/ractor.h>
#include "partition_queue.h"
#include "record.h"

RUBY_FUNC_EXPORTED void Init_native(void)
{
    rb_ext_ractor_safe(true);
    VALUE guildhall = rb_define_module("Guildhall");
    VALUE kafka = rb_define_module_under(guildhall, "Kafka");
    guildhall_init_kafka_record(guildhall, kafka);
    VALUE reading = rb_define_module_under(kafka, "Reading");
    guildhall_init_partition_queue(reading);
    guildhall_init_kafka_reader(reading);
}
