# frozen_string_literal: true

require "guildhall/cli/constant"
require_relative "payloads"

module Guildhall
  module Tools
    module CLI
      # `guildhall doctor FILE:Constant`, a gem, or a folder.
      class Doctor < Guildhall::CLI::Command
        # (see Command.summary)
        def self.summary = "Explain what keeps a task, a gem or a folder from running on workers, and try it"

        private

        def arity = 1

        def define_options(options)
          options.banner = "usage: guildhall doctor FILE:Constant | GEM | FOLDER [options]\n#{self.class.summary}\n\n"
          options.on("-r", "--require FILE", "load this first, such as config/environment.rb")
          options.on("--payloads PATH", "try the task on these: a file, the lines of a .jsonl, or the files of a folder")
          options.on("--stress N", Integer, "call it from N Ractors at once, in a process of its own (needs --payloads)")
          options.on("--strict", "exit with 1 for suspicions, too")
          options.on("--json", "as one JSON object")
          options.separator("\nExit status: 0 it can run, or is only suspected not to; 1 it cannot; 2 wrong usage.")
        end

        def call(arguments)
          target = arguments.first
          raise Guildhall::ArgumentError, "FILE:Constant, a gem or a folder is needed (guildhall doctor --help)" unless target

          require_relative "../../doctor"
          require "guildhall/codecs"
          require "guildhall/pool"
          Guildhall::CLI::Constant.load(@options[:require]) if @options[:require]
          report = Guildhall::Doctor.new(subject(target), payloads:, stress: @options[:stress]).examine
          @options[:json] ? print_json(report.to_h) : @out.puts(report)
          status(report.verdict)
        end

        def payloads = @options[:payloads] ? Payloads.read(@options[:payloads], limit: 100) : []

        def status(verdict)
          return 1 if verdict == :cannot_run

          verdict == :may_fail && @options[:strict] ? 1 : 0
        end

        def subject(target)
          return folder(target) if File.directory?(target)
          raise Guildhall::ArgumentError, "#{target} has several constants: name one, as #{target}:Constant" if target.end_with?(".rb")
          return Guildhall::CLI::Constant.resolve(target) if Guildhall::CLI::Constant.looks_like?(target)

          library(target)
        end

        # Files may need each other: those that cannot be loaded are tried again as long as others could. What lies at the top comes first:
        # it may know in which order the rest is to be loaded.
        def folder(path)
          files = Dir.glob("**/*.rb", base: path).sort_by { |file| [file.count("/"), file] }
          left = files.to_h { |file| [File.join(path, file), nil] }
          raise Guildhall::ArgumentError, "no Ruby files in #{path}" if left.empty?

          loop do
            before = left.size
            left = left.keys.filter_map { |file| (reason = failure_of(file)) && [file, reason] }.to_h
            break if left.empty? || left.size == before
          end
          Guildhall::Doctor::Modules.new(path, [path], missing: left)
        end

        def failure_of(file) = Guildhall::CLI::Loading.failure { require File.expand_path(file) }

        def library(name)
          raise Guildhall::ArgumentError, "no folder #{name}" if name.include?("/")

          reason = Guildhall::CLI::Loading.failure { require_gem(name) }
          specification = ::Gem.loaded_specs[name] || raise(Guildhall::ArgumentError, unknown(name))
          raise Guildhall::ArgumentError, "the gem #{name} could not be loaded: #{reason}; name what it needs with -r" if reason

          Guildhall::Doctor::Modules.new(name, specification.full_require_paths, gem: name).tap { |modules| check_any(modules) }
        end

        def check_any(modules)
          return if modules.list.any?

          raise Guildhall::ArgumentError, "no modules of #{modules.name} lie in its own folder; name a task that uses it, as FILE:Constant"
        end

        # As Bundler does: a-b may be the file a/b; and else what the gem has, for the file's name is often another one than the gem's.
        def require_gem(name)
          gem(name) unless ::Gem.loaded_specs.key?(name)
          files = features(::Gem.loaded_specs.fetch(name))
          found = [name, name.tr("-", "/")].find { |feature| files.include?(feature) }
          return require(found || name) if found || files.empty?

          files.each { |feature| require feature }
        end

        # @return [Array<String>] what can be required of a gem without a folder, and a-b as a/b
        def features(specification)
          specification.full_require_paths.flat_map { |folder| Dir.glob(["*.rb", "#{specification.name.tr("-", "/")}.rb"], base: folder) }
            .map { |file| file.delete_suffix(".rb") }.uniq
        end

        def unknown(name)
          hint = Suggestion.for(name, ::Gem::Specification.stubs.map(&:name))
          "no gem #{name}#{hint}; add it to the Gemfile, or name a folder or FILE:Constant"
        end
      end
    end
  end
end
