# frozen_string_literal: true

require "fileutils"
require "json"
require_relative "machine"

class Bench
  # What each script has measured, one file a script and way: with the machine and the date, because not all are taken in the same hour.
  module Results
    FOLDER = File.expand_path("../results", __dir__)
    Taken = Data.define(:name, :machine, :date, :quick, :cut, :rows) do
      def self.from(hash) = new(**hash.transform_keys(&:to_sym))

      # @return [String] "yjit" or "plain"
      def way = machine.include?("(YJIT)") ? "yjit" : "plain"
    end

    class << self
      # @param name [String] the script
      # @param rows [Array<Hash>]
      # @param quick [Boolean]
      # @param cut [String, nil] why not all rows were measured; nil: they were
      # @return [Taken]
      def save(name, rows, machine:, quick: false, cut: nil, folder: FOLDER)
        taken = Taken.new(name:, machine:, date: Time.now.strftime("%F %R"), quick:, cut:, rows:)
        FileUtils.mkdir_p(folder)
        File.write(File.join(folder, "#{name}.#{taken.way}.json"), JSON.pretty_generate(taken.to_h))
        taken
      end

      # @param found [Array<Array(Hash, Taken)>] rows, and the results that they stand in
      # @return [String] machine and dates: a row that was taken on another day than the others says so
      def conditions(found)
        machines = found.map { |_, taken| taken.machine.sub(/ \((?:no )?YJIT\)/, "")[/[^;]+/] }.uniq
        dates = found.map { |row, taken| row["note"].to_s[/taken on (\S+)/, 1] || taken.date[0, 10] }.uniq.sort
        "#{machines.join(" and ")}, #{dates.join(" and ")}"
      end

      # @return [Array<Taken>] by name, without YJIT first
      def all(folder: FOLDER)
        Dir[File.join(folder, "*.json")].map { |path| Taken.from(JSON.parse(File.read(path, encoding: "UTF-8"))) }
      end
    end
  end
end
