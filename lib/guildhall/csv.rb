# frozen_string_literal: true

require_relative "codec"
require_relative "document"
require_relative "errors"
require_relative "option_rules"
require_relative "shareable"
require_relative "shared_regexp"
require_relative "soft_dependency"
require_relative "text"

Guildhall::SoftDependency.require!("csv", gem: "csv", purpose: "Guildhall::CSV")

module Guildhall
  # CSV by the gem csv: a text to a frozen Array of rows. The class itself is the codec with the default options: the
  # first row names the columns, each further row becomes a Hash of Strings.
  #
  #     Guildhall::CSV.decode("id,name\n1,Ada\n")                    # => [{"id" => "1", "name" => "Ada"}]
  #     Guildhall::CSV.new(converters: {"id" => :integer}, symbolize_names: true)
  #     Guildhall::CSV.new(headers: false, col_sep: ";")             # rows as Arrays
  #
  # Any Ractor may call it; it never blocks.
  class CSV
    include Codec

    # @param headers [Boolean, Array<String>] true: the first row names the columns; false: rows are Arrays; an Array:
    #   these are the names, and every row is data
    # @param symbolize_names [Boolean] whether the names are Symbols
    # @param converters [Symbol, #call, Hash{String, Integer=>(Symbol, #call)}, nil] for all fields, or by column (by
    #   its index where there are no names): `:integer`, `:float`, `:decimal`, `:boolean`, `:date`, `:time`, or a
    #   shareable callable that takes the text. Empty fields stay nil. What is not of the type is a DecodeError. A column that a text does
    #   not have is left out, as the gem csv does
    # @param quote_char [String, nil] nil: nothing is quoted
    # @param skip_blanks [Boolean] whether empty lines are left out
    # @param strip [Boolean] whether white space around fields is left out
    # @param liberal_parsing [Boolean] whether quotes in the middle of fields are taken as they are
    # @param text [Text] how bytes become text, and text bytes
    # @param max_bytes [Integer] longer payloads are refused
    # @param max_digits [Integer] what `:integer` and `:decimal` take has no more digits when it is written out without an
    #   exponent: what it costs to convert grows faster than the payload. At least 17
    # @param max_missing [Integer] how many fields may be missing for each field that is there, and 100,000 besides, when decoding and
    #   encoding: each becomes a nil, or a separator. 0: those 100,000
    # @raise [Guildhall::ArgumentError] also for options that exclude each other
    # @raise [NotShareableError] for a converter that cannot be shared
    # @raise [MissingDependencyError] for `:decimal` without the gem bigdecimal
    def initialize(headers: true, symbolize_names: false, converters: nil, text: Text, max_bytes: Text::Limit::DEFAULT_BYTES,
                   max_digits: Digits::MOST, max_missing: Missing::DEFAULT, **format)
      format = Format.of(format)
      headers = Reader.names(headers)
      raise Guildhall::ArgumentError, "Guildhall::CSV: text is a codec, not #{text.inspect}" unless text.respond_to?(:decode)

      OptionRules.new(max_missing: OptionRules.integer(0..Missing::MOST)).check!({max_missing:}, owner: "Guildhall::CSV")
      @limit = Text::Limit.new("CSV", max_bytes, max_digits)
      @max_missing = max_missing
      @text = text
      @strips = format[:strip] && format.fetch(:quote_char, "").nil?
      @format = format.except(:row_sep, *(:strip if @strips))
      converters = Converters.new(converters, headers, max_digits)
      @reader = Reader.new(headers:, symbolize_names:, converters:, max_missing:)
      @row_separator = RowSeparator.new(format)
      @writer = Writer.new(format, @row_separator, converters)
      Ractor.make_shareable(self)
    end

    # @return [Array<Hash, Array>] frozen, shareable
    # @raise [DecodeError] with the line, and for a field that cannot be converted its `path`: `$[3].price`
    def decode(bytes)
      @reader.read(lines(@text.decode(@limit.check(bytes))))
    rescue ::CSV::MalformedCSVError => error
      raise DecodeError.new(error.message, codec: "CSV", line: error.line_number)
    end

    # What it writes, {#decode} reads as the same rows: nil as nil, other values as their texts (`to_s`; a Time in a column with the
    # converter `:time` as ISO 8601, to the nanosecond), which typed columns convert again. Without quotes (`quote_char: nil`), "" is
    # read as nil; a row of nothing but one nil is an empty line, and read as []. What a converter of your own makes of a text is its
    # own matter.
    # @param rows [Enumerable<Hash, Array>] Hashes, whose keys together are the header row (with `headers:` an Array: all of them
    #   are among these, and no header is written). Or Arrays, which are written as they are: with `headers: true`, the first is
    #   the header. A Document counts as the Hash or Array that it represents.
    # @return [String] frozen
    # @raise [EncodeError] for anything else, for text that is not valid, and for a field that could not be read again, naming it
    def encode(rows)
      @limit.check_written(in_bytes(@writer.write(Table.of(rows, @reader.headers, @max_missing))))
    rescue EncodingError => error
      raise EncodeError.new("CSV: #{Redaction.mask(error.message)}", excerpt: error.message)
    end

    private

    # A codec of one's own, or an encoding, may read its bytes as another text.
    def in_bytes(text)
      return text.freeze if @text.equal?(Text) && !text.start_with?(BOM)

      bytes = @text.respond_to?(:encode) ? @text.encode(text) : text.freeze
      return bytes if @text.decode(bytes) == text

      raise EncodeError, "CSV: the codec for text reads another text than it writes: begin with another character, or take another encoding"
    end

    def lines(text)
      rows = rows_of(text)
      @strips ? rows.filter_map { |row| stripped(row) } : rows
    rescue EncodingError
      raise DecodeError.new("the codec for text makes #{text.encoding} of it, not UTF-8", codec: "CSV")
    end

    # CSV.parse takes line after line out of a Fiber. That is slow, and on Ruby 3.4 Fibers of several Ractors at once get
    # each other's stacks.
    def rows_of(text)
      text, row_sep = @row_separator.resolve(text)
      csv = ::CSV.new(text, **@format, row_sep:)
      return csv.read unless csv.respond_to?(:parser, true)

      lines = []
      csv.send(:parser).parse { |line| lines << line }
      lines
    end

    # The gem finds no column of a text that it strips and that has no quotes.
    def stripped(row)
      fields = row.map { |field| field && (from = field.index(NO_BLANK)) && field[from..field.rindex(NO_BLANK)] }
      return fields unless fields == [nil]

      @format[:skip_blanks] ? nil : []
    end

    class << self
      include Codec

      # @see #decode
      def decode(bytes) = DEFAULT.decode(bytes)

      # @see #encode
      def encode(rows) = DEFAULT.encode(rows)
    end
  end
end

require "guildhall/native"
require_relative "csv/converters"
require_relative "csv/format"
require_relative "csv/missing"
require_relative "csv/reader"
require_relative "csv/row_separator"
require_relative "csv/table"
require_relative "csv/utf8"
require_relative "csv/writer"

module Guildhall
  class CSV # rubocop:disable Style/Documentation
    BOM = "\uFEFF"
    NO_BLANK = /[^ \t\f\v]/u
    DEFAULT = new
    private_constant :BOM, :NO_BLANK, :Converters, :DEFAULT, :Format, :Reader, :RowSeparator, :Table, :Writer
  end
end
