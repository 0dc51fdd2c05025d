# frozen_string_literal: true

# Writes the tables of the guides that are made of what the code declares: settings, and the rights that features need. Run it with:
# bin/rake settings
require "guildhall/kafka"
require "guildhall/kafka/routing/rights"

# The guides as they should be.
module SettingsGuide
  DOCS = File.expand_path("../docs", __dir__)
  # Page => heading => the first table below it.
  TABLES = {
    "kafka_settings.md" => {
      "The application" => Guildhall::Kafka::Config.settings, "A topic" => Guildhall::Kafka::Routing::Topic.settings,
      "Filters" => Guildhall::Kafka::Filtering::BUILT_IN, "A consumer group" => Guildhall::Kafka::Routing::Multiplexing.settings
    },
    "kafka_security.md" => {"Rights" => Guildhall::Kafka::Routing::Rights}
  }.freeze

  # @return [Hash{String=>String}] each page, with the tables of today, by its file
  def self.pages
    TABLES.to_h do |page, tables|
      file = File.join(DOCS, page)
      text = File.read(file).split(/^(?=## )/).map do |section|
        table = tables[section[/\A## (.*)/, 1]]
        table ? section.sub(/^\|.*\|\n(?:\|.*\n)*/) { "#{table.to_markdown}\n" } : section
      end.join
      [file, text]
    end
  end
end

SettingsGuide.pages.each { |file, text| File.write(file, text) } if $PROGRAM_NAME == __FILE__
