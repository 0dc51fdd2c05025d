# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Kafka
    module ActiveJob
      # `guildhall_options` of a job class. Subclasses inherit them.
      module Options
        RULES = OptionRules.new(
          key: OptionRules.rule("a Symbol or an object with call") { |value| value.is_a?(Symbol) || value.respond_to?(:call) }.or(nil),
          produce: OptionRules.one_of(:sync, :async)
        )
        DEFAULTS = {key: nil, produce: :sync}.freeze
        private_constant :RULES

        # @param base [Class] `ActiveJob::Base`
        def self.extended(base)
          base.class_attribute(:_guildhall_options, instance_accessor: false, instance_predicate: false, default: DEFAULTS)
        end

        # Without arguments: the options of this class.
        # @option options [#call, Symbol, nil] key takes the job and returns its key, or is the name of a method of the job: jobs of one
        #   key are performed in the order in which they were enqueued. nil, also as the answer: the job has no order
        # @option options [Symbol] produce :sync waits until the broker has the job; :async does not, and `perform_later` does not learn
        #   of an error
        # @raise [Guildhall::ArgumentError] naming every option that is wrong
        def guildhall_options(**options)
          return _guildhall_options if options.empty?

          RULES.check!(options, owner: "guildhall_options of #{name}")
          self._guildhall_options = _guildhall_options.merge(options).freeze
        end
      end
    end
  end
end
