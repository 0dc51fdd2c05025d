# frozen_string_literal: true

module Guildhall
  class JSON
    class Path
      # One use of a path on a document: what $ means, and the answers that are the same for every node. A filter asks for them
      # once a node, and a document of n nodes would take n times its own length.
      # @api private
      class Evaluation
        attr_reader :root

        def initialize(root)
          @root = root
          @answers = {}.compare_by_identity
        end

        # @param question [Object] the same object asks for the same
        # @return [Object] what the block returned the first time
        def once(question)
          @answers.fetch(question) { @answers[question] = yield }
        end
      end
      private_constant :Evaluation
    end
  end
end
