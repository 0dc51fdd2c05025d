# frozen_string_literal: true

require "etc"
require "rbconfig"
require "tmpdir"
require_relative "environment"
require_relative "../ext/guildhall/json/powers_of_five"

# Compiles the extensions' C for machines that this one is not, as far as compilers for them are there: 64-bit ARM with its
# vectors, and musl, which has neither glibc's functions nor the kernel's headers. What comes out is thrown away.
class CrossCompile
  # On Debian: gcc-aarch64-linux-gnu with libc6-dev-arm64-cross, musl-tools.
  COMPILERS = {"aarch64-linux-gnu-gcc" => %w[-DGUILDHALL_FUTEX -DGUILDHALL_TIMERFD], "musl-gcc" => []}.freeze
  FLAGS = %w[-std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror -c -o /dev/null].freeze

  # @return [Boolean] whether everything compiled
  def run
    there, missing = COMPILERS.keys.partition { |compiler| found?(compiler) }
    missing.each { |compiler| puts "  #{compiler}: not here, left out" }
    Dir.mktmpdir do |folder|
      PowersOfFive.write(File.join(folder, "powers_of_five.h"))
      there.all? { |compiler| compile(compiler, folder) }
    end
  end

  private

  def compile(compiler, folder)
    failed = sources.each_slice((sources.size / Etc.nprocessors.to_f).ceil).map do |some|
      Thread.new { some.reject { |source| system(compiler, *FLAGS, *COMPILERS[compiler], "-I#{folder}", *includes, source) } }
    end.flat_map(&:value)
    puts "  #{compiler}: #{sources.size} files, #{failed.empty? ? "all compile" : "not #{failed.join(" ")}"}"
    failed.empty?
  end

  def sources = @sources ||= Dir[File.join(Environment::ROOT, "ext/guildhall/**/*.c")]

  # Ruby's own headers are this machine's: both have 64-bit words.
  def includes
    folders = RbConfig::CONFIG.values_at("rubyhdrdir", "rubyarchhdrdir")
    [*folders, *%w[ext/guildhall ext/guildhall/include].map { |path| File.join(Environment::ROOT, path) }].map { |folder| "-I#{folder}" }
  end

  def found?(program) = ENV.fetch("PATH").split(":").any? { |folder| File.executable?(File.join(folder, program)) }
end
