# frozen_string_literal: true

module Guildhall
  class JSON
    # An object that cannot be written as JSON.
    class EncodeError < Guildhall::EncodeError
      SHOWN_CHARACTERS = 80
      private_constant :SHOWN_CHARACTERS

      # @api private
      # @return [EncodeError]
      def self.at(reason, object)
        shown = object.inspect[0, SHOWN_CHARACTERS] unless object.nil?
        new(["JSON: #{reason}", shown].compact.join(": "))
      end
    end
  end
end
