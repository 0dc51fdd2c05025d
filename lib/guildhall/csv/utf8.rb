# frozen_string_literal: true

module Guildhall
  class CSV
    # Options, names and fields are compared and joined in UTF-8, whatever encoding they came in.
    module UTF8
      # @param text [String]
      # @return [String, nil] nil: it is not valid text
      def self.of(text)
        return (text if text.valid_encoding?) if text.encoding == Encoding::UTF_8

        text.encode(Encoding::UTF_8) if text.valid_encoding?
      rescue EncodingError
        nil
      end

      # @param name [String, Symbol] of a column
      # @return [String] frozen
      # @raise [Guildhall::ArgumentError]
      def self.name(name, option)
        text = name.to_s
        of(text)&.dup&.freeze ||
          raise(Guildhall::ArgumentError, "Guildhall::CSV: #{option}: #{name.inspect} is not valid #{text.encoding} text")
      end
    end
    private_constant :UTF8
  end
end
