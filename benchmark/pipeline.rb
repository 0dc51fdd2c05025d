# frozen_string_literal: true

# Pipelines: what a stage costs, what reading few fields saves, and codecs that stay Ruby on two workers.

require "guildhall/csv"
require "guildhall/pipeline"
require "guildhall/pool"
require "guildhall/schema"
require "guildhall/yaml"
require_relative "support/bench"
require_relative "data/corpus"

# What each row does.
class PipelineRows
  PAYLOADS = 500
  SIZE = 5_000

  # The stages, written in a class body so that they can be shared on every Ruby.
  module Stages
    SMALL = Guildhall.select { |order| order["id"] < 100_000_000 }
    NOTHING = Guildhall.map { |order| order }
    IDS = Guildhall.map { |order| order["id"] }
    SUMMARY = Guildhall.map { |order| [order["id"], order["user"]["email"], order["items"].sum { |item| item["qty"] }].freeze }
  end

  # What two processes make of it at best: they are there already, and nothing is sent back.
  class Processes
    def initialize(payloads, codec)
      @size = payloads.size
      @members = payloads.each_slice((payloads.size + 1) / 2).map { |half| IO.popen("-", "r+") || serve(half, codec) }
    end

    def call
      @members.each { |member| member.write("g") }
      @members.each { |member| member.readpartial(1) }
      @size
    end

    # The later ones hold the earlier ones' pipes too: none gets end-of-file before all are closed.
    def close
      @members.each(&:close_write)
      @members.each(&:close)
    end

    private

    def serve(half, codec)
      $stdout.sync = true
      while $stdin.read(1)
        half.each { |payload| codec.decode(payload) }
        $stdout.write("d")
      end
      exit!(0)
    end
  end

  def initialize(bench)
    @bench = bench
    @orders = Corpus.new.orders(SIZE)
    @rounds = bench.quick? ? 3 : 15
  end

  def run
    selection
    overhead
    codec("csv", Guildhall::CSV.new(converters: {"id" => :integer, "price" => :float}), Array.new(PAYLOADS) { |seed| csv(seed) })
    codec("yaml", Guildhall::YAML, Array.new(PAYLOADS) { |seed| yaml(seed) })
  end

  private

  # A tenth is kept: only their fields beyond the first are ever made.
  def selection
    lazy = Guildhall::JSON.lazy >> Stages::SMALL >> Stages::SUMMARY
    eager = Guildhall::JSON >> Stages::SMALL >> Stages::SUMMARY
    @bench.compare("pipeline.select_before_decoding", -> { each_order { |text| lazy.call(text) } },
      {"eager" => -> { each_order { |text| eager.call(text) } }, "JSON.parse by hand" => -> { each_order { |text| by_hand(text) } }},
      goals: {"JSON.parse by hand" => 3})
  end

  def by_hand(text)
    order = JSON.parse(text)
    return Guildhall::DROPPED unless order["id"] < 100_000_000

    [order["id"], order["user"]["email"], order["items"].sum { |item| item["qty"] }]
  end

  # Ten stages that do nothing, counted and uncounted, beside the codec alone.
  def overhead
    stages = Array.new(10) { Stages::NOTHING }
    plain = [Guildhall::JSON.lazy, *stages, Stages::IDS].reduce(:>>)
    measured = plain.measured
    direct = ->(text) { Guildhall::JSON.lazy.decode(text)["id"] }
    calls = {"direct" => -> { each_order { |text| direct.call(text) } }, "counted" => -> { each_order { |text| measured.call(text) } }}
    @bench.compare("pipeline.ten_empty_stages", -> { each_order { |text| plain.call(text) } }, calls)
  end

  def each_order(&block)
    result = nil
    @rounds.times { result = @orders.map(&block) }
    result
  end

  def codec(name, codec, payloads)
    processes = Processes.new(payloads, codec) # before the pool: on 3.4 a process with Ractors must not fork
    pool = Guildhall::Pool.new(workers: 2)
    @bench.compare("pipeline.#{name}.two_workers", -> { pool.dispatch(payloads, codec, parallel: true).value.size },
      {"sequential" => -> { payloads.map { |payload| codec.decode(payload) }.size }, "two forked processes" => -> { processes.call }},
      goals: {"sequential" => 1.3, "two forked processes" => 0.85}, any: true, rounds: [@bench.rounds, 5].min)
  ensure
    pool&.shutdown
    processes&.close
  end

  def csv(seed)
    lines = (1..).lazy.map { |row| "#{(seed * 1_000) + row},name #{row},\"street #{row}, #{seed}\",#{row}.25,open" }
    text = +"id,name,address,price,state\n"
    text << lines.next << "\n" while text.bytesize < SIZE
    text.freeze
  end

  def yaml(seed)
    items = Array.new(45) do |row|
      {"id" => (seed * 1_000) + row, "name" => "name #{row}", "price" => row + 0.25, "tags" => %w[a b], "open" => true}
    end
    Guildhall::YAML.encode({"seed" => seed, "items" => items})
  end
end

Bench.script("pipeline") { |bench| PipelineRows.new(bench).run }
