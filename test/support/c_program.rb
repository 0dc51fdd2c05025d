# frozen_string_literal: true

require "fileutils"
require "rbconfig"
require "tmpdir"

# Compiles C sources of the project, without Ruby in them, into programs of their own.
module CProgram
  EXTENSION = File.expand_path("../../ext/guildhall", __dir__)
  RUBY_FREE = %w[queue/ring queue/channel waiting/waitlist].freeze
  COMPILER = RbConfig::CONFIG["CC"].split.first
  # The queue driven by threads, which sleep on words.
  THREADS = [File.expand_path("../stress/harness/threads.c", __dir__), File.join(EXTENSION, "waiting/word.c")].freeze

  # @param sources [Array<String>] paths, besides the Ruby-free sources of the queue
  # @param flags [Array<String>]
  # @param changes [Hash{String=>Hash{String=>String}}] by path in the extension: text that stands there once, and what replaces it
  # @yieldparam program [String] the path of the program
  def with_program(sources, flags: [], changes: {}, compiler: COMPILER)
    Dir.mktmpdir("guildhall") do |folder|
      copy_sources(folder, changes)
      program = File.join(folder, "program")
      compile(program, [*RUBY_FREE.map { |name| File.join(folder, "#{name}.c") }, *sources], ["-I#{folder}", *flags], compiler)
      yield program
    end
  end

  # The program of {THREADS}.
  # @yieldparam program [String]
  def with_threads_program(flags: [], compiler: COMPILER, &)
    with_program(THREADS, flags: ["-I#{EXTENSION}", "-I#{EXTENSION}/include", *flags], compiler:, &)
  end

  private

  def copy_sources(folder, changes)
    Dir["{#{RUBY_FREE.join(",")}}.{c,h}", base: EXTENSION].each do |path|
      text = File.read(File.join(EXTENSION, path))
      changes.fetch(path, {}).each do |from, to|
        assert_equal 1, text.scan(from).size, "#{from.inspect} does not stand once in #{path}: the test needs care"
        text = text.sub(from) { to }
      end
      FileUtils.mkdir_p(File.join(folder, File.dirname(path)))
      File.write(File.join(folder, path), text)
    end
  end

  def compile(program, sources, flags, compiler = COMPILER)
    command = [compiler, "-std=gnu11", "-O2", "-g", "-w", *flags, *sources, "-o", program, "-lpthread"]
    out, err, status = run_command(command)
    assert_predicate status, :success?, "#{command.join(" ")}\n#{out}#{err}"
  end
end
