# frozen_string_literal: true

require_relative "document"
require_relative "errors"
require_relative "json"
require_relative "shareable"
require "guildhall/native"

module Guildhall
  # Paths into payloads, compiled once: frozen, shareable. Rows of what lies at them are made in C of what a codec has decoded, without a
  # Document or a Hash of the payload.
  #
  #     COLUMNS = Guildhall::Columns.new("id", "customer.email", "$.items[0].sku")    # rows are Arrays; of one path: its value
  #     ROWS = Guildhall::Columns.new(id: "id", email: "customer.email", at: :offset) # rows are Hashes
  #     pool.pluck(payloads, Guildhall::JSON, COLUMNS)
  #     messages.pluck(COLUMNS)
  #
  # A path is a String of keys with dots between them, an Array of keys and of places in arrays (`["a.b", 0]`, for keys with dots), or a
  # JSONPath, which begins with `$`. One that may lead to several values gives an Array of them. A Symbol is something else of a message
  # ({METADATA}), and `[:headers, "name"]` one of its headers.
  #
  # What is missing is nil, also inside of what is no container. Values are frozen and shareable, and plain to their last part.
  class Columns
    # What Symbols mean; `:index` is the place of the message in `messages`.
    METADATA = %i[key offset partition topic timestamp timestamp_ms headers raw_payload size index].freeze

    # A JSONPath that may lead to several values.
    # @api private
    Query = Data.define(:path) do
      # @return [Array, nil] nil: there is no payload
      def of(payload) = payload.nil? ? nil : path.of(payload).map { |value| Columns.plain(value) }.freeze
    end
    private_constant :Query

    # @return [Array<Symbol>, nil] the keys of rows; nil: rows are Arrays, or single values
    attr_reader :names

    # @param paths [Array<String, Array, JSON::Path, Symbol>]
    # @param names [Hash{Symbol=>String, Array, JSON::Path, Symbol}] instead of `paths`
    # @raise [Guildhall::ArgumentError] naming the path that is not understood
    def initialize(*paths, **names)
      raise Guildhall::ArgumentError, "columns are paths, or names with a path each, not both" if paths.any? && names.any?
      raise Guildhall::ArgumentError, "no columns: name a path at least, such as \"customer.email\"" if paths.empty? && names.empty?

      @names = names.keys if names.any?
      @columns = (@names ? names.values : paths).map { |path| compile(path) }
      @paths_only = @columns.all?(Array)
      Ractor.make_shareable([@names, @columns])
      configure(@names, @columns)
      Ractor.make_shareable(self)
    end

    # Whether a row takes anything of the payload.
    def paths? = @columns.any? { |column| !metadata?(column) }

    # @return [Array<Symbol, String>] what a row takes of the message beside its payload; a String is a header's name
    def metadata = @columns.select { |column| metadata?(column) }

    # A row of a decoded payload: a Hash, an Array or a Document, or an object with `to_h`.
    # @yieldparam metadata [Symbol, String] see {#metadata}
    # @return [Object, Array, Hash] the value of the only path, the values, or the values by name
    # @raise [TypeError] for another object
    def row(payload)
      source = container(payload)
      values = @columns.map do |column|
        case column
        when Array then Columns.dig(source, column)
        when Query then column.of(source)
        else yield(column)
        end
      end
      return @names.zip(values).to_h if @names

      values.size == 1 ? values.first : values
    end

    # @api private
    # A row of bytes, for workers: frozen and shareable.
    # @param codec [#call] the lazy one, where it has one
    def decode(codec, bytes)
      made = @paths_only && codec.respond_to?(:native_decoder) ? decoded(codec, bytes) : self
      equal?(made) ? Ractor.make_shareable(row(codec.call(bytes))) : made
    end

    # @return [Columns] itself: it cannot change
    def dup = self
    # @return [Columns] itself
    def clone(**) = self

    def inspect = "#<#{self.class} #{(@names || @columns).inspect}>"

    # @api private
    # @param steps [Array<String, Integer>]
    # @return [Object, nil] what lies there, plain
    def self.dig(value, steps)
      steps.each_with_index do |step, index|
        return at_path(value, steps.drop(index)) if Document === value

        value = value.value if branch?(value)
        value = step.is_a?(Integer) ? (value[step] if Array === value) : (member(value, step) if Hash === value)
        return if value.nil?
      end
      plain(value)
    end

    # @api private
    def self.plain(value) = branch?(value) ? value.with(value: Document.plain(value.value)) : Document.plain(value)

    # @api private
    # Whether it is a branch of an Avro union.
    def self.branch?(value) = defined?(Avro::Branch) && Avro::Branch === value

    # @api private
    def self.member(hash, name) = hash.fetch(name) { hash.fetch(name.to_sym, nil) }
    private_class_method :member

    private

    def compile(path)
      case path
      when Symbol then METADATA.include?(path) ? path : refuse(path)
      when String then path.start_with?("$") ? compile(JSON::Path.new(path)) : keys(path)
      when JSON::Path then path.steps || Query.new(path)
      when Array then path.first == :headers ? header(path) : steps(path)
      else raise Guildhall::ArgumentError, "a column is a String, an Array or a Symbol, not #{path.inspect}"
      end
    end

    def keys(path)
      keys = utf8(path).split(".", -1)
      return keys unless keys.empty? || keys.any?(&:empty?)

      raise Guildhall::ArgumentError, "#{path.inspect} has an empty key; a key with dots is written as an Array, such as [\"a.b\", \"c\"]"
    end

    def steps(path)
      unless path.any? && path.all? { |step| step.is_a?(String) || place?(step) }
        raise Guildhall::ArgumentError, "a path is an Array of keys (Strings) and places in arrays (Integers), not #{path.inspect}"
      end

      path.map { |step| step.is_a?(String) ? utf8(step) : step }
    end

    # Larger ones are in no array.
    def place?(step) = step.is_a?(Integer) && step.abs < (1 << 53)

    def header(path)
      return utf8(path.last) if path.size == 2 && path.last.is_a?(String)

      raise Guildhall::ArgumentError, "a header's column is [:headers, \"name\"], not #{path.inspect}"
    end

    def utf8(text)
      utf8 = text.encode(Encoding::UTF_8)
      utf8.valid_encoding? ? utf8.freeze : raise(Guildhall::ArgumentError, "#{text.inspect} is not valid UTF-8")
    rescue EncodingError
      raise Guildhall::ArgumentError, "#{text.inspect} cannot be converted to UTF-8"
    end

    def refuse(name)
      raise Guildhall::ArgumentError, "a column of a message is #{METADATA.map(&:inspect).join(", ")} or [:headers, \"name\"], not " \
                                      "#{name.inspect}; a path into the payload is a String"
    end

    def metadata?(column) = !(Array === column || Query === column)

    def container(payload)
      case payload
      when Hash, Array, Document, String, Symbol, Numeric, true, false, nil then payload
      else
        return payload.value if Columns.branch?(payload)
        return payload.to_h if payload.respond_to?(:to_h)

        raise TypeError, "columns are read from Hashes, Arrays and Documents, not from #{Shareable.type_of(payload)}"
      end
    end
  end
end
