# frozen_string_literal: true

# What each choice of the C code that measures itself is worth: the extension is built again without it, in a temporary folder, and both
# builds do the same work in processes of their own, in turn. A ratio above 1 is what the choice wins. Texts of ours (orders), texts that are
# foreign to it (webhooks, pretty-printed ones, the schemas of a public API), and those that it can win nothing on (fresh values, unique
# keys). Takes ten minutes.
require "fileutils"
require "rbconfig"
require "tmpdir"
require_relative "support/bench"
require_relative "support/measured_process"
require_relative "../tool/environment"

# Builds the extension with one place of its source changed.
class ChangedBuild
  SOURCE = File.join(Environment::ROOT, "ext/guildhall")

  # @return [String] the folder to load it from
  def self.in(folder, change)
    FileUtils.mkdir_p(copy = File.join(folder, "ext"))
    FileUtils.cp_r(SOURCE, copy)
    FileUtils.cp_r(File.join(Environment::ROOT, "lib"), folder)
    path, from, to = change
    file = File.join(copy, "guildhall", path)
    text = File.read(file)
    abort("#{path}: #{from.inspect} does not stand there once") unless text.scan(from).size == 1
    File.write(file, text.sub(from) { to })
    new(folder).build
  end

  def initialize(folder)
    @folder = folder
  end

  def build
    run(RbConfig.ruby, File.join(@folder, "ext/guildhall/extconf.rb"))
    run("make", "-j2")
    FileUtils.mkdir_p(target = File.join(@folder, "built/guildhall"))
    FileUtils.mv(File.join(@folder, "native.#{RbConfig::CONFIG["DLEXT"]}"), target)
    File.dirname(target)
  end

  private

  def run(*command)
    system({"RUBYLIB" => nil, "RUBYOPT" => nil, "BUNDLE_GEMFILE" => nil}, *command, chdir: @folder, out: File::NULL) || abort("#{command.join(" ")} failed")
  end
end

# The choices, and the work that they are for.
module Ablation
  TEXTS = ["orders 5 KB", "webhooks", "pretty", "schemas", "fresh 5 KB", "unique keys"].freeze
  WAITS = ["queue", "small batches"].freeze
  CHANGES = {
    "keys foreseen" => [["json/parser.inc.c", "UNLIKELY(!guildhall_json_stands_at(", "1 || UNLIKELY(!guildhall_json_stands_at("], TEXTS],
    "keys not foreseen where they vary" => [["json/key_predictor.h", "scratch->blind = varied ? scratch->pause : 0;", "scratch->blind = 0;"], TEXTS],
    "strings kept" => [["values/caches.c", "if (length > LONGEST_BYTES || ", "if (1 || "], TEXTS],
    "strings not kept where none comes again" => [["values/caches.c", "if (table->hits < STRING_WINDOW / 8) ", "if (0) "], TEXTS],
    "keys not kept where none comes again" => [["values/caches.c", "cache->unique = cache->misses > KEY_WINDOW / 2;", "cache->unique = 0;"], TEXTS],
    "attempts before a wait" => [["waiting/waiter.c", "turn < limit; turn++", "turn < 0 * limit; turn++"], WAITS],
    "as many attempts as have paid" => [["waiting/waiter.c", "return spins < LEAST_SPINS ? LEAST_SPINS : spins;", "return waiter_most_spins(patience);"], WAITS]
  }.freeze

  module_function

  def run(bench)
    Dir.mktmpdir("guildhall") do |folder|
      CHANGES.each_with_index do |(choice, (change, kinds)), index|
        wanted = kinds.select { |kind| bench.wanted?("ablation.#{choice}, #{kind}") }
        next if wanted.empty?

        without = ChangedBuild.in(File.join(folder, index.to_s), change)
        wanted.each { |kind| row(bench, "ablation.#{choice}, #{kind}", without, kind) }
      end
    end
  end

  def row(bench, name, without, kind)
    rounds = Array.new(bench.quick? ? 3 : 9) do |round|
      [Environment::LIBRARY, without].rotate(round).to_h { |library| [library, measure(library, kind)] }
    end
    abort("#{name}: other results") unless rounds.flat_map(&:values).map { |one| one["digest"] }.uniq.size == 1
    bench.row(name, against: "without", ratio: Bench.median(rounds.map { |round| round[without]["time"] / round[Environment::LIBRARY]["time"] }))
  end

  def measure(library, kind)
    paths = [File.join(Environment::ROOT, "lib"), library].join(":")
    Bench::MeasuredProcess.run(RbConfig.ruby, File.join(__dir__, "support/ablation_work.rb"), kind, environment: {"RUBYLIB" => paths})
  end
end

Bench.script("ablation") { |bench| Ablation.run(bench) }
