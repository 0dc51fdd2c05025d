# frozen_string_literal: true

require_relative "errors"

module Guildhall
  # @api private
  # Files of text in UTF-8, with or without a byte order mark (BOM). Editors and spreadsheets also save as "Unicode", which is UTF-16.
  module Utf8File
    BOM = "\xEF\xBB\xBF".b.freeze
    # UTF-32 begins as UTF-16 does, so it goes first.
    OTHERS = Ractor.make_shareable({"UTF-32" => ["\xFF\xFE\0\0".b, "\0\0\xFE\xFF".b], "UTF-16" => ["\xFF\xFE".b, "\xFE\xFF".b]})
    private_constant :BOM, :OTHERS

    # @return [String] in UTF-8, which is not checked
    # @raise [Guildhall::ArgumentError] for UTF-16 and UTF-32
    # @raise [SystemCallError]
    def self.read(path)
      bytes = File.binread(path)
      refuse(path, bytes)
      bytes.delete_prefix(BOM).force_encoding(Encoding::UTF_8)
    end

    # For those who do not read the file at once.
    # @raise see {read}
    def self.check!(path) = refuse(path, File.binread(path, 4).to_s)

    def self.refuse(path, bytes)
      name, = OTHERS.find { |_, marks| bytes.start_with?(*marks) } || return
      raise Guildhall::ArgumentError, "#{path} is in #{name}: save it as UTF-8"
    end
    private_class_method :refuse
  end
end
