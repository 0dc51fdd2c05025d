# frozen_string_literal: true

require "etc"
require "rbconfig"
require "tmpdir"
require_relative "environment"
require_relative "../ext/guildhall/json/powers_of_five"
require_relative "../test/support/cross_target"

# Compiles the extensions' C for machines that this one is not: those of {CrossTarget} as far as compilers for them are there, and
# against headers that hide what macOS has not (like_macos/README.md). What comes out is thrown away; test/cross runs what needs no Ruby.
class CrossCompile
  FLAGS = %w[-std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror -c -o /dev/null].freeze
  LIKE_MACOS = ["-D__APPLE__", "-isystem", File.join(__dir__, "like_macos")].freeze

  # @return [Boolean] whether everything compiled
  def run
    there, missing = CrossTarget::ALL.partition { |target| target.missing.empty? }
    missing.each { |target| puts "  #{target.name}: left out, #{target.reason}" }
    ways = there.map { |target| [target.name, target.compiler, target.flags] }
    ways << ["like macOS", RbConfig::CONFIG["CC"].split.first, LIKE_MACOS]
    Dir.mktmpdir do |folder|
      PowersOfFive.write(File.join(folder, "powers_of_five.h"))
      ways.map { |name, compiler, flags| compile(name, [compiler, *FLAGS, *flags, "-I#{folder}", *includes]) }.all?
    end
  end

  private

  def compile(name, command)
    failed = sources.each_slice((sources.size / Etc.nprocessors.to_f).ceil).map do |some|
      Thread.new { some.reject { |source| system(*command, source) } }
    end.flat_map(&:value)
    puts "  #{name}: #{sources.size} files, #{failed.empty? ? "all compile" : "not #{failed.join(" ")}"}"
    failed.empty?
  end

  def sources = @sources ||= Dir[File.join(Environment::ROOT, "ext/**/*.c")].reject { |path| path.end_with?(".inc.c") }

  # Ruby's own headers are this machine's: all have 64-bit words.
  def includes
    folders = RbConfig::CONFIG.values_at("rubyhdrdir", "rubyarchhdrdir")
    [*folders, *%w[ext/guildhall ext/guildhall/include].map { |path| File.join(Environment::ROOT, path) }].map { |folder| "-I#{folder}" }
  end
end
