# frozen_string_literal: true

module Guildhall
  class JSON
    # An object that cannot be written as JSON.
    class EncodeError < Guildhall::EncodeError
      # @api private
      def self.at(reason, object)
        new("JSON: #{reason}", excerpt: (object.inspect unless object.nil?))
      end
    end
  end
end
