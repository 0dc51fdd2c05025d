# frozen_string_literal: true

require_relative "../leak_check"

module Guildhall
  module LeakCheck
    # Include it in a test case of Minitest (or of Rails): a test that leaves a thread, a Ractor or a file descriptor behind fails.
    # Tests that run side by side (`parallelize_me!`) are not checked: what is there may belong to the test beside.
    module Minitest
      # Minitest calls it.
      def before_setup
        super
        @guildhall_before = LeakCheck.snapshot
      end

      # Minitest calls it.
      def after_teardown
        super
        return if skipped? || side_by_side?

        growth = LeakCheck.settled(@guildhall_before)
        flunk("left behind: #{growth.leaks.join("; ")}") if growth.leak?
      rescue ::Minitest::Assertion => error
        failures << error
      end

      private

      # Minitest 6 calls it `run_order`, Minitest 5 `test_order`.
      def side_by_side?
        self.class.public_send(self.class.respond_to?(:run_order) ? :run_order : :test_order) == :parallel
      end
    end
  end
end
