# frozen_string_literal: true

module Demo
  # The work that both consumers do for each delivery, in plain Ruby: it takes a Hash or a Document.
  module Checks
    EVENTS = %w[pull_request issues push].freeze
    Summary = Data.define(:repository, :event, :action, :author, :title, :number)

    # @return [Array<String>] what is wrong with a delivery
    def self.errors(delivery)
      errors = []
      errors << "action is not a text" unless text?(delivery["action"])
      repository(delivery["repository"], errors)
      sender = delivery["sender"]
      errors << "sender has no login" if sender && !sender["login"].is_a?(String)
      errors
    end

    def self.text?(value)
      value.nil? || value.is_a?(String)
    end

    def self.repository(repository, errors)
      return if repository.nil?
      return errors << "repository is not an object" unless repository.respond_to?(:key?)

      errors << "repository has no id" unless repository["id"].is_a?(Integer)
      errors << "repository has no full name" unless repository["full_name"].is_a?(String)
    end

    # @return [Summary] small, frozen, and all that the application wants to know
    def self.summarize(delivery, event)
      subject = delivery["pull_request"] || delivery["issue"] || delivery["head_commit"]
      Summary.new(
        repository: delivery.dig("repository", "full_name"), event:, action: delivery["action"],
        author: delivery.dig("sender", "login"), title: subject && (subject["title"] || subject["message"]),
        number: subject && subject["number"]
      )
    end
  end
end
