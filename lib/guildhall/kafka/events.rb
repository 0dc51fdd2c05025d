# frozen_string_literal: true

module Guildhall
  module Kafka
    # What can be subscribed to with `Guildhall::Kafka.instrumentation.subscribe`.
    module Events
      # name => payload, and what has happened
      DESCRIPTIONS = {
        "app.advised" => "message: a setting or route that is allowed but will not work as intended, and what to do instead; about: " \
                         ":settings, :deserializing (workers cannot run a topic's pipeline) or :topics (a topic that messages are sent " \
                         "on to is missing, for example); group, topic: nil if it concerns the process",
        "app.quiet" => "no new work is started",
        "app.resumed" => "new work is started again, after app.quiet",
        "app.running" => "version, groups, topics",
        "app.stopping" => "timeout: seconds that the work in progress has",
        "app.stopped" => "unfinished: partitions whose work was not finished in time",
        "batch.finished" => "id, size, seconds: all jobs of this batch of Active Job's are done, so long after it was enqueued, and its " \
                            "last job is enqueued",
        "batch.measured" => "open, jobs, seconds: how many batches of jobs have not finished, how many of their jobs are not done, and " \
                            "the age of the oldest batch",
        "broker.reachable" => "broker, seconds: the broker answers again, after so long",
        "broker.unreachable" => "broker, reason, advice: what to check, or nil, seconds: for how long, reminder: false the first time: " \
                                "the broker cannot be reached, or does not answer",
        "command.finished" => "id, action, target, by, why, outcome: :done, :refused or :failed, reason: what was done, or why not: of a " \
                              "command to this process",
        "command.received" => "id, action, target, args, by, why: a command to this process has come; what becomes of it says " \
                              "command.finished",
        "consumer.consumed" => "group, topic, partition, size: messages that are done now, read, dropped, bytes, seconds, " \
                               "last_offset; waited: seconds from reading to the call of `consume`",
        "consumer.retrying" => "group, topic, partition, offset, attempt, seconds: the pause before the next attempt",
        "consumer.revoked" => "group, topic, partition",
        "consumer.skipped" => "group, topic, partition, read, dropped, bytes: the deserializer dropped every message of a batch",
        "consumer.shutdown" => "group, topic, partition",
        "consumer.threads_left" => "group, topic, partition, consumer: its class, site: file and line, threads, consumers: threads that " \
                                   "so many consumers have started there while they were made (`initialized`) live on 10 seconds after " \
                                   "their `revoked` was called; published once for each site",
        "dashboard.acted" => "by: the name that `authorize` has given, action: such as :replay, target: a topic, group or task, why: " \
                             "their own words, or nil, outcome: a sentence, id: something was done from the dashboard",
        "dead_letter_queue.blocked" => "group, topic, partition, offset, to, reason, since, attempt, seconds: a message cannot be sent " \
                                       "to the dead letter topic, or to a retry topic; seconds until it is sent again, nil " \
                                       "while the brokers may still take it",
        "dead_letter_queue.dispatched" => "group, topic, partition, offset, to, error_class",
        "error.occurred" => "error, message: what may be logged of it, type, and where it happened: group, topic, partition, offset, " \
                            "attempt, as far as there is one; outage: true: it says nothing about the message, and does not count",
        "filter.rejected" => "group, topic, partition, filter, count: messages that the filter has rejected; those that wait may count " \
                             "again",
        "filter.waiting" => "group, topic, partition, offset, seconds: a filter has postponed this message and those behind it; " \
                            "the partition is paused",
        "forwarding.blocked" => "group, topic, partition, offset, to, reason, since, attempt, seconds: a message that a consumer sends " \
                                "on (`pipe_to`, delay topics) cannot be sent; as dead_letter_queue.blocked",
        "garbage_collection.run" => "reason: :idle, :memory or :time, seconds, put_off: how often Ruby would have run a full collection " \
                                    "since the last one: a full collection was run (`config.garbage_collection`)",
        "garbage_collection.switched" => "state: :deferred or :left_to_ruby; left, limit: bytes of memory where that is why, else left " \
                                         "is nil: full collections are put off from here on, or Ruby runs them itself again",
        "key.limit_reached" => "group, topic, partition, keys, messages: the limit of parked keys is reached; the partition " \
                               "pauses until a key makes progress",
        "key.parked" => "group, topic, partition, key: nil if the message has none, offset: a message of this key has failed; those " \
                        "behind it wait, other keys continue",
        "key.resumed" => "group, topic, partition, key: all of its messages that have waited are done",
        "lag.measured" => "partitions: group, topic, partition, messages, seconds, paused, blocked (why its dead letters cannot be sent, " \
                          "or nil) of each partition whose lag is known; unknown: group, topic, partition of the others: nothing of them " \
                          "has been read yet, or no broker answers",
        "members.changed" => "group, members: how many this process has now, change: 1 or -1, seconds: how far the process is behind",
        "messages.produced" => "topic: nil if they are of several, size, bytes, seconds, sync: what the application's producer has taken",
        "oauth_token.available" => "servers: the cluster's bootstrap.servers, seconds: config.oauth_token brings tokens again, after so " \
                                   "long",
        "oauth_token.unavailable" => "servers: the cluster's bootstrap.servers, error, reason, seconds: for how long, left: seconds for " \
                                     "which the token in use is valid, 0: clients cannot log in; reminder: false the first time: " \
                                     "config.oauth_token brings no token; it is called again",
        "offsets.committed" => "group, seconds, error: librdkafka's name of it, or nil: the broker has answered a commit",
        "offsets.none" => "group, topic, partitions, place: :earliest or :latest, messages: how many there are now: the group has " \
                          "committed nothing for these partitions, and begins with all of these messages, or skips them; may_seek: " \
                          "whether its consumer has an `initialized`, which may seek to another place before the first batch",
        "offsets.reset" => "group, topic, partitions: by number the next offset, which does not exist any more, and the one that is read " \
                           "instead: messages between them are skipped, or repeated",
        "outbox.measured" => "messages, seconds, parked: how many messages of the outbox wait to be sent, the age of the oldest, and how " \
                             "many brokers have refused",
        "outbox.parked" => "id, topic, error_class, reason: a broker refuses this message of the outbox, which stays in its table until " \
                           "it is retried or deleted; those behind it go on",
        "outbox.sent" => "topic, size: messages of the outbox that brokers have, and that were deleted from its table",
        "partition.abandoned" => "group, topic, partition: revoked while its consumer was at work, in any of its methods",
        "partition.paused" => "group, topic, partition, seconds: nil if it lasts until it is resumed: by its consumer, or because the " \
                              "application is quiet",
        "partition.resumed" => "group, topic, partition: such a pause has ended, or its time is over",
        "partition.stalled" => "group, topic, partition, position, end_offset, action: the partition makes no progress; action is :seek " \
                               "or :rejoin",
        "protocol.refused" => "group, reason: librdkafka's name of it: the brokers do not take this group's members with the consumer " \
                              "protocol, and it goes on with the classic one",
        "rebalance.partitions_assigned" => "group, member: which of this process's, from 1, partitions",
        "rebalance.partitions_revoked" => "group, member, partitions, lost: true if they went without a rebalance (session over)",
        "retry_topic.dispatched" => "group, topic, partition, offset, to, error_class",
        "routes.overlapping" => "group, topic, chosen, others: several routes of the group match the topic",
        "schema_registry.reachable" => "registry: its URL, seconds: the registry answers again, after so long",
        "schema_registry.unreachable" => "registry: its URL, reason: with what to check, seconds: for how long, reminder: false the " \
                                         "first time: the registry cannot be asked for schemas; messages that need one wait",
        "schedule.ran" => "group, task, due, seconds, error_class: nil if it has not failed: a scheduled task was run",
        "signals.ignored" => "signals: that would stop the server, and that the process's parent has left ignored (a shell does so with " \
                             "`command &`, nohup with HUP)",
        "statistics.emitted" => "group, member, statistics: librdkafka's, as often as its setting statistics.interval.ms says",
        "swarm.forked" => "number: published in each process of a swarm, before it starts",
        "swarm.process_ended" => "number, pid, status",
        "swarm.process_restarting" => "number, seconds: until another process replaces the one that has ended",
        "swarm.process_started" => "number, pid",
        "swarm.process_stopping" => "number, pid, reason: another process will replace it",
        "swarm.running" => "version, processes, pid, threads: that the application has started too early; published by the " \
                           "parent before the first process is forked",
        "transaction.aborted" => "group, topic, partition, error_class",
        "transaction.committed" => "group, topic, partition, seconds: from its beginning"
      }.freeze
      NAMES = DESCRIPTIONS.keys.freeze
    end
  end
end
