# frozen_string_literal: true

module Guildhall
  class Web
    # What the page says before something is done. Everything is of what JSON has.
    #
    # title, of the page; subject: what it is about; rows: of a table, as {what:, value:, kind:} (kind: nil, "bad" or "strong"); says:
    # sentences; warnings: sentences, of harm that it may do; fields: of a form that changes what is asked for, as {name:, label:, value:,
    # options:, size:}; button, nil: there is nothing to do, and `says` says why; danger: whether it cannot be taken back; expect: what it
    # takes to be so, which comes back with the order; foot: how long that is valid; back: path of the page it came from, with its query.
    # @api private
    Plan = Data.define(:title, :subject, :rows, :says, :warnings, :fields, :button, :danger, :expect, :foot, :back, :query) do
      def initialize(title:, back:, subject: nil, rows: [], says: [], warnings: [], fields: [], button: nil, danger: false, expect: nil,
                     foot: nil, query: {})
        super
      end
    end

    # What was done, in a sentence, and the page that shows it. logged: what the log says of it; nil: it has said so already.
    # @api private
    Done = Data.define(:note, :path, :query, :logged) do
      def initialize(note:, path:, query: {}, logged: note) = super
    end

    # Something that can be done from the page. Its address is shown as a question ({Pages::Confirm}), and does it when that is answered, by
    # POST. Made for one request.
    # @api private
    class Action
      CUT_OFF = "its request was cut off: it may have been done"
      private_constant :CUT_OFF

      def initialize(web, request)
        @web = web
        @request = request
      end

      # @return [Symbol] what `authorize` is asked for
      def name = raise(NotImplementedError, "#{self.class}#name")

      # @return [String, nil] a topic, a group, a task or a process
      def target = raise(NotImplementedError, "#{self.class}#target")

      # @return [Hash{String=>Array<String>}] pages above this one, as their name and path
      def crumbs = {}

      # Blocks for the brokers' answers; changes nothing.
      # @return [Plan]
      def plan = raise(NotImplementedError, "#{self.class}#plan")

      # Blocks for the brokers' answers.
      # @param order [Order]
      # @return [Done]
      # @raise [Forms::Refused] where what the order expects is not so any more
      def perform(order) = raise(NotImplementedError, "#{self.class}#perform")

      # Carries out what the request orders, if it may, and says so in the log and by an event.
      # @return [Done]
      # @raise [Access::Refused, Forms::Refused]
      def act
        raise Forms::Refused.new(Request::FOREIGN, 403) unless @request.same_origin?

        by = @web.access.check!(@request, name, target)
        order = @web.forms.order(@request.form("token"), by:, action: name, target:, why: @request.form("why"))
        @web.forms.once(order.id) { audited(order) }
      end

      private

      def audited(order)
        outcome = CUT_OFF
        cluster.forget # what the order expects is compared with what is so now
        perform(order).tap { |done| outcome = done.logged }
      rescue StandardError => error
        outcome = "failed: #{error.message}"
        raise
      ensure
        @web.audit(order, outcome) if outcome
        cluster.forget # the next page shows what came of it
      end

      def names = @request.names
      def cluster = @web.cluster
    end
  end
end
