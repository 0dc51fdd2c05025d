# frozen_string_literal: true

# Templates: five pages rendered at once, and one report many times, by ERB in one thread, in five threads, in Ractors and in two
# processes, and by Guildhall. ERB is compiled once for all of them.

require "erb"
require "guildhall/templates"
require_relative "support/bench"
require_relative "support/comparison"
require_relative "data/pages"

# What each row does.
class ErbRows
  REPORT = "report.html"
  WORTH = 1.5 # where two processes do not reach this, the machine has no second core to give
  # Of two processes.
  GOAL = 0.85

  # ERB's methods.
  module Linear
    extend ERB::Util

    Pages::NAMES.each do |name|
      locals = Pages.new.locals(name).keys.map { |local| "#{local}:" }.join(", ")
      ERB.new(Pages.new.text(name), trim_mode: "<>").def_method(singleton_class, "#{name[/\w+/]}(#{locals})", name)
    end

    def self.call(jobs) = jobs.map { |name, locals| public_send(name[/\w+/], **locals) }
  end

  # Two of them, there already; what they have rendered stays with them.
  class Processes
    def initialize(jobs)
      @members = jobs.each_slice((jobs.size + 1) / 2).map { |half| IO.popen("-", "r+") || serve(half) }
    end

    # @return [Integer] bytes
    def call
      @members.each { |member| member.write("g") }
      @members.sum { |member| member.readpartial(20).to_i }
    end

    # The later ones hold the earlier ones' pipes too: none gets end-of-file before all are closed.
    def self.close(all)
      members = all.flat_map(&:members)
      members.each(&:close_write)
      members.each(&:close)
    end

    attr_reader :members

    private

    def serve(half)
      $stdout.sync = true
      $stdout.write(Linear.call(half).sum(&:bytesize).to_s) while $stdin.read(1)
      exit!(0)
    end
  end

  def initialize(bench)
    @bench = bench
    @pages = Pages.new
    @templates = Pages::NAMES.to_h do |name|
      [name, Guildhall::Template.new(@pages.escaping(name), locals: @pages.locals(name).keys, trim_mode: "<>", escape: true, name:)]
    end
  end

  def run
    five = Pages::NAMES.map { |name| job(name) }
    jobs = {"erb.five_templates" => five, "erb.five_templates_10" => five * 10}
    [5, 10, 20, 50].each { |count| jobs["erb.report_#{count}"] = [job(REPORT)] * count }
    jobs.select! { |name, _| @bench.wanted?(name) }
    processes = jobs.transform_values { |list| Processes.new(list) } # before the pool: on 3.4 a process with Ractors must not fork
    @pool = Guildhall::Pool.new(workers: 2)
    jobs.each { |name, list| compare(name, list, processes[name]) }
    single
  ensure
    @pool&.shutdown
    Processes.close(processes.values) if processes
  end

  private

  def job(name) = [name, @pages.locals(name)].freeze

  def compare(name, jobs, processes)
    pairs = jobs.map { |page, locals| [@templates[page], locals] }
    comparison = Bench::Comparison.new([-> { @pool.render_all(pairs) }, -> { Linear.call(jobs) }, -> { threads(jobs) }, -> { ractors(jobs) },
                                        -> { processes.call }], warm_up: @bench.quick? ? 0.3 : 1)
    comparison.check(name) { |ours, *others, bytes| others.all?(ours) && bytes == ours.sum(&:bytesize) }
    rows(name, comparison.ratios(@bench.quick? ? [@bench.rounds, 5].min : 25))
  end

  def rows(name, (linear, threads, ractors, processes))
    reached = linear / processes # by two processes, times linear
    enough = reached >= WORTH
    @bench.row(name, against: "ERB, one thread", ratio: linear)
    @bench.row(name, against: "ERB, five threads", ratio: threads)
    @bench.row(name, against: "ERB, Ractors by hand", ratio: ractors)
    @bench.row(name, against: "two forked processes", ratio: processes, goal: enough ? GOAL : nil,
      note: format("they: %.2f × one thread%s", reached, enough ? "" : "; void"))
  end

  # A batch of one is no reason to wait for anybody.
  def single
    @templates.each do |name, template|
      jobs = [job(name)]
      list = jobs.map(&:last)
      @bench.compare("erb.one.#{name[/\w+/]}", -> { (0...20).map { @pool.render(template, list) } }, {"ERB, one thread" => -> { (0...20).map { Linear.call(jobs) } }},
        goals: {"ERB, one thread" => 1.0})
    end
  end

  def threads(jobs)
    jobs.each_slice((jobs.size + 4) / 5).map { |part| Thread.new { Linear.call(part) } }.flat_map(&:value)
  end

  # Two, made for the purpose, as one would write it.
  def ractors(jobs)
    before = Warning[:experimental]
    Warning[:experimental] = false
    made = jobs.each_slice((jobs.size + 1) / 2).map { |part| Ractor.new(Ractor.make_shareable(part)) { |mine| Ractor.make_shareable(Linear.call(mine)) } }
    made.flat_map { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
  ensure
    Warning[:experimental] = before
  end
end

Bench.script("erb") { |bench| ErbRows.new(bench).run }
