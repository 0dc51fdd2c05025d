# frozen_string_literal: true

require "guildhall/kafka/broker/replay"

module Guildhall
  class Web
    # Which dead letters are meant: by the cause that they died of, by where they are from, or one by one. nil: whichever.
    # @api private
    LetterFilter = Data.define(:cause, :source, :group, :letters) do
      # @param fields [Hash{String=>Object}] as JSON has them
      def self.load(fields) = new(**fields.transform_keys(&:to_sym))

      # @param letter [Kafka::DeadLetterQueue::DeadLetter]
      # @return [String] what it died of, as pages name it
      def self.cause(letter) = [letter.error_class || "unknown", letter.error_place].compact.join(" at ")

      # @param request [Request]
      def self.of(request)
        letters = request.texts("letter")
        new(cause: request.text("cause"), source: request.text("source"), group: request.text("group"),
          letters: (letters if letters.any? || request.text("selected")))
      end

      def initialize(cause: nil, source: nil, group: nil, letters: nil) = super

      def match?(letter)
        (cause.nil? || self.class.cause(letter) == cause) && (source.nil? || letter.source_topic == source) &&
          (group.nil? || letter.source_group == group) && (letters.nil? || letters.include?("#{letter.partition}@#{letter.offset}"))
      end

      # @return [Hash{String=>Object}] for an address
      def query = {"cause" => cause, "source" => source, "group" => group, "letter" => letters}.compact
    end

    # A replay, or a discarding, of dead letters that somebody has asked for: what is meant, and how far it has come. The broker keeps it
    # ({Kafka::Broker::LetterChanges#note}), so that any replica of the page shows it, can stop it, and goes on with it where another one
    # has ended.
    #
    # to: another topic, nil: where each came from; upto: of the letters, by partition, the offset before which they are; total: how many
    # were shown to who asked; done, skipped: so far; state: running, done, stopped or failed, with the reason; runner: the process that
    # works on it, which says so at least each `BEAT_SECONDS`.
    # @api private
    LetterJob = Data.define(:id, :action, :to, :by, :why, :filter, :upto, :at, :total, :done, :state, :reason, :runner, :beat) do
      # @param text [String, nil]
      # @return [LetterJob, nil] nil: there is none, or of a later version
      def self.load(text)
        fields = JSON.decode(text.to_s).transform_keys(&:to_sym)
        return unless fields[:v] == 1

        new(**fields.except(:v), filter: LetterFilter.load(fields.fetch(:filter)),
          upto: fields.fetch(:upto).to_h { |number, offset| [Integer(number), offset] })
      rescue DecodeError, ::ArgumentError, KeyError, NoMethodError
        nil
      end

      def initialize(to: nil, why: nil, done: 0, state: "running", reason: nil, runner: nil, beat: 0.0, **) = super

      def dump = JSON.encode({v: 1, **to_h}.merge(filter: filter.to_h.compact).compact)
      def running? = state == "running"

      # @return [Boolean] whether no process works on it any more
      def abandoned?(now) = running? && now - beat > LetterJobs::BEAT_SECONDS

      # @return [String] what it does, in a sentence
      def to_s
        what = Printable.count(total, "dead letter")
        verb = action == "replay" ? "Replay of #{what}#{" to #{to}" if to}" : "Discarding of #{what}"
        "#{verb}: #{{"running" => "in progress", "done" => "done", "stopped" => "stopped", "failed" => "failed"}.fetch(state, state)}, " \
          "#{done} #{action == "replay" ? "replayed" : "discarded"}#{"; #{reason}" if reason}"
      end
    end

    # The threads of this process that work on {LetterJob}s. Any thread.
    # @api private
    class LetterJobs
      BEAT_SECONDS = 20
      # Letters of a partition that pages look at, and so that a job may mean.
      NEWEST = 2_000
      AT_ONCE_SECONDS = 2 # that an answer waits for a job which may be short
      MAX_BYTES = 4_000 # of what a broker keeps
      private_constant :AT_ONCE_SECONDS, :MAX_BYTES

      # Somebody else works on it, or has stopped it.
      class Over < StandardError
        include Error
      end
      private_constant :Over

      def initialize(web)
        @web = web
        @lock = Mutex.new
        @threads = {} # by topic
        @id = SecureRandom.hex(4)
        @closing = false
      end

      # @param topic [String]
      # @param job [LetterJob] a new one
      # @return [LetterJob] as it is after some seconds at most
      # @raise [Forms::Refused] where another one is not done
      def start(topic, job)
        taken = nil
        application.dead_letters(topic) do |letters|
          taken = write(letters) do |present|
            present && (present.running? || present.id == job.id) ? present : job.with(runner:, beat: now)
          end
          raise Forms::Refused, "#{taken.by} has asked for another one: #{taken}. Stop that one first, or wait." unless taken.id == job.id
        end
        audit(topic, job) # before its end, which may come at once
        work(topic, taken)&.join(AT_ONCE_SECONDS) if taken.running?
        present(topic) || job
      end

      # @param id [String] of the job; another one goes on
      # @return [LetterJob, nil] the last of the topic; nil: there was none
      def stop(topic, id, by)
        application.dead_letters(topic) do |letters|
          write(letters) { |present| present&.running? && present.id == id ? present.with(state: "stopped", reason: "by #{by}") : present }
        end
      end

      # @param letters [Kafka::Broker::DeadLetters]
      # @return [LetterJob, nil] of a topic, the last; where no process works on it any more, this one goes on
      def look(letters)
        job = LetterJob.load(letters.noted)
        work(letters.name, job) if job&.abandoned?(now)
        job
      rescue Kafka::KafkaError => error
        raise unless Kafka::Broker::Errors.kind(error) == :right # who may only look at letters, sees no job
      end

      # Ends after the hundred at hand; another process, or the next one, goes on.
      def close
        @closing = true
        @lock.synchronize { @threads.values }.each { |thread| thread[:run]&.interrupt }.each(&:join)
      ensure
        @closing = false
      end

      private

      # Not of a process that was forked.
      def runner = "#{@id}:#{Process.pid}"
      def application = @web.application
      def now = Time.now.to_f
      def present(topic) = application.dead_letters(topic) { |letters| LetterJob.load(letters.noted) }

      # @yieldparam present [LetterJob, nil]
      # @yieldreturn [LetterJob, nil] what is to be written; the same: nothing
      def write(letters)
        letters.changes.run do |changes|
          present = LetterJob.load(changes.noted)
          wanted = yield present
          note(changes, wanted) if wanted && !wanted.equal?(present)
          wanted
        end
      end

      def note(changes, job)
        text = job.dump
        if text.bytesize > MAX_BYTES
          raise Forms::Refused, "this selection is too long to be kept. Choose fewer letters, or use guildhall dlq #{job.action}."
        end

        changes.note(text)
      end

      # One job of a topic at a time: one that was stopped has its hundred to end.
      # @return [Thread, nil]
      def work(topic, job)
        @lock.synchronize do
          before = @threads[topic]
          return if @closing
          return before if before&.alive? && before[:job] == job.id

          @threads[topic] = thread = Thread.new do
            before&.join
            run(topic, job)
          end
          thread[:job] = job.id
          thread.name = "guildhall web #{job.action}"
          thread
        end
      end

      def run(topic, job)
        Thread.current.report_on_exception = false
        application.dead_letters(topic) do |letters|
          Thread.current[:run] = run = run_of(letters, job)
          write(letters) { |present| continued(present, job) }
          run.run(ranges(letters, job))
          finish(letters, job, "done") unless run.interrupted?
        rescue Over
          nil
        rescue StandardError => error
          finish(letters, job, "failed", error.message)
        end
      rescue StandardError => error
        application.error(error, "dashboard", topic:)
      end

      # @return [LetterJob] with this process as the one that works on it
      # @raise [Over]
      def continued(present, job)
        raise Over unless present&.id == job.id && present.running? && (present.runner == runner || present.abandoned?(now))

        present.with(runner:, beat: now)
      end

      def run_of(letters, job)
        before = lambda do |changes, chosen|
          present = LetterJob.load(changes.noted)
          note(changes, continued(present, job).with(done: present.done + chosen))
        end
        if job.action == "discard" then Kafka::Broker::Discard.new(letters, before:) { |letter| job.filter.match?(letter) }
        else
          Kafka::Broker::Replay.new(letters, to: job.to, except: Kafka::Broker::LetterMarks::MARKS, before:) { |letter| job.filter.match?(letter) }
        end
      end

      def ranges(letters, job)
        letters.ranges(*job.upto.keys).to_h do |number, range|
          last = [job.upto.fetch(number), range.end].min
          [number, [range.begin, job.upto.fetch(number) - NEWEST].max...last]
        end.reject { |_, range| range.none? }
      end

      def finish(letters, job, state, reason = nil)
        done = write(letters) do |present|
          raise Over unless present&.id == job.id && present.running? && present.runner == runner

          present.with(state:, reason: reason && Printable.words(reason, 500))
        end
        audit(letters.name, done)
      rescue Over
        nil
      end

      def audit(topic, job)
        @web.audit(Order.new(id: job.id, by: job.by, action: job.action.to_sym, target: topic, expect: nil, why: job.why), job.to_s)
      end
    end
  end
end
