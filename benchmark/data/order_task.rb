# frozen_string_literal: true

# What an application does with an order before it is worth a consumer's time: checks in plain Ruby, a selection that
# leaves 1 in 200, and a summary of what is left. Takes Hashes and Documents.
module OrderTask
  STATES = %w[paid open shipped].freeze
  Summary = Data.define(:id, :email, :pieces)

  # @return [Array<String>] what is wrong
  def self.errors(order)
    errors = []
    errors << "id" unless order["id"].is_a?(Integer)
    errors << "status" unless STATES.include?(order["status"])
    errors << "total" unless order["total"].is_a?(Numeric) && order["total"] >= 0
    errors << "email" unless order.dig("customer", "email").is_a?(String)
    order["items"].each { |item| errors << "item" unless item["sku"].is_a?(String) && item["quantity"].positive? }
    errors
  end

  # @return [Object] the order
  # @raise [ArgumentError] saying what is wrong with it
  def self.checked(order)
    wrong = errors(order)
    wrong.empty? ? order : raise(ArgumentError, wrong.join("; "))
  end

  # @return [Boolean] true for 1 in 200
  def self.wanted?(order) = order["id"] % 200 == 7

  # @return [Summary]
  def self.summary(order)
    Summary.new(id: order["id"], email: order["customer"]["email"], pieces: order["items"].sum { |item| item["quantity"] })
  end
end
