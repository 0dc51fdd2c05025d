# frozen_string_literal: true

require_relative "../errors"
require_relative "../shareable"

module Guildhall
  class Template
    # @api private
    # Locals on their way to a worker: what is shareable goes as it is, the rest is copied. The caller's objects stay as they are.
    module Locals
      DEEPEST = 100
      private_constant :DEEPEST

      # Replaces locals that cannot be shared: rendering them fails, and nothing else does.
      Refused = Data.define(:reason, :path) do
        # @raise [NotShareableError]
        def refuse!
          raise NotShareableError.new(reason, path:)
        end
      end

      # @param name [String] what to call them
      # @return [Object, Refused] shareable
      def self.share(locals, name)
        copy(locals, 0)
      rescue NotShareableError
        refused(locals, name)
      rescue SystemStackError
        Ractor.make_shareable(Refused.new(reason: "#{name} is nested too deeply to be copied; use Ractor.make_shareable", path: name))
      end

      class << self
        private

        # Ruby's own deep copy would also copy an IO, and with it what the system has open.
        def copy(value, depth)
          return value if Ractor.shareable?(value)
          return Shareable.result(value) if depth > DEEPEST # perhaps part of itself

          type = Shareable.type_of(value) # of exactly these classes: what is made of others is left to Ruby
          if type == Hash then copy_hash(value, depth)
          elsif type == Array then value.map { |element| copy(element, depth + 1) }.freeze
          elsif type == String then value.dup.freeze
          else Shareable.result(value)
          end
        end

        def copy_hash(hash, depth)
          return Shareable.result(hash) if hash.default_proc || hash.default || hash.compare_by_identity?

          hash.to_h { |key, value| [copy(key, depth + 1), copy(value, depth + 1)] }.freeze
        end

        def refused(locals, name)
          Shareable.result(locals)
        rescue NotShareableError => error
          path = error.path.sub("result", name)
          reason = error.message[/: it is ([^;]*)/, 1]
          Ractor.make_shareable(Refused.new(reason: "#{path} cannot be shared with workers: it is #{reason}; pass data", path:))
        end
      end
    end
    private_constant :Locals
  end
end
