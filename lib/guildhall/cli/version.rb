# frozen_string_literal: true

module Guildhall
  class CLI
    # `guildhall version`
    class Version < Command
      # (see Command.summary)
      def self.summary = "Print Guildhall's version"

      private

      def call(_arguments)
        @out.puts("guildhall #{Guildhall::VERSION}")
      end
    end
  end
end
