# frozen_string_literal: true

module Guildhall
  class CLI
    # Sample payloads from files: each line of .jsonl and .ndjson, else each file.
    module Payloads
      LINES = %w[.jsonl .ndjson].freeze
      private_constant :LINES

      class << self
        # @param path [String] a file or a folder of files
        # @param limit [Integer] at most so many
        # @return [Array<String>] frozen
        # @raise [Guildhall::ArgumentError] where there is none
        def read(path, limit: 10_000)
          raise Guildhall::ArgumentError, "no file or folder #{path}" unless File.exist?(path)

          payloads = files(path).lazy.flat_map { |file| of(file) }.first(limit)
          raise Guildhall::ArgumentError, "no payloads in #{path}" if payloads.empty?

          payloads
        end

        private

        def files(path)
          File.directory?(path) ? Dir[File.join(path, "**/*")].select { |file| File.file?(file) }.sort : [path]
        end

        def of(file)
          return [text(File.binread(file))] unless LINES.include?(File.extname(file).downcase)

          File.foreach(file, mode: "rb", chomp: true).lazy.reject { |line| line.strip.empty? }.map { |line| text(line) }
        end

        def text(bytes)
          utf8 = bytes.force_encoding(Encoding::UTF_8)
          (utf8.valid_encoding? ? utf8 : bytes.b).freeze
        end
      end
    end
  end
end
