# frozen_string_literal: true

require "delegate"

module Guildhall
  class Web
    # A {Cluster} as it is seen with `?app=NAME`, where several applications share a topic of reports: what that one's processes report.
    # Of what brokers are asked for without a name (routes, groups, tasks) there is only the page's own application to ask for.
    # @api private
    class OneApplication < SimpleDelegator
      # @param cluster [Cluster]
      # @param app [String] `client_id` of reports
      # @param own [Boolean] whether it is the page's own application
      def initialize(cluster, app, own:)
        super(cluster)
        @app = app
        @own = own
      end

      def reports(**) = super.of(@app)
      def routes = @own ? super : []
      def own_groups = @own ? super : []
      def tasks = @own ? super : []
      def batches = @own ? super : []
      def batch(id) = (super if @own)
      def lag(group = nil) = group || @own ? super : Kafka::Broker::Answer.new([], [])
    end
  end
end
