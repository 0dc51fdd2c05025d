# frozen_string_literal: true

require "fileutils"
require "pathname"

module Guildhall
  class CLI
    # `guildhall render TEMPLATE --data rows.jsonl --out DIR`: one file for each row.
    class Render < Command
      CHUNK = 200
      SHOWN = 10 # failures
      private_constant :CHUNK, :SHOWN

      # (see Command.summary)
      def self.summary = "Render a template once for each row of a JSONL, CSV or YAML file"

      private

      def arity = 1

      def define_options(options)
        options.banner = "usage: guildhall render TEMPLATE [options]\n#{self.class.summary}\n\n"
        options.on("--data FILE", "rows: .jsonl (or .ndjson), .json, .csv, .yaml; each key, or column, is a local variable")
        options.on("--out DIR", "where the files go; made if it is not there")
        options.on("--name PATTERN", "their names, such as \"{id}.html\"; default: the row's number, from 1")
        options.on("--locals NAMES", Array,
          "the locals, separated by commas; default: as the template's comment says, or the first row's keys, and `row`")
        options.on("--layout FILE", "a template that writes this one where it says yield")
        options.on("--partials DIR", "a folder of templates that the template, and its layout, may render")
        options.on("--helpers MODULES", Array, "modules whose methods templates may call: helpers/money.rb:Money, separated by commas")
        options.on("--engine NAME", "erb, erubi, haml or slim; default: as the template's name ends")
        options.on("--trim MODE", "the trim mode of ERB templates, such as -")
        options.on("--[no-]escape", "escape values for HTML; default: yes, unless the template is a text (.txt.erb)")
        options.on("--[no-]progress", "show a bar; default: on a terminal, where the gem ruby-progressbar is")
      end

      def call(arguments)
        path = arguments.first || missing("a template")
        folder = @options[:out] || missing("--out DIR")
        files = Files.new(folder, @options[:name] || Files.pattern(path))
        require "guildhall/templates"
        rows = Rows.new(@options[:data] || missing("--data FILE"))
        template = template(path, rows)
        make(folder)
        report(*render(template, rows, files), folder)
      end

      def missing(what)
        raise Guildhall::ArgumentError, "#{what} is needed (guildhall render --help)"
      end

      def make(folder)
        FileUtils.mkdir_p(folder)
      rescue SystemCallError => error
        raise Guildhall::ArgumentError, "--out #{folder}: #{error.message}"
      end

      def template(path, rows)
        locals = @options[:locals]&.map(&:strip) || (rows.names unless Template.declares_locals?(path))
        common = {escape: @options[:escape], helpers: helpers}
        common[:partials] = @options[:partials] ? Templates.new(@options[:partials], trim_mode: @options[:trim], **common) : {}
        own = {locals:, layout: layout(common), engine: @options[:engine]&.to_sym, trim_mode: @options[:trim]}
        Template.new(Pathname(path), **common, **own)
      end

      def layout(common)
        path = @options[:layout] or return
        Template.new(Pathname(path), trim_mode: (@options[:trim] if Template.trim_mode?(path)), **common)
      end

      def helpers = @options.fetch(:helpers, []).map { |name| Constant.resolve(name) }

      # Rows are read, rendered and written a few hundred at a time.
      # @return [Array(Integer, Integer)] files, and rows that failed
      def render(template, rows, files)
        places = Thread::Queue.new
        failed = 0
        Pool.open do |pool|
          pool.each_result(payloads(template, rows, places), template, chunk: CHUNK, progress: progress("Rendering")) do |outcome, index|
            row = places.pop
            problem = outcome.is_a?(Failure) ? "#{outcome.message}#{hint(outcome, rows)}" : files.write(outcome, row, index + 1)
            complain(index + 1, problem, failed += 1) if problem
          end
        end
        [rows.count - failed, failed]
      end

      def payloads(template, rows, places)
        Enumerator.new do |list|
          rows.each do |row|
            places << row
            list << rows.locals(row, template.locals)
          end
        end
      end

      # @return [String, nil] for a local that there is not: which there are
      def hint(failure, rows)
        cause = failure.cause || failure
        "\n#{rows.described}" if cause.error_class == NameError.name
      end

      def complain(number, problem, failed)
        @err.puts("guildhall: row #{number}: #{problem}") if failed <= SHOWN
        @err.puts("guildhall: more rows fail; they are counted only") if failed == SHOWN + 1
      end

      # @return [Integer] the exit status
      def report(written, failed, folder)
        @out.puts("#{Printable.count(written, "file")} in #{folder}#{", #{failed} failed" if failed.positive?}")
        failed.zero? ? 0 : 1
      end
    end
  end
end

require_relative "render/rows"
require_relative "render/files"
