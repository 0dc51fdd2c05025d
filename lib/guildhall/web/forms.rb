# frozen_string_literal: true

require_relative "seal"

module Guildhall
  class Web
    # What somebody wants to be done. id: of the form that they have sent; by: their name; why: their own words, nil: none; expect: what the
    # page had shown them.
    # @api private
    Order = Data.define(:id, :by, :action, :target, :expect, :why)

    # The forms of actions. Each has a token: who saw it, for which action and target, and what it said would happen. It is good for five
    # minutes, and for one action, however often it is sent. Any thread.
    # @api private
    class Forms
      SECONDS = 300
      NOTE_SECONDS = 60
      WHY_CHARACTERS = 500
      AGAIN = "Nothing was done: "
      CUT_OFF = "this form was sent before, in a request that was cut off. Look whether it was done then."
      private_constant :NOTE_SECONDS, :WHY_CHARACTERS, :AGAIN, :CUT_OFF

      # An order that is not carried out. status: of HTTP.
      class Refused < StandardError
        include Error

        attr_reader :status

        def initialize(message, status = 409)
          super("#{AGAIN}#{message}")
          @status = status
        end
      end

      Taken = Struct.new(:lock, :at, :done, :value, :error)
      private_constant :Taken

      # @param seal [Seal]
      def initialize(seal)
        @seal = seal
        @lock = Mutex.new
        @taken = {} # by id
      end

      # @param expect [Object] of what JSON has
      # @return [String]
      def token(by:, action:, target:, expect:)
        @seal.write(:form, {id: SecureRandom.hex(8), by:, action:, target:, expect:}, seconds: SECONDS)
      end

      # @param token [String, nil] as it came back, from whomever
      # @param by [String] who has sent it
      # @return [Order]
      # @raise [Refused] where it was not made for that
      def order(token, by:, action:, target:, why:)
        fields = @seal.read(:form, token)
        raise Refused.new("this form was made for #{fields["by"]}, and you are #{by}.", 403) unless fields["by"] == by
        raise Seal::Forged unless fields.values_at("action", "target") == [action.name, target]

        Order.new(id: fields["id"], by:, action:, target:, expect: fields["expect"], why: why && Printable.words(why, WHY_CHARACTERS))
      rescue Seal::Forged
        raise Refused.new("this form was not made by this page, or by a replica of it with another key. Replicas need the same: " \
                          "Guildhall::Web.new(authorize:, key:).", 403)
      rescue Seal::Expired
        raise Refused, "this form is more than #{SECONDS / 60} minutes old, and what it said may not be so any more."
      end

      # @yieldreturn [Object] what came of an order; of one that was sent before, this is waited for and returned again, or raised
      def once(id)
        taken = @lock.synchronize do
          @taken.delete_if { |_, one| Clock.now - one.at > 2 * SECONDS }
          @taken[id] ||= Taken.new(Mutex.new, Clock.now)
        end
        taken.lock.synchronize do
          carry_out(taken) { yield } unless taken.done # rubocop:disable Style/ExplicitBlockArgument
        end
        raise taken.error if taken.error

        taken.value
      end

      # @return [String] one sentence, for the next page to show
      def note(text) = @seal.write(:note, text, seconds: NOTE_SECONDS)

      # @return [String, nil] nil: there is none, or not of this page
      def noted(sealed)
        @seal.read(:note, sealed) if sealed
      rescue Seal::Forged, Seal::Expired
        nil
      end

      private

      def carry_out(taken)
        taken.done = true
        taken.error = Refused.new(CUT_OFF) # until it is known
        taken.value = yield
        taken.error = nil
      rescue StandardError => error
        taken.error = error
      end
    end
  end
end
