# frozen_string_literal: true

require "etc"
require "rbconfig"

module Guildhall
  class CLI
    # `guildhall info`: what there is on this machine and what will be used of it.
    class Info < Command
      # (see Command.summary)
      def self.summary = "Show Ruby, extensions, librdkafka, cores and workers"

      private

      def define_options(options)
        options.on("--json", "as one JSON object")
      end

      def call(_arguments)
        rows = [*ruby_rows, *machine_rows, *extension_rows]
        return print_json(rows.to_h { |name, value| [name.downcase.gsub(/\W/, "_"), value] }) if @options[:json]

        @out.puts(TextTable.lines(rows))
      end

      # Ruby's own JSON: it works without the C extension, too.
      def print_json(hash)
        require "json"
        @out.puts(::JSON.generate(hash))
      end

      def ruby_rows
        yjit = defined?(RubyVM::YJIT) ? (RubyVM::YJIT.enabled? ? "on" : "built, off (--yjit turns it on)") : "not built"
        [["Guildhall", Guildhall::VERSION], ["Ruby", RUBY_DESCRIPTION + (RUBY_VERSION < "4" ? " (works; 4.0 is faster)" : "")],
         ["YJIT", yjit]]
      end

      def machine_rows
        [["cores", Etc.nprocessors],
         ["RUBY_MAX_CPU", native_threads],
         ["RUBY_THREAD_TIMESLICE", ENV.fetch("RUBY_THREAD_TIMESLICE", "100 ms (not set; 10 shortens waits beside busy threads)")],
         ["worker Ractors", workers]]
      end

      # As Ruby reads it.
      def native_threads
        given = ENV.fetch("RUBY_MAX_CPU", nil)
        require "guildhall/native_threads"
        count = NativeThreads::COUNT
        return given if given == count.to_s

        "#{count} (#{given ? "set to #{given.inspect}" : "not set"})"
      rescue LoadError
        given || "not set"
      end

      def workers
        require "guildhall/pool"
        return "none: #{NativeThreads::ADVICE}" if NativeThreads::MAIN_RACTOR_ONLY

        "#{Guildhall::Pool::Settings.default_workers} by default"
      rescue LoadError => error
        "none: #{error.message}"
      end

      def extension_rows
        [["extension guildhall", extension("guildhall/queue", "guildhall")],
         ["extension guildhall-kafka", extension("guildhall/kafka", "guildhall/kafka")],
         ["librdkafka", librdkafka]]
      end

      # A part loads its extension, and what that needs before it; a precompiled gem has one for each version of Ruby.
      def extension(part, folder)
        require part
        $LOADED_FEATURES.find { |path| path.match?(%r{/#{folder}/(?:\d+\.\d+/)?native\.(?!rb\z)}) }
      rescue LoadError, Guildhall::Error => error
        "missing (#{error.message.lines.first.chomp})"
      end

      def librdkafka
        require "rdkafka"
        "#{Rdkafka::LIBRDKAFKA_VERSION} (karafka-rdkafka #{Rdkafka::VERSION})"
      rescue LoadError
        "missing; add the gem guildhall-kafka to consume Kafka"
      end
    end
  end
end
