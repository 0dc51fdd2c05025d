# frozen_string_literal: true

require "json"
require_relative "messages"
require_relative "reported"

module Guildhall
  class Web
    module Pages
      # Which topics are queues of Active Job.
      module Queues
        CONSUMER = "Guildhall::Kafka::ActiveJob::Consumer"
        private_constant :CONSUMER

        private

        # @return [Array<Array(String, String)>] group and topic
        def queues
          routed = cluster.routes.select { |route| route.consumer.to_s == CONSUMER && !route.pattern? }
          reported = reports.topics.select { |topic| topic.consumer == CONSUMER }
          (routed.map { |route| [route.group, route.name] } + reported.map { |topic| [topic.group, topic.topic] }).uniq.sort
        end

        # @return [Hash] how it stands: what processes report goes before what brokers know
        def queue_row(group, name, lag)
          topic = reports.topics.find { |one| one.group == group && one.topic == name }
          rows = lag.select { |row| row.group == group && row.topic == name }
          series = reports.series(group:, topic: name)
          known = if topic
                    summary([topic])
                  else
                    {kind: "idle", word: "no process reports it", oldest: rows.filter_map(&:seconds).max,
                     messages: rows.sum(&:messages)}
                  end
          {group:, name:, **known, working: topic&.words&.fetch("working", 0), series: known(series["lag"]),
           done: series["consumed"].compact.sum, failed: reports.dead[[group, name]]&.first.to_i, retries: series["retries"].compact.sum,
           dead_letters: reports.rows(group, name).first&.topic&.fetch("dead_letter_topic", nil) || dead_letters(name)}
        end

        def dead_letters(name) = cluster.routes_of(name).filter_map(&:dead_letter_topic).first

        # @return [Array<Kafka::Routing::Topic>] in which jobs wait for their time
        def delay_topics = cluster.routes.select(&:delay_topics)
      end

      # How far a batch of jobs is.
      module Batches
        private

        # @param batch [Kafka::ActiveJob::Batch]
        def batch_row(batch)
          {id: batch.id, size: batch.size, done: batch.size - batch.pending, began: time(batch.created_at),
           seconds: [Time.now - batch.created_at, 0.0].max}
        end
      end

      # Queues of Active Job, and batches.
      class Jobs < Page
        include GroupRows
        include Queues
        include Batches

        private

        def title = "Jobs"

        def data
          lag = ask { cluster.lag }
          {missing:, queues: queues.map { |group, name| queue_row(group, name, lag) }, delayed: delayed(lag),
           batches: cluster.batches.map { |batch| batch_row(batch) }, problems: problems(lag)}
        end

        # Those that a group has not passed on yet.
        def delayed(lag)
          delay_topics.map do |route|
            rows = lag.select { |row| row.topic == route.name }
            {topic: route.name, group: route.group, messages: rows.sum(&:messages)}
          end
        end
      end

      # One queue: what its partitions do, what fails, the jobs that come next, and those that wait for their time, such as retries.
      class JobQueue < Page
        include GroupRows
        include Queues
        include MessageRows

        NEXT = 50
        PARTITIONS = 50 # from which jobs are read
        SECONDS = 3
        LATER_SECONDS = 1 # of each delay topic
        NO_JOB = "not a job, or encrypted"
        private_constant :NEXT, :PARTITIONS, :SECONDS, :LATER_SECONDS, :NO_JOB

        def private? = true

        private

        def crumbs = {"Jobs" => ["jobs"]}
        def title = names.fetch(:queue)

        # Reading them costs the brokers more than what other pages ask.
        def live? = false

        def data
          found = queues.select { |_, name| name == names.fetch(:queue) }
          raise Kafka::UnknownTopicError.new(names.fetch(:queue), queues.map(&:last)) if found.empty?

          lag = ask { cluster.lag }
          group, name = found.first
          rows = reports.rows(group, name).sort_by { |found| by_trouble(found) }.map { |found| partition_row(found) }
          shown = payloads?(name)
          {missing:, shown:, queue: queue_row(group, name, lag), partitions: rows,
           causes: reports.causes.select { |cause| cause.places.any? { |place| place.last == name } }.map { |cause| cause_row(cause) },
           jobs: shown ? next_jobs(name, positions(rows, lag, name)) : [], later: shown ? later_jobs(name, lag) : []}
        end

        # @return [Hash{Integer=>Integer}] the first offset that is not done
        def positions(rows, lag, name)
          known = rows.select { |row| row[:position] && row[:lag].to_i.positive? }.to_h { |row| [row[:partition], row[:position]] }
          behind = lag.select { |row| row.topic == name && row.messages.positive? && row.committed }
          {**behind.to_h { |row| [row.partition, row.committed] }, **known}.first(PARTITIONS).to_h
        end

        def next_jobs(name, from)
          return [] if from.empty?

          search(name, from, SECONDS).sort_by { |job| job[:time].to_s }
        end

        # In delay topics, with those of other queues.
        def later_jobs(name, lag)
          found = delay_topics.map(&:name).flat_map do |topic|
            rows = lag.select { |row| row.topic == topic && row.messages.positive? }
            from = rows.to_h { |row| [row.partition, row.committed || 0] } # nil: none was passed on yet
            from.empty? ? [] : search(topic, from, LATER_SECONDS, headers: Kafka::Delaying::DelayHeaders.to(name))
          end
          found.sort_by { |job| job[:due].to_s }.first(NEXT)
        end

        def search(topic, from, seconds, headers: {})
          found = []
          cluster.search(topic, from:, headers:, limit: NEXT, seconds:, deserializer: false).run { |one| found << job(one.record) }
          found
        end

        def place(record)
          due = Kafka::Delaying::DelayHeaders.due_in(record.headers)
          {partition: record.partition, offset: record.offset, topic: record.topic, time: time(record.timestamp),
           due: (time(Time.at(due)) if due)}
        end

        def job(record)
          data = ::JSON.parse(record.raw_payload.to_s, max_nesting: 50)
          data = {} unless data.is_a?(Hash)
          {**place(record), class: data["job_class"] ? Printable.words(data["job_class"].to_s, 200) : NO_JOB,
                            executions: data["executions"].is_a?(Integer) ? data["executions"] : 0, failures: failures(data),
                            arguments: Printable.words(::JSON.generate(data["arguments"] || []), 500)}
        rescue ::JSON::ParserError, ::JSON::NestingError, ::JSON::GeneratorError
          {**place(record), class: NO_JOB, executions: 0}
        end

        # @return [String, nil] what the job was retried for: the errors that its `retry_on` names, and how often each came
        def failures(data)
          counts = data["exception_executions"]
          return unless counts.is_a?(Hash) && counts.any?

          Printable.words(counts.map { |errors, count| "#{errors.to_s.delete("[]")}: #{count}" }.join("; "), 200)
        end
      end

      # One batch of jobs: those that are not done, and which of them are dead letters.
      class JobBatch < Page
        include GroupRows
        include Queues
        include Batches

        SHOWN = 100
        SECONDS = 3 # in each topic of dead letters
        private_constant :SHOWN, :SECONDS

        private

        def crumbs = {"Jobs" => ["jobs"]}
        def title = "Batch #{names.fetch(:batch)}"

        # Dead letters are searched for.
        def live? = false

        def data
          batch = cluster.batch(names.fetch(:batch)) or return {batch: nil}
          letters = letters(batch)
          failed = batch.jobs.where(job_id: letters.keys).order(:id).limit(SHOWN).to_a
          others = batch.jobs.where.not(id: failed.map(&:id)).order(:id).limit(SHOWN - failed.size).to_a
          {batch: batch_row(batch), more: @more, failed: batch.jobs.where(job_id: letters.keys).count,
           jobs: [*failed, *others].map { |job| job_row(job, letters[job.job_id]) }}
        end

        def job_row(job, letter)
          {id: Printable.words(job.job_id, 64), class: Printable.words(job.job_class, 200), enqueued: time(job.created_at), letter:}
        end

        # Also of jobs that were replayed since.
        # @return [Hash{String=>Hash}] the last dead letter of each job of the batch
        def letters(batch)
          topics = queues.filter_map { |_, name| dead_letters(name) }.uniq
          @more = false # whether there are more than could be read
          topics.each_with_object({}) do |topic, found|
            header = {Kafka::ActiveJob::TRACKED_HEADER => batch.id.to_s}
            search = cluster.search(topic, from: batch.created_at.to_time, headers: header, seconds: SECONDS)
            progress = search.run { |one| job_id(one)&.then { |id| found[id] = letter(one.record) } }
            @more ||= !progress.stopped_by.nil?
          rescue Kafka::UnknownTopicError
            next # no job has failed yet
          end
        end

        def letter(record)
          {topic: record.topic, partition: record.partition, offset: record.offset,
           error: Kafka::DeadLetterQueue::DeadLetterHeaders.text(record.headers["source_error_class"])&.then { Printable.words(it, 200) }}
        end

        # @return [String, nil] nil: the payload cannot be read here
        def job_id(found)
          payload = found.payload
          payload = ::JSON.parse(found.record.raw_payload.to_s, max_nesting: 50) unless payload.respond_to?(:[]) && !payload.is_a?(String)
          payload["job_id"] if payload.is_a?(Hash) || payload.is_a?(Document)
        rescue ::JSON::ParserError, ::JSON::NestingError
          nil
        end
      end
    end
  end
end
