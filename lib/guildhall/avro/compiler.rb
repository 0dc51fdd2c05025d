# frozen_string_literal: true

require_relative "errors"

module Guildhall
  class Avro
    # Writer's schema and reader's schema → the nodes, operands and constants that C runs (`ext/guildhall/avro/program.h`).
    # Differences between the two are settled here, once, and not while decoding.
    # @api private
    class Compiler
      # The numbers of guildhall_avro_type.
      TYPES = %i[null boolean int long float double bytes string fixed enum array map union record
                 int_as_real long_as_real mismatch].each_with_index.to_h.freeze
      PROMOTIONS = Ractor.make_shareable({
        %i[int long] => :int, %i[int float] => :int_as_real, %i[int double] => :int_as_real,
        %i[long float] => :long_as_real, %i[long double] => :long_as_real, %i[float double] => :float,
        %i[string bytes] => :bytes, %i[bytes string] => :string
      })
      SKIPPED = 0xffffffff
      # Two logical types whose values look the same in the bytes. Nothing that a payload could do without.
      class Conflict < MismatchError
      end
      private_constant :PROMOTIONS, :SKIPPED, :Conflict

      # @return [Array<Object>] shareable
      attr_reader :nodes, :operands, :constants

      # @param symbolize_names [Boolean] records' keys as Symbols
      # @param tagged_unions [Boolean] records in unions as {Branch}es
      # @raise [MismatchError]
      # @raise [SchemaError] for a default that its logical type refuses
      def initialize(writer, reader, logical, symbolize_names: false, tagged_unions: false)
        @logical = logical
        @key = symbolize_names ? :to_sym.to_proc : :itself.to_proc
        @defaults = Schema::DefaultValue.new(logical, key: @key, tagged_unions:)
        @nodes = []
        @operands = []
        @constants = []
        @constant_numbers = {}
        @compiled = {}
        @mismatches = {} # pairs of types => why the one cannot be read as the other: is not looked for twice
        @path = []
        @nodes << incomplete
        @nodes[0] = @nodes[compile(writer.root, reader.root)].dup
        Sizes.new(@nodes, @operands).compute
      end

      private

      # @return [Integer] the node that reads what `writer` wrote as what `reader` wants
      def compile(writer, reader)
        return compile(writer, counterpart(writer, reader)) if reader.union? && !writer.union?

        pair = [writer.object_id, reader.object_id]
        raise @mismatches[pair] if @mismatches.key?(pair)

        @compiled[pair] || compile_new(writer, reader, pair)
      end

      # The number is known before the node is, because the type may refer to itself. Where it fails, everything that
      # was compiled meanwhile may refer to it, and is forgotten.
      def compile_new(writer, reader, pair)
        number = @nodes.size
        @nodes << incomplete
        @compiled[pair] = number
        @nodes[number] = writer.union? ? union(writer, reader) : plain(writer, reader)
        number
      rescue MismatchError => error
        @compiled.keep_if { |_, made| made < number }
        @mismatches[pair] = error
        raise
      end

      def incomplete = [TYPES[:mismatch], 0, 0, 0, constant("incomplete"), 0, 0, 0]

      def plain(writer, reader)
        mismatch(writer, reader) unless match?(writer, reader)
        conflict(writer, reader) if Logical.conflict?(writer, reader)
        case reader.kind
        when :record then record(writer, reader)
        when :enum then enum(writer, reader)
        when :array, :map then within("[]") { made(reader.kind, reader, 0, [compile(writer.items, reader.items)]) }
        when :fixed then made(:fixed, reader, writer.size, [])
        else made(PROMOTIONS.fetch([writer.kind, reader.kind], reader.kind), reader, 0, [])
        end
      end

      def made(kind, reader, count, operands)
        first = place(reader, operands)
        meaning, converter = @logical.of(reader)
        [TYPES.fetch(kind), meaning || 0, count, first, converter ? constant(converter) : 0, 0, 0, 0]
      end

      # The name of a named type precedes its operands.
      # @return [Integer] the first operand
      def place(reader, operands)
        @operands << constant(reader.name) if reader.named?
        first = @operands.size
        @operands.concat(operands)
        first
      end

      def match?(writer, reader)
        return PROMOTIONS.key?([writer.kind, reader.kind]) if writer.kind != reader.kind
        return true unless writer.named?

        same_name?(writer, reader) && writer.size == reader.size
      end

      # By full name or alias, as the gem has it, or by the name without its namespace, as the specification has it.
      def same_name?(writer, reader)
        writer.name == reader.name || reader.aliases.include?(writer.name) || writer.short_name == reader.short_name
      end

      # Each branch on its own: what a payload does not use need not match. With one schema each is read as it was written.
      def union(writer, reader)
        raise MismatchError, "#{here}: a union without branches has no values" if writer.branches.empty?

        branches = writer.branches.map do |branch|
          compile(branch, writer.equal?(reader) ? branch : reader)
        rescue Conflict
          raise
        rescue MismatchError => error
          refusal(error.message)
        end
        mismatch(writer, reader) if branches.all? { |branch| @nodes[branch][0] == TYPES[:mismatch] }
        first = @operands.size
        @operands.concat(branches)
        [TYPES[:union], 0, branches.size, first, writer.branches.count { |branch| branch.kind == :record }, 0, 0, 0]
      end

      def refusal(message)
        @nodes << [TYPES[:mismatch], 0, 0, 0, constant(message.dup.freeze), 0, 0, 0]
        @nodes.size - 1
      end

      # The branch of the reader's union for a type that is not a union: the same type if there is one (of that very name, else with
      # it as an alias), else the first that fits.
      def counterpart(writer, reader)
        same, others = reader.branches.partition { |branch| branch.kind == writer.kind }
        named, rest = same.partition { |branch| branch.name == writer.name }
        renamed, rest = rest.partition { |branch| branch.aliases.include?(writer.name) }
        matching = [*named, *renamed, *rest, *others].lazy.select { |branch| match?(writer, branch) }
        matching.find { |branch| readable?(writer, branch) } || unreadable(writer, reader)
      end

      def unreadable(writer, reader)
        conflicting = reader.branches.find { |branch| match?(writer, branch) && Logical.conflict?(writer, branch) }
        conflicting ? conflict(writer, conflicting) : mismatch(writer, reader)
      end

      def readable?(writer, reader)
        compile(writer, reader)
        true
      rescue Conflict
        raise if writer.kind == reader.kind

        false
      rescue MismatchError
        false
      end

      def record(writer, reader)
        wanted = reader_fields(reader)
        fields = once(writer.fields.map { |field| within(".#{field.name}") { field(field, wanted[field.name]) } })
        written = writer.fields.to_h { |field| [wanted[field.name]&.name, true] }
        missing = reader.fields.reject { |field| written.key?(field.name) }
        operands = [*fields.flatten, *missing.flat_map { |field| default(reader, field) }]
        kept = fields.count { |_, name| name != SKIPPED } + missing.size
        first = place(reader, operands)
        [TYPES[:record], 0, fields.size, first, kept, 0, 0, 0]
      end

      # Of fields that the reader takes for the same one, the last counts, as with the gem.
      def once(fields)
        last = fields.each_with_index.to_h { |(_, name), index| [name, index] }
        fields.each_with_index.map { |(node, name), index| [node, last[name] == index ? name : SKIPPED] }
      end

      # By name first, by alias where no field has the name.
      def reader_fields(reader)
        by_alias = reader.fields.flat_map { |field| field.aliases.map { |name| [name, field] } }.to_h
        by_alias.merge(reader.fields.to_h { |field| [field.name, field] })
      end

      def field(written, wanted)
        return [compile(written.type, written.type), SKIPPED] unless wanted

        [compile(written.type, wanted.type), constant(@key.call(wanted.name))]
      end

      def default(reader, field)
        raise MismatchError, "#{here}: the writer has no field #{field.name}, and #{reader} no default for it" unless field.default?

        value = Ractor.make_shareable(@defaults.of(field.type, field.default))
        [constant(@key.call(field.name)), constant(value)]
      end

      def enum(writer, reader)
        there = reader.symbols.to_h { |symbol| [symbol, true] }
        symbols = writer.symbols.map do |symbol|
          known = there.key?(symbol) ? symbol : reader.default
          known ? constant(known) : SKIPPED
        end
        made(:enum, reader, symbols.size, symbols)
      end

      # Constants are compared by identity where two could be equal and yet differ: 1 and 1.0, text and bytes.
      def constant(value)
        value = -value if value.is_a?(String) && value.encoding == Encoding::UTF_8
        key = value.is_a?(Symbol) ? value : value.object_id
        @constant_numbers[key] ||= (@constants << value).size - 1
      end

      def mismatch(writer, reader)
        raise MismatchError, "#{here}: the writer's #{writer} cannot be read as #{reader}"
      end

      def conflict(writer, reader)
        raise Conflict, "#{here}: the writer's #{Logical.meaning(writer)} cannot be read as #{Logical.meaning(reader)}"
      end

      def here = "$#{@path.join}"

      def within(step)
        @path.push(step)
        yield
      ensure
        @path.pop
      end
    end
  end
end

require_relative "compiler/sizes"
